//! What goes over the socket between an engine behind walls and who started it: numbers little-endian,
//! requests with a head, answers in pieces. What comes out of the walls may be anything: reading it gives
//! `None` where it is not what it should be, and takes no more memory than came.

mod reader;
mod writer;

use pinion_sim::Time;
use pinion_spin::{Machine, Totals};

use crate::engine::Incoming;

pub use reader::Reader;
pub use writer::Writer;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Takes frames, and tells what came out so far.
    Frames,
    /// Takes frames, and waits until no packet is inside.
    Settle,
    /// Copies host memory out.
    ReadHost,
    /// Copies into host memory.
    WriteHost,
}

impl Ask {
    /// Bytes of a request's head: what is asked, and how many bytes follow.
    pub const HEAD_BYTES: usize = 12;

    /// Reads a head.
    pub fn read(head: [u8; Self::HEAD_BYTES]) -> Option<(Self, usize)> {
        let (number, bytes) = head.split_first_chunk()?;
        let all = [Self::Frames, Self::Settle, Self::ReadHost, Self::WriteHost];
        let ask = *all.get(u32::from_le_bytes(*number) as usize)?;
        Some((ask, u64::from_le_bytes(*bytes.first_chunk()?) as usize))
    }
}

/// A request that is put together.
#[derive(Debug, Default)]
pub struct Request {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Number of its frames.
    pub frames: u32,
}

impl Request {
    /// Adds a frame.
    pub fn frame(&mut self, frame: Incoming<'_>) {
        self.bytes.extend(frame.skip.to_le_bytes());
        self.bytes.extend(frame.tag.to_le_bytes());
        put_bytes(&mut self.bytes, frame.bytes);
        self.frames += 1;
    }

    /// Adds an area of memory, behind the frames that wait: those are handed over first.
    pub fn range(&mut self, address: u64, bytes: u64) {
        debug_assert_eq!(self.frames, 0, "frames are handed over before memory is asked for");
        self.bytes.extend(address.to_le_bytes());
        self.bytes.extend(bytes.to_le_bytes());
    }

    /// Gives its head.
    pub fn head(&self, ask: Ask) -> [u8; Ask::HEAD_BYTES] {
        let mut head = [0; Ask::HEAD_BYTES];
        head[..4].copy_from_slice(&(ask as u32).to_le_bytes());
        head[4..].copy_from_slice(&(self.bytes.len() as u64).to_le_bytes());
        head
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.frames = 0;
    }
}

/// Where host memory that was asked for goes.
pub struct Memory<'a> {
    /// What of it has not come yet.
    pub to: &'a mut [u8],
    /// Whether there is such memory.
    pub is_there: bool,
}

/// What a piece of an answer ends with.
pub enum Said {
    /// Another piece follows.
    More,
    /// It was the last one.
    Done {
        /// The counters.
        totals: Box<Totals>,
        /// The engine's time.
        time: Time,
    },
    /// The engine does not start.
    Refused(String),
}

/// Begins each part of an answer.
mod part {
    pub const UNMATCHED: u8 = 1;
    pub const DROPPED: u8 = 2;
    pub const HANDLER: u8 = 3;
    pub const PACKET: u8 = 4;
    pub const DEPARTED: u8 = 5;
    pub const OUTPUT: u8 = 6;
    pub const FAULT: u8 = 7;
    pub const EVICTED: u8 = 8;
    pub const DONE: u8 = 9;
    pub const REFUSED: u8 = 10;
    pub const MEMORY: u8 = 11;
    pub const MEMORY_BYTES: u8 = 12;
}

/// What an engine may speak of.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Number of its contexts.
    pub contexts: u32,
    /// Number of its clusters, and of cores in each.
    pub hpus: (u32, u32),
}

impl Bounds {
    /// Gives those of an engine with so many contexts.
    pub fn new(machine: &Machine, contexts: usize) -> Self {
        Self { contexts: contexts as u32, hpus: (machine.cluster.count, machine.cluster.cores) }
    }
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend((bytes.len() as u32).to_le_bytes());
    to.extend_from_slice(bytes);
}
