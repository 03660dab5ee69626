//! A host CPU as a table of costs. In: a file of numbers, each with its source. Out: how long the
//! pieces of host code take that meet a NIC: polling, interrupt, kernel paths, copies, a matrix
//! multiplication.
//!
//! The model is deterministic: where a real machine has two speeds at random (a core asleep or not),
//! it has their mean. It holds no state; who uses it keeps what is busy until when ([`Server`]).

mod memory;
mod paths;
mod server;

pub use memory::MemorySection;
pub use paths::{KernelSection, LinkSection, NicSection, ProgramSection};
pub use server::Server;

use serde::Deserialize;
use thiserror::Error;

/// Says why a host's file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{key}` of the host cannot be used: {problem}")]
pub struct ModelError {
    /// The key in the file.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// Holds every number of a host.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostModel {
    /// Name of the host.
    pub name: String,
    /// Describes the CPU.
    pub cpu: CpuSection,
    /// Describes an ordinary NIC's path between memory and cable.
    pub nic: NicSection,
    /// Describes the cable.
    pub link: LinkSection,
    /// Describes the kernel's paths.
    pub kernel: KernelSection,
    /// Describes what a host program of a sPIN NIC does.
    pub program: ProgramSection,
    /// Describes what memory bounds: copies, sums, unpacking, matrices.
    pub memory: MemorySection,
}

/// Describes the CPU.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuSection {
    /// Cores.
    pub cores: u32,
    /// Frequency in MHz.
    pub frequency_mhz: f64,
    /// Double-precision operations per cycle and core.
    pub flops_per_cycle: f64,
}

impl HostModel {
    /// Checks that all numbers can be computed with.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn check(&self) -> Result<(), ModelError> {
        let from_zero = [
            self.nic.check(),
            self.link.check(),
            self.kernel.check(),
            self.program.check(),
            self.memory.check(),
        ];
        from_zero.into_iter().collect::<Result<(), _>>()?;
        let cpu = &self.cpu;
        if cpu.cores == 0 {
            let problem = "there must be one core at least".to_owned();
            return Err(ModelError { key: "cpu.cores", problem });
        }
        above_zero("cpu.frequency_mhz", cpu.frequency_mhz)?;
        above_zero("cpu.flops_per_cycle", cpu.flops_per_cycle)
    }
}

/// The longest time that a cost may be: an hour, in ns.
const LONGEST_NS: f64 = 3.6e12;

/// Refuses costs that are no time from 0 on.
fn costs(all: &[(&'static str, f64)]) -> Result<(), ModelError> {
    let wrong = all.iter().find(|(_, cost)| !(0.0..=LONGEST_NS).contains(cost));
    wrong.map_or(Ok(()), |&(key, cost)| {
        let problem = format!("{cost} is no cost: give a number from 0 to {LONGEST_NS}");
        Err(ModelError { key, problem })
    })
}

/// Refuses costs of each byte, block or operation that make those of a large message no time.
fn costs_of_each(all: &[(&'static str, f64)]) -> Result<(), ModelError> {
    const LARGEST_NS: f64 = 1e6;
    let wrong = all.iter().find(|(_, cost)| !(0.0..=LARGEST_NS).contains(cost));
    wrong.map_or(Ok(()), |&(key, cost)| {
        let problem =
            format!("{cost} is no cost of each one: give a number from 0 to {LARGEST_NS}");
        Err(ModelError { key, problem })
    })
}

/// Refuses what is not above zero, or so near it or so far from it that times are none.
fn above_zero(key: &'static str, number: f64) -> Result<(), ModelError> {
    const RANGE: std::ops::RangeInclusive<f64> = 1e-3..=1e12;
    if RANGE.contains(&number) {
        return Ok(());
    }
    let (least, most) = (RANGE.start(), RANGE.end());
    let problem = format!("{number} must be above 0: give a number from {least} to {most}");
    Err(ModelError { key, problem })
}

/// Turns a cost in nanoseconds into picoseconds.
pub fn to_ps(ns: f64) -> u64 {
    (ns * 1000.0).round().max(0.0) as u64
}

#[cfg(test)]
mod tests;
