//! The command line of `pinion bench`.

use std::path::PathBuf;

use clap::Args;

/// What `pinion bench --help` says at its end.
const NOTES: &str = "\
All times are processor time, of the fastest of several runs on one thread, building the machine
included; packet handlers get their standard traffic, longer if it is short, or the capture beside
them, nanoservices the messages beside them. An application that a machine cannot run is named.
Measure an optimised build (cargo build --release) on a quiet computer.";

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
    /// Write the numbers as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Print the tables as Markdown
    #[arg(long)]
    pub markdown: bool,
}
