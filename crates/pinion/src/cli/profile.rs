//! The command line of `pinion profile`.

use std::path::PathBuf;

use clap::Args;

use super::{ENGINE, OUTPUTS, RUN_APP, RunArgs, hide};

/// What `pinion profile --help` says at its end.
const PROFILE_NOTES: &str = "\
Every cycle of every HPU or hart, from when the machine is ready to the end of the run, is on the account
of one instruction and one cause; so the cycles add up to the run's. Causes: issue (an instruction was
issued), load_use (it waited for an operand), branch, arithmetic, fetch, l1 (a busy bank), remote (memory
elsewhere; on a nanoPU a miss), command (waited for commands), other (traps, boot); idle cycles, without
a task or message, are in no table but that of the whole. Shares are of the cycles at work.

The run is that of `pinion run` with the same options.";

/// Options of `pinion run` that `pinion profile` does not take.
pub const PROFILE_REFUSES: [&[&str]; 3] =
    [&ENGINE, &OUTPUTS, &["--pcap", "--queue", "--histogram", "--curve"]];

#[derive(Debug, Args)]
#[command(
    after_long_help = PROFILE_NOTES,
    mut_arg("app", |app| app.help(RUN_APP)),
    mut_args(|arg| hide(arg, &PROFILE_REFUSES))
)]
pub struct ProfileArgs {
    /// Functions and lines that are shown at most
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "What is shown")]
    pub top: usize,
    /// A row per HPU or hart, too
    #[arg(long, help_heading = "What is shown")]
    pub harts: bool,
    /// The application's source with what each line took
    #[arg(long, help_heading = "What is shown")]
    pub source: bool,
    /// A function's instructions with what each took (repeatable)
    #[arg(long, value_name = "FUNCTION", help_heading = "What is shown")]
    pub disassembly: Vec<String>,
    /// This node of a cluster
    #[arg(long, value_name = "NAME", help_heading = "What is shown")]
    pub node: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
    /// Draw a flame graph: who called whom, as wide as the cycles
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub flame: Option<PathBuf>,
    /// Draw how busy units were over time, and write it as CSV beside (.csv)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub occupancy: Option<PathBuf>,
    /// Write calls and cycles for https://www.speedscope.app
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub speedscope: Option<PathBuf>,
    /// Write instructions, calls and cycles for pprof (go tool pprof)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub pprof: Option<PathBuf>,
    /// Write which lines were executed, and how often, as an lcov tracefile
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub lcov: Option<PathBuf>,
}
