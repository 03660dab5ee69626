//! The command line of `pinion figure`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct FigureArgs {
    /// Figure, a figure's file, `list`, or `all`
    #[arg(value_name = "NAME|FILE|list|all")]
    pub name: String,
    /// Folder for NAME.csv and NAME.svg [default: out/figures]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Take a quick look: fewer points, shorter runs
    #[arg(long)]
    pub quick: bool,
    /// Seed of all runs [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Folder for programs that are built [default: pinion/build in $XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "DIR")]
    pub build_dir: Option<PathBuf>,
    /// Machine instead of the figure's own, for FPsPIN's: a name or a machine file
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Change a number of the machine, or with parameters.KEY=VALUE of the experiment (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write everything as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Runs at a time [default: one per core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// No progress bar
    #[arg(long)]
    pub quiet: bool,
}

impl FigureArgs {
    /// Names an option that was given and has to do with making figures.
    pub fn of_making(&self) -> Option<&'static str> {
        let given = [
            ("--out", self.out.is_some()),
            ("--quick", self.quick),
            ("--seed", self.seed.is_some()),
            ("--build-dir", self.build_dir.is_some()),
            ("--machine", self.machine.is_some()),
            ("--set", !self.set.is_empty()),
            ("--json", self.json.is_some()),
            ("--jobs", self.jobs.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }
}
