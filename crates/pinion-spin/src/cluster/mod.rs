//! A cluster: scheduler, DMA engine, L1 banks, instruction cache, event unit. Its HPUs are beside it,
//! in [`crate::hpu`].

pub mod dma;
pub mod event_unit;
pub mod instruction_cache;
pub mod l1;
pub mod packet_ring;
pub mod scheduler;

use std::collections::VecDeque;

use crate::Machine;
use crate::arbiter::{Requests, RoundRobin};
use crate::task::Task;
use crate::turn_port::TurnPort;

/// Holds the units of one cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Takes tasks and gives them to HPUs.
    pub scheduler: scheduler::ClusterScheduler,
    /// Copies packets.
    pub dma: dma::ClusterDma,
    /// Serves the cores' accesses.
    pub banks: l1::L1Banks,
    /// Serves the cores' fetches.
    pub cache: instruction_cache::InstructionCache,
    /// Lets cores sleep.
    pub events: event_unit::EventUnit,
    /// Chooses whose completion leaves.
    pub feedback_arbiter: RoundRobin,
    /// HPUs whose completion may leave.
    pub feedback_requests: Requests,
    /// Completions on their way to the MPQ engine, with the cycle they came here.
    pub feedback: VecDeque<(Task, u64)>,
    /// Chooses whose command leaves.
    pub command_arbiter: RoundRobin,
    /// HPUs with commands to send.
    pub command_requests: Requests,
    /// Commands on their way to the interfaces: their number and the cycle they came here.
    pub commands: VecDeque<(u32, u64)>,
    /// Port to its L1 of commands: what they read, and what copies from the host write.
    pub host_port: TurnPort,
    /// Cycle at which the port of other clusters' accesses to this L1 is free.
    pub remote_port_free: u64,
}

/// Registers between a cluster and what all clusters share hold this many entries (RTL:
/// spill_register, which breaks all paths and keeps full throughput).
pub const SPILL_ENTRIES: usize = 2;

impl Cluster {
    /// Makes an idle cluster.
    pub fn new(machine: &Machine, index: u32) -> Self {
        let cores = machine.cluster.cores;
        Self {
            scheduler: scheduler::ClusterScheduler::new(machine, index),
            dma: dma::ClusterDma::new(machine),
            banks: l1::L1Banks::new(machine),
            cache: instruction_cache::InstructionCache::new(machine),
            events: event_unit::EventUnit::new(cores),
            feedback_arbiter: RoundRobin::new(cores),
            feedback_requests: Requests::new(cores),
            feedback: VecDeque::with_capacity(SPILL_ENTRIES),
            command_arbiter: RoundRobin::new(cores),
            command_requests: Requests::new(cores),
            commands: VecDeque::with_capacity(SPILL_ENTRIES),
            host_port: TurnPort::default(),
            remote_port_free: 0,
        }
    }
}
