//! Builds Ethernet frames with UDP datagrams. In: who sends to whom, and a payload. Out: bytes. Holds
//! what all frames to one receiver have in common: their headers, and the part of the sums that these
//! add, so that a frame costs little more than its payload.

use super::build::{Endpoints, TIME_TO_LIVE};
use super::checksum::transport_sum;
use super::{ETHERNET_HEADER_BYTES, FrameError, IPV4_HEADER_BYTES, UDP_HEADER_BYTES};
use etherparse::checksum::Sum16BitWords;
use etherparse::{EtherType, IpNumber};
use std::net::Ipv4Addr;

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

/// Builds the UDP frames of one sender's hardware address to one port of one receiver.
#[derive(Debug, Clone)]
pub struct UdpFrames {
    /// Their headers, zero where they differ.
    header: [u8; UDP_FRAME_HEADER_BYTES],
    /// What that adds to the sum of the IPv4 header, and with the pseudo header to UDP's.
    ip_sum: Sum16BitWords,
    udp_sum: Sum16BitWords,
}

impl UdpFrames {
    /// Begins with what they have in common; the sender's IPv4 address is not of it.
    pub fn new(ends: &Endpoints, dst_port: u16) -> Self {
        let mut header = [0; UDP_FRAME_HEADER_BYTES];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(field::DESTINATION_MAC, &ends.dst_mac);
        put(field::SOURCE_MAC, &ends.src_mac);
        put(field::ETHERTYPE, &EtherType::IPV4.0.to_be_bytes());
        put(field::VERSION, &[VERSION_4_OF_20_BYTES]);
        put(field::FRAGMENT, &DO_NOT_FRAGMENT.to_be_bytes());
        put(field::TIME_TO_LIVE, &[TIME_TO_LIVE, IpNumber::UDP.0]);
        put(field::DESTINATION, &ends.dst.octets());
        put(field::DESTINATION_PORT, &dst_port.to_be_bytes());
        let ip_sum = Sum16BitWords::new().add_slice(&header[field::VERSION..field::SOURCE_PORT]);
        let udp_sum = transport_sum(&header[field::SOURCE..field::SOURCE_PORT], IpNumber::UDP.0, 0)
            .add_2bytes(dst_port.to_be_bytes());
        Self { header, ip_sum, udp_sum }
    }

    /// Builds a frame whose payload of so many bytes, zero before, is filled in, in the room of one that
    /// is not needed any more.
    ///
    /// # Errors
    /// [`FrameError::TooLong`] when the payload exceeds 65,507 bytes.
    pub fn build(
        &self,
        mut frame: Vec<u8>,
        (src, src_port): (Ipv4Addr, u16),
        payload_bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Vec<u8>, FrameError> {
        frame.clear();
        frame.reserve_exact(UDP_FRAME_HEADER_BYTES + payload_bytes);
        frame.extend_from_slice(&self.header);
        frame.resize(UDP_FRAME_HEADER_BYTES + payload_bytes, 0);
        let (header, payload) = frame.split_at_mut(UDP_FRAME_HEADER_BYTES);
        fill(payload);
        let ip_bytes = u16::try_from(IPV4_HEADER_BYTES + UDP_HEADER_BYTES + payload_bytes)
            .map_err(|_| FrameError::TooLong { payload_bytes })?;
        let udp_bytes = (ip_bytes - IPV4_HEADER_BYTES as u16).to_be_bytes();
        let (ip_bytes, src, src_port) =
            (ip_bytes.to_be_bytes(), src.octets(), src_port.to_be_bytes());
        let ip_sum =
            self.ip_sum.clone().add_2bytes(ip_bytes).add_4bytes(src).ones_complement().to_be();
        // The length counts twice: in the pseudo header, and in the header.
        let udp_sum = self.udp_sum.clone().add_4bytes(src).add_2bytes(src_port);
        let udp_sum = udp_sum.add_2bytes(udp_bytes).add_2bytes(udp_bytes).add_slice(payload);
        let udp_sum = udp_sum.to_ones_complement_with_no_zero().to_be();
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(field::IP_BYTES, &ip_bytes);
        put(field::IP_CHECKSUM, &ip_sum.to_be_bytes());
        put(field::SOURCE, &src);
        put(field::SOURCE_PORT, &src_port);
        put(field::UDP_BYTES, &udp_bytes);
        put(field::UDP_CHECKSUM, &udp_sum.to_be_bytes());
        Ok(frame)
    }
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
    let fill = |bytes: &mut [u8]| bytes.copy_from_slice(payload);
    let from = (ends.src, src_port);
    UdpFrames::new(ends, dst_port).build(Vec::new(), from, payload.len(), fill)
}
