//! NDP on the way in and out (nanoPU paper, §3.1 and §4; RTL Ingress, Egress, PktGen).
//!
//! In: a frame's header. Out: ACK+PULL for each data packet, NACK+PULL for a trimmed one; for
//! control frames, what they tell the transmit side. Holds one credit per incoming message: the
//! highest packet its sender may send.
//!
//! A packet that reassembly does not take is dropped without an answer, as the RTL does; with the
//! fix `lost_reack` a packet that has already arrived is acknowledged again, since its sender can
//! only be asking because the first acknowledgement was lost.

use pinion_net::frame::lnic::{Flags, Header, CONTROL_PAYLOAD_BYTES, NDP_PROTOCOL};

use super::{
    data_header, Address, ControlRules, DropReason, Externs, Outgoing, Refusal, SendRules,
    Transport, Verdict,
};
use crate::nic::{ControlRequest, Credit, Delivered};

/// Decides as NDP does.
#[derive(Clone, Debug)]
pub struct Ndp {
    /// Packets a sender may send before it hears anything (the RTL's `rtt_pkts`).
    rtt_packets: u16,
    /// Whether packets that arrive again are acknowledged again.
    acknowledge_again: bool,
    /// By message id: number of packets its sender may send.
    credits: Vec<u16>,
}

impl Ndp {
    /// Makes NDP with a window of `rtt_packets`, for `messages` messages at a time;
    /// `acknowledge_again` answers duplicates.
    pub fn new(rtt_packets: u16, messages: usize, acknowledge_again: bool) -> Self {
        Self { rtt_packets, acknowledge_again, credits: vec![0; messages] }
    }

    /// Answers a data packet.
    fn data_arrived(&mut self, header: &Header, externs: &mut dyn Externs) -> Verdict {
        let trimmed = header.flags.has(Flags::CHOP);
        let message = match externs.message(header, trimmed) {
            Ok(message) => message,
            Err(refusal) => {
                self.acknowledge_duplicate(header, refusal, externs);
                return Verdict::Drop(refusal.into());
            }
        };
        let credit = &mut self.credits[usize::from(message.rx_id)];
        let before = if message.new { self.rtt_packets } else { *credit };
        // A trimmed packet does not add to the credit: it will be sent again.
        *credit = before.saturating_add(u16::from(!trimmed));
        externs.control(ControlRequest {
            at: externs.now(),
            answers: *header,
            acknowledge: !trimmed,
            negative: trimmed,
            pull: true,
            pull_offset: *credit,
            grant_priority: 0,
        });
        if trimmed {
            Verdict::Consume
        } else {
            Verdict::Reassemble { rx_id: message.rx_id }
        }
    }

    /// Acknowledges a packet that came again. It gives no credit: the packet does not free any.
    fn acknowledge_duplicate(&self, header: &Header, why: Refusal, externs: &mut dyn Externs) {
        let pull_offset = match why {
            Refusal::Duplicate { message } => self.credits[usize::from(message.rx_id)],
            Refusal::Finished => 0,
            Refusal::NoBuffer | Refusal::Quota | Refusal::Bad(_) => return,
        };
        if !self.acknowledge_again {
            return;
        }
        externs.control(ControlRequest {
            at: externs.now(),
            answers: *header,
            acknowledge: true,
            negative: false,
            pull: matches!(why, Refusal::Duplicate { .. }),
            pull_offset,
            grant_priority: 0,
        });
    }
}

impl Transport for Ndp {
    fn name(&self) -> &'static str {
        "ndp"
    }

    fn parse<'f>(&self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason> {
        Ok(Header::parse(frame, NDP_PROTOCOL)?)
    }

    fn arrive(&mut self, header: &Header, _payload: &[u8], externs: &mut dyn Externs) -> Verdict {
        let flags = header.flags;
        if flags.has(Flags::DATA) {
            return self.data_arrived(header, externs);
        }
        let at = externs.now();
        if flags.has(Flags::ACK) {
            externs.delivered(Delivered {
                at,
                tx_msg_id: header.tx_msg_id,
                packet: header.pkt_offset,
                and_all_before: false,
            });
        }
        let (negative, pull) = (flags.has(Flags::NACK), flags.has(Flags::PULL));
        if negative || pull {
            externs.credit(Credit {
                at,
                tx_msg_id: header.tx_msg_id,
                retransmit: negative.then_some(header.pkt_offset),
                credit: pull.then_some(header.pull_offset),
                priority: 0,
            });
        }
        Verdict::Consume
    }

    fn send_rules(&self) -> SendRules {
        SendRules {
            acknowledged: true,
            initial_credit: None,
            max_packets: None,
            nack_resends: false,
        }
    }

    fn data(&mut self, message: &Outgoing, packet: u8, _again: bool, own: &Address) -> Header {
        Header { protocol: NDP_PROTOCOL, ..data_header(message, packet, own) }
    }

    fn control_rules(&self) -> ControlRules {
        ControlRules { paced: true, combined: true, payload_bytes: CONTROL_PAYLOAD_BYTES }
    }
}
