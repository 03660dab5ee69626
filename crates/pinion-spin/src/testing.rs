//! What unit tests share.

use crate::Machine;

/// Loads the published machine.
pub fn machine() -> Machine {
    let text = include_str!("../../../machines/pspin.toml");
    pinion_sim::config::load("pspin.toml", text, &[]).expect("a valid machine").value
}
