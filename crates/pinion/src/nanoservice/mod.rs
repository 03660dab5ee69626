//! Nanoservices: programs that run on a nanoPU node.

use pinion_nanopu::machine::node::Machine;
use pinion_sim::config::Loaded;

use crate::assets;
use crate::error::Result;

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
