//! The nanoPU's published figures. In: a [`Bench`], which runs nodes. Out: figures.
//!
//! What an experiment is stands here and in `figures/nanopu-*.toml`; how a node is built and driven
//! is the bench's part.

mod applications;
mod chain;
mod draft_fig1;
mod echo;
mod messages;
mod node;
mod queue;
mod service;
mod store;
mod sweep;
mod throughput;

#[cfg(test)]
pub(super) mod ideal;

use std::sync::Arc;

use pinion_net::load::{LoadReport, LoadSpec};
use pinion_sim::Clock;

use super::engine::FromFile;
use super::kinds::Kinds;
use super::{Figure, Setting};
use pinion_app::error::Result;

pub(super) use applications::Applications;
pub(super) use chain::Chains;
pub(super) use echo::Echoes;
pub(super) use messages::Messages;
pub(super) use node::Nodes;
pub(super) use queue::Queues;
pub(super) use service::Services;
pub(super) use store::Stores;
pub(super) use throughput::Throughputs;

/// Names the two nodes that the nanoservices draft compares.
const NODES: [&str; 2] = ["nanoPU", "DMA NIC"];

/// Runs nodes for the figures. Overrides of the machine are in the setting.
pub trait Bench: Send + Sync {
    /// Gives the node's clock.
    ///
    /// # Errors
    /// When the machine cannot be loaded.
    fn clock(&self, setting: &Setting<'_>) -> Result<Clock>;

    /// Echoes so many messages of so many bytes, one at a time, and gives the way of the fastest warm
    /// one: what happened, in cycles after the first flit on the pins, in order; the last is the
    /// answer's first flit on the pins.
    ///
    /// # Errors
    /// When the run cannot be done.
    fn loopback(&self, run: &Loopback, setting: &Setting<'_>) -> Result<Vec<Stage>>;

    /// Receives or sends messages as fast as one core can and gives the cycles that the program
    /// counts.
    ///
    /// # Errors
    /// When the run cannot be done.
    fn throughput(&self, run: &Throughput, setting: &Setting<'_>) -> Result<u64>;

    /// Puts a load on a service over a link.
    ///
    /// # Errors
    /// When the run cannot be done.
    fn serve(&self, run: &Service, load: LoadSpec, setting: &Setting<'_>) -> Result<LoadReport>;

    /// Puts a load on a key-value store over a link.
    ///
    /// # Errors
    /// When the run cannot be done.
    fn store(&self, run: &Store, load: LoadSpec, setting: &Setting<'_>) -> Result<LoadReport>;

    /// Writes to a chain of replicas.
    ///
    /// # Errors
    /// When the run cannot be done.
    fn chain(&self, run: &Chain, setting: &Setting<'_>) -> Result<ChainReport>;

    /// Runs a small application and gives the cycles from the first flit of the first message in to
    /// the last flit of the last message out.
    ///
    /// # Errors
    /// When the run cannot be done.
    fn application(&self, run: &Application, setting: &Setting<'_>) -> Result<u64>;
}

/// Names what a message's way passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Names it as `figures/nanopu-latency.toml` does: `pins in` (until the header is at ingress),
    /// `ingress`, `reassembly`, `queues` (until the core's receive queue has the first word),
    /// `program` (until it has written the last), `pins out` (until the first flit is out).
    pub name: String,
    /// When it ends, in cycles after the first flit in.
    pub cycle: u64,
}

/// Says how messages are echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loopback {
    /// Bytes of a message.
    pub message_bytes: u64,
    /// How many.
    pub messages: u64,
    /// Cycles between two.
    pub gap_cycles: u64,
    /// The program is compiled for the length; else it takes it from the header.
    pub fixed_length: bool,
}

/// Says what a core does as fast as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throughput {
    /// It sends; else it receives.
    pub sends: bool,
    /// The program knows the length of messages and has no loop over their words.
    pub fixed_length: bool,
    /// Bytes of a message.
    pub message_bytes: u64,
    /// How many.
    pub messages: u64,
}

/// Says how a service's threads are scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// By the hardware's interrupt as messages arrive and end.
    Hardware,
    /// By a timer of so many cycles; the hardware still says which thread is next.
    Timer {
        /// The period.
        cycles: u64,
    },
}

/// A thread of a service on each of some cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The context it receives from.
    pub context: u16,
    /// Its priority; 0 is the highest, and the only one whose message time can be bounded.
    pub priority: u8,
    /// The cores it is on. A context on several is shared by JBSQ.
    pub cores: Vec<u32>,
}

/// Says what serves a load: threads that work as long as each request says and answer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its threads.
    pub threads: Vec<Thread>,
    /// How they are scheduled.
    pub scheduling: Scheduling,
    /// Cycles after which a message of a thread of priority 0 demotes it; `None`: the machine's.
    pub bound_cycles: Option<u64>,
    /// A thread that was demoted stays so, as on the published hardware; else until its message ends.
    pub lowered_for_good: bool,
    /// Cycles that the link to the load takes each way.
    pub link_cycles: u64,
}

/// Says what store serves a load: a partition on each of four cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// All cores serve one context, and each has the same keys; else each has a context and keys of its
    /// own.
    pub is_shared: bool,
    /// Keys of each core.
    pub pairs: u64,
    /// Cycles that the link to the load takes each way.
    pub link_cycles: u64,
}

/// Says who writes to how many replicas in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Replicas.
    pub replicas: u64,
    /// Pairs that each has in the beginning.
    pub pairs: u64,
    /// How many writes there are.
    pub writes: u64,
    /// Cycles between two on average; 0: each when the one before is answered.
    pub gap_cycles: u64,
    /// Cycles that the links take, each way.
    pub link_cycles: u64,
}

/// Tells how long writes took.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainReport {
    /// Cycles of each, by the client's clock.
    pub latencies_cycles: Vec<u64>,
    /// Cycles of them that the client itself takes, on average.
    pub client_cycles: f64,
}

/// Says which application runs, how large and on what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Names it: `loopback`, `nfv`, `neural`, `othello` or `nbody`.
    pub name: String,
    /// Bytes of a message (`loopback`, `nfv`), or how many messages come in (`neural`, `nbody`) or go
    /// out (`othello`).
    pub size: u64,
    /// The node has the baseline's DMA NIC instead of the register interface.
    pub dma_nic: bool,
}

/// Lists the figures.
pub(super) fn figures(bench: &Arc<dyn Bench>, kinds: &Arc<Kinds>) -> Vec<Box<dyn Figure>> {
    let file = |name| FromFile::named(name, kinds);
    vec![
        file("nanopu-latency"),
        file("nanopu-table1"),
        file("nanopu-fig3"),
        file("nanopu-fig4"),
        file("nanopu-fig5"),
        file("nanopu-fig6"),
        file("nanopu-fig7"),
        file("nanopu-chain"),
        file("nanopu-workloads"),
        file("nanopu-fig8"),
        file("nanopu-draft-table1"),
        file("nanopu-draft-table2"),
        Box::new(draft_fig1::DraftFig1 { bench: bench.clone() }),
    ]
}
