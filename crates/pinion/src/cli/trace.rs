//! The command line of `pinion trace`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{ENGINE, RUN_APP, RunArgs, hide};

/// What `pinion trace --help` says at its end.
const TRACE_NOTES: &str = "\
A line is an instruction: time, cycle, HPU (cluster.HPU), function, line of source, address, bits,
disassembly, registers written (a0=...) and read (a1:...), and the physical address of an access
(PA:...); lines with a # between them tell what else happens. Cycles count from when the machine is
ready; an access's cycle is the one in which it is performed, after any wait.

With --perfetto, whole packets are traced instead: a file to open in https://ui.perfetto.dev, with
a track per HPU, scheduler, DMA engine, command interface and link, and arrows that follow a packet;
of a nanoservice, a track per hart and stage of the NIC; of a cluster without --node, all of its
nodes, cables and switches, with arrows that follow a frame from node to node.

With --vcd, a file of waveforms: how many packets, messages, tasks, commands and transfers each unit has,
what each HPU or hart works at, which cables are busy, from one change to the next.

Of a nanoservice a line has cycle, time, hart, function, source, address and disassembly; turns of a
loop that only polls for a message are left out when nothing can have come. Of a cluster, one node is
traced, with the options for what it is.

The run is that of `pinion run` with the same options; it ends at --to. Ctrl-C ends it too.";

/// Those of `pinion run`, of which some are refused with the reason and therefore hidden, and what of
/// the run is shown.
#[derive(Debug, Args)]
#[command(
    after_long_help = TRACE_NOTES,
    mut_arg("app", |app| app.help(RUN_APP)),
    mut_args(|arg| hide(arg, &TRACE_REFUSES))
)]
pub struct TraceArgs {
    /// Only these HPUs: CLUSTER.HPU, or CLUSTER for all of its (repeatable)
    #[arg(
        long,
        value_name = "CLUSTER.HPU",
        value_delimiter = ',',
        help_heading = "What is traced"
    )]
    pub hpu: Vec<String>,
    /// Only this handler, by its function's name (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "What is traced")]
    pub handler: Vec<String>,
    /// Only this context (repeatable)
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "What is traced")]
    pub context: Vec<String>,
    /// Only what is done for this packet, counted from 0 (repeatable)
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "What is traced")]
    pub packet: Vec<u64>,
    /// Only this hart of a nanoservice (repeatable)
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "What is traced")]
    pub hart: Vec<u8>,
    /// This node of a cluster (with --perfetto and --vcd all, unless one is named)
    #[arg(long, value_name = "NAME", help_heading = "What is traced")]
    pub node: Option<String>,
    /// First cycle, or time such as 1.2us
    #[arg(long, value_name = "CYCLE|TIME", help_heading = "What is traced")]
    pub from: Option<String>,
    /// Cycle or time behind the last one
    #[arg(long, value_name = "CYCLE|TIME", help_heading = "What is traced")]
    pub to: Option<String>,
    /// Leave out the events
    #[arg(long, help_heading = "What is traced")]
    pub no_events: bool,
    /// Leave out the instructions
    #[arg(long, conflicts_with = "no_events", help_heading = "What is traced")]
    pub no_instructions: bool,
    #[command(flatten)]
    pub run: RunArgs,
    /// Write the trace to a file instead of standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Write a trace for ui.perfetto.dev instead of text
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["out", "no_events", "no_instructions", "hpu", "handler"],
        help_heading = "Output"
    )]
    pub perfetto: Option<PathBuf>,
    /// Write units' queues and states as a VCD file, for GTKWave, instead of text
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "out", "perfetto", "no_events", "no_instructions", "hpu", "handler", "context", "packet",
            "hart",
        ],
        help_heading = "Output"
    )]
    pub vcd: Option<PathBuf>,
}

impl TraceArgs {
    /// Gives the file that the trace goes to; without one it goes to standard output.
    pub fn file(&self) -> Option<&Path> {
        [&self.perfetto, &self.vcd, &self.out].into_iter().find_map(|file| file.as_deref())
    }

    /// Tells whether whole units are traced, of a cluster those of all nodes.
    pub fn is_of_units(&self) -> bool {
        self.perfetto.is_some() || self.vcd.is_some()
    }
}

/// Options of `pinion run` that `pinion trace` does not take.
const TRACE_REFUSES: [&[&str]; 3] = [
    &ENGINE,
    &["--handlers", "--host-dump", "--check", "--html", "--record"],
    &["--queue", "--histogram", "--curve"],
];
