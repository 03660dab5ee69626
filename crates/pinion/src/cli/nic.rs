//! The command line of NICs with host programs: `pinion nic` and `pinion fpspin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{EngineCoreArgs, ReportArgs};

/// What `pinion nic --help` says at its end.
const NIC_NOTES: &str = "\
The NIC has no handlers until a host program brings them: fpspin_init of the library that `pinion
fpspin` builds programs with. Until then, and for packets that no context's rules choose, it is an
ordinary card: they go to its host side as with `pinion up`.

Programs find it by its device's name: \"/dev/pspin0\" is the socket pspin0.sock in $PINION_NIC_DIR,
or in $XDG_RUNTIME_DIR/pinion, root's in /run/pinion, without either in /tmp/pinion-UID. Only the same
user and root may use it, unless --allow-user or --allow-group say otherwise; programs of different
users use it one after the other.

What it is good for is function: while handlers run, simulated time goes as fast as the simulation.
For numbers there is `pinion figure`.";

#[derive(Debug, Args)]
#[command(after_long_help = NIC_NOTES, args_conflicts_with_subcommands = true)]
pub struct NicArgs {
    #[command(subcommand)]
    pub command: Option<NicVerb>,
    /// Machine: a name (see `pinion machine list`) or a machine file
    #[arg(long, value_name = "NAME|FILE", default_value = "fpspin")]
    pub machine: String,
    /// Change a number of the machine, for example cluster.count=8 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Follow the published hardware where it lacks or breaks what the paper describes
    #[arg(long)]
    pub faithful: bool,
    /// TAP device; it is made when it does not exist
    #[arg(long, value_name = "NAME")]
    pub tap: Option<String>,
    /// Network interface instead of a TAP device; needs root or CAP_NET_RAW
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tap", "address"])]
    pub interface: Option<String>,
    /// The host's address on the device; every other address of the network is the NIC's
    #[arg(long, value_name = "ADDRESS/BITS")]
    pub address: Option<String>,
    /// Second TAP device that stands for the NIC's host interface
    #[arg(long, value_name = "NAME")]
    pub host_tap: Option<String>,
    /// Name by which host programs find the NIC, or the path of its socket (….sock)
    #[arg(long, value_name = "NAME", default_value = "pspin0")]
    pub device: String,
    /// Contexts that handler memory is shared among [default: as many as the machine has]
    #[arg(long, value_name = "N")]
    pub contexts: Option<u32>,
    /// A further user who may use the NIC (repeatable)
    #[arg(long, value_name = "USER")]
    pub allow_user: Vec<String>,
    /// A group whose members may use the NIC (repeatable)
    #[arg(long, value_name = "GROUP")]
    pub allow_group: Vec<String>,
    #[command(flatten)]
    pub core: EngineCoreArgs,
    /// Lines of handlers' output that are kept for `pinion nic log`
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub log_lines: usize,
    /// Drop frames that waited longer for the simulation, in host time [default: 200ms]
    #[arg(long, value_name = "TIME")]
    pub bound: Option<String>,
    /// Stop after this time instead of at Ctrl-C
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Faults of the wire, for example loss=1%,dup=1%,reorder=5%,corrupt=0.1%,seed=7,way=both
    #[arg(long, value_name = "FAULTS")]
    pub link: Option<String>,
    /// Keep what comes in and what host programs do in one file, for `pinion replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Serve the run's page and metrics for Prometheus here, for example 127.0.0.1:8080 (port 0: any);
    /// this computer alone is let in, with the token that is printed
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub dashboard: Option<String>,
    #[command(flatten)]
    pub report: ReportArgs,
}

#[derive(Debug, Subcommand)]
pub enum NicVerb {
    /// Show what handlers print, with simulated time, cluster and HPU
    Log(NicLogArgs),
    /// Show contexts, who holds them, rules, counters and packets
    Status(NicStatusArgs),
}

#[derive(Debug, Args)]
pub struct NicLogArgs {
    /// The NIC's name, or the path of its socket
    #[arg(long, value_name = "NAME", default_value = "pspin0")]
    pub device: String,
    /// Go on with what comes, until Ctrl-C
    #[arg(long, conflicts_with = "once")]
    pub follow: bool,
    /// End with what there is [default]
    #[arg(long)]
    pub once: bool,
    /// A JSON object in each line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct NicStatusArgs {
    /// The NIC's name, or the path of its socket
    #[arg(long, value_name = "NAME", default_value = "pspin0")]
    pub device: String,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct FpspinArgs {
    #[command(subcommand)]
    pub command: FpspinVerb,
}

#[derive(Debug, Subcommand)]
pub enum FpspinVerb {
    /// Lay a folder out as FPsPIN's, so that applications' own Makefiles work; prints what to export
    Tree {
        /// Folder to make
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// The library of drivers [default: the one that belongs to this command]
        #[arg(long, value_name = "FILE")]
        library: Option<PathBuf>,
    },
    /// Compile a host program together with the library
    Compile(FpspinCompileArgs),
}

#[derive(Debug, Args)]
pub struct FpspinCompileArgs {
    /// C files
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<PathBuf>,
    /// The program
    #[arg(short, long, value_name = "PROGRAM")]
    pub out: PathBuf,
    /// Compiler of this computer, for example mpicc
    #[arg(long, value_name = "COMMAND", default_value = "cc")]
    pub cc: String,
    /// Options for the compiler, behind --
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}
