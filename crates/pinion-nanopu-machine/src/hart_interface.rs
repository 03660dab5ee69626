//! Numbers of what each hart has of the network: its local receive queue and the thread scheduler.

use serde::Deserialize;

/// Describes a hart's network interface.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HartInterfaceSection {
    /// Contexts a hart can run; their numbers are below this (RTL: 4).
    pub contexts: u16,
    /// Most 64-bit words that wait in one context's local receive queue (RTL: 512, a quarter of
    /// 2048; RC/LNICQueues.scala).
    pub context_words: u32,
    /// Cycle in which the NIC is out of reset and `lnicrdy` reads 1 (RTL: 16384, the time to clear
    /// the table of message ids).
    pub ready_cycle: u64,
    /// The thread scheduler.
    pub thread_scheduler: ThreadSchedulerSection,
    /// What is done better than the RTL does it.
    pub fixes: HartInterfaceFixes,
}

/// Describes the thread scheduler (paper §3.3; RTL RC/LNICQueues.scala).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadSchedulerSection {
    /// Whether the time that a message of priority 0 may take is bounded (paper §3.3).
    pub bounded: bool,
    /// Bound after reset, which programs change through `lmsgcycles` (RTL: 3000, 0.94 µs).
    pub message_cycles: u64,
    /// Idle time after which a context is rotated out, after reset; programs change it through
    /// `lidlecycles` (RTL: 3000).
    pub idle_cycles: u64,
}

/// Switches that improve on the RTL, each for itself; all off is the faithful mode.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HartInterfaceFixes {
    /// The interrupt stays up until it is taken or its reason is gone. In the RTL it is a pulse,
    /// lost while interrupts are disabled.
    pub sticky_interrupt: bool,
    /// A context that overran its bound has its priority back when the message ends, and only
    /// messages are timed (the paper's intent). The RTL lowers it for good, also while nothing is
    /// being processed.
    pub restore_priority: bool,
    /// Message-done throws away what was not read of the message, and counts only for a message
    /// that has been begun. In the RTL the next read finds the rest, and the harts' counts of
    /// outstanding messages go wrong.
    pub message_boundaries: bool,
}

impl HartInterfaceFixes {
    /// Switches everything on.
    pub const ALL: Self =
        Self { sticky_interrupt: true, restore_priority: true, message_boundaries: true };
    /// Switches everything off: the RTL's behaviour.
    pub const NONE: Self =
        Self { sticky_interrupt: false, restore_priority: false, message_boundaries: false };
}

impl HartInterfaceSection {
    /// Gives the artifact's interface (RTL at tag v1.0) with these fixes.
    pub fn artifact(fixes: HartInterfaceFixes) -> Self {
        Self {
            contexts: 4,
            context_words: 512,
            ready_cycle: 16_384,
            thread_scheduler: ThreadSchedulerSection {
                bounded: true,
                message_cycles: 3000,
                idle_cycles: 3000,
            },
            fixes,
        }
    }
}
