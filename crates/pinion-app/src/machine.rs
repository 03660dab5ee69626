//! Machines by name: one that Pinion comes with, or a file. In: a name, overrides, whether to follow
//! the published RTL. Out: a [`MachineFile`] of the kind that is wanted, checked.

use std::path::Path;

use pinion_sim::config::Loaded;
use pinion_sim::machine::{self, MachineFile};

pub use pinion_sim::machine::Kind;

use crate::assets::{self, machine_text};
use crate::error::{Error, Result};

/// Tells the kind of a machine.
///
/// # Errors
/// When there is no such machine, its file is no TOML or says no kind.
pub fn kind(name: &str) -> Result<Kind> {
    let (origin, text) = machine_text(name)?;
    machine::kind(&origin, &text, |base| base_text(&origin, base))
}

/// Loads and checks a machine.
///
/// # Errors
/// When there is no such machine or it is of another kind, its file is wrong, an override does not
/// fit, or its numbers do not fit together.
pub fn load<M: MachineFile>(name: &str, overrides: &[String], faithful: bool) -> Result<Loaded<M>> {
    let (origin, text) = machine_text(name)?;
    match machine::load(&origin, &text, overrides, faithful, |base| base_text(&origin, base)) {
        Ok(machine) => Ok(machine),
        Err(error) => Err(other_kind(name, M::KIND)?.unwrap_or(error)),
    }
}

/// Gives origin and text of what a machine's file builds on; a path begins at the file's folder.
fn base_text(origin: &str, base: &str) -> Result<(String, String)> {
    let folder = Path::new(origin).parent().unwrap_or(Path::new(""));
    machine_text(&assets::named_in(folder, base))
}

/// Tells, for a machine that cannot be loaded, whether that is because programs of one kind run on
/// machines of that kind.
fn other_kind(name: &str, wanted: Kind) -> Result<Option<Error>> {
    let found = kind(name)?;
    if found == wanted {
        return Ok(None);
    }
    let fitting = assets::machines().into_iter();
    let fitting = fitting.filter(|known| kind(known).ok() == Some(wanted));
    let fitting = fitting.collect::<Vec<_>>().join(", ");
    let given = "--machine, or `machine` in app.toml or cluster.toml";
    Ok(Some(Error::Usage(match wanted {
        Kind::Nanopu => format!(
            "the machine {name} is a sPIN NIC, which runs packet handlers; a nanoservice needs a \
             nanoPU: {fitting} ({given})"
        ),
        Kind::Spin => format!(
            "the machine {name} is a nanoPU, which runs nanoservices; packet handlers need a sPIN \
             NIC: {fitting} ({given})"
        ),
    })))
}
