//! Scenarios of a nanoPU node: a program, the frames it gets and a peer that answers; frames out,
//! their cycles, and what the summary says of them are compared.

pub mod compare;
pub mod drive;
pub mod frames;
pub mod metrics;
pub mod model;
pub mod observation;
pub mod peer;
mod result_row;
#[cfg(test)]
mod selfcheck;
pub mod services;
pub mod set;
pub mod stages;
pub mod switches;
pub mod table;
mod trace;

use pinion_isa::elf::Image;

use super::{Comparison, Jobs, Tolerance};
use compare::Truth;
use observation::Observation;
use pinion_app::error::{Error, Result, paragraph};
use set::{Scenario, ScriptFrame, Set};

/// Runs scenarios on a model of the node.
pub trait Runner: Sync {
    /// Boots the program, plays the scenario and gives what was seen; see [`drive::run`].
    ///
    /// # Errors
    /// When the program cannot be run or does not announce itself.
    fn observe(
        &self,
        scenario: &Scenario,
        script: &[ScriptFrame],
        image: &Image,
    ) -> Result<Observation>;
}

/// Compares every scenario of a set whose name contains `filter`, `jobs` at a time. A scenario that
/// the model cannot run at all is a comparison that fails.
///
/// # Errors
/// When the set is unreadable.
pub fn compare<'a>(
    set: &Set,
    runner: &dyn Runner,
    filter: Option<&str>,
    jobs: impl Into<Jobs<'a>>,
) -> Result<Vec<Comparison>> {
    let scenarios = set.scenarios(filter)?;
    super::side_by_side(&scenarios, jobs.into(), |scenario| {
        let truth = Truth::read(set, scenario)?;
        let image = image(set, scenario)?;
        Ok(match runner.observe(scenario, &truth.script, &image) {
            Ok(ours) => compare::compare(&truth, &ours, &mrets(&image)),
            Err(error) => {
                let row = &scenario.name;
                let fails = Comparison::new(row, "runs", 0.0, 1.0, Tolerance::Absolute(0.0));
                vec![fails.with_note(paragraph(&error))]
            }
        })
    })
}

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
