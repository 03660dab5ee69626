//! The command line of `pinion sweep`.

use std::path::PathBuf;

use clap::Args;

use super::AppArgs;

/// What `pinion sweep --help` says at its end.
const SWEEP_NOTES: &str = "\
Every --set KEY=VALUE,VALUE,… is an axis of the grid: a key of the machine (see `pinion machine show`),
or packet.bytes, packet.count or packet.rate of the application's traffic; of a nanoservice also
load.KEY of --load; of a cluster what its file and its machines have. What each point measured is kept
in DIR/NAME.jsonl at once: after Ctrl-C, or with more values, the same command runs only what is missing.
The table goes to DIR/NAME.csv and DIR/NAME.parquet, a row for each point, the chart to
DIR/NAME.svg. The number of --jobs changes no result.

Exit status 3 when a point has a problem; its row says which, and the others are run all the same.";

#[derive(Debug, Args)]
#[command(
    after_long_help = SWEEP_NOTES,
    mut_arg("app", |app| app.help(super::RUN_APP)),
    mut_arg("set", |set| set.value_name("KEY=VALUE,VALUE,…").help(SWEEP_SET))
)]
pub struct SweepArgs {
    #[command(flatten)]
    pub app: AppArgs,
    /// Run this ELF instead of building the sources
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cc", "build_type"])]
    pub elf: Option<PathBuf>,
    /// Packets made to order, for example udp,size=512,count=10000 [default: [traffic] of app.toml]
    #[arg(long, value_name = "SPEC")]
    pub generate: Option<String>,
    /// Requests for a nanoservice, for example requests=1000,gap=exp:2000 [default: messages.toml in
    /// its folder]
    #[arg(long, value_name = "SPEC")]
    pub load: Option<String>,
    /// Seeds of the traffic: each point is run with each, and a curve shows the mean
    #[arg(long, value_name = "N,N,…")]
    pub seed: Option<String>,
    /// Key across the chart [default: the numeric one with the most values]
    #[arg(long, value_name = "KEY")]
    pub x: Option<String>,
    /// Number upwards: a column of the table, or the beginning of its name [default: throughput]
    #[arg(long, value_name = "METRIC")]
    pub y: Option<String>,
    /// Folder for NAME.csv, NAME.parquet, NAME.svg and NAME.jsonl
    #[arg(long, value_name = "DIR", default_value = "out/sweeps")]
    pub out: PathBuf,
    /// Run every point, also those whose result is there
    #[arg(long)]
    pub fresh: bool,
    /// Points at a time [default: one per core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// No progress bar
    #[arg(long)]
    pub quiet: bool,
}

/// What `--set` does in a sweep.
const SWEEP_SET: &str = "Vary a number of the machine, the traffic, the load or a cluster's file, for \
                         example cluster.count=1,2,4,8, packet.bytes=64,512, load.gap=900,1800 or \
                         client.count=1,8 (repeatable)";
