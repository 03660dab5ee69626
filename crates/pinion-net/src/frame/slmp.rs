//! SLMP, the message protocol of FPsPIN: inside UDP port 9330 a 10-byte header, then up to 1,462
//! bytes of the message.

use super::{Endpoints, FrameError, build_udp_frame};

/// UDP destination port of SLMP.
pub const SLMP_PORT: u16 = 9330;

/// Holds the fields of an SLMP header; big-endian on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlmpHeader {
    /// [`SlmpHeader::EOM`], [`SlmpHeader::SYN`] and [`SlmpHeader::ACK`].
    pub flags: u16,
    /// Which message.
    pub message_id: u32,
    /// Where in the message this packet's bytes belong.
    pub offset_bytes: u32,
}

impl SlmpHeader {
    /// Bytes of a header.
    pub const BYTES: usize = 10;
    /// Most message bytes in a packet of an Ethernet with 1,500-byte MTU.
    pub const MAX_PAYLOAD_BYTES: usize = 1462;
    /// Flag: last packet of its message.
    pub const EOM: u16 = 0x8000;
    /// Flag: the receiver is to acknowledge.
    pub const SYN: u16 = 0x4000;
    /// Flag: this acknowledges.
    pub const ACK: u16 = 0x2000;

    /// Returns the header as it is sent.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..2].copy_from_slice(&self.flags.to_be_bytes());
        bytes[2..6].copy_from_slice(&self.message_id.to_be_bytes());
        bytes[6..].copy_from_slice(&self.offset_bytes.to_be_bytes());
        bytes
    }

    /// Reads a header and returns it with what follows; `None` if the bytes are too few.
    pub fn split(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = datagram.split_first_chunk::<{ Self::BYTES }>()?;
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let flags = u16::from_be_bytes([head[0], head[1]]);
        Some((Self { flags, message_id: word(2), offset_bytes: word(6) }, rest))
    }
}

/// Builds an Ethernet frame with one SLMP packet.
///
/// # Errors
/// [`FrameError::TooLong`] when the payload exceeds 65,497 bytes.
pub fn build_slmp_frame(
    ends: &Endpoints,
    src_port: u16,
    header: SlmpHeader,
    payload: &[u8],
) -> Result<Vec<u8>, FrameError> {
    let mut datagram = header.to_bytes().to_vec();
    datagram.extend_from_slice(payload);
    build_udp_frame(ends, src_port, SLMP_PORT, &datagram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_matching_engine_looks() {
        let header = SlmpHeader {
            flags: SlmpHeader::EOM | SlmpHeader::SYN,
            message_id: 0x0102_0304,
            offset_bytes: 1462,
        };
        let frame = build_slmp_frame(&Endpoints::default(), 5000, header, b"data").unwrap();
        assert_eq!(frame[36..38], 9330u16.to_be_bytes());
        assert_eq!(frame[42..44], [0xc0, 0x00]);
        assert_eq!(frame[44..48], [1, 2, 3, 4]);
        assert_eq!(SlmpHeader::split(&frame[42..]), Some((header, &b"data"[..])));
        assert_eq!(SlmpHeader::split(&frame[42..51]), None);
    }
}
