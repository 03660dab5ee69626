//! The core of an HPU: a hart and what its pipeline remembers between instructions.

use pinion_cores::pulp::{self, code::MicroOp};
use pinion_isa::{Access, HartConfig, Privilege, Reservation};
use pinion_l2_port::reads::ReadId;

use super::Permissions;
use super::permissions::Right;
use crate::Machine;

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
    /// Its turn to launch one.
    DmaTurn,
    /// Nothing any more: the core has ended or is lost.
    Ever,
}

/// Holds a core.
#[derive(Clone, Debug)]
pub struct Core {
    /// The core model: the hart, and what its pipeline remembers.
    pub model: pulp::Core,
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
    /// Number of its stops: events for an earlier one are stale.
    pub generation: u32,
    /// Cycle at which its pending access was first due.
    pub since: u64,
    /// Cycle of the instruction after its access to another cluster's L1, while that is on its way.
    pub arrives: Option<u64>,
    /// Whether its access to L2 lies in two words and the second is on its way.
    pub second: bool,
    /// Whether what is behind its access to its own L1 asks for a line when that is due.
    pub looks_behind: bool,
    /// Cycle in which it hears of a line that it has asked for ahead.
    pub line_due: u64,
    /// Its turn at the port to L2 packet memory, while it waits for that.
    pub turn: Option<ReadId>,
    /// What its task may touch.
    pub permissions: Permissions,
    /// What `lr` reserved.
    pub reservation: Reservation<u32>,
}

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
            model: pulp::Core::new(&config, machine.reset_address()),
            cluster,
            l1_base: machine.l1.base + cluster * machine.l1.stride,
            index,
            pending: None,
            waiting: Waiting::Nothing,
            generation: 0,
            since: 0,
            arrives: None,
            looks_behind: false,
            line_due: 0,
            turn: None,
            second: false,
            permissions,
            reservation: Reservation::NONE,
        }
    }

    /// Looks up the region of an access to an address, if it is allowed: this and the region's next ones are found at once
    /// then.
    #[inline(always)]
    pub fn look_up_region(&mut self, one: Option<&MicroOp>, address: u32) {
        if let Some(one) = one.filter(|one| one.kind.accesses())
            && self.model.hart.privilege == Privilege::User
        {
            let right = if one.flags.writes() { Right::Write } else { Right::Read };
            self.permissions.allows(address, one.alignment + 1, right);
        }
    }
}
