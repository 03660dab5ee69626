//! The command line of `pinion run`, which other verbs take and add to.

use std::path::PathBuf;

use clap::Args;

use super::{AppArgs, BuildKind, ReportArgs};

/// Chooses what runs the handlers.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Program and machine")]
pub struct EngineArgs {
    /// What runs the handlers: the simulated machine, or this computer
    #[arg(long, value_name = "simulator|native", default_value = "simulator")]
    pub engine: EngineKind,
    /// Worker threads of the native engine; each stands for an HPU [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: Option<u32>,
    /// Units that are hardware, simulated by Verilator, in the model's place: matching_engine,
    /// packet_allocator, mpq_engine, dispatcher, cluster_scheduler, command_unit, with --compare
    /// hpu_driver, outbound, off_cluster_dma, core_accesses, cluster_dma and tcdm_interconnect; of a nanoservice jbsq, thread_scheduler, reassembly,
    /// timers, packet_generator, local_queues, packetization; each with a file of your own, as in mpq_engine=mine.sv, or without
    #[arg(long, value_name = "UNIT[=FILE],…", value_delimiter = ',')]
    pub hardware: Vec<String>,
    /// Run them beside the model, and stop at the first cycle in which they differ
    #[arg(long, requires = "hardware")]
    pub compare: bool,
    /// Folder for the last 200 cycles (VCD) of a block that differs or stops answering [default: .]
    #[arg(long, value_name = "DIR", requires = "hardware")]
    pub waves: Option<PathBuf>,
    /// Write what goes in and out of units in each cycle, as the model has it, as CSV for test benches of
    /// hardware: mpq_engine=ports.csv; of a unit that is there several times ports-1.csv, too (repeatable)
    #[arg(long, value_name = "UNIT=FILE")]
    pub ports: Vec<String>,
}

impl EngineArgs {
    /// Tells whether units of the simulated machine are hardware, or are written down for it.
    pub fn has_hardware(&self) -> bool {
        !(self.hardware.is_empty() && self.ports.is_empty())
    }
}

/// Says what runs handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineKind {
    /// The machine, at cycle level.
    Simulator,
    /// This computer, at its speed.
    Native,
}

/// What goes with nanoservices alone.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Nanoservices")]
pub struct ServiceArgs {
    /// Requests to order, answers measured, for example requests=1000,gap=exp:900,service=500
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["pcap_in", "generate", "messages"])]
    pub load: Option<String>,
    /// Messages and the answers that must come [default: messages.toml beside app.toml]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pcap_in", "generate"])]
    pub messages: Option<PathBuf>,
    /// Whether the other end acknowledges what the node sends [default: ack]
    #[arg(long, value_name = "ack|none")]
    pub peer: Option<PeerKind>,
    /// Begin requests in this cycle [default: when the program is ready]
    #[arg(long, value_name = "CYCLE")]
    pub start: Option<u64>,
    /// End the run after so many cycles
    #[arg(long, value_name = "N", help_heading = "Nanoservices and clusters")]
    pub cycles: Option<u64>,
    /// End it when no message has moved for so many cycles [default: 10000000]
    #[arg(long, value_name = "CYCLES", help_heading = "Nanoservices and clusters")]
    pub patience: Option<u64>,
}

/// What goes with clusters alone.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Clusters")]
pub struct ClusterArgs {
    /// Threads that run the nodes; results are the same with any number [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Write what passes a cable to a pcap file: a node's name, or two switches' such as s0-s3
    /// (repeatable)
    #[arg(long, value_name = "CABLE=FILE")]
    pub pcap: Vec<String>,
    /// Write how much waits in a switch's queue in front of a cable, over time, as CSV (repeatable)
    #[arg(long, value_name = "CABLE=FILE")]
    pub queue: Vec<String>,
    /// Write a load generator's percentiles of response times as CSV, or in HdrHistogram's format to
    /// a file that ends in .hgrm (repeatable)
    #[arg(long, value_name = "LOAD=FILE")]
    pub histogram: Vec<String>,
    /// Run the cluster once for each of the gaps of its [[load]]s; write response times over load to
    /// a CSV file and a chart beside it (.svg)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pcap", "queue", "histogram"])]
    pub curve: Option<PathBuf>,
}

/// Says what the other end of a nanoservice's link does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PeerKind {
    /// It acknowledges packets and lets the node send on.
    Ack,
    /// It is silent.
    None,
}

/// Says where the tape of a live run lies, and what it had outside.
#[derive(Debug, Clone)]
pub struct LiveRun {
    /// The tape's folder.
    pub folder: PathBuf,
    /// The host's address on the wire, if it had one.
    pub address: Option<String>,
}

/// What an application is run on, and what is written about it. Every option has its heading: without,
/// it would stand under the one before.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("app", |app| app.help(RUN_APP)))]
pub struct RunArgs {
    #[command(flatten)]
    pub app: AppArgs,
    /// The recording that stood in the application's place.
    #[arg(skip)]
    pub recording: Option<PathBuf>,
    /// What came in during the live run that it recorded.
    #[arg(skip)]
    pub live: Option<LiveRun>,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Run this ELF instead of building the sources
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["cc", "build_type"],
        help_heading = "Program and machine"
    )]
    pub elf: Option<PathBuf>,
    /// Packets from a pcap or pcapng file
    #[arg(long, value_name = "FILE", conflicts_with = "generate", help_heading = "Packets")]
    pub pcap_in: Option<PathBuf>,
    /// Packets made to order, for example udp,size=512,count=10000,rate=400g
    /// [default: [traffic] of app.toml]
    #[arg(long, value_name = "SPEC", help_heading = "Packets")]
    pub generate: Option<String>,
    /// When packets arrive: recorded, max or a rate such as 100g [default: recorded for a capture]
    #[arg(long, value_name = "recorded|max|RATE", help_heading = "Packets")]
    pub pace: Option<String>,
    /// Seed of the generator, of a load, or of a cluster
    #[arg(long, value_name = "N", conflicts_with = "pcap_in", help_heading = "Packets")]
    pub seed: Option<u64>,
    /// Faults of the link, for example loss=1%,dup=1%,reorder=5%,corrupt=0.1%,seed=7; of a
    /// nanoservice, the link's latency in cycles [default: 140, the published evaluation's]
    #[arg(long, value_name = "FAULTS|CYCLES", help_heading = "Packets")]
    pub link: Option<String>,
    #[command(flatten)]
    pub service: ServiceArgs,
    #[command(flatten)]
    pub cluster: ClusterArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Write a context's host memory at the end of the run (repeatable)
    #[arg(long, value_name = "CONTEXT=FILE", help_heading = "Output")]
    pub host_dump: Vec<String>,
    /// Check every access of handlers and nanoservices: memory that was never written or is not theirs,
    /// buffers of commands that are not done, data races, words of messages
    #[arg(long, help_heading = "Output")]
    pub check: bool,
    /// Write a page that shows the run, for a browser: summary, the slowest packet's way, curves, source
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "check")]
    pub html: Option<PathBuf>,
    /// Keep everything that the run reads in one file, and what came of it, for `pinion replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub record: Option<PathBuf>,
    /// No progress bar
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

/// Options that choose what runs handlers.
pub const ENGINE: [&str; 7] =
    ["--engine", "--engine-core", "--workers", "--hardware", "--compare", "--waves", "--ports"];

/// Options that go with nanoservices, and with clusters where they are said to.
pub const SERVICE: [&str; 6] =
    ["--load", "--messages", "--peer", "--start", "--cycles", "--patience"];

/// Options that go with clusters alone.
pub const CLUSTER: [&str; 5] = ["--threads", "--pcap", "--queue", "--histogram", "--curve"];

/// What only `pinion run` writes and shows, beside its summary.
pub const OUTPUTS: [&str; 8] = [
    "--pcap-out",
    "--unmatched-out",
    "--packets",
    "--handlers",
    "--host-dump",
    "--check",
    "--html",
    "--record",
];

/// Options that choose the program and how it is built.
pub const PROGRAM: [&str; 4] = ["--elf", "--cc", "--build-type", "--build-dir"];

/// Options that choose packets.
pub const PACKETS: [&str; 5] = ["--pcap-in", "--generate", "--pace", "--seed", "--link"];

/// Options that change the machine.
pub const CHANGES: [&str; 3] = ["--machine", "--set", "--faithful"];

impl RunArgs {
    /// Names the first of these options that was given.
    pub fn given(&self, options: &[&'static str]) -> Option<&'static str> {
        options.iter().copied().find(|option| self.is_given(option))
    }

    /// Tells whether one of the options was given that another verb may refuse.
    fn is_given(&self, option: &str) -> bool {
        let (service, cluster, report) = (&self.service, &self.cluster, &self.report);
        match option {
            "--engine" => self.engine.engine != EngineKind::Simulator,
            "--engine-core" => self.app.core.engine_core.is_some(),
            "--workers" => self.engine.workers.is_some(),
            "--hardware" => !self.engine.hardware.is_empty(),
            "--compare" => self.engine.compare,
            "--waves" => self.engine.waves.is_some(),
            "--ports" => !self.engine.ports.is_empty(),
            "--load" => service.load.is_some(),
            "--messages" => service.messages.is_some(),
            "--peer" => service.peer.is_some(),
            "--start" => service.start.is_some(),
            "--cycles" => service.cycles.is_some(),
            "--patience" => service.patience.is_some(),
            "--threads" => cluster.threads.is_some(),
            "--pcap" => !cluster.pcap.is_empty(),
            "--queue" => !cluster.queue.is_empty(),
            "--histogram" => !cluster.histogram.is_empty(),
            "--curve" => cluster.curve.is_some(),
            "--pcap-out" => report.pcap_out.is_some(),
            "--unmatched-out" => report.unmatched_out.is_some(),
            "--packets" => report.packets.is_some(),
            "--handlers" => report.handlers,
            "--json" => report.json.is_some(),
            "--host-dump" => !self.host_dump.is_empty(),
            "--check" => self.check,
            "--html" => self.html.is_some(),
            "--record" => self.record.is_some(),
            "--elf" => self.elf.is_some(),
            "--cc" => self.app.cc.is_some(),
            "--build-type" => self.app.build_type != BuildKind::Release,
            "--build-dir" => self.app.build_dir.is_some(),
            "--pcap-in" => self.pcap_in.is_some(),
            "--generate" => self.generate.is_some(),
            "--pace" => self.pace.is_some(),
            "--seed" => self.seed.is_some(),
            "--link" => self.link.is_some(),
            "--machine" => self.app.machine.is_some(),
            "--set" => !self.app.set.is_empty(),
            "--faithful" => self.app.faithful,
            "--quiet" => self.quiet,
            _ => unreachable!("{option} is in no list of options that are refused"),
        }
    }
}

/// Hides an option of `pinion run` that another verb refuses with the reason.
pub fn hide(arg: clap::Arg, refused: &[&[&str]]) -> clap::Arg {
    let long = arg.get_long().unwrap_or_default();
    let is_refused = refused.iter().flat_map(|list| list.iter()).any(|option| option[2..] == *long);
    if is_refused { arg.hide(true) } else { arg }
}

/// What `pinion run` takes for APP.
pub const RUN_APP: &str =
    "Folder with an app.toml or, of a cluster, a cluster.toml; or the file itself; or a recording";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser};

    use super::*;

    #[test]
    fn every_option_that_may_be_refused_is_one_and_is_seen() {
        let mut command = crate::cli::Cli::command();
        command.build();
        let run = command.find_subcommand("run").expect("a verb");
        let others = ["--json", "--quiet"];
        let lists = ENGINE.iter().chain(&SERVICE).chain(&CLUSTER).chain(&OUTPUTS).chain(&others);
        for option in lists.chain(&PROGRAM).chain(&PACKETS).chain(&CHANGES) {
            let arg = run.get_arguments().find(|arg| arg.get_long() == Some(&option[2..]));
            let arg = arg.unwrap_or_else(|| panic!("{option} is no option of pinion run"));
            let value = match *option {
                "--engine" => "native",
                "--engine-core" => "interpreter",
                "--peer" => "ack",
                "--build-type" => "debug",
                _ => "1",
            };
            let value = arg.get_action().takes_values().then_some(value);
            let needed: &[&str] = match *option {
                "--compare" | "--waves" => &["--hardware", "dispatcher"],
                _ => &[],
            };
            let line = ["pinion", "run", "app", option].into_iter().chain(value);
            let line = line.chain(needed.iter().copied());
            let cli = crate::cli::Cli::try_parse_from(line).expect("a command line");
            let crate::cli::Verb::Run(args) = &cli.command else { panic!("another verb") };
            assert_eq!(args.given(&[option]), Some(*option));
        }
    }
}
