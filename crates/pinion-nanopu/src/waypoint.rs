//! What becomes of one frame or message: said to whoever asks for it, so that it can be followed from the
//! pins to the hart and back.
//!
//! Frames are numbered from 0 as they arrive, and apart from those as they leave; messages as they begin,
//! those that come in apart from those that go out.

use crate::Cycle;
use crate::transport::DropReason;

/// Something that happened to a frame or a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waypoint {
    /// A frame was looked up: it is a packet of a message.
    Packet {
        /// The frame.
        frame: u64,
        /// The message.
        message: u64,
        /// Number of the packet in it.
        packet: u8,
        /// When its payload is in the reassembly buffer.
        stored: Cycle,
        /// Whether the message has all its packets now.
        complete: bool,
    },
    /// A frame was looked up: it ends at the NIC, being a control frame or one without its payload.
    Consumed {
        /// The frame.
        frame: u64,
        /// Whether it carried data before a switch cut it off.
        trimmed: bool,
    },
    /// A frame was looked up, and dropped.
    Dropped {
        /// The frame.
        frame: u64,
        /// Why.
        reason: DropReason,
    },
    /// A message's first word went to the global receive queues.
    Queued {
        /// The message.
        message: u64,
        /// Its context.
        context: u16,
    },
    /// Core selection named a hart for a message.
    Chosen {
        /// The message.
        message: u64,
        /// The hart.
        hart: u8,
        /// Its context.
        context: u16,
        /// When its first word enters the hart's queue.
        enters: Cycle,
    },
    /// A hart read a message's first word; said again when the pipeline gave it back.
    Begun {
        /// The hart.
        hart: u8,
        /// Its context.
        context: u16,
        /// Number of messages of that context that it has begun, this one included.
        count: u64,
    },
    /// A hart said that it is done with a message.
    Ended {
        /// The hart.
        hart: u8,
        /// Its context.
        context: u16,
    },
    /// A hart bound a context: what waited there is forgotten.
    Bound {
        /// The hart.
        hart: u8,
        /// The context.
        context: u16,
    },
    /// A message that goes out has an id and a buffer: its header word entered packetization.
    Sends {
        /// The message.
        message: u64,
        /// The hart that writes it.
        hart: u8,
        /// Its context.
        context: u16,
        /// When the header word was written to x31.
        written: Cycle,
    },
    /// A message that goes out gave its id and buffer back: it is delivered, or has left where nobody
    /// acknowledges.
    Freed {
        /// The message.
        message: u64,
    },
    /// The arbiter chose a frame.
    Leaves {
        /// The frame.
        frame: u64,
        /// The packet that it carries; `None`: it is a control frame.
        packet: Option<Departing>,
        /// When its first flit is on the pins.
        first_flit: Cycle,
    },
}

/// Names the queues of descriptors, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The packet has just been written.
    First,
    /// Credit released it.
    Credit,
    /// It timed out.
    Timeout,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departing {
    /// Its message.
    pub message: u64,
    /// Its number in it.
    pub packet: u8,
    /// Why it goes now.
    pub cause: Cause,
    /// When it could go, for all its message knows: it was written, or credit came, or it timed out.
    pub ready: Cycle,
    /// When the arbiter could choose it.
    pub offered: Cycle,
}

/// What somebody has to know of a node that has run already, to follow its frames and messages from now on.
#[derive(Clone, Debug, Default)]
pub struct Met {
    /// Number of frames that have come.
    pub frames_come: u64,
    /// Number of frames that have left.
    pub frames_left: u64,
    /// Harts and contexts that have messages.
    pub unknown: Vec<(u8, u16)>,
    /// Harts and contexts that have none, and how many they have ended.
    pub known: Vec<(u8, u16, u64)>,
}
