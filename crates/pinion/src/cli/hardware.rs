//! The command line of `pinion hardware`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct HardwareArgs {
    #[command(subcommand)]
    pub command: HardwareVerb,
}

#[derive(Debug, Subcommand)]
pub enum HardwareVerb {
    /// List the units that hardware can stand for in `pinion run --hardware`
    List,
    /// Make a block of your own: a module with a unit's ports that runs as it is, and its test bench
    New(HardwareNewArgs),
}

#[derive(Debug, Args)]
pub struct HardwareNewArgs {
    /// Folder to make; its last part is the module's name
    #[arg(value_name = "NAME")]
    pub name: PathBuf,
    /// Unit that it stands for
    #[arg(long, value_name = "UNIT")]
    pub like: String,
}
