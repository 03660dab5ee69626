//! Scenarios of a nanoPU node: a program, the frames it gets and a peer that answers; frames out,
//! their cycles, and what the summary says of them are compared.

pub mod drive;
pub mod metrics;
pub mod observation;
pub mod peer;
#[cfg(test)]
mod selfcheck;
pub mod services;
pub mod set;
pub mod stages;
pub mod switches;
mod trace;

use pinion_isa::elf::Image;

use crate::error::{Error, Result};
use set::{Scenario, Set};

/// Names the scenario whose messages' ways are in the table of stages.
pub const STAGES_SCENARIO: &str = "echo_8B";

/// Tells whether the program runs several threads on a hart, by its name.
fn has_threads(scenario: &Scenario) -> bool {
    let stem = scenario.elf.file_stem().and_then(|stem| stem.to_str());
    stem.is_some_and(|stem| stem.starts_with("threads"))
}

/// Reads a scenario's program.
///
/// # Errors
/// When it is no RV64 executable.
pub fn image(set: &Set, scenario: &Scenario) -> Result<Image> {
    let path = set.program(scenario);
    let bytes = std::fs::read(&path).map_err(|error| Error::file("read", &path, error))?;
    Ok(Image::parse_for::<u64>(&bytes, &path.display().to_string())?)
}

/// Lists the addresses of a program's `mret` instructions.
fn mrets(image: &Image) -> Vec<u64> {
    const MRET: [u8; 4] = 0x3020_0073_u32.to_le_bytes();
    let executed = image.segments.iter().filter(|segment| segment.flags.execute);
    let found = executed.flat_map(|segment| {
        let data = segment.data.windows(4).enumerate().step_by(2);
        let mrets = data.filter(|(_, bytes)| *bytes == MRET);
        mrets.map(|(at, _)| segment.address + at as u64)
    });
    found.collect()
}
