//! What the units of a node say happened; statistics, traces and tests listen.

use pinion_sim::probe::{Interest, Vocabulary};

use crate::Cycle;
use crate::waypoint::Waypoint;

pub use pinion_cores::rocket::Waits;
pub use pinion_sim::probe::{Deaf, Hears};

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

/// What a nanoPU can say, or a baseline node.
#[derive(Clone, Copy, Debug)]
pub struct NanoPu;

/// One thing that was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'a> {
    /// Something happened in a unit. These are in order of time within one unit only.
    Event {
        /// The cycle.
        at: Cycle,
        /// What.
        event: Event,
    },
    /// Something happened to a frame or a message.
    Waypoint {
        /// The cycle.
        at: Cycle,
        /// What.
        waypoint: Waypoint,
    },
    /// A hart retired an instruction; these are in order within a hart.
    Retired {
        /// The hart.
        hart: u8,
        /// The cycle.
        at: Cycle,
        /// The instruction's address.
        pc: u64,
        /// What the hart has waited for.
        waits: Waits,
        /// What its registers x0 to x31 hold after it.
        registers: &'a [u64; 32],
    },
    /// A hart read x30, in the instruction that retires next, unless a trap comes in between.
    Taken {
        /// The hart.
        hart: u8,
        /// The cycle.
        at: Cycle,
        /// The context that ran.
        context: u16,
        /// The word; `None`: there was none.
        word: Option<u64>,
    },
    /// A hart changes memory, in the instruction that retires next.
    Stored {
        /// The hart.
        hart: u8,
        /// The address.
        address: u64,
        /// Number of bytes.
        bytes: u8,
        /// What was there before, from the address on, little-endian; upper bytes are garbage.
        found: u64,
    },
    /// An instruction took an exception instead of retiring.
    Excepted {
        /// The hart.
        hart: u8,
        /// The cycle.
        at: Cycle,
        /// The instruction's address.
        pc: u64,
        /// `mcause`.
        cause: u32,
        /// `mtval`.
        value: u64,
    },
    /// A frame arrives, of a node at a cable.
    Arrived {
        /// The cycle of its first flit.
        first_flit: Cycle,
        /// Its bytes.
        frame: &'a [u8],
    },
    /// A frame leaves, of a node at a cable.
    Left {
        /// The cycle of its first flit.
        first_flit: Cycle,
        /// The cycle of its last flit.
        last_flit: Cycle,
        /// Its bytes.
        frame: &'a [u8],
    },
}

impl Vocabulary for NanoPu {
    type Event<'a> = Told<'a>;
    type Interest = Retirements;
}

/// What a listener wants to hear beside what is always said: the instructions that retire and the words
/// that they take, without which turns of loops that only count are left out of the simulation, and what
/// becomes of each message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retirements {
    /// It hears instructions.
    pub retired: bool,
    /// It hears of each frame and message by its number.
    pub waypoints: bool,
}

impl Interest<NanoPu> for Retirements {
    fn with(self, other: Self) -> Self {
        Self {
            retired: self.retired || other.retired,
            waypoints: self.waypoints || other.waypoints,
        }
    }

    fn wants(&self, told: &Told<'_>) -> bool {
        match told {
            Told::Retired { .. }
            | Told::Taken { .. }
            | Told::Stored { .. }
            | Told::Excepted { .. } => self.retired,
            Told::Waypoint { .. } => self.waypoints,
            _ => true,
        }
    }
}

/// Whoever [`Hears`] a nanoPU. Units take it by its type, so nobody pays for events that nobody hears.
pub trait Listener: Hears<NanoPu> {
    /// Says that `event` happened in cycle `at`.
    #[inline(always)]
    fn event(&mut self, at: Cycle, event: Event) {
        self.hear(&Told::Event { at, event });
    }

    /// Says what happened to a frame or a message in cycle `at`, if anybody asked for it.
    #[inline]
    fn waypoint(&mut self, at: Cycle, waypoint: Waypoint) {
        if self.interest().waypoints {
            self.hear(&Told::Waypoint { at, waypoint });
        }
    }

    /// Says that `hart` read x30 in cycle `at`, in a context, and what it took, if anybody asked for
    /// instructions.
    #[inline]
    fn taken(&mut self, hart: u8, at: Cycle, context: u16, word: Option<u64>) {
        if self.interest().retired {
            self.hear(&Told::Taken { hart, at, context, word });
        }
    }

    /// Says that `hart` retired the instruction at `pc` in cycle `at`.
    #[inline]
    fn retired(&mut self, hart: u8, at: Cycle, pc: u64, waits: Waits, registers: &[u64; 32]) {
        self.hear(&Told::Retired { hart, at, pc, waits, registers });
    }
}

impl<L: Hears<NanoPu> + ?Sized> Listener for L {}

impl Hears<NanoPu> for Vec<(Cycle, Event)> {
    fn hear(&mut self, told: &Told<'_>) {
        if let Told::Event { at, event } = *told {
            self.push((at, event));
        }
    }
}
