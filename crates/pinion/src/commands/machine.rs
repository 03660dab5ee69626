//! `pinion machine show NAME`: every number of a machine, its unit and where it comes from.

use pinion::error::Result;
use pinion::{assets, nanoservice};
use pinion_sim::config::Entry;
use pinion_spin::Machine;

use super::Status;
use crate::cli::{MachineArgs, MachineVerb};
use crate::output;

pub fn run(args: &MachineArgs) -> Result<Status> {
    match &args.command {
        MachineVerb::List => {
            let names = assets::machines();
            output::print(&names.iter().map(|name| format!("{name}\n")).collect::<String>());
        }
        MachineVerb::Show { machine, set } => {
            let entries = match nanoservice::is_machine(machine)? {
                true => nanoservice::load_machine(machine, set, false)?.entries,
                false => assets::load_machine::<Machine>(machine, set)?.entries,
            };
            output::print(&table(&entries));
        }
    }
    Ok(Status::Success)
}

fn table(entries: &[Entry]) -> String {
    let row = |entry: &Entry| {
        let mark = if entry.overridden { "*" } else { "" };
        let unit = entry.unit.as_deref().unwrap_or("");
        let origin = match entry.overridden {
            true => "set on the command line",
            false => entry.source.as_deref().unwrap_or(""),
        };
        let note = entry.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
        let value = format!("{}{mark}", entry.value.trim_matches('"'));
        vec![entry.key.clone(), value, unit.to_owned(), format!("{origin}{note}")]
    };
    let mut rows = vec![["key", "value", "unit", "source"].map(str::to_owned).to_vec()];
    rows.extend(entries.iter().map(row));
    output::columns(&rows)
}
