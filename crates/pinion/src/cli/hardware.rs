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
    /// List a unit's ports, and its parameters in a machine
    Ports(HardwarePortsArgs),
    /// Make a block of your own: a module with a unit's ports that runs as it is, and its test bench
    New(HardwareNewArgs),
}

#[derive(Debug, Args)]
pub struct HardwarePortsArgs {
    /// Unit that hardware can stand for
    #[arg(value_name = "UNIT")]
    pub unit: String,
    /// Machine, by name or file [default: pspin, or nanopu]
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Change a number of the machine (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
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
