//! What a switch says of each frame, once it is asked to: where it waited, and why it went no further.

use super::Unroutable;

/// Why a switch dropped a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// It leads nowhere.
    Unroutable(Unroutable),
    /// The data queue was full.
    DataFull,
    /// The data queue was full, and the control queue had no room for its header.
    TrimmedFull,
    /// The control queue was full.
    ControlFull,
}

/// What became of a frame that was to wait at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It waits among the data.
    Data {
        /// It was marked (ECN).
        marked: bool,
    },
    /// It waits among the control frames.
    Control,
    /// Its payload was cut off, and its header waits among the control frames.
    Trimmed,
    /// It was dropped.
    Dropped(DropCause),
}

/// Something that happened to a frame in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It comes in, and is known by the place it has until it waits; frames come in as they arrived.
    In {
        /// The place.
        slot: u32,
    },
    /// It is in, and waits at the port it leaves by, or was dropped there.
    Waits {
        /// The cycle.
        at: u64,
        /// The place it had.
        slot: u32,
        /// The port; of a frame that leads nowhere, the one it came by.
        port: usize,
        /// How.
        how: Enqueued,
        /// Bytes that wait at the port now: data, and control frames.
        waiting: (u64, u64),
    },
    /// The one that waits longest in a port's queue leaves; frames are sent in this order.
    Out {
        /// The cycle.
        at: u64,
        /// The port.
        port: usize,
        /// It waited among the control frames.
        control: bool,
        /// Bytes that wait at the port now: data, and control frames.
        waiting: (u64, u64),
    },
}
