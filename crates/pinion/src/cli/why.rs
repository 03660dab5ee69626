//! The command line of `pinion why`.

use std::path::PathBuf;

use clap::Args;
use pinion::why::Which;

use super::{ENGINE, OUTPUTS, RUN_APP, RunArgs, hide};

/// What `pinion why --help` says at its end.
const WHY_NOTES: &str = "\
A packet's way is told from the arrival of its last bit to the departure of the first packet that its
handlers sent or, where they send none, until its completion is back. The parts follow each other
without a gap: they add up to its latency. Dots are time in which it only waits; who was in its way is
named, the last one first. Below stand its handlers, what their cycles went by, and the lines of source
that took most of them: a cycle counts for the instruction that ends it.

The run is that of `pinion run` with the same options, run several times: it is the same each time.
Packets are counted from 0 among those that matched a context, as in --packets of `pinion run`. Of a
nanoservice, a message's way is told from the first flit of its first frame to that of its answer, or
until its hart is done with it; messages are counted from 0 as they begin, and --packet N is the N-th
frame that came. Of a cluster, a request's way is told across all nodes, from who sent it to who
answered and back; requests are counted from 0 as they begin, and --dropped is of any frame that was
lost or trimmed. With --node NAME it is a packet or message in that node.";

/// Options of `pinion run` that `pinion why` does not take.
const WHY_REFUSES: [&[&str]; 3] =
    [&ENGINE, &["--pcap", "--queue", "--histogram", "--curve"], &OUTPUTS];

#[derive(Debug, Args)]
#[command(
    after_long_help = WHY_NOTES,
    mut_arg("app", |app| app.help(RUN_APP)),
    mut_args(|arg| hide(arg, &WHY_REFUSES))
)]
pub struct WhyArgs {
    /// This packet, counted from 0
    #[arg(long, value_name = "N", group = "which", help_heading = "Which packet")]
    pub packet: Option<u64>,
    /// The packet of this message that was through last; of a nanoservice, this message; of a cluster,
    /// this request
    #[arg(long, value_name = "M", group = "which", help_heading = "Which packet")]
    pub message: Option<u32>,
    /// The packet or message that took longest [default]
    #[arg(long, group = "which", help_heading = "Which packet")]
    pub slowest: bool,
    /// The packet or message than which 99 % took no longer
    #[arg(long, group = "which", help_heading = "Which packet")]
    pub p99: bool,
    /// The N-th packet or frame that was dropped, counted from 0
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        default_missing_value = "0",
        group = "which",
        help_heading = "Which packet"
    )]
    pub dropped: Option<u64>,
    /// In this node of a cluster
    #[arg(long, value_name = "NAME", help_heading = "Which packet")]
    pub node: Option<String>,
    /// Open the debugger where the longest part of its way begins, or where it was dropped; of a cluster, on
    /// the node where it took longest, or on the --node
    #[arg(long, help_heading = "Output")]
    pub goto: bool,
    #[command(flatten)]
    pub run: RunArgs,
    /// Draw the packet's way as a waterfall
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub svg: Option<PathBuf>,
}

impl WhyArgs {
    /// Says which packet is asked about.
    pub fn which(&self) -> Which {
        match (self.packet, self.message, self.dropped) {
            (Some(packet), _, _) => Which::Packet(packet),
            (_, Some(message), _) => Which::Message(message),
            (_, _, Some(index)) => Which::Dropped(index),
            _ if self.p99 => Which::Percentile99,
            _ => Which::Slowest,
        }
    }
}
