//! What the units of a node say happened; statistics, traces and tests listen.

use crate::Cycle;

/// Names what happened; the names are those of the calibration set's event tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A 64 B word entered the ingress pipeline.
    IngressIn {
        /// It was the last of its frame.
        last: bool,
    },
    /// A 64 B word of payload left the ingress pipeline.
    IngressOut {
        /// It was the last of its packet.
        last: bool,
    },
    /// A 64 B word of a complete message left the reassembly buffer.
    ReassemblyOut {
        /// It was the last of its message.
        last: bool,
    },
    /// A 64-bit word left the global receive queues for a hart.
    GlobalReceiveOut {
        /// The hart.
        hart: u8,
        /// It was the last of its message.
        last: bool,
    },
    /// A 64-bit word entered a hart's local receive queue.
    ReceiveWord {
        /// The hart.
        hart: u8,
        /// The context whose queue it entered.
        context: u16,
        /// It was the last of its message.
        last: bool,
    },
    /// x30 was read.
    ReceivePop {
        /// The hart.
        hart: u8,
    },
    /// x31 was written.
    TransmitWord {
        /// The hart.
        hart: u8,
    },
    /// A 64-bit word entered packetization.
    PacketizeIn {
        /// The hart it came from.
        hart: u8,
    },
    /// A 64 B word of payload left packetization.
    PacketizeOut {
        /// It was the last of its packet.
        last: bool,
    },
    /// A 64 B word of payload (of data or control frames) entered the egress pipeline.
    EgressIn {
        /// It was the last of its packet.
        last: bool,
    },
    /// The first or the last flit of a frame left on the pins.
    EgressOut {
        /// It was the last.
        last: bool,
    },
    /// A hart said that it is done with a message.
    MessageDone {
        /// The hart.
        hart: u8,
    },
    /// The thread scheduler raised a hart's interrupt line.
    ThreadInterrupt {
        /// The hart.
        hart: u8,
        /// The context that runs.
        running: u16,
        /// The context that should.
        target: u16,
    },
    /// A hart took a trap.
    Trap {
        /// The hart.
        hart: u8,
    },
    /// The transport asked for a control frame.
    ControlRequest,
    /// An acknowledgement of a packet arrived.
    Delivered,
    /// A NACK, PULL or grant arrived for a message.
    Credit,
    /// A message's timer ran out.
    Timeout,
    /// A message's timer was cancelled: it is delivered.
    TimerCancel,
}

/// Hears what happens in a node. Its methods do nothing unless implemented, so nobody pays for
/// events that nobody hears.
pub trait Listener {
    /// Hears that `event` happened in cycle `at`. Calls are in order of time within one unit only.
    fn event(&mut self, at: Cycle, event: Event) {
        let _ = (at, event);
    }

    /// Hears that `hart` retired the instruction at `pc` in cycle `at`, in order within a hart.
    fn retired(&mut self, hart: u8, at: Cycle, pc: u64) {
        let _ = (hart, at, pc);
    }

    /// Hears that a frame arrives, of a node at a cable: with the cycle of its first flit.
    fn arrived(&mut self, first_flit: Cycle, frame: &[u8]) {
        let _ = (first_flit, frame);
    }

    /// Hears that a frame leaves, of a node at a cable: with the cycles of its first and last flit.
    fn left(&mut self, first_flit: Cycle, last_flit: Cycle, frame: &[u8]) {
        let _ = (first_flit, last_flit, frame);
    }
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deaf;

impl Listener for Deaf {}

impl Listener for Vec<(Cycle, Event)> {
    fn event(&mut self, at: Cycle, event: Event) {
        self.push((at, event));
    }
}
