//! Takes frames apart. In: bytes of a frame or an IP packet. Out: the addresses and the innermost
//! payload that is understood. Copies nothing.

use super::FrameError;
use etherparse::{ArpOperation, Icmpv4Type, LinkSlice, NetSlice, SlicedPacket, TransportSlice};
use std::net::Ipv4Addr;

/// Holds the fields of an Ethernet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ethernet {
    /// Sender's hardware address.
    pub src: [u8; 6],
    /// Receiver's hardware address.
    pub dst: [u8; 6],
    /// What follows.
    pub ether_type: u16,
}

/// Holds the fields of an IPv4 header that people ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4 {
    /// Sender.
    pub src: Ipv4Addr,
    /// Receiver.
    pub dst: Ipv4Addr,
    /// Protocol number of what follows (1 ICMP, 6 TCP, 17 UDP).
    pub protocol: u8,
    /// Header length with options.
    pub header_bytes: usize,
    /// Length of header and payload as the header says.
    pub total_bytes: usize,
    /// Hops left.
    pub time_to_live: u8,
    /// Whether the payload is only a part of a datagram.
    pub is_fragment: bool,
}

/// Holds an ARP message between Ethernet and IPv4 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArpMessage {
    /// Whether it asks; else it answers.
    pub is_request: bool,
    /// Sender's hardware address.
    pub sender_mac: [u8; 6],
    /// Sender's IPv4 address.
    pub sender: Ipv4Addr,
    /// The IPv4 address asked for or told.
    pub target: Ipv4Addr,
}

/// Holds the innermost part of a frame that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// A UDP datagram (not a fragment of one).
    Udp {
        /// Sender's port.
        src_port: u16,
        /// Receiver's port.
        dst_port: u16,
        /// The datagram's bytes.
        payload: &'a [u8],
    },
    /// An ICMP echo request or reply.
    IcmpEcho {
        /// Whether it is a request.
        is_request: bool,
        /// Identifier: whose ping.
        id: u16,
        /// Sequence number.
        sequence: u16,
        /// The bytes to be echoed.
        payload: &'a [u8],
    },
    /// An ARP message.
    Arp(ArpMessage),
    /// Anything else, well-formed as far as it was looked at.
    Other,
}

/// Holds what a frame says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The Ethernet header, unless the bytes began with the IP header.
    pub ethernet: Option<Ethernet>,
    /// The IPv4 header, if there is one.
    pub ipv4: Option<Ipv4>,
    /// What is inside.
    pub content: Content<'a>,
}

/// Takes an Ethernet frame apart.
///
/// # Errors
/// [`FrameError::Malformed`] when a header is cut or lengths contradict each other.
pub fn parse(frame: &[u8]) -> Result<Parsed<'_>, FrameError> {
    describe(SlicedPacket::from_ethernet(frame))
}

/// Takes a packet apart that begins with its IP header.
///
/// # Errors
/// [`FrameError::Malformed`] when a header is cut or lengths contradict each other.
pub fn parse_ip(packet: &[u8]) -> Result<Parsed<'_>, FrameError> {
    describe(SlicedPacket::from_ip(packet))
}

fn describe<'a>(
    sliced: Result<SlicedPacket<'a>, etherparse::err::packet::SliceError>,
) -> Result<Parsed<'a>, FrameError> {
    let sliced = sliced.map_err(|e| FrameError::Malformed { detail: e.to_string() })?;
    let ethernet = match &sliced.link {
        Some(LinkSlice::Ethernet2(slice)) => Some(Ethernet {
            src: slice.source(),
            dst: slice.destination(),
            ether_type: slice.ether_type().0,
        }),
        _ => None,
    };
    let ipv4 = match &sliced.net {
        Some(NetSlice::Ipv4(slice)) => {
            let header = slice.header();
            Some(Ipv4 {
                src: header.source_addr(),
                dst: header.destination_addr(),
                protocol: header.protocol().0,
                header_bytes: usize::from(header.ihl()) * 4,
                total_bytes: usize::from(header.total_len()),
                time_to_live: header.ttl(),
                is_fragment: header.is_fragmenting_payload(),
            })
        }
        _ => None,
    };
    Ok(Parsed { ethernet, ipv4, content: content(&sliced) })
}

fn content<'a>(sliced: &SlicedPacket<'a>) -> Content<'a> {
    if let Some(NetSlice::Arp(slice)) = &sliced.net {
        return match slice.to_packet().try_eth_ipv4() {
            Ok(arp) => Content::Arp(ArpMessage {
                is_request: arp.operation == ArpOperation::REQUEST,
                sender_mac: arp.sender_mac,
                sender: arp.sender_ipv4_addr(),
                target: arp.target_ipv4_addr(),
            }),
            Err(_) => Content::Other,
        };
    }
    match &sliced.transport {
        Some(TransportSlice::Udp(udp)) => Content::Udp {
            src_port: udp.source_port(),
            dst_port: udp.destination_port(),
            payload: udp.payload(),
        },
        Some(TransportSlice::Icmpv4(icmp)) => {
            let (is_request, echo) = match icmp.icmp_type() {
                Icmpv4Type::EchoRequest(echo) => (true, echo),
                Icmpv4Type::EchoReply(echo) => (false, echo),
                _ => return Content::Other,
            };
            let payload = icmp.payload();
            Content::IcmpEcho { is_request, id: echo.id, sequence: echo.seq, payload }
        }
        _ => Content::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Endpoints, build_icmp_echo_request, build_udp_frame, verify_checksums};
    use super::*;
    use crate::testing::{Random, seed};

    #[test]
    fn an_ip_packet_is_the_frame_without_its_first_14_bytes() {
        let frame = build_icmp_echo_request(&Endpoints::default(), 1, 2, b"hello").unwrap();
        let (outer, inner) = (parse(&frame).unwrap(), parse_ip(&frame[14..]).unwrap());
        assert_eq!((outer.ipv4, outer.content), (inner.ipv4, inner.content));
        assert_eq!(outer.ethernet.unwrap().ether_type, 0x0800);
        assert!(inner.ethernet.is_none());
    }

    #[test]
    fn cut_frames_are_errors_that_say_so() {
        let frame = build_udp_frame(&Endpoints::default(), 1, 2, b"hello").unwrap();
        for bytes in [0, 5, 13, 20, 33, 41] {
            let error = parse(&frame[..bytes]).unwrap_err();
            assert!(error.to_string().contains("well-formed"), "{error}");
        }
    }

    #[test]
    fn random_bytes_and_bit_flips_never_panic() {
        let seed = seed("frame::parse");
        let mut random = Random::new(seed);
        let good = build_udp_frame(&Endpoints::default(), 1, 2, &[7; 80]).unwrap();
        for _ in 0..20_000 {
            let mut bytes = if random.below(2) == 0 { good.clone() } else { random.bytes(120) };
            for _ in 0..random.below(6) {
                if !bytes.is_empty() {
                    let at = random.below(bytes.len() as u64) as usize;
                    bytes[at] ^= 1 << random.below(8);
                }
            }
            let keep = random.below(bytes.len() as u64 + 1) as usize;
            let _ = parse(&bytes[..keep]);
            let _ = parse_ip(&bytes[..keep]);
            let _ = verify_checksums(&bytes[..keep]);
        }
    }
}
