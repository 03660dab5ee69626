//! When a unit works next: its [`Wake`], and the event of the queue that brings it about. At most one
//! live event per wake is in the queue.

/// Says what is due.
#[derive(Clone, Copy, Debug)]
pub enum Due {
    /// The inbound engine asks for a frame.
    Inbound,
    /// A packet was written to the packet buffer: its HER goes to the MPQ engine.
    Her,
    /// The MPQ engine and the dispatcher take a step.
    Schedule,
    /// A cluster's scheduler takes a task.
    Accept(u32),
    /// Somebody has a turn at a cluster's DMA engine.
    DmaTurn(u32),
    /// A cluster's DMA engine issues a transfer.
    DmaIssue(u32),
    /// A read of L2 of a DMA engine goes to the port.
    DmaRead,
    /// Cores' accesses to L2 are served.
    Accesses,
    /// A cluster's DMA engine completes a transfer.
    DmaDone(u32),
    /// A cluster's scheduler gives a task to an HPU.
    Assign(u32),
    /// A core goes on.
    Core { core: u16, generation: u32 },
    /// A core that waits asks whether the line behind has come.
    Line(u16),
    /// A cluster's completions leave.
    ClusterFeedback(u32),
    /// Completions reach the MPQ engine.
    Feedback,
    /// A cluster's commands leave.
    ClusterCommand(u32),
    /// A command goes to its interface.
    CommandFrontend,
    /// Commands' bursts go on, on their way into the clusters' L1.
    ClusterPath,
    /// A command is done in its interface.
    CommandDone(u32),
    /// A command that is done has its turn to be answered.
    CommandAnswer,
    /// An HPU learns that its command is done.
    CommandResponse(u32),
    /// A handler's time is over.
    Watchdog(u16),
}

/// Remembers the cycle of a unit's next step.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    at: u64,
}

impl Default for Wake {
    fn default() -> Self {
        Self { at: u64::MAX }
    }
}

impl Wake {
    /// Asks for a step at `cycle`; `true`: an event for it must be pushed.
    #[inline]
    pub fn request(&mut self, cycle: u64) -> bool {
        let earlier = cycle < self.at;
        if earlier {
            self.at = cycle;
        }
        earlier
    }

    /// Takes the event at `cycle`; `false`: it is stale, an earlier one came in its place.
    #[inline]
    pub fn take(&mut self, cycle: u64) -> bool {
        let live = self.at == cycle;
        if live {
            self.at = u64::MAX;
        }
        live
    }
}
