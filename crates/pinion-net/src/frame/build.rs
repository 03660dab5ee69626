//! Builds whole frames with correct lengths and checksums. In: addresses and a payload. Out: bytes.

use super::checksum::{internet_checksum, transport_sum};
use super::{
    ETHERNET_HEADER_BYTES, ETHERTYPE_EXPERIMENTAL, FrameError, IPV4_HEADER_BYTES, UDP_HEADER_BYTES,
};
use etherparse::{
    ArpEthIpv4Packet, ArpOperation, EtherType, Ethernet2Header, IpNumber, PacketBuilder,
};
use std::net::Ipv4Addr;

/// Hops a built packet may take.
const TIME_TO_LIVE: u8 = 64;
/// Version and length of an IPv4 header without options.
const VERSION_4_OF_20_BYTES: u8 = 0x45;
/// IPv4 flag: routers must not cut the packet.
const DO_NOT_FRAGMENT: u16 = 0x4000;
/// Headers of an Ethernet frame with a UDP datagram.
const UDP_FRAME_HEADER_BYTES: usize = ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES;

/// Where the fields of such a frame begin.
mod field {
    pub const DESTINATION_MAC: usize = 0;
    pub const SOURCE_MAC: usize = 6;
    pub const ETHERTYPE: usize = 12;
    pub const VERSION: usize = 14;
    pub const IP_BYTES: usize = 16;
    pub const FRAGMENT: usize = 20;
    /// The protocol follows.
    pub const TIME_TO_LIVE: usize = 22;
    pub const IP_CHECKSUM: usize = 24;
    pub const SOURCE: usize = 26;
    pub const DESTINATION: usize = 30;
    pub const SOURCE_PORT: usize = 34;
    pub const DESTINATION_PORT: usize = 36;
    pub const UDP_BYTES: usize = 38;
    pub const UDP_CHECKSUM: usize = 40;
}

/// Says who sends to whom. The default is a documentation pair: 10.0.0.1 to 10.0.0.2, with locally
/// administered hardware addresses that carry the IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoints {
    /// Sender's hardware address.
    pub src_mac: [u8; 6],
    /// Receiver's hardware address.
    pub dst_mac: [u8; 6],
    /// Sender's IPv4 address.
    pub src: Ipv4Addr,
    /// Receiver's IPv4 address.
    pub dst: Ipv4Addr,
}

impl Default for Endpoints {
    fn default() -> Self {
        Self::between(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
    }
}

impl Endpoints {
    /// Makes a pair whose hardware addresses are 02:00 followed by the IPv4 address.
    pub fn between(src: Ipv4Addr, dst: Ipv4Addr) -> Self {
        Self { src_mac: mac_of(src), dst_mac: mac_of(dst), src, dst }
    }

    /// Returns the way back.
    pub fn reversed(self) -> Self {
        Self { src_mac: self.dst_mac, dst_mac: self.src_mac, src: self.dst, dst: self.src }
    }
}

/// Makes a locally administered unicast address out of an IPv4 address.
pub(crate) fn mac_of(ip: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = ip.octets();
    [0x02, 0x00, a, b, c, d]
}

/// Builds an Ethernet frame with a UDP datagram.
///
/// # Errors
/// [`FrameError::TooLong`] when the payload exceeds 65,507 bytes.
pub fn build_udp_frame(
    ends: &Endpoints,
    src_port: u16,
    dst_port: u16,
    payload: &[u8],
) -> Result<Vec<u8>, FrameError> {
    let udp_bytes = UDP_HEADER_BYTES + payload.len();
    let ip_bytes = u16::try_from(IPV4_HEADER_BYTES + udp_bytes).map_err(|_| too_long(payload))?;
    let udp_bytes = ip_bytes - IPV4_HEADER_BYTES as u16;
    let mut header = [0; UDP_FRAME_HEADER_BYTES];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(field::DESTINATION_MAC, &ends.dst_mac);
    put(field::SOURCE_MAC, &ends.src_mac);
    put(field::ETHERTYPE, &EtherType::IPV4.0.to_be_bytes());
    put(field::VERSION, &[VERSION_4_OF_20_BYTES]);
    put(field::IP_BYTES, &ip_bytes.to_be_bytes());
    put(field::FRAGMENT, &DO_NOT_FRAGMENT.to_be_bytes());
    put(field::TIME_TO_LIVE, &[TIME_TO_LIVE, IpNumber::UDP.0]);
    put(field::SOURCE, &ends.src.octets());
    put(field::DESTINATION, &ends.dst.octets());
    put(field::SOURCE_PORT, &src_port.to_be_bytes());
    put(field::DESTINATION_PORT, &dst_port.to_be_bytes());
    put(field::UDP_BYTES, &udp_bytes.to_be_bytes());
    let ip_sum = internet_checksum(&header[field::VERSION..field::SOURCE_PORT]);
    let addresses = &header[field::SOURCE..field::SOURCE_PORT];
    let udp_sum = transport_sum(addresses, IpNumber::UDP.0, udp_bytes)
        .add_slice(&header[field::SOURCE_PORT..])
        .add_slice(payload)
        .to_ones_complement_with_no_zero()
        .to_be();
    header[field::IP_CHECKSUM..][..2].copy_from_slice(&ip_sum.to_be_bytes());
    header[field::UDP_CHECKSUM..][..2].copy_from_slice(&udp_sum.to_be_bytes());
    let mut frame = Vec::with_capacity(header.len() + payload.len());
    frame.extend_from_slice(&header);
    frame.extend_from_slice(payload);
    Ok(frame)
}

/// Builds an Ethernet frame with an ICMP echo request (a ping).
///
/// # Errors
/// [`FrameError::TooLong`] when the payload exceeds 65,507 bytes.
pub fn build_icmp_echo_request(
    ends: &Endpoints,
    id: u16,
    sequence: u16,
    payload: &[u8],
) -> Result<Vec<u8>, FrameError> {
    let builder = ip_packet(ends).icmpv4_echo_request(id, sequence);
    let mut frame = Vec::with_capacity(builder.size(payload.len()));
    builder.write(&mut frame, payload).map_err(|_| too_long(payload))?;
    Ok(frame)
}

/// Builds an Ethernet frame with an ICMP echo reply.
///
/// # Errors
/// [`FrameError::TooLong`] when the payload exceeds 65,507 bytes.
pub fn build_icmp_echo_reply(
    ends: &Endpoints,
    id: u16,
    sequence: u16,
    payload: &[u8],
) -> Result<Vec<u8>, FrameError> {
    let builder = ip_packet(ends).icmpv4_echo_reply(id, sequence);
    let mut frame = Vec::with_capacity(builder.size(payload.len()));
    builder.write(&mut frame, payload).map_err(|_| too_long(payload))?;
    Ok(frame)
}

/// Builds the broadcast frame that asks who has `ends.dst`.
pub fn build_arp_request(ends: &Endpoints) -> Vec<u8> {
    arp(ends, ArpOperation::REQUEST, [0xff; 6], [0; 6])
}

/// Builds the frame that tells `ends.dst` that `ends.src` is at `ends.src_mac`.
pub fn build_arp_reply(ends: &Endpoints) -> Vec<u8> {
    arp(ends, ArpOperation::REPLY, ends.dst_mac, ends.dst_mac)
}

/// Builds an Ethernet frame of the local-experiment EtherType 0x88b5 around any bytes.
pub fn build_raw_frame(ends: &Endpoints, payload: &[u8]) -> Vec<u8> {
    ethernet(ends.src_mac, ends.dst_mac, EtherType(ETHERTYPE_EXPERIMENTAL), payload)
}

fn ip_packet(ends: &Endpoints) -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
    PacketBuilder::ethernet2(ends.src_mac, ends.dst_mac).ipv4(
        ends.src.octets(),
        ends.dst.octets(),
        TIME_TO_LIVE,
    )
}

fn arp(ends: &Endpoints, operation: ArpOperation, to: [u8; 6], target: [u8; 6]) -> Vec<u8> {
    let packet = ArpEthIpv4Packet {
        operation,
        sender_mac: ends.src_mac,
        sender_ipv4: ends.src.octets(),
        target_mac: target,
        target_ipv4: ends.dst.octets(),
    };
    ethernet(ends.src_mac, to, EtherType::ARP, &packet.to_bytes())
}

fn ethernet(source: [u8; 6], destination: [u8; 6], kind: EtherType, payload: &[u8]) -> Vec<u8> {
    let header = Ethernet2Header { source, destination, ether_type: kind };
    let mut frame = header.to_bytes().to_vec();
    frame.extend_from_slice(payload);
    frame
}

fn too_long(payload: &[u8]) -> FrameError {
    FrameError::TooLong { payload_bytes: payload.len() }
}

#[cfg(test)]
mod tests {
    use super::super::{Checksums, Content, parse, verify_checksums};
    use super::*;

    #[test]
    fn udp_frames_are_those_that_etherparse_builds() {
        let mut random = pinion_sim::random::SplitMix64::new(11);
        for _ in 0..2_000 {
            let (src, dst) = (Ipv4Addr::from(random.draw() as u32), random.draw() as u32);
            let ends = Endpoints::between(src, Ipv4Addr::from(dst));
            let [a, b, c, d, ..] = random.draw().to_le_bytes();
            let (from, to) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
            let payload = vec![random.draw() as u8; random.draw() as usize % 70];
            let mut expected = Vec::new();
            ip_packet(&ends).udp(from, to).write(&mut expected, &payload).unwrap();
            assert_eq!(build_udp_frame(&ends, from, to, &payload).unwrap(), expected);
        }
        // The words sum up to 0xffff, whose checksum would be 0.
        let ends = Endpoints::default();
        let payload = |word: u16| build_udp_frame(&ends, 1, 2, &word.to_be_bytes()).unwrap();
        let of_zero = u16::from_be_bytes([payload(0)[40], payload(0)[41]]);
        assert_eq!(payload(of_zero)[40..42], [0xff, 0xff]);
    }

    #[test]
    fn udp_frames_have_right_sums_and_fields() {
        let ends = Endpoints::default();
        for bytes in [0, 1, 18, 1472, 65_507] {
            let frame = build_udp_frame(&ends, 4000, 9330, &vec![0xa5; bytes]).unwrap();
            assert_eq!(frame.len(), 42 + bytes);
            assert_eq!(verify_checksums(&frame).unwrap(), Checksums::ALL_GOOD);
            let parsed = parse(&frame).unwrap();
            let Content::Udp { src_port, dst_port, payload } = parsed.content else {
                panic!("not UDP: {parsed:?}");
            };
            assert_eq!((src_port, dst_port, payload.len()), (4000, 9330, bytes));
        }
        let long = build_udp_frame(&ends, 1, 2, &vec![0; 65_508]);
        assert_eq!(long, Err(FrameError::TooLong { payload_bytes: 65_508 }));
    }

    #[test]
    fn echo_frames_tell_request_from_reply() {
        let ends = Endpoints::default();
        let ping = build_icmp_echo_request(&ends, 7, 3, b"abc").unwrap();
        let pong = build_icmp_echo_reply(&ends.reversed(), 7, 3, b"abc").unwrap();
        assert_eq!(ping[34..36], [8, 0]);
        assert_eq!(pong[34..36], [0, 0]);
        for frame in [&ping, &pong] {
            assert_eq!(verify_checksums(frame).unwrap(), Checksums::ALL_GOOD);
        }
        assert!(build_icmp_echo_request(&ends, 0, 0, &vec![0; 65_508]).is_err());
        assert!(build_icmp_echo_reply(&ends, 0, 0, &vec![0; 65_508]).is_err());
    }

    #[test]
    fn arp_asks_everybody_and_answers_one() {
        let ends = Endpoints::default();
        let ask = build_arp_request(&ends);
        assert_eq!((ask.len(), &ask[..6]), (42, &[0xff; 6][..]));
        let answer = build_arp_reply(&ends.reversed());
        let Content::Arp(message) = parse(&answer).unwrap().content else { panic!("not ARP") };
        assert!(!message.is_request);
        assert_eq!((message.sender, message.target), (ends.dst, ends.src));
        assert_eq!(message.sender_mac, ends.dst_mac);
    }
}
