//! What fields of programs mean: those of headers that others look at, those of metadata, parameters.

use crate::flat::{Flat, Packet, Register};
use crate::program::Program;

/// Fields of a frame that others than the program look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Flags of the transport.
    Flags,
    /// Context that sent.
    SrcContext,
    /// Context that is to receive.
    DstContext,
    /// Bytes of the message.
    MsgLen,
    /// Number of the packet in its message.
    PktOffset,
    /// Packets that may be sent, of PULLs and grants.
    PullOffset,
    /// Priority that a grant gives.
    GrantPriority,
    /// The sender's number of the message.
    TxMsgId,
    /// The sender's buffer.
    BufPtr,
    /// Size class of that.
    BufSizeClass,
    /// Use of its number that the answered message has.
    Answers,
}

/// The names of these fields, without underscores and capitals.
pub(super) const SEEN: [(&str, Seen); 15] = [
    ("flags", Seen::Flags),
    ("srccontext", Seen::SrcContext),
    ("dstcontext", Seen::DstContext),
    ("msglen", Seen::MsgLen),
    ("pktoffset", Seen::PktOffset),
    ("pulloffset", Seen::PullOffset),
    ("grantoffset", Seen::PullOffset),
    ("credit", Seen::PullOffset),
    ("grantprio", Seen::GrantPriority),
    ("grantpriority", Seen::GrantPriority),
    ("txmsgid", Seen::TxMsgId),
    ("bufptr", Seen::BufPtr),
    ("bufsizeclass", Seen::BufSizeClass),
    ("answers", Seen::Answers),
    ("generation", Seen::Answers),
];

/// Fields that the egress program is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressField {
    /// Address that it goes to.
    DstIp,
    /// Context that is to receive.
    DstContext,
    /// Bytes of the message.
    MsgLen,
    /// Number of the packet in its message.
    PktOffset,
    /// Context that sent.
    SrcContext,
    /// The sender's number of the message.
    TxMsgId,
    /// The sender's buffer.
    BufPtr,
    /// Size class of that.
    BufSizeClass,
    /// Packets that the peer may send.
    Credit,
    /// Priority that a grant gives.
    Rank,
    /// Flags of the transport.
    Flags,
    /// It begins a message.
    IsNewMsg,
    /// It was sent before.
    IsRtx,
    /// Use of its number that the message has.
    Generation,
    /// Bytes behind the headers.
    PayloadLen,
}

/// Their names in `egress_metadata_t`.
pub(super) const EGRESS: [(&str, EgressField); 17] = [
    ("dst_ip", EgressField::DstIp),
    ("dst_context", EgressField::DstContext),
    ("msg_len", EgressField::MsgLen),
    ("pkt_offset", EgressField::PktOffset),
    ("src_context", EgressField::SrcContext),
    ("tx_msg_id", EgressField::TxMsgId),
    ("buf_ptr", EgressField::BufPtr),
    ("buf_size_class", EgressField::BufSizeClass),
    ("credit", EgressField::Credit),
    ("grant_offset", EgressField::Credit),
    ("grant_prio", EgressField::Rank),
    ("rank", EgressField::Rank),
    ("flags", EgressField::Flags),
    ("is_new_msg", EgressField::IsNewMsg),
    ("is_rtx", EgressField::IsRtx),
    ("generation", EgressField::Generation),
    ("payload_len", EgressField::PayloadLen),
];

/// Registers of `parameters_t`, of those that the program reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameters {
    switch_mac_addr: Option<Register>,
    nic_mac_addr: Option<Register>,
    nic_ip_addr: Option<Register>,
    /// Packets that may be under way before any answer.
    pub rtt_pkts: Option<Register>,
    /// Packets that come again are acknowledged again.
    pub answer_duplicates: Option<Register>,
}

impl Parameters {
    pub(super) fn of(program: &Program, flat: &Flat) -> Self {
        let find = |name: &str| {
            let slot = program.find(&format!("meta.params.{name}"))?;
            flat.register(slot)
        };
        Self {
            switch_mac_addr: find("switch_mac_addr"),
            nic_mac_addr: find("nic_mac_addr"),
            nic_ip_addr: find("nic_ip_addr"),
            rtt_pkts: find("rtt_pkts"),
            answer_duplicates: find("answer_duplicates"),
        }
    }

    /// Tells the program who it is.
    #[inline]
    pub fn address(&self, packet: &mut Packet, switch_mac: &[u8; 6], mac: &[u8; 6], ip: u32) {
        let number =
            |mac: &[u8; 6]| mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        if self.switch_mac_addr.is_some() || self.nic_mac_addr.is_some() {
            packet.set(self.switch_mac_addr, number(switch_mac));
            packet.set(self.nic_mac_addr, number(mac));
        }
        packet.set(self.nic_ip_addr, ip.into());
    }
}
