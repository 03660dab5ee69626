//! What a transport asks of the NIC's transmit side, each with the cycle in which it happens.

use pinion_net::frame::lnic::Header;

use super::Change;
use crate::Cycle;

/// Asks the packet generator for control frames (the transport's answer to a data packet).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlRequest {
    /// When the ingress pipeline asks.
    pub at: Cycle,
    /// The header to answer: the frames go to its sender.
    pub answers: Header,
    /// An acknowledgement is wanted.
    pub acknowledge: bool,
    /// A negative acknowledgement (the packet came trimmed, or had no room) is wanted.
    pub negative: bool,
    /// A PULL (NDP) or GRANT (Homa) is wanted.
    pub pull: bool,
    /// Value of the frame's pull or grant offset in packets.
    pub pull_offset: u16,
    /// Priority that a grant gives.
    pub grant_priority: u8,
}

/// Tells that the peer has a packet of a message of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// When the ingress pipeline says so.
    pub at: Cycle,
    /// Our id of the message.
    pub tx_msg_id: u16,
    /// The packet's number in the message.
    pub packet: u8,
    /// Packets before it have arrived too (a cumulative acknowledgement).
    pub and_all_before: bool,
    /// Which use of the id the message has; 0: the peer does not say.
    pub generation: u16,
}

/// Gives credit to, or asks a retransmission for, a message of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// When the ingress pipeline says so.
    pub at: Cycle,
    /// Our id of the message.
    pub tx_msg_id: u16,
    /// The packet to send again, if any.
    pub retransmit: Option<u8>,
    /// The new credit in packets, if any.
    pub credit: Option<u16>,
    /// Priority to send with from now on (grants).
    pub priority: u8,
}

/// What a pipeline has made of a packet or an event besides its verdict.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// What is to be delivered instead of the frame's payload.
    pub payload: Option<Vec<u8>>,
    /// Frames that leave.
    pub frames: Vec<Vec<u8>>,
    /// Changes of tables.
    pub changes: Vec<Change>,
}
