//! What happened to the frames of one component in a window, for whoever follows frames through a fabric.
//!
//! A frame is known by the wire it is on and its number there: frames that found room on a wire are
//! counted from 0. A component that sends a frame on gives it another wire and number; a switch says
//! which one that is by the order of its steps.

use crate::switch::Step;

/// A wire, the way along a cable from its first end or from its second: twice the cable's number, and one
/// more for the second.
pub type WireNumber = usize;

/// A frame that came off a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The wire.
    pub wire: WireNumber,
    /// Its number there.
    pub number: u64,
    /// The cycle of its first flit.
    pub first_flit: u64,
    /// Its bytes.
    pub bytes: usize,
}

/// A frame that a component sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The wire.
    pub wire: WireNumber,
    /// Its number there, and how many of it arrive, whole or damaged: none when it is lost, two when it is
    /// doubled. `None`: too many bytes waited for the wire, and it was dropped.
    pub onto: Option<(u64, u8)>,
    /// The cycle of its first flit.
    pub first_flit: u64,
    /// The cycle of its last flit.
    pub last_flit: u64,
    /// Its bytes.
    pub bytes: usize,
}

/// What happened at one component in a window.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// Frames that arrived, in the order in which the component got them.
    pub arrived: Vec<Arrived>,
    /// Damaged frames, which its MACs dropped: cycle, wire, number.
    pub damaged: Vec<(u64, WireNumber, u64)>,
    /// What a switch did.
    pub steps: Vec<Step>,
    /// Frames that it sent, in that order.
    pub sent: Vec<Sent>,
}

impl Journal {
    /// Tells whether nothing happened.
    pub fn is_empty(&self) -> bool {
        let nothing = self.arrived.is_empty() && self.damaged.is_empty();
        nothing && self.steps.is_empty() && self.sent.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.arrived.clear();
        self.damaged.clear();
        self.steps.clear();
        self.sent.clear();
    }
}
