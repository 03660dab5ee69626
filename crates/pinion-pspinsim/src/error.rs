//! What can go wrong: messages go to standard error, the C functions return `SPIN_ERR`.

use std::path::PathBuf;

use pinion_spin::SetupError;

/// Abbreviates results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Tells why a call could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No simulation exists.
    #[error("there is no simulation: call pspinsim_init first")]
    NoSimulation,
    /// One exists already.
    #[error("there is a simulation already: call pspinsim_fini before another pspinsim_init")]
    SecondSimulation,
    /// A callback called a function that runs or ends the simulation.
    #[error("the simulation is running: a callback may neither run it nor end it")]
    Running,
    /// An argument cannot be used.
    #[error("{0}")]
    Argument(String),
    /// The environment says something that cannot be used.
    #[error("the environment variable {name} is `{value}`: {problem}")]
    Environment {
        /// Name of the variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The machine file or a change of it is wrong.
    #[error(transparent)]
    Machine(#[from] pinion_sim::config::ConfigError),
    /// A number of the configuration does not fit the machine.
    #[error("{field} of the configuration cannot be used: {problem}")]
    Configuration {
        /// Name of the field.
        field: String,
        /// What is wrong.
        problem: String,
    },
    /// Program and machine, or context and machine, do not fit.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The ELF cannot be used.
    #[error(transparent)]
    Elf(#[from] pinion_isa::elf::ElfError),
    /// Nothing says which program the NIC runs.
    #[error(
        "no program: name its ELF with spin_find_handler_by_name, let slm_files_path (or \
         $PSPIN_HW/sim_files/slm_files) name a folder with prog_mem_stim.slm, or set PINION_ELF"
    )]
    NoProgram,
    /// Two programs were named.
    #[error(
        "{second} is another program than {first}: the handlers of one NIC come from one program"
    )]
    TwoPrograms {
        /// The one known first.
        first: String,
        /// The one that differs.
        second: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Name of the file.
        path: PathBuf,
        /// Tells why.
        source: std::io::Error,
    },
    /// A line of a file is wrong.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// Name of the file.
        path: PathBuf,
        /// Number of lines from 1.
        line: usize,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// Packets are inside and nothing moves.
    #[error("the simulation does not go on: {0}")]
    Stuck(String),
    /// Everything is done, but more packets were promised.
    #[error(
        "nothing is left to do, and pspinsim_packet_eos was not called: call it when the last \
         packet was added"
    )]
    NoEndOfStream,
    /// The NIC lost count of its packets.
    #[error("packets are not accounted for: {0}")]
    Unaccounted(String),
}
