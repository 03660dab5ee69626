//! The core of an HPU: a hart and what its pipeline remembers between instructions.

use pinion_isa::{Access, Hart, HartConfig, Reservation};

use super::Permissions;
use crate::{Machine, Stalls};

/// Says what a core waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Nothing: an event to go on is in the queue.
    Nothing,
    /// An event of the event unit.
    Event,
    /// A task.
    Task,
    /// Room for its completion: the one before has not left.
    Completion,
    /// Room to issue a command.
    Issue,
    /// A command.
    Command(u32),
    /// A slot for a DMA transfer.
    Dma,
    /// Nothing any more: the core has ended or is lost.
    Ever,
}

/// Holds a core.
#[derive(Clone, Debug)]
pub struct Core {
    /// The architectural state.
    pub hart: Hart<u32>,
    /// Its cluster.
    pub cluster: u32,
    /// Address of its cluster's L1.
    pub l1_base: u32,
    /// Its number in the cluster.
    pub index: u32,
    /// The access it is to perform when it goes on.
    pub pending: Option<Access<u32>>,
    /// What it waits for.
    pub waiting: Waiting,
    /// Counts its stops: events for an earlier one are stale.
    pub generation: u32,
    /// Register that the last instruction loaded, if that is not used yet.
    pub loaded: u8,
    /// Line it executes.
    pub line: u32,
    /// Lines it reached lately and found there with their successors, by their lowest bits, and the
    /// state of the cache they were found in.
    pub recent: [(u32, u32); RECENT_LINES],
    /// Whether the last instruction jumped.
    pub jumped: bool,
    /// Cycle at which its pending access was first due.
    pub since: u64,
    /// Cycle of the instruction after its access to another cluster's L1, while that is on its way.
    pub arrives: Option<u64>,
    /// Whether its last access had to wait.
    pub waited: bool,
    /// Cycles lost since the task began.
    pub stalls: Stalls,
    /// What its task may touch.
    pub permissions: Permissions,
    /// What `lr` reserved.
    pub reservation: Reservation<u32>,
}

/// Lines a core remembers.
pub const RECENT_LINES: usize = 8;

/// Stands for no line.
pub const NO_LINE: u32 = u32::MAX;

impl Core {
    /// Makes a core as reset leaves it.
    pub fn new(machine: &Machine, cluster: u32, index: u32) -> Self {
        let config = HartConfig {
            extensions: machine.extensions(),
            hart_id: cluster << 5 | index, // bits 10:5 cluster, 4:0 core (RTL)
            ..HartConfig::default()
        };
        let mut permissions = Permissions::default();
        permissions.set_idle(machine, cluster, index);
        Self {
            hart: Hart::new(&config, machine.reset_address()),
            cluster,
            l1_base: machine.l1.base + cluster * machine.l1.stride,
            index,
            pending: None,
            waiting: Waiting::Nothing,
            generation: 0,
            loaded: 0,
            line: NO_LINE,
            recent: [(NO_LINE, 0); RECENT_LINES],
            jumped: true,
            since: 0,
            arrives: None,
            waited: false,
            stalls: Stalls::default(),
            permissions,
            reservation: Reservation::NONE,
        }
    }
}
