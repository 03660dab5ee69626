//! What is known of frames and messages of a nanoPU; moments are cycles.

use pinion_nanopu::Cycle;
use pinion_nanopu::transport::DropReason;
use pinion_nanopu::waypoint::Cause;

/// What is known of a frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When its first flit was on the pins.
    pub first_flit: Cycle,
    /// Its bytes.
    pub bytes: usize,
    /// When it was looked up, and what it was found to be; `None`: it is still coming in.
    pub found: Option<(Cycle, Fate)>,
}

/// Says what a frame that arrived was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A packet of a message: the message's number, and the packet's.
    Packet(u64, u8),
    /// A control frame, which ends at the NIC.
    Control,
    /// One that a switch has cut its payload off.
    Trimmed,
    /// One that is dropped.
    Dropped(DropReason),
}

impl Fate {
    /// Gives the reason's name of a frame that does not get through.
    pub fn lost(&self) -> Option<&'static str> {
        match self {
            Self::Packet(..) | Self::Control => None,
            Self::Trimmed => Some("trimmed"),
            Self::Dropped(reason) => Some(reason.name()),
        }
    }
}

/// What is known of a message that comes in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Its number, from 0: messages are counted as they begin.
    pub message: u64,
    /// Its context, once it has left reassembly.
    pub context: u16,
    /// Its frames, by their numbers, in the order in which they were looked up.
    pub frames: Vec<u64>,
    /// Bytes of its frames.
    pub bytes: u64,
    /// When the first flit of its first frame was on the pins.
    pub arrival: Cycle,
    /// When that frame was looked up.
    pub looked_up: Cycle,
    /// When the last of its frames was looked up, and which that is; `None`: some are missing.
    pub complete: Option<(Cycle, u64)>,
    /// When its payload was whole in the reassembly buffer.
    pub stored: Cycle,
    /// When its first word went to the global receive queues.
    pub queued: Option<Cycle>,
    /// When core selection named a hart, which, and when its first word entered that hart's queue.
    pub chosen: Option<(Cycle, u8, Cycle)>,
    /// When the hart read its first word.
    pub begun: Option<Cycle>,
    /// When the hart said that it was done with it.
    pub ended: Option<Cycle>,
    /// The first message that the hart wrote while it worked at it.
    pub reply: Option<u64>,
}

/// What is known of a message that goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The hart that wrote it.
    pub hart: u8,
    /// When its header word was written to x31.
    pub written: Cycle,
    /// When that word entered packetization.
    pub sends: Cycle,
    /// The message at which the hart worked as it wrote it.
    pub work: Option<u64>,
    /// Its packets that have left, as often as each did.
    pub departures: Vec<Departure>,
}

/// What is known of a packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The frame that carried it, by its number among those that leave.
    pub frame: u64,
    /// The packet's number in its message.
    pub packet: u8,
    /// Why it went.
    pub cause: Cause,
    /// When it could go, for all its message knew.
    pub ready: Cycle,
    /// When the arbiter could choose it.
    pub offered: Cycle,
    /// When the arbiter chose it.
    pub chosen: Cycle,
    /// When its first flit was on the pins.
    pub first_flit: Cycle,
}

/// What is known of a frame that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The message of which it carries a packet; `None`: it is a control frame.
    pub message: Option<u64>,
    /// When the arbiter chose it.
    pub chosen: Cycle,
    /// When its last flit was on the pins.
    pub last_flit: Cycle,
}

impl Outgoing {
    /// Gives the first packet's first departure, if it has left.
    pub fn left(&self) -> Option<&Departure> {
        self.departures.iter().find(|one| one.packet == 0)
    }
}
