//! One datagram, one message: for peers that speak nothing but UDP.
//!
//! In: frames of Ethernet, IPv4 and UDP (RFC 768). Out: the same. Holds the number of the first
//! port. A context is a port: datagrams to `port_base` + *n* are messages for context *n*, and the
//! port they come from is the context that a program answers to. Nothing is acknowledged, and a
//! message is as long as a packet at most. Datagrams in fragments, and those whose checksums are
//! wrong, are dropped.

use pinion_net::frame::lnic::{Flags, Header};
use pinion_net::frame::{
    ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES, UDP_HEADER_BYTES, internet_checksum,
};

use super::{Address, DropReason, Externs, Outgoing, SendRules, Transport, Verdict, data_header};
use crate::machine::transport::UDP_PROTOCOL;

/// Bytes of all headers of a frame that this transport sends.
const HEADER_BYTES: usize = ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES;
/// Bytes of the shortest frame on an Ethernet, without its check sequence (IEEE 802.3).
const SHORTEST_FRAME_BYTES: usize = 60;
/// Time to live of what is sent (RFC 1700).
const TIME_TO_LIVE: u8 = 64;

/// Carries one message per datagram.
#[derive(Clone, Copy, Debug)]
pub struct Udp {
    port_base: u16,
}

impl Udp {
    /// Makes a transport whose context 0 is port `port_base`.
    pub fn new(port_base: u16) -> Self {
        Self { port_base }
    }
}

/// Reads two bytes of a frame.
fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Reads four bytes of a frame.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) << 16 | u32::from(half(bytes, at + 2))
}

/// Folds a sum of 16-bit words and gives its ones' complement (RFC 1071).
fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Computes the checksum of a datagram, with the addresses of its pseudo header (RFC 768).
fn datagram_checksum(datagram: &[u8], src_ip: u32, dst_ip: u32) -> u16 {
    let sum = |bytes: &[u8]| u32::from(!internet_checksum(bytes));
    let pseudo = [src_ip >> 16, src_ip & 0xffff, dst_ip >> 16, dst_ip & 0xffff].iter().sum::<u32>()
        + u32::from(UDP_PROTOCOL)
        + datagram.len() as u32;
    fold(pseudo + sum(datagram))
}

impl Transport for Udp {
    fn name(&self) -> &'static str {
        "udp"
    }

    fn parse<'f>(&mut self, frame: &'f [u8]) -> Result<(Header, &'f [u8]), DropReason> {
        if frame.len() < HEADER_BYTES {
            return Err(DropReason::Malformed);
        }
        let (ethernet, ip) = frame.split_at(ETHERNET_HEADER_BYTES);
        let header_bytes = usize::from(ip[0] & 0xf) * 4;
        let is_ip = half(ethernet, 12) == 0x0800 && ip[0] >> 4 == 4;
        if !is_ip || header_bytes < IPV4_HEADER_BYTES {
            return Err(DropReason::NotIp);
        }
        if ip.len() < header_bytes + UDP_HEADER_BYTES {
            return Err(DropReason::Malformed);
        }
        if ip[9] != UDP_PROTOCOL {
            return Err(DropReason::Protocol);
        }
        let datagram = ip
            .get(header_bytes..usize::from(half(ip, 2)))
            .filter(|datagram| datagram.len() >= UDP_HEADER_BYTES)
            .ok_or(DropReason::HeaderLies)?;
        let in_fragments = half(ip, 6) & 0x3fff != 0;
        if in_fragments || internet_checksum(&ip[..header_bytes]) != 0 {
            return Err(DropReason::HeaderLies);
        }
        let datagram = datagram
            .get(..usize::from(half(datagram, 4)))
            .filter(|datagram| datagram.len() >= UDP_HEADER_BYTES)
            .ok_or(DropReason::HeaderLies)?;
        let (src_ip, dst_ip) = (word(ip, 12), word(ip, 16));
        if half(datagram, 6) != 0 && datagram_checksum(datagram, src_ip, dst_ip) != 0 {
            return Err(DropReason::HeaderLies);
        }
        let context = half(datagram, 2).checked_sub(self.port_base);
        let payload = &datagram[UDP_HEADER_BYTES..];
        let mut header = Header {
            protocol: UDP_PROTOCOL,
            tos: ip[1],
            src_ip,
            dst_ip,
            flags: Flags::DATA,
            src_context: half(datagram, 0),
            dst_context: context.ok_or(DropReason::ContextOutOfRange)?,
            msg_len: payload.len() as u16,
            ..Header::default()
        };
        header.dst_mac.copy_from_slice(&ethernet[..6]);
        header.src_mac.copy_from_slice(&ethernet[6..12]);
        Ok((header, payload))
    }

    fn arrive(&mut self, header: &Header, _payload: &[u8], _externs: &mut dyn Externs) -> Verdict {
        if header.msg_len == 0 { Verdict::Drop(DropReason::ZeroLength) } else { Verdict::Whole }
    }

    fn send_rules(&self) -> SendRules {
        SendRules {
            acknowledged: false,
            initial_credit: Some(1),
            max_packets: Some(1),
            nack_resends: false,
        }
    }

    fn data(&mut self, message: &Outgoing, packet: u8, _again: bool, own: &Address) -> Header {
        let header = data_header(message, packet, own);
        let port = self.port_base.wrapping_add(message.src_context);
        Header { protocol: UDP_PROTOCOL, src_context: port, ..header }
    }

    fn write(&mut self, header: &Header, payload: &[u8], frame: &mut Vec<u8>) {
        let start = frame.len();
        let udp_bytes = (UDP_HEADER_BYTES + payload.len()) as u16;
        frame.extend_from_slice(&header.dst_mac);
        frame.extend_from_slice(&header.src_mac);
        frame.extend_from_slice(&[0x08, 0x00, 0x45, header.tos]);
        frame.extend_from_slice(&(IPV4_HEADER_BYTES as u16 + udp_bytes).to_be_bytes());
        frame.extend_from_slice(&[0, 0, 0x40, 0, TIME_TO_LIVE, UDP_PROTOCOL, 0, 0]);
        frame.extend_from_slice(&header.src_ip.to_be_bytes());
        frame.extend_from_slice(&header.dst_ip.to_be_bytes());
        let ip = start + ETHERNET_HEADER_BYTES;
        let sum = internet_checksum(&frame[ip..ip + IPV4_HEADER_BYTES]);
        frame[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        let udp = frame.len();
        frame.extend_from_slice(&header.src_context.to_be_bytes());
        frame.extend_from_slice(&header.dst_context.to_be_bytes());
        frame.extend_from_slice(&udp_bytes.to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
        frame.extend_from_slice(payload);
        // A sum of zero would mean that there is none.
        let sum = match datagram_checksum(&frame[udp..], header.src_ip, header.dst_ip) {
            0 => 0xffff,
            sum => sum,
        };
        frame[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
        if frame.len() < start + SHORTEST_FRAME_BYTES {
            frame.resize(start + SHORTEST_FRAME_BYTES, 0);
        }
    }

    fn header_bytes(&self) -> usize {
        HEADER_BYTES
    }
}

#[cfg(test)]
mod tests {
    use pinion_net::frame::verify_checksums;

    use super::super::testing::Asked;
    use super::*;

    const OWN: Address =
        Address { mac: [2, 0, 0, 0, 0, 2], next_hop_mac: [2, 0, 0, 0, 0, 1], ip: 0x0a00_0002 };

    /// Builds a datagram from port 40000 of 10.0.0.1 to `port` of 10.0.0.2.
    fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
        let header = Header {
            src_ip: 0x0a00_0001,
            dst_ip: OWN.ip,
            src_context: 40_000,
            dst_context: port,
            ..Header::default()
        };
        let mut frame = Vec::new();
        Udp::new(9000).write(&header, payload, &mut frame);
        frame
    }

    #[test]
    fn a_datagram_is_a_message_and_its_answer_a_datagram() {
        let mut udp = Udp::new(9000);
        let frame = datagram(9002, b"question");
        let (header, payload) = udp.parse(&frame).unwrap();
        assert_eq!(payload, b"question");
        assert_eq!((header.dst_context, header.src_context, header.msg_len), (2, 40_000, 8));
        assert_eq!(udp.arrive(&header, payload, &mut Asked::default()), Verdict::Whole);
        let message = Outgoing {
            dst_ip: header.src_ip,
            src_context: header.dst_context,
            dst_context: header.src_context,
            msg_len: 6,
            ..Outgoing::default()
        };
        let answer = udp.data(&message, 0, false, &OWN);
        let mut frame = Vec::new();
        udp.write(&answer, b"answer", &mut frame);
        assert_eq!(frame.len(), 60);
        let sums = verify_checksums(&frame).unwrap();
        assert!(sums == pinion_net::frame::Checksums::ALL_GOOD);
        assert_eq!((half(&frame, 34), half(&frame, 36)), (9002, 40_000));
    }

    #[test]
    fn checksums_are_right_for_all_lengths() {
        let bytes: Vec<u8> = (0..200).map(|n| n as u8 ^ 0xa5).collect();
        for length in 0..bytes.len() {
            let frame = datagram(9000, &bytes[..length]);
            assert!(verify_checksums(&frame).unwrap() == pinion_net::frame::Checksums::ALL_GOOD);
            assert_eq!(Udp::new(9000).parse(&frame).unwrap().1, &bytes[..length]);
        }
    }

    #[test]
    fn frames_that_lie_are_dropped() {
        let mut udp = Udp::new(9000);
        let good = datagram(9000, &[1; 40]);
        let spoil = |at: usize, value: u8| {
            let mut frame = good.clone();
            frame[at] = value;
            Udp::new(9000).parse(&frame).map(|_| ()).unwrap_err()
        };
        assert_eq!(udp.parse(&good[..30]), Err(DropReason::Malformed));
        assert_eq!(udp.parse(&good[..60]), Err(DropReason::HeaderLies));
        assert_eq!(spoil(12, 0x86), DropReason::NotIp);
        assert_eq!(spoil(14, 0x65), DropReason::NotIp);
        assert_eq!(spoil(14, 0x44), DropReason::NotIp);
        assert_eq!(spoil(23, 6), DropReason::Protocol);
        assert_eq!(spoil(20, 0x20), DropReason::HeaderLies);
        assert_eq!(spoil(26, 99), DropReason::HeaderLies);
        assert_eq!(spoil(39, 200), DropReason::HeaderLies);
        assert_eq!(spoil(50, 9), DropReason::HeaderLies);
        let below = datagram(8999, &[1; 8]);
        assert_eq!(udp.parse(&below).map(|_| ()), Err(DropReason::ContextOutOfRange));
    }

    #[test]
    fn no_bytes_are_no_panic() {
        let mut udp = Udp::new(0);
        let frame = datagram(0, &[3; 20]);
        for length in 0..frame.len() {
            let _ = udp.parse(&frame[..length]);
        }
        for at in 0..frame.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut frame = frame.clone();
                frame[at] = value;
                let _ = udp.parse(&frame);
            }
        }
    }
}
