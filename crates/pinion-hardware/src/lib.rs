//! Hardware in the loop. In: names of units, or SystemVerilog of somebody's own. Out: blocks in the places
//! of the model's units, or beside them.
//!
//! A block is Verilated for the machine's numbers, compiled into a shared library that is kept like
//! compiled applications are, and loaded. Each cycle is then a few calls: inputs, outputs, the clock.
//!
//! | module | does |
//! |---|---|
//! | [`choice`] | reads `UNIT` and `UNIT=FILE`, and puts the blocks into a NIC |
//! | [`units`] | knows the SystemVerilog of the units that Pinion comes with |
//! | [`verilator`] | finds Verilator, and refuses one that simulates wrongly |
//! | [`library`] | makes the shared library, after a look at the block's ports |
//! | `runtime` | keeps what of it is Verilator's own, for the next |
//! | [`loaded`] | loads it; all that is unsafe |
//! | [`bench`](mod@bench) | a block, cycle by cycle: what was expected, what came, the waves |
//! | [`ports`] | writes what the model says of a unit's ports, for a test bench |
//! | [`stuck`] | finds a block that does not end a cycle |
//! | [`skeleton`] | a block of one's own to begin with |

pub mod bench;
pub mod choice;
pub mod library;
pub mod loaded;
pub mod ports;
mod runtime;
pub mod skeleton;
pub mod stuck;
pub mod units;
pub mod verilator;
mod waves;

use std::path::PathBuf;

/// Says why a block cannot take part in a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HardwareError {
    /// There is no such unit, or none that hardware can stand for.
    #[error("{option} {given}: hardware can stand for {known}; it cannot for `{unit}`")]
    UnknownUnit {
        /// The option.
        option: &'static str,
        /// What was written.
        given: String,
        /// The unit's name in it.
        unit: String,
        /// The units that it can stand for.
        known: String,
    },
    /// A unit was named twice.
    #[error("--hardware names {unit} twice")]
    Twice {
        /// The unit.
        unit: &'static str,
    },
    /// The machine has numbers that the block cannot have.
    #[error("{unit} cannot be hardware in the machine {machine}: {problem}")]
    Machine {
        /// The unit.
        unit: &'static str,
        /// The machine's name.
        machine: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// Verilator is not there, or too old.
    #[error("{0}")]
    Verilator(String),
    /// Verilator, or the compiler of what it made, refused the block; what it wrote is kept.
    #[error("{tool} could not take {}: {output}", file.display())]
    Refused {
        /// Which of the two.
        tool: &'static str,
        /// The block's file.
        file: PathBuf,
        /// What it wrote.
        output: String,
    },
    /// The block's ports are not the unit's.
    #[error("{} cannot stand for {unit}: {problem}", file.display())]
    Ports {
        /// The block's file.
        file: PathBuf,
        /// The unit.
        unit: &'static str,
        /// Which ports, and how they must be.
        problem: String,
    },
    /// A file cannot be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The library cannot be loaded.
    #[error("cannot load {}: {problem}; remove it, and it is made anew", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// Something that was asked for cannot be.
    #[error("{0}")]
    Usage(String),
}

impl HardwareError {
    pub(crate) fn file(
        action: &'static str,
        path: &std::path::Path,
        source: std::io::Error,
    ) -> Self {
        Self::File { action, path: path.to_owned(), source }
    }
}

impl From<HardwareError> for pinion_app::Error {
    fn from(error: HardwareError) -> Self {
        Self::Other(Box::new(error))
    }
}
