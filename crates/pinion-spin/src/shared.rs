//! What all units of a NIC see: time and its event queue, the packets inside, the memories' bytes, the
//! execution contexts, the counters. A unit's step is given it beside its own state.

use pinion_host::Iommu;
use pinion_sim::{Clock, Time, Wheel};

use crate::context::Handlers;
use crate::hardware::InLoop;
use crate::listener::{Event, Interest, Listener};
use crate::memory::Memories;
use crate::task::Packets;
use crate::wake::{Due, Wake};
use crate::{ExecutionContext, Machine, Totals, UnitEvent, UnitEventKind};

/// Holds what all units see.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The machine's numbers.
    pub machine: Machine,
    /// The NIC's clock.
    pub clock: Clock,
    /// What is due, in the order of cycles and, within one, of pushes.
    pub wheel: Wheel<Due>,
    /// Cycle at which the cores had booted: time zero of everything reported.
    pub epoch: u64,
    /// Watchdog events in the queue.
    pub alarms: usize,
    /// Cycle in which something that counts moved last.
    pub last_progress: u64,
    /// Execution contexts.
    pub contexts: Contexts,
    /// Packets inside.
    pub packets: Packets,
    /// Bytes of all memories.
    pub memories: Memories,
    /// Counters.
    pub totals: Totals,
    /// What the listener wants to hear of.
    pub interest: Interest,
    /// Blocks of hardware in units' places, or beside them.
    pub hardware: InLoop,
    /// Room for bytes on their way between memories.
    pub scratch: Vec<u8>,
}

/// Holds the execution contexts by number, with what units look up of them.
#[derive(Clone, Debug)]
pub struct Contexts {
    /// The contexts.
    pub list: Vec<ExecutionContext>,
    /// Their handlers, as the MPQ engine keeps them.
    pub handlers: Vec<Handlers>,
    /// Those that were released: what still runs for them is ended.
    pub released: Vec<bool>,
    /// How often one was replaced since the start.
    pub changes: u32,
    /// Host memory that each may touch.
    pub iommu: Iommu,
}

impl Contexts {
    /// Names a context as it is now: what was derived from it holds as long as its name is the same.
    #[inline]
    pub fn version(&self, context: u32) -> (u32, u32) {
        (context, self.changes)
    }
}

impl Shared {
    /// Turns a cycle into the time since the machine was ready.
    #[inline]
    pub fn time(&self, cycle: u64) -> Time {
        self.clock.time(cycle.saturating_sub(self.epoch))
    }

    /// Has a unit work at `cycle`, unless it does so earlier.
    #[inline]
    pub fn wake(&mut self, wake: &mut Wake, cycle: u64, due: Due) {
        if wake.request(cycle) {
            self.wheel.push(cycle, due);
        }
    }

    /// Lets a core's watchdog look at `cycle`.
    #[inline]
    pub fn push_alarm(&mut self, core: usize, cycle: u64) {
        self.alarms += 1;
        self.wheel.push(cycle, Due::Watchdog(core as u16));
    }

    /// Says something to the fine trace, if anybody listens.
    #[inline]
    pub fn tell(&self, listener: &mut dyn Listener, event: impl FnOnce() -> UnitEvent) {
        if self.interest.units {
            let mut event = event();
            event.cycle = event.cycle.saturating_sub(self.epoch);
            listener.hear(&Event::Unit(event));
        }
    }
}

/// Makes an event of the fine trace.
pub fn unit(
    kind: UnitEventKind,
    cycle: u64,
    cluster: u32,
    hpu: u32,
    id: u32,
    address: u32,
) -> UnitEvent {
    UnitEvent { cycle, kind, cluster, hpu, id, address }
}
