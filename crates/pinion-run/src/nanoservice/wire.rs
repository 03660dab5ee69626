//! Frames of a node's transport, as its peer sees them: frames come in and are taken apart,
//! messages and acknowledgements go out as frames. It holds nothing but the transport.

use pinion_nanopu::machine::transport::{RAW_PROTOCOL, TransportKind};
use pinion_nanopu::transport::{Address, DropReason, Outgoing, Transport};
use pinion_net::frame::lnic::{Flags, HOMA_PROTOCOL, Header, LNIC_HEADER_BYTES, NDP_PROTOCOL};
use pinion_net::frame::{self, Content};

use super::setup::Setup;

/// Counts the bytes of a message in one packet (nanoPU RTL, MAX_SEG_LEN_BYTES).
const PACKET_BYTES: usize = 1024;

/// Tells which way a frame goes, seen from the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the node.
    In,
    /// From the node.
    Out,
}

/// Reads and writes frames.
pub struct Wire {
    transport: Box<dyn Transport>,
    /// Its frames are those between nanoPUs with this protocol number, and nothing else decides of them.
    protocol: Option<u8>,
    acknowledges: bool,
    /// Messages are datagrams.
    is_udp: bool,
    port_base: u16,
    packet_bytes: usize,
    window: u16,
    peer: Address,
    node_ip: u32,
}

impl Wire {
    /// Speaks a machine's transport from the address `ip`.
    pub fn new(setup: &Setup, ip: u32) -> Self {
        let machine = &setup.machine.value;
        let node = &setup.address;
        let transport = setup.transport();
        // Programs that change raw messages on their way to the core change no frames.
        let is_raw = transport.is_event_driven()
            && machine.transport.frames() == TransportKind::Raw
            && transport.header_bytes() == LNIC_HEADER_BYTES;
        let protocol = match machine.transport.kind {
            TransportKind::Ndp => Some(NDP_PROTOCOL),
            TransportKind::Homa => Some(HOMA_PROTOCOL),
            TransportKind::Raw => Some(RAW_PROTOCOL),
            TransportKind::P4 if is_raw => Some(RAW_PROTOCOL),
            TransportKind::Udp | TransportKind::P4 => None,
        };
        Self {
            acknowledges: transport.send_rules().acknowledged,
            transport,
            protocol,
            is_udp: machine.transport.frames() == TransportKind::Udp,
            port_base: setup.port_base(),
            packet_bytes: usize::from(machine.transmit.packet_bytes).clamp(1, PACKET_BYTES),
            window: machine.transport.rtt_packets,
            peer: Address { mac: node.next_hop_mac, next_hop_mac: node.mac, ip },
            node_ip: node.ip,
        }
    }

    /// Counts the bytes of a message that a packet of the node's carries at most.
    pub fn packet_bytes(&self) -> usize {
        match self.transport.send_rules().max_packets {
            Some(1) => usize::from(u16::MAX),
            _ => self.packet_bytes,
        }
    }

    /// Tells whether the transport acknowledges messages.
    pub fn acknowledges(&self) -> bool {
        self.acknowledges
    }

    /// Takes a frame apart; contexts are contexts, whatever stands for them on the wire.
    ///
    /// # Errors
    /// The name of what is wrong with it.
    #[inline(always)]
    pub fn parse<'f>(
        &mut self,
        direction: Direction,
        frame: &'f [u8],
    ) -> Result<(Header, &'f [u8]), &'static str> {
        if let Some(protocol) = self.protocol {
            return Header::parse(frame, protocol).map_err(|why| DropReason::from(why).name());
        }
        self.parse_other(direction, frame)
    }

    /// Takes a frame of another transport apart.
    fn parse_other<'f>(
        &mut self,
        direction: Direction,
        frame: &'f [u8],
    ) -> Result<(Header, &'f [u8]), &'static str> {
        // Of a datagram from the node the ports have changed sides.
        if direction == Direction::Out && self.is_udp {
            return self.datagram_out(frame).ok_or("no_datagram");
        }
        self.transport.parse(frame).map_err(|reason| reason.name())
    }

    fn datagram_out<'f>(&self, bytes: &'f [u8]) -> Option<(Header, &'f [u8])> {
        let parsed = frame::parse(bytes).ok()?;
        let (ip, Content::Udp { src_port, dst_port, payload, .. }) = (parsed.ipv4?, parsed.content)
        else {
            return None;
        };
        let header = Header {
            src_ip: ip.src.to_bits(),
            dst_ip: ip.dst.to_bits(),
            flags: Flags::DATA,
            src_context: src_port.wrapping_sub(self.port_base),
            dst_context: dst_port,
            msg_len: payload.len() as u16,
            ..Header::default()
        };
        Some((header, payload))
    }

    /// Gives the sender's context that a packet of the node's is for.
    pub fn own_context(&self, packet: &Header) -> u16 {
        packet.dst_context.wrapping_sub(if self.is_udp { self.port_base } else { 0 })
    }

    /// Builds the frames of message number `number` for a context.
    pub fn message(&mut self, number: u16, context: u16, message: &[u8]) -> Vec<Vec<u8>> {
        let outgoing = Outgoing {
            tx_msg_id: number,
            dst_ip: self.node_ip,
            dst_context: context.wrapping_add(self.port_base),
            msg_len: message.len() as u16,
            ..Outgoing::default()
        };
        let mut frames = Vec::new();
        for (packet, part) in message.chunks(self.packet_bytes()).enumerate() {
            let header = self.transport.data(&outgoing, packet as u8, false, &self.peer);
            let mut frame = Vec::new();
            self.transport.write(&header, part, &mut frame);
            frames.push(frame);
        }
        frames
    }

    /// Builds the acknowledgement of a data packet of the node's, which also lets it send on.
    pub fn acknowledgement(&mut self, packet: &Header) -> Vec<u8> {
        // Homa's acknowledgements count packets, NDP's name one.
        let counts = u8::from(packet.protocol == HOMA_PROTOCOL);
        let header = Header {
            dst_mac: packet.src_mac,
            src_mac: packet.dst_mac,
            tos: 0,
            src_ip: packet.dst_ip,
            dst_ip: packet.src_ip,
            flags: Flags::ACK.with(Flags::PULL),
            src_context: packet.dst_context,
            dst_context: packet.src_context,
            pkt_offset: packet.pkt_offset.saturating_add(counts),
            pull_offset: (u16::from(packet.pkt_offset) + 1).saturating_add(self.window),
            ..*packet
        };
        let payload = vec![0; self.transport.control_rules().payload_bytes];
        let mut frame = Vec::new();
        self.transport.write(&header, &payload, &mut frame);
        frame
    }
}
