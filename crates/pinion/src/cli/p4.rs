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
    /// Write a program as hardware: its pipeline in SystemVerilog
    Hardware(P4HardwareArgs),
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

#[derive(Debug, Args)]
pub struct P4HardwareArgs {
    /// P4 program
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Folder for the files
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Write beside it the module that puts it in its place in the nanoPU's NIC
    #[arg(long)]
    pub nic: bool,
    /// Write beside it what it must do with so many packets, as the model does it
    #[arg(long, value_name = "N")]
    pub vectors: Option<u64>,
    /// Draw these packets, and what units answer, by this seed
    #[arg(long, value_name = "N", default_value_t = 1, requires = "vectors")]
    pub seed: u64,
    /// Take these packets from a capture instead, over and over
    #[arg(long, value_name = "FILE", requires = "vectors")]
    pub frames: Option<PathBuf>,
}

impl P4Args {
    /// Gives where JSON goes, if it is wanted.
    pub fn json(&self) -> Option<&std::path::Path> {
        match &self.command {
            P4Verb::Explain(args) => args.json.as_deref(),
            P4Verb::Check { .. } | P4Verb::Hardware(_) => None,
        }
    }
}
