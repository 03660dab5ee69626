//! Nanoservices: programs that run on a nanoPU node.
//!
//! A [`Service`](crate::service::Service) and a [`Setup`] make a node; [`run::run`] puts it at one
//! end of a link and requests at the other, and gives a [`Summary`].

pub(crate) mod frames;
pub(crate) mod hang;
mod json;
#[cfg(target_os = "linux")]
pub mod live;
pub(crate) mod node_end;
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
use crate::error::Result;

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

/// Loads a nanoPU machine, with its faithful overrides if asked for.
///
/// # Errors
/// When there is no such machine or its file is wrong.
pub fn load_machine(name: &str, overrides: &[String], faithful: bool) -> Result<Loaded<Machine>> {
    let machine: Loaded<Machine> = assets::load_machine(name, overrides)?;
    if !faithful {
        return Ok(machine);
    }
    let pairs = machine.value.faithful.iter();
    let mut all: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
    all.extend(overrides.iter().cloned());
    assets::load_machine(name, &all)
}
