//! Requests as frames and frames as answers. In: a message, or a frame of the node. Out: frames, or
//! a complete message. Holds the messages of several packets that are not complete.

use super::spec::{Ends, Flavour};
use crate::frame::lnic::{CONTROL_PAYLOAD_BYTES, Flags, HOMA_PROTOCOL, Header, LNIC_HEADER_BYTES};
use crate::frame::{self, Content};
use std::collections::BTreeMap;

/// Bytes of a message in one packet (artifact, MAX_SEG_LEN).
pub(super) const PACKET_BYTES: usize = 1024;
/// Message ids in use; they come round (artifact, load generator).
const MESSAGE_IDS: u64 = 127;
/// Homa's control frames carry one byte.
const HOMA_CONTROL_PAYLOAD_BYTES: usize = 1;

/// Holds a message of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// The context it came from.
    pub(super) context: u16,
    /// What it says; of a long one only the first packet, which is all that matters here.
    pub(super) start: Vec<u8>,
}

/// Says what a frame of the node was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A packet that completes a message.
    Message(Message),
    /// A packet of a message that is not complete, or was before.
    Part,
    /// A control frame.
    Control,
    /// Nothing for this source.
    Foreign,
}

/// Says whom a request goes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    /// Its number, from 0.
    pub(super) number: u64,
    /// The context it goes to.
    pub(super) context: u16,
}

/// Builds and takes apart the frames of one flavour.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    flavour: Flavour,
    ends: Ends,
    /// Packets still missing, and the first one's payload, by the node's id of the message.
    partial: BTreeMap<u16, (Vec<bool>, Vec<u8>)>,
}

impl Wire {
    pub(super) fn new(flavour: Flavour, ends: Ends) -> Self {
        Self { flavour, ends, partial: BTreeMap::new() }
    }

    /// Builds a message's frames.
    pub(super) fn request(&self, to: Label, message: &[u8]) -> Vec<Vec<u8>> {
        match self.flavour {
            Flavour::Udp { base_port } => {
                let port = base_port.wrapping_add(to.context);
                let (ends, own) = (&self.ends.addresses, self.ends.context);
                frame::build_udp_frame(ends, own, port, message).into_iter().collect()
            }
            Flavour::Lnic { protocol, .. } => {
                let ends = &self.ends.addresses;
                let header = Header {
                    dst_mac: ends.dst_mac,
                    src_mac: ends.src_mac,
                    protocol,
                    src_ip: ends.src.to_bits(),
                    dst_ip: ends.dst.to_bits(),
                    flags: Flags::DATA,
                    src_context: self.ends.context,
                    dst_context: to.context,
                    msg_len: message.len() as u16,
                    tx_msg_id: (to.number % MESSAGE_IDS) as u16,
                    ..Header::default()
                };
                let packets = message.chunks(PACKET_BYTES).enumerate();
                packets
                    .map(|(i, part)| Header { pkt_offset: i as u8, ..header }.frame(part))
                    .collect()
            }
        }
    }

    /// Takes a frame of the node apart; for a packet that wants one, gives the answer and its delay.
    pub(super) fn hear(&mut self, frame: &[u8]) -> (Heard, Option<(u64, Vec<u8>)>) {
        match self.flavour {
            Flavour::Udp { base_port } => (self.hear_udp(base_port, frame), None),
            Flavour::Lnic { protocol, rtt_packets, ack_delay_cycles } => {
                let Ok((header, payload)) = Header::parse(frame, protocol) else {
                    return (Heard::Foreign, None);
                };
                if !header.flags.has(Flags::DATA) {
                    return (Heard::Control, None);
                }
                let reply = acknowledge(&header, &self.ends, rtt_packets);
                let reply = ack_delay_cycles.map(|delay| (delay, reply));
                if header.dst_ip != self.ends.addresses.src.to_bits() {
                    return (Heard::Foreign, reply);
                }
                (self.assemble(&header, payload), reply)
            }
        }
    }

    fn hear_udp(&self, base_port: u16, frame: &[u8]) -> Heard {
        let Ok(parsed) = frame::parse(frame) else { return Heard::Foreign };
        let to_us = parsed.ipv4.is_some_and(|ip| ip.dst == self.ends.addresses.src);
        match parsed.content {
            Content::Udp { src_port, payload, .. } if to_us => Heard::Message(Message {
                context: src_port.wrapping_sub(base_port),
                start: payload.to_vec(),
            }),
            _ => Heard::Foreign,
        }
    }

    fn assemble(&mut self, header: &Header, payload: &[u8]) -> Heard {
        let packets = usize::from(header.msg_len).div_ceil(PACKET_BYTES).max(1);
        let packet = usize::from(header.pkt_offset);
        if packet >= packets {
            return Heard::Foreign;
        }
        let context = header.src_context;
        if packets == 1 {
            return Heard::Message(Message { context, start: payload.to_vec() });
        }
        let fresh = || (vec![true; packets], Vec::new());
        let (missing, start) = self.partial.entry(header.tx_msg_id).or_insert_with(fresh);
        if missing.len() != packets {
            // The node uses the id for another message: the old one never became complete.
            (*missing, *start) = fresh();
        }
        missing[packet] = false;
        if packet == 0 {
            *start = payload.to_vec();
        }
        if missing.contains(&true) {
            return Heard::Part;
        }
        let start = std::mem::take(start);
        self.partial.remove(&header.tx_msg_id);
        Heard::Message(Message { context, start })
    }
}

/// Builds the acknowledgement of a packet, which also asks for the rest: the way the published load
/// generator and test benches answer.
fn acknowledge(header: &Header, ends: &Ends, rtt_packets: u16) -> Vec<u8> {
    let homa = header.protocol == HOMA_PROTOCOL;
    let payload = if homa { HOMA_CONTROL_PAYLOAD_BYTES } else { CONTROL_PAYLOAD_BYTES };
    let reply = Header {
        dst_mac: ends.addresses.dst_mac,
        src_mac: ends.addresses.src_mac,
        tos: 0,
        src_ip: header.dst_ip,
        dst_ip: header.src_ip,
        flags: Flags::ACK.with(Flags::PULL),
        src_context: header.dst_context,
        dst_context: header.src_context,
        // Homa's acknowledgements count packets, NDP's name one.
        pkt_offset: header.pkt_offset.saturating_add(u8::from(homa)),
        pull_offset: (u16::from(header.pkt_offset) + 1).saturating_add(rtt_packets),
        ..*header
    };
    reply.frame(&[0; LNIC_HEADER_BYTES][..payload])
}
