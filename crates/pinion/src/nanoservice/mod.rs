//! Nanoservices: programs that run on a nanoPU node.
//!
//! A [`Service`](crate::service::Service) and a [`Setup`] make a node; [`run::run`] puts it at one
//! end of a link and requests at the other, and gives a [`Summary`].

mod fault;
pub(crate) mod frames;
pub(crate) mod hang;
mod json;
#[cfg(target_os = "linux")]
pub mod live;
pub(crate) mod node_end;
mod nothing;
mod outside;
mod perfetto;
pub mod run;
mod script;
mod setup;
pub(crate) mod summary;
mod text;
mod trace;
pub(crate) mod wire;

use pinion_nanopu::machine::node::Machine;
use pinion_sim::config::Loaded;

use crate::assets;
use crate::error::{Error, Result};

pub use frames::Outputs;
pub use outside::Traffic;
pub use perfetto::NodeTrace;
pub use script::{FILE_NAME as SCRIPT_NAME, Script};
pub use setup::Setup;
pub use summary::{Ending, HartRow, Summary};
pub use trace::{Filter, Trace};

/// Tells whether a machine is a nanoPU.
///
/// # Errors
/// When there is no such machine or its file is no TOML.
pub fn is_machine(name: &str) -> Result<bool> {
    let machine: Loaded<serde_json::Value> = assets::load_machine(name, &[])?;
    Ok(machine.value.get("hart_interface").is_some())
}

/// Tells, for a machine that cannot be loaded, whether that is because programs of this kind run on
/// the other kind of machines.
pub(crate) fn refuse_other_kind(name: &str, wants_nanopu: bool) -> Option<Error> {
    let is_nanopu = is_machine(name).ok()?;
    if is_nanopu == wants_nanopu {
        return None;
    }
    let fitting = assets::machines().into_iter();
    let fitting = fitting.filter(|known| is_machine(known).ok() == Some(wants_nanopu));
    let fitting = fitting.collect::<Vec<_>>().join(", ");
    let given = "--machine, or `machine` in app.toml or cluster.toml";
    Some(Error::Usage(match wants_nanopu {
        true => format!(
            "the machine {name} is a sPIN NIC, which runs packet handlers; a nanoservice needs a \
             nanoPU: {fitting} ({given})"
        ),
        false => format!(
            "the machine {name} is a nanoPU, which runs nanoservices; packet handlers need a sPIN \
             NIC: {fitting} ({given})"
        ),
    }))
}

/// Loads a nanoPU machine, with its faithful overrides if asked for.
///
/// # Errors
/// When there is no such machine or its file is wrong.
pub fn load_machine(name: &str, overrides: &[String], faithful: bool) -> Result<Loaded<Machine>> {
    let machine: Loaded<Machine> = assets::load_machine(name, overrides)
        .map_err(|error| refuse_other_kind(name, true).unwrap_or(error))?;
    if !faithful {
        return Ok(machine);
    }
    let pairs = machine.value.faithful.iter();
    let mut all: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
    all.extend(overrides.iter().cloned());
    assets::load_machine(name, &all)
}
