//! What tests share.

use pinion_spin_machine::Machine;

/// Gives the published machine.
pub fn machine() -> Machine {
    let text = include_str!("../../../machines/pspin.toml");
    pinion_sim::config::load("pspin.toml", text, &[]).expect("a valid machine").value
}
