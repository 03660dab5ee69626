//! The command line: every verb and option, with the text `--help` shows.

mod bench;
mod dap;
mod debug;
mod diff;
mod figure;
mod hardware;
mod lab;
mod later;
mod nic;
mod p4;
mod profile;
mod pspin;
mod replay;
mod run;
mod shell;
mod sweep;
mod test;
mod trace;
mod why;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use pinion_spin::EngineCore;

pub use bench::BenchArgs;
pub use dap::DapArgs;
pub use debug::{ATTACHED_REFUSES, DEBUG_REFUSES, DebugArgs};
pub use diff::DiffArgs;
pub use figure::FigureArgs;
pub use hardware::{HardwareArgs, HardwareNewArgs, HardwarePortsArgs, HardwareVerb};
pub use lab::{LabArgs, LabEnd, LabVerb};
use later::Later;
pub use nic::{FpspinArgs, FpspinVerb, NicArgs, NicLogArgs, NicStatusArgs, NicVerb};
pub use p4::{P4Args, P4ExplainArgs, P4HardwareArgs, P4Verb};
pub use profile::{PROFILE_REFUSES, ProfileArgs};
pub use pspin::{PspinArgs, PspinCompileArgs, PspinVerb};
pub use replay::{REPLAY_REFUSES, ReplayArgs};
pub use run::{
    CHANGES, CLUSTER, ENGINE, EngineArgs, EngineKind, LiveRun, OUTPUTS, PACKETS, PROGRAM, PeerKind,
    RUN_APP, RunArgs, SERVICE, hide,
};
pub use shell::{CompletionsArgs, ManArgs};
pub use sweep::SweepArgs;
pub use test::TestArgs;
pub use trace::TraceArgs;
pub use why::WhyArgs;

/// Tells what the exit statuses mean.
const EXIT_STATUSES: &str = "\
Exit status: 0 done; 1 a comparison failed; 2 a mistake in what was given, or an output that cannot be
written; 3 handlers or a program failed; 130 interrupted by Ctrl-C, SIGTERM or SIGHUP (a second one ends
it at once).";

/// Runs packet handlers inside a simulated network interface, on real packets, at cycle level.
#[derive(Debug, Parser)]
#[command(name = "pinion", version, after_help = EXIT_STATUSES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run an application on a capture or on generated packets
    Run(Later<RunArgs>),
    /// Repeat a recorded run, and compare what comes of it
    Replay(Later<ReplayArgs>),
    /// Tell where two runs part, and what came of it
    Diff(Later<DiffArgs>),
    /// Show what handlers or a nanoservice do, instruction by instruction or as tracks
    Trace(Later<TraceArgs>),
    /// Tell why a packet took so long, or was dropped
    Why(Later<WhyArgs>),
    /// Show where every cycle of every core went, by handler, function, line and cause
    Profile(Later<ProfileArgs>),
    /// Stop an application's handlers in gdb, step them, and go back
    Debug(Later<DebugArgs>),
    /// Let an editor debug handlers: the Debug Adapter Protocol on standard input and output
    Dap(Later<DapArgs>),
    /// Run an application's tests: packets in, what must come of them
    Test(Later<TestArgs>),
    /// Run an application live on a TAP device, until Ctrl-C
    Up(Later<UpArgs>),
    /// Run a NIC that host programs use, until Ctrl-C
    Nic(Box<NicArgs>),
    /// Make a new application: a folder with a small, complete example
    New(Later<NewArgs>),
    /// Compile an application and check it
    Build(Later<BuildArgs>),
    /// Run an application over a grid of settings: a table and a chart
    Sweep(Later<SweepArgs>),
    /// Compare this model's cycles with the hardware's, row by row
    Calibrate(Later<CalibrateArgs>),
    /// Make a published figure or table again, with the published values beside
    Figure(Later<FigureArgs>),
    /// Measure how fast this computer simulates
    Bench(Later<BenchArgs>),
    /// Show machines
    Machine(MachineArgs),
    /// Run projects written for PsPIN's published model as they are
    Pspin(PspinArgs),
    /// Build host programs for an FPsPIN NIC
    Fpspin(FpspinArgs),
    /// Check packet pipelines written in P4, explain them, and make hardware of them
    P4(P4Args),
    /// Begin blocks of hardware of your own, for `pinion run --hardware`
    Hardware(HardwareArgs),
    /// Make and remove a small network around a NIC: two namespaces that meet only in it
    Lab(LabArgs),
    /// Tell what is installed, what is missing and how to get it
    Doctor,
    /// Print what completes this command's words in a shell
    Completions(Later<CompletionsArgs>),
    /// Print the manual page, or write one for each command
    Man(Later<ManArgs>),
}

/// Chooses the application and how it is built.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Program and machine")]
pub struct AppArgs {
    /// Folder with an app.toml, or the file itself
    #[arg(value_name = "APP")]
    pub app: PathBuf,
    /// Compiler for the NIC's cores: gcc, zig or the path of one
    #[arg(long, value_name = "CC")]
    pub cc: Option<String>,
    /// What the program is compiled for: to run, or with -Og to be looked at in a debugger, which makes
    /// another program, with other cycles
    #[arg(long, value_name = "release|debug", default_value = "release")]
    pub build_type: BuildKind,
    /// Folder for programs that are built, one below for each application
    /// [default: pinion/build in $XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "DIR")]
    pub build_dir: Option<PathBuf>,
    /// Machine: a name (see `pinion machine list`) or a machine file
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Change a number of the machine, for example cluster.count=8 (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Follow the published hardware where it lacks or breaks what the paper describes
    #[arg(long)]
    pub faithful: bool,
    /// The folder is somebody else's: allow only compiler options that change code, files within the
    /// folder, and no native engine
    #[arg(long)]
    pub untrusted: bool,
    #[command(flatten)]
    pub core: EngineCoreArgs,
}

/// Chooses how this computer executes what simulated HPUs do.
#[derive(Debug, Clone, Args)]
pub struct EngineCoreArgs {
    /// How this computer executes what a NIC's simulated HPUs do, and the P4 programs of a nanoPU's
    /// transport: code that is executed often as its own instructions, or all of it interpreted;
    /// results are the same [default: translated, where this pinion can]
    #[arg(
        long,
        value_name = "translated|interpreter",
        value_parser = EngineCoreKind::parser()
    )]
    pub engine_core: Option<EngineCoreKind>,
}

impl EngineCoreArgs {
    /// Gives what was chosen, or the default: of somebody else's program nothing becomes code of this
    /// computer unless that is asked for.
    pub fn choice(&self, untrusted: bool) -> EngineCore {
        match self.engine_core {
            Some(EngineCoreKind::Interpreter) => EngineCore::Interpreter,
            None if untrusted => EngineCore::Interpreter,
            Some(EngineCoreKind::Translated) | None => EngineCore::Translated,
        }
    }
}

/// Says how this computer executes what simulated HPUs do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineCoreKind {
    /// What is executed often as its own instructions.
    Translated,
    /// Instruction by instruction.
    Interpreter,
}

impl EngineCoreKind {
    /// Makes a parser that takes what this build can do.
    pub fn parser() -> impl clap::builder::TypedValueParser<Value = Self> {
        use clap::builder::TypedValueParser as _;
        clap::builder::EnumValueParser::<Self>::new().try_map(|kind| match kind {
            Self::Translated if !pinion_translate::AVAILABLE => Err(
                "this pinion was built without translation (feature jit, on x86-64 and AArch64); \
                 interpreter is what it has",
            ),
            kind => Ok(kind),
        })
    }
}

/// Says what a program is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BuildKind {
    /// To run.
    Release,
    /// For a debugger.
    Debug,
}

/// Chooses what is written beside the summary.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct ReportArgs {
    /// Write the packets that left the NIC to a pcap file
    #[arg(long, value_name = "FILE")]
    pub pcap_out: Option<PathBuf>,
    /// Write the packets that matched no context to a pcap file
    #[arg(long, value_name = "FILE")]
    pub unmatched_out: Option<PathBuf>,
    /// Write the summary as JSON; `-` is standard output, and all text goes to standard error
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write one line per packet as CSV
    #[arg(long, value_name = "FILE")]
    pub packets: Option<PathBuf>,
    /// Print a table per handler
    #[arg(long)]
    pub handlers: bool,
}

/// What `pinion up --help` says at its end.
const UP_NOTES: &str = "\
The TAP device is the wire: what the kernel sends out of it arrives at the NIC, what handlers
send comes back to the kernel. The kernel has the address given; the NIC answers ARP for every
other address of that network, so that `ping 10.11.0.2` needs nothing else. Packets that match no
context go to the NIC's host side: with --host-tap to a second device, which may be given to a
network namespace and has the kernel's whole stack behind it; without, ARP is answered and the
rest counted.

Simulated time is the host's while nothing is inside the NIC. When the simulation cannot keep up,
it says so and by how much; frames that waited longer than --bound are dropped and counted. Ctrl-C
ends with the summary.

The native engine runs the same handlers on this computer, at its speed: --engine native.

A cluster's nodes are at 10.0.0.2, 10.0.0.3, …, as in `pinion run`, and the device is one more node of
its network, `outside`: --address 10.0.0.1/24 is the host's. --link is then every cable's.

A nanoservice's node has one address: the first free one of the network, or --set address.ip=….
It speaks its machine's transport; with --set transport.kind=udp, datagrams to port 47000 + n of
that address are messages for context n.";

#[derive(Debug, Args)]
#[command(after_long_help = UP_NOTES)]
pub struct UpArgs {
    #[command(flatten)]
    pub app: AppArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Run this ELF instead of building the sources
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cc", "build_type"])]
    pub elf: Option<PathBuf>,
    /// TAP device; it is made when it does not exist
    #[arg(long, value_name = "NAME", required_unless_present = "interface")]
    pub tap: Option<String>,
    /// Network interface instead of a TAP device: frames it receives are the NIC's (and still the
    /// kernel's), frames handlers send leave through it; needs root or CAP_NET_RAW
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tap", "address"])]
    pub interface: Option<String>,
    /// The host's address on the device; every other address of the network is the NIC's
    #[arg(long, value_name = "ADDRESS/BITS")]
    pub address: Option<String>,
    /// Second TAP device that stands for the NIC's host interface: unmatched frames go there, and
    /// what the host sends there leaves through the wire
    #[arg(long, value_name = "NAME")]
    pub host_tap: Option<String>,
    /// Drop frames that waited longer for the simulation, in host time [default: 200ms]
    #[arg(long, value_name = "TIME")]
    pub bound: Option<String>,
    /// Stop after this time instead of at Ctrl-C
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Faults of the wire, for example loss=1%,dup=1%,reorder=5%,corrupt=0.1%,seed=7,way=both
    #[arg(long, value_name = "FAULTS")]
    pub link: Option<String>,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Serve the run's page and metrics for Prometheus here, for example 127.0.0.1:8080 (port 0: any);
    /// this computer alone is let in, with the token that is printed
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Output")]
    pub dashboard: Option<String>,
    /// Keep what comes in in one file, and what came of it, for `pinion replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub record: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct NewArgs {
    /// Folder to make; its last part is the application's name
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub name: Option<PathBuf>,
    /// Make a program for a nanoPU instead of packet handlers
    #[arg(long)]
    pub nanoservice: bool,
    /// Make a cluster: a server, clients and the network between
    #[arg(long, conflicts_with = "nanoservice")]
    pub cluster: bool,
    /// Make a transport for a nanoPU: two P4 programs and a service on them
    #[arg(long, conflicts_with_all = ["nanoservice", "cluster"])]
    pub transport: bool,
    /// List what can be made
    #[arg(long, conflicts_with_all = ["name", "nanoservice", "cluster", "transport"])]
    pub list: bool,
}

#[derive(Debug, Args)]
#[command(mut_arg("app", |app| app.help(RUN_APP)))]
pub struct BuildArgs {
    #[command(flatten)]
    pub app: AppArgs,
    /// Where the ELF goes [default: a place below --build-dir, which is printed]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Build even when nothing has changed
    #[arg(long)]
    pub force: bool,
    /// Link handlers for the Kth of four places in the NIC's memories, so that the images of several
    /// host programs lie beside each other
    #[arg(long, value_name = "K")]
    pub slot: Option<u32>,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// Folder of ground truth (repeatable): of PsPIN (rows.csv), of applications on it (index.csv)
    /// or of a nanoPU (scenarios/index.json) [default: all sets of the project]
    #[arg(long, value_name = "DIR")]
    pub set: Vec<PathBuf>,
    /// Write the comparison as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Only rows whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub row: Option<String>,
    /// Rows run at a time [default: one per core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct MachineArgs {
    #[command(subcommand)]
    pub command: MachineVerb,
}

#[derive(Debug, Subcommand)]
pub enum MachineVerb {
    /// Show every number of a machine with its source
    Show {
        /// Name or machine file
        #[arg(value_name = "NAME|FILE", default_value = "pspin")]
        machine: String,
        /// Change a number (repeatable)
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// Show what it takes of a chip instead: area and power of its components, and with --set
        /// what the change costs
        #[arg(long)]
        area: bool,
    },
    /// List the machines
    List,
}
