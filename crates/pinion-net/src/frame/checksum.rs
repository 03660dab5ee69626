//! The internet checksum (RFC 1071) and its verification in whole frames. In: bytes. Out: sums, or
//! which header's sum is right.

use super::{FrameError, parse};
use etherparse::checksum::Sum16BitWords;

/// Says for each header with a checksum whether it holds; a header that is not there, or that sets
/// no checksum (UDP's 0), counts as good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksums {
    /// The IPv4 header.
    pub ipv4_good: bool,
    /// The UDP, TCP or ICMP part; good without a look in a fragment.
    pub transport_good: bool,
}

impl Checksums {
    /// Everything holds.
    pub const ALL_GOOD: Self = Self { ipv4_good: true, transport_good: true };
}

/// Returns the ones' complement of the ones' complement sum of big-endian 16-bit words, an odd last
/// byte padded with zero: what goes into a header, and 0 over bytes that already hold their sum.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    Sum16BitWords::new().add_slice(bytes).ones_complement().to_be()
}

/// Begins the sum of a UDP or TCP part with its pseudo header: the addresses of the IPv4 header, the
/// protocol, and the part's length; the part itself is to be added.
pub(super) fn transport_sum(addresses: &[u8], protocol: u8, bytes: u16) -> Sum16BitWords {
    Sum16BitWords::new()
        .add_slice(addresses)
        .add_2bytes([0, protocol])
        .add_2bytes(bytes.to_be_bytes())
}

/// Verifies the checksums of an Ethernet frame.
///
/// # Errors
/// [`FrameError::Malformed`] when the frame cannot be taken apart.
pub fn verify_checksums(frame: &[u8]) -> Result<Checksums, FrameError> {
    let mut sums = Checksums::ALL_GOOD;
    let Some(ip) = parse(frame)?.ipv4 else { return Ok(sums) };
    let Some(start) = ipv4_offset(frame) else { return Ok(sums) };
    let header_end = start + ip.header_bytes;
    let end = (start + ip.total_bytes).min(frame.len());
    let (header, body) = match (frame.get(start..header_end), frame.get(header_end..end)) {
        (Some(header), Some(body)) => (header, body),
        _ => return Ok(sums),
    };
    sums.ipv4_good = internet_checksum(header) == 0;
    if !ip.is_fragment {
        sums.transport_good = transport_good(ip.protocol, header, body);
    }
    Ok(sums)
}

/// Finds the IPv4 header behind the Ethernet header and any VLAN tags.
fn ipv4_offset(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    loop {
        match frame.get(at..at + 2)? {
            [0x08, 0x00] => return Some(at + 2),
            [0x81, 0x00] | [0x88, 0xa8] | [0x91, 0x00] => at += 4,
            _ => return None,
        }
    }
}

fn transport_good(protocol: u8, header: &[u8], body: &[u8]) -> bool {
    match protocol {
        1 => internet_checksum(body) == 0,
        17 if body.get(6..8) == Some(&[0, 0]) => true,
        6 | 17 => {
            transport_sum(&header[12..20], protocol, body.len() as u16)
                .add_slice(body)
                .ones_complement()
                == 0
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Endpoints, build_icmp_echo_request, build_udp_frame};
    use super::*;

    #[test]
    fn computes_the_example_of_rfc_1071() {
        let sum = internet_checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum, !0xddf2);
        assert_eq!(internet_checksum(&[0xab]), !0xab00);
    }

    #[test]
    fn every_flipped_bit_is_noticed_by_the_right_sum() {
        let ends = Endpoints::default();
        for frame in [
            build_icmp_echo_request(&ends, 1, 1, b"odd").unwrap(),
            build_udp_frame(&ends, 1, 2, b"even").unwrap(),
        ] {
            for at in [22, 36, frame.len() - 1] {
                let mut broken = frame.clone();
                broken[at] ^= 0x10;
                let sums = verify_checksums(&broken).unwrap();
                assert_eq!(sums.ipv4_good, at > 33, "byte {at}");
                assert_eq!(sums.transport_good, at == 22, "byte {at}");
            }
        }
    }

    #[test]
    fn udp_without_a_sum_counts_as_good() {
        let mut frame = build_udp_frame(&Endpoints::default(), 1, 2, b"abc").unwrap();
        frame[40..42].fill(0);
        assert_eq!(verify_checksums(&frame).unwrap(), Checksums::ALL_GOOD);
    }
}
