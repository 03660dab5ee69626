//! Requests as frames and frames as answers. In: a message, or a frame of the node. Out: frames, or
//! a complete message. Holds the messages of several packets that are not complete.

use super::resend::Packet;
use super::spec::{Ends, Flavour};
use crate::frame::lnic::{
    CONTROL_PAYLOAD_BYTES, Flags, HOMA_PROTOCOL, Header, LNIC_HEADER_BYTES, NDP_PROTOCOL,
};
use crate::frame::{self, Content, Endpoints};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Bytes of a message in one packet (artifact, MAX_SEG_LEN).
pub(super) const PACKET_BYTES: usize = 1024;
/// Message ids in use; they come round (artifact, load generator).
const MESSAGE_IDS: u64 = 127;
/// Homa's control frames carry one byte.
const HOMA_CONTROL_PAYLOAD_BYTES: usize = 1;

/// Holds a message of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// The node it came from, counted from the first of the load's; `None`: another.
    pub(super) node: Option<u32>,
    /// The context it came from.
    pub(super) context: u16,
    /// The context it is for.
    pub(super) to: u16,
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
    /// A control frame, and the node it came from.
    Control(Header, Option<u32>),
    /// Nothing for this source.
    Foreign,
}

/// Says whom a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// Its number, from 0.
    pub(super) number: u64,
    /// The node it goes to, counted from the first of the load's.
    pub(super) node: u32,
    /// The context it goes to.
    pub(super) context: u16,
}

/// Builds and takes apart the frames of one flavour.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    flavour: Flavour,
    ends: Ends,
    nodes: u32,
    /// By the node's address and id of the message and which use of the id this is.
    partial: BTreeMap<(u32, u16, u16), Partial>,
}

/// Holds which packets of a message are still missing, and the first one's payload.
#[derive(Clone, Debug)]
struct Partial {
    missing: Vec<bool>,
    start: Vec<u8>,
}

impl Wire {
    pub(super) fn new(flavour: Flavour, ends: Ends, nodes: u32) -> Self {
        Self { flavour, ends, nodes, partial: BTreeMap::new() }
    }

    /// Tells which of the load's nodes has an address.
    fn node(&self, address: u32) -> Option<u32> {
        let node = address.checked_sub(self.ends.addresses.dst.to_bits())?;
        (node < self.nodes).then_some(node)
    }

    /// Gives the address of one of the load's nodes.
    fn address(&self, node: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.ends.addresses.dst.to_bits().wrapping_add(node))
    }

    /// Builds a message's frames.
    pub(super) fn request(&self, to: Label, message: &[u8]) -> Vec<Vec<u8>> {
        match self.flavour {
            Flavour::Udp { base_port } => {
                let port = base_port.wrapping_add(to.context);
                let ends = Endpoints { dst: self.address(to.node), ..self.ends.addresses };
                let own = self.ends.context;
                frame::build_udp_frame(&ends, own, port, message).into_iter().collect()
            }
            Flavour::Lnic { protocol, .. } => {
                let header = Header {
                    msg_len: message.len() as u16,
                    tx_msg_id: (to.number % MESSAGE_IDS) as u16,
                    ..self.header(to, protocol)
                };
                let packets = message.chunks(PACKET_BYTES).enumerate();
                packets
                    .map(|(i, part)| Header { pkt_offset: i as u8, ..header }.frame(part))
                    .collect()
            }
        }
    }

    /// Builds the frame of a packet that is kept until it is acknowledged.
    pub(super) fn packet(&self, packet: &Packet) -> Vec<u8> {
        let header = Header {
            msg_len: packet.message_bytes,
            pkt_offset: packet.number,
            pull_offset: packet.generation,
            tx_msg_id: packet.id,
            ..self.header(packet.to, NDP_PROTOCOL)
        };
        header.frame(&packet.payload)
    }

    /// Gives what all data packets to a node's context have in common.
    fn header(&self, to: Label, protocol: u8) -> Header {
        let ends = &self.ends.addresses;
        Header {
            dst_mac: ends.dst_mac,
            src_mac: ends.src_mac,
            protocol,
            src_ip: ends.src.to_bits(),
            dst_ip: self.address(to.node).to_bits(),
            flags: Flags::DATA,
            src_context: self.ends.context,
            dst_context: to.context,
            ..Header::default()
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
                let is_ours = header.dst_ip == self.ends.addresses.src.to_bits();
                if !header.flags.has(Flags::DATA) {
                    let control = Heard::Control(header, self.node(header.src_ip));
                    return (if is_ours { control } else { Heard::Foreign }, None);
                }
                let reply = acknowledge(&header, &self.ends, rtt_packets);
                let reply = ack_delay_cycles.map(|delay| (delay, reply));
                if !is_ours {
                    return (Heard::Foreign, reply);
                }
                if header.flags.has(Flags::CHOP) {
                    return (Heard::Part, reply);
                }
                (self.assemble(&header, payload), reply)
            }
        }
    }

    fn hear_udp(&self, base_port: u16, frame: &[u8]) -> Heard {
        let Ok(parsed) = frame::parse(frame) else { return Heard::Foreign };
        let Some(ip) = parsed.ipv4.filter(|ip| ip.dst == self.ends.addresses.src) else {
            return Heard::Foreign;
        };
        match parsed.content {
            Content::Udp { src_port, dst_port, payload, .. } => Heard::Message(Message {
                node: self.node(ip.src.to_bits()),
                context: src_port.wrapping_sub(base_port),
                to: dst_port,
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
        let (node, context, to) =
            (self.node(header.src_ip), header.src_context, header.dst_context);
        if packets == 1 {
            return Heard::Message(Message { node, context, to, start: payload.to_vec() });
        }
        let key = (header.src_ip, header.tx_msg_id, header.pull_offset);
        let fresh = || Partial { missing: vec![true; packets], start: Vec::new() };
        let partial = self.partial.entry(key).or_insert_with(fresh);
        if partial.missing.len() != packets {
            // The node uses the id for another message: the old one never became complete.
            *partial = fresh();
        }
        partial.missing[packet] = false;
        if packet == 0 {
            partial.start = payload.to_vec();
        }
        if partial.missing.contains(&true) {
            return Heard::Part;
        }
        let start = std::mem::take(&mut partial.start);
        self.partial.remove(&key);
        Heard::Message(Message { node, context, to, start })
    }
}

/// Builds the acknowledgement of a packet, which also asks for the rest: the way the published load
/// generator and test benches answer. Of a packet without its payload it asks for that again.
fn acknowledge(header: &Header, ends: &Ends, rtt_packets: u16) -> Vec<u8> {
    let homa = header.protocol == HOMA_PROTOCOL;
    let payload = if homa { HOMA_CONTROL_PAYLOAD_BYTES } else { CONTROL_PAYLOAD_BYTES };
    let verdict = if header.flags.has(Flags::CHOP) { Flags::NACK } else { Flags::ACK };
    let reply = Header {
        dst_mac: ends.addresses.dst_mac,
        src_mac: ends.addresses.src_mac,
        tos: 0,
        src_ip: header.dst_ip,
        dst_ip: header.src_ip,
        flags: verdict.with(Flags::PULL),
        src_context: header.dst_context,
        dst_context: header.src_context,
        // Homa's acknowledgements count packets, NDP's name one.
        pkt_offset: header.pkt_offset.saturating_add(u8::from(homa)),
        pull_offset: (u16::from(header.pkt_offset) + 1).saturating_add(rtt_packets),
        ..*header
    };
    reply.frame(&[0; LNIC_HEADER_BYTES][..payload])
}
