//! The command line of `pinion replay`.

use clap::Args;

use super::{CHANGES, ENGINE, PACKETS, PROGRAM, RunArgs, SERVICE, hide};

/// What `pinion replay --help` says at its end.
const REPLAY_NOTES: &str = "\
A recording is made by --record of `pinion run`. It holds programs as they were built, machines,
packets, and what came of the run; it needs no compiler and no file beside it. The run is repeated to the
cycle, and its summary is compared with the recorded one. The looks into a run, and `pinion run` itself,
take a recording for APP, too: with --set and --machine they run it changed.

A recording is a tar archive: `tar -tf FILE` lists what is in it.";

/// Options of `pinion run` that `pinion replay` does not take.
pub const REPLAY_REFUSES: [&[&str]; 6] =
    [&ENGINE, &SERVICE, &PROGRAM, &PACKETS, &CHANGES, &["--curve", "--record"]];

#[derive(Debug, Args)]
#[command(
    after_long_help = REPLAY_NOTES,
    mut_arg("app", |app| app.help("Recording").value_name("FILE")),
    mut_args(|arg| hide(arg, &REPLAY_REFUSES))
)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub run: RunArgs,
}
