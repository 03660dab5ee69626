//! The command line of `pinion pspin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct PspinArgs {
    #[command(subcommand)]
    pub command: PspinVerb,
}

#[derive(Debug, Subcommand)]
pub enum PspinVerb {
    /// Lay a folder out as projects expect PSPIN_HW and PSPIN_RT, and print what to export
    Tree {
        /// Folder to make
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// The library that drivers link [default: the one that belongs to this command]
        #[arg(long, value_name = "FILE")]
        library: Option<PathBuf>,
    },
    /// Compile handlers that no app.toml describes (what `make deploy` does)
    Compile(PspinCompileArgs),
}

#[derive(Debug, Args)]
pub struct PspinCompileArgs {
    /// C and assembly files
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<PathBuf>,
    /// The ELF
    #[arg(long, value_name = "ELF")]
    pub out: PathBuf,
    /// Compiler for the NIC's cores: gcc, zig or the path of one
    #[arg(long, value_name = "CC")]
    pub cc: Option<String>,
    /// Handlers see packets from the Ethernet header on, as FPsPIN gives them
    #[arg(long)]
    pub ethernet: bool,
    /// Machine: a name (see `pinion machine list`) or a machine file
    #[arg(long, value_name = "NAME|FILE", default_value = "pspin")]
    pub machine: String,
    /// Change a number of the machine, for example cluster.count=8 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Options for the compiler, behind --
    #[arg(last = true, value_name = "OPTION")]
    pub cflags: Vec<String>,
}
