//! Builds whole frames with correct lengths and checksums. In: addresses and a payload. Out: bytes.

use super::{ETHERTYPE_EXPERIMENTAL, FrameError};
use etherparse::{ArpEthIpv4Packet, ArpOperation, EtherType, Ethernet2Header, PacketBuilder};
use std::net::Ipv4Addr;

/// Hops a built packet may take.
pub(super) const TIME_TO_LIVE: u8 = 64;
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
    use super::super::build_udp_frame;
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
}
