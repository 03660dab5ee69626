//! What comes in from the wire: frames, offered one at a time, so that back-pressure reaches their
//! source.

use std::collections::VecDeque;

use pinion_sim::Time;

use crate::ContextId;

/// Says which message a packet belongs to, when its source knows: then it bypasses the matching
/// engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The execution context.
    pub context: ContextId,
    /// The message id.
    pub message: u32,
    /// Whether it is the message's last packet.
    pub end_of_message: bool,
    /// How many of its bytes are copied to L1 for the handler.
    pub l1_bytes: u32,
}

/// Holds a frame and when it arrives.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Arrival of its last bit, since the machine was ready.
    pub arrival: Time,
    /// The frame from its first header on.
    pub bytes: Vec<u8>,
    /// Bytes in front that the NIC's packets do not have: 14 where handlers see packets from the IP
    /// header on (PsPIN), 0 where they see the Ethernet header (FPsPIN).
    pub skip: u32,
    /// The message it belongs to, or `None`: the matching engine decides.
    pub classification: Option<Classification>,
    /// Whatever the source wants to see again in the packet's record.
    pub tag: u64,
}

/// Answers a NIC that asks for the next frame.
#[derive(Clone, Debug)]
pub enum Offer {
    /// The next frame; arrivals never go back in time.
    Frame(Frame),
    /// None now; ask again when `Nic::run` is called again.
    Nothing,
    /// None any more.
    End,
}

/// Supplies frames.
pub trait Traffic {
    /// Gives the next frame. The NIC asks only when it has room for one.
    fn next(&mut self) -> Offer;

    /// Takes the bytes of a frame back that the NIC is done with, for a source that makes the next one in
    /// their place.
    fn reuse(&mut self, _bytes: Vec<u8>) {}
}

impl<F: FnMut() -> Offer> Traffic for F {
    fn next(&mut self) -> Offer {
        self()
    }
}

/// Holds frames that have reached the NIC and that it has not taken; it may always be asked again.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    frames: VecDeque<Frame>,
    /// How many came so far: their tags.
    count: u64,
}

impl Inbox {
    /// Adds a frame whose last bit arrives at a time, with so many bytes in front that handlers do not
    /// see.
    pub fn put(&mut self, arrival: Time, bytes: Vec<u8>, skip: u32) {
        let tag = self.count;
        self.count += 1;
        self.frames.push_back(Frame { arrival, bytes, skip, classification: None, tag });
    }

    /// Counts the frames that wait.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Tells whether none waits.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

impl Traffic for Inbox {
    fn next(&mut self) -> Offer {
        self.frames.pop_front().map_or(Offer::Nothing, Offer::Frame)
    }
}
