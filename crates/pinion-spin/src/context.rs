//! Execution contexts: which handlers a message's packets run and what they may touch
//! (paper §II-B and §III-A; C's `spin_ec_t`).

pub use pinion_spin_hardware::words::ContextId;

use crate::HandlerKind;

/// Points at a handler in program memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The symbol's name, for reports.
    pub name: String,
    /// Where it starts.
    pub address: u32,
    /// How many bytes its code has.
    pub bytes: u32,
}

/// Describes an execution context.
#[derive(Clone, Debug, Default)]
pub struct ExecutionContext {
    /// Its name, for reports.
    pub name: String,
    /// Runs first, alone, on a message's first packet.
    pub header_handler: Option<Handler>,
    /// Runs on every packet, in parallel.
    pub payload_handler: Option<Handler>,
    /// Runs last, alone, on a message's last packet.
    pub completion_handler: Option<Handler>,
    /// Address of its part of the L2 handler memory.
    pub handler_memory_address: u32,
    /// Bytes of its part of the L2 handler memory.
    pub handler_memory_bytes: u32,
    /// Initial content of its handler memory, from its start; the rest is zero.
    pub handler_memory_image: Vec<u8>,
    /// Address of its host memory window, as commands name it.
    pub host_memory_address: u64,
    /// Bytes of its host memory window.
    pub host_memory_bytes: u32,
    /// Offset of its scratchpad behind each cluster's packet buffer.
    pub scratchpad_offset: u32,
    /// Bytes of its scratchpad in each cluster.
    pub scratchpad_bytes: u32,
    /// Offset and bytes of its scratchpad by cluster, where clusters differ; those not named here
    /// have the one above.
    pub scratchpad_by_cluster: Vec<(u32, u32)>,
    /// Bytes of each packet that are copied to L1; `None`: all.
    pub l1_bytes: Option<u32>,
    /// Cycles that a handler may run before the watchdog ends it; `None`: what the machine says.
    pub watchdog_cycles: Option<u64>,
    /// Further data in L2 handler memory that its handlers may touch, as address and bytes: the
    /// constants and variables of a program that does not lie at the memory's start.
    pub static_data: Option<(u32, u32)>,
    /// Cycles without a packet after which an unfinished message may be evicted to make room for a
    /// new one (paper §III-B3); `None`: what the machine says; `u64::MAX`: never.
    pub message_timeout_cycles: Option<u64>,
}

impl ExecutionContext {
    /// Gives its handler of a kind.
    pub const fn handler(&self, kind: HandlerKind) -> Option<&Handler> {
        match kind {
            HandlerKind::Header => self.header_handler.as_ref(),
            HandlerKind::Payload => self.payload_handler.as_ref(),
            HandlerKind::Completion => self.completion_handler.as_ref(),
        }
    }

    /// Gives offset and bytes of its scratchpad in a cluster.
    pub fn scratchpad(&self, cluster: u32) -> (u32, u32) {
        let own = self.scratchpad_by_cluster.get(cluster as usize);
        own.copied().unwrap_or((self.scratchpad_offset, self.scratchpad_bytes))
    }
}

/// Gives the addresses of a context's handlers, 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handlers {
    /// Header handler.
    pub header: u32,
    /// Payload handler.
    pub payload: u32,
    /// Completion handler.
    pub completion: u32,
}

impl Handlers {
    /// Gives the one of a kind.
    #[inline]
    pub fn of(&self, kind: HandlerKind) -> u32 {
        match kind {
            HandlerKind::Header => self.header,
            HandlerKind::Payload => self.payload,
            HandlerKind::Completion => self.completion,
        }
    }
}
