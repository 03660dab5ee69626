//! Packet captures: pcap and pcapng in, pcap with nanosecond timestamps out.
//!
//! In: a file. Out: [`TimedFrame`]s, their time relative to the first packet. A damaged file gives
//! every whole packet before the damage and then one error that says how many those were.
//! Written captures appear under their final name only when they are complete.

mod error;
mod link;
mod pcapng;
mod reader;
mod record;
mod source;
mod writer;

pub use error::CaptureError;
pub use link::LinkType;
pub use reader::{CaptureReader, CutPackets};
pub use writer::CaptureWriter;

/// Holds one packet and when it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimedFrame {
    /// Picoseconds since the first packet of the capture (or since the start of the run).
    pub time_ps: u64,
    /// The captured bytes, from the first byte of the link type's header, without FCS.
    pub bytes: Vec<u8>,
    /// Bytes the packet had on the wire; more than `bytes.len()` if the capture cut it.
    pub original_bytes: u32,
}

impl TimedFrame {
    /// Makes an uncut frame of these bytes.
    pub fn new(time_ps: u64, bytes: Vec<u8>) -> Self {
        let original_bytes = bytes.len() as u32;
        Self { time_ps, bytes, original_bytes }
    }

    /// Tells whether the capture kept less than the packet had.
    pub fn is_cut(&self) -> bool {
        (self.original_bytes as usize) > self.bytes.len()
    }
}
