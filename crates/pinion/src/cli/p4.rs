//! The command line of `pinion p4`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct P4Args {
    #[command(subcommand)]
    pub command: P4Verb,
}

#[derive(Debug, Subcommand)]
pub enum P4Verb {
    /// Check programs: what is wrong, where, and what to do about it
    Check {
        /// P4 programs, or files that they include
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Show a program's stages: states of its parser, externs and when they answer
    Explain(P4ExplainArgs),
}

#[derive(Debug, Args)]
pub struct P4ExplainArgs {
    /// P4 program
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Clock of the pipeline
    #[arg(long, value_name = "MHZ", default_value_t = 3200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub mhz: u32,
    /// Write it as JSON (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the stages
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

impl P4Args {
    /// Gives where JSON goes, if it is wanted.
    pub fn json(&self) -> Option<&std::path::Path> {
        match &self.command {
            P4Verb::Explain(args) => args.json.as_deref(),
            P4Verb::Check { .. } => None,
        }
    }
}
