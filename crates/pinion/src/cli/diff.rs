//! The command line of `pinion diff`.

use std::path::PathBuf;

use clap::Args;

use super::{PROFILE_REFUSES, RUN_APP, RunArgs, hide};

/// What `pinion diff --help` says at its end.
const DIFF_NOTES: &str = "\
Both runs are those of `pinion run` with the same options; --other-… change the second. Without OTHER both
are of the same application or recording. Where one of them is a recording and the other an application,
both have the recording's packets.

Events are the lines of `pinion trace`: instructions with their registers and what units do; of two
different programs, what units do; of a cluster, frames between nodes, and with --node what a node does.
Status 0: the runs are the same. Status 1: they differ.";

#[derive(Debug, Args)]
#[command(
    after_long_help = DIFF_NOTES,
    mut_arg("app", |app| app.help(RUN_APP).index(1)),
    mut_args(|arg| hide(arg, &PROFILE_REFUSES))
)]
pub struct DiffArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// What the second run is of [default: APP]
    #[arg(value_name = "OTHER", index = 2)]
    pub other: Option<PathBuf>,
    /// Change a number of the second run's machine (repeatable)
    #[arg(long, value_name = "KEY=VALUE", help_heading = "The second run")]
    pub other_set: Vec<String>,
    /// The second run's machine
    #[arg(long, value_name = "NAME|FILE", help_heading = "The second run")]
    pub other_machine: Option<String>,
    /// The second run's seed
    #[arg(long, value_name = "N", help_heading = "The second run")]
    pub other_seed: Option<u64>,
    /// Lines of source that are shown at most
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "What is shown")]
    pub top: usize,
    /// This node of a cluster
    #[arg(long, value_name = "NAME", help_heading = "What is shown")]
    pub node: Option<String>,
}
