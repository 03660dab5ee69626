//! The command line of `pinion bench`.

use std::path::PathBuf;

use clap::Args;

use super::EngineCoreArgs;

/// What `pinion bench --help` says at its end.
const NOTES: &str = "\
All times are processor time, of the fastest of several runs on one thread, building the machine
included; packet handlers get their standard traffic, longer if it is short, or the capture beside
them, nanoservices the messages beside them, unless a bench.toml there says otherwise. What was handled is
packets whose handlers have ended, or messages that came (or, of programs that only send, went); dropped
ones do not count. Cycles in which nothing happens are skipped, so cycles/s goes with how busy cores
were. Host instructions are the processor's own count, where the system lets it be read. What a machine
cannot run is named. Measure an optimised build (cargo build --release) on a quiet computer.";

#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct BenchArgs {
    /// Applications and clusters [default: the examples, and loops beside QEMU and Spike]
    #[arg(value_name = "APP")]
    pub apps: Vec<PathBuf>,
    /// Only this machine (repeatable) [default: all that an application's kind runs on]
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Vec<String>,
    /// Processor time to spend on each application and machine
    #[arg(long, value_name = "SECONDS", default_value_t = 0.3)]
    pub seconds: f64,
    /// Measure packet handlers, and the loops, with both engine cores beside each other: translated and
    /// interpreter, as of pinion run --engine-core
    #[arg(long, conflicts_with = "engine_core")]
    pub engine_cores: bool,
    #[command(flatten)]
    pub core: EngineCoreArgs,
    /// Write the numbers as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Show what has changed since another bench, whose --json this is
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Print the tables as Markdown
    #[arg(long)]
    pub markdown: bool,
}
