//! Headers that lie. In: a frame that [`Header::parse`] takes apart. Out: the first way in which its
//! lengths contradict each other, if any. Holds nothing.
//!
//! The published hardware looks at none of this: it takes a message's length from the first packet
//! that comes and lets every packet's payload end where the frame does. A NIC that must keep one
//! sender's mistakes from others asks here before it reserves a buffer.

use super::{Flags, Header, LNIC_HEADER_BYTES};
use crate::frame::ETHERNET_HEADER_BYTES;
use thiserror::Error;

/// Says how a frame's lengths contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Error)]
pub enum Contradiction {
    /// The IPv4 header's total length is not what the frame has. A trimmed packet may keep the
    /// length it had.
    #[error("the IPv4 header says {says} bytes, the frame has {has}")]
    IpLength {
        /// What the header says.
        says: u16,
        /// Bytes from the IPv4 header on.
        has: u32,
    },
    /// A message of no bytes.
    #[error("the message has no bytes")]
    EmptyMessage,
    /// A message too long for the receiver.
    #[error("the message has {says} bytes, more than the {most} that fit")]
    LongMessage {
        /// Bytes of the message.
        says: u16,
        /// Bytes that fit.
        most: u32,
    },
    /// A packet behind its message's end.
    #[error("packet {packet} of a message of {packets}")]
    BehindTheEnd {
        /// The packet's number, from 0.
        packet: u8,
        /// Packets of the message.
        packets: u16,
    },
    /// A packet of the wrong length for its place in the message.
    #[error("the packet has {has} bytes of payload, its place in the message says {says}")]
    PayloadLength {
        /// What the message's length and the packet's number say.
        says: u16,
        /// Bytes of payload.
        has: u32,
    },
}

impl Header {
    /// Finds the first contradiction in the frame that this header was taken from, for messages cut
    /// into packets of `packet_bytes` of which `most_packets` fit; `None` when all agrees.
    ///
    /// Of control frames only the IPv4 length is looked at: the other fields are an echo.
    pub fn contradiction(
        &self,
        frame: &[u8],
        packet_bytes: u16,
        most_packets: u16,
    ) -> Option<Contradiction> {
        let trimmed = self.flags.has(Flags::CHOP);
        let says = frame.get(16..18).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
        let has = frame.len().saturating_sub(ETHERNET_HEADER_BYTES) as u32;
        let was_longer = trimmed && u32::from(says) > has;
        if u32::from(says) != has && !was_longer {
            return Some(Contradiction::IpLength { says, has });
        }
        if !self.flags.has(Flags::DATA) {
            return None;
        }
        self.message_contradiction(packet_bytes.max(1), most_packets).or_else(|| {
            let offset = u32::from(self.pkt_offset) * u32::from(packet_bytes.max(1));
            let left = u32::from(self.msg_len).saturating_sub(offset);
            let says = left.min(u32::from(packet_bytes.max(1))) as u16;
            let has = frame.len().saturating_sub(LNIC_HEADER_BYTES) as u32;
            let agrees = trimmed || u32::from(says) == has;
            (!agrees).then_some(Contradiction::PayloadLength { says, has })
        })
    }

    fn message_contradiction(&self, packet_bytes: u16, most_packets: u16) -> Option<Contradiction> {
        let packets = self.msg_len.div_ceil(packet_bytes);
        if self.msg_len == 0 {
            Some(Contradiction::EmptyMessage)
        } else if packets > most_packets {
            let most = u32::from(packet_bytes) * u32::from(most_packets);
            Some(Contradiction::LongMessage { says: self.msg_len, most })
        } else if u16::from(self.pkt_offset) >= packets {
            Some(Contradiction::BehindTheEnd { packet: self.pkt_offset, packets })
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HOMA_PROTOCOL, NDP_PROTOCOL};
    use super::*;
    use crate::testing::{Random, seed};

    fn data(msg_len: u16, pkt_offset: u8) -> Header {
        let protocol = NDP_PROTOCOL;
        Header { protocol, flags: Flags::DATA, msg_len, pkt_offset, ..Header::default() }
    }

    fn found(header: Header, payload_bytes: usize) -> Option<Contradiction> {
        header.contradiction(&header.frame(&vec![0; payload_bytes]), 1024, 2)
    }

    #[test]
    fn packets_in_their_place_agree() {
        for (msg_len, pkt_offset, payload_bytes) in [
            (1, 0, 1),
            (12, 0, 12),
            (1024, 0, 1024),
            (1500, 0, 1024),
            (1500, 1, 476),
            (2048, 1, 1024),
        ] {
            assert_eq!(found(data(msg_len, pkt_offset), payload_bytes), None, "{msg_len}");
        }
        let control = Header { flags: Flags::ACK, ..data(1024, 3) };
        assert_eq!(found(control, 64), None);
    }

    #[test]
    fn lies_are_named() {
        use Contradiction::*;
        assert_eq!(found(data(0, 0), 8), Some(EmptyMessage));
        assert_eq!(found(data(2049, 0), 1024), Some(LongMessage { says: 2049, most: 2048 }));
        assert_eq!(found(data(1024, 1), 8), Some(BehindTheEnd { packet: 1, packets: 1 }));
        assert_eq!(found(data(16, 0), 8), Some(PayloadLength { says: 16, has: 8 }));
        assert_eq!(found(data(16, 0), 24), Some(PayloadLength { says: 16, has: 24 }));
        let mut frame = data(8, 0).frame(&[0; 8]);
        frame[17] += 1;
        let lie = data(8, 0).contradiction(&frame, 1024, 2);
        assert_eq!(lie, Some(IpLength { says: 59, has: 58 }));
        assert_eq!(lie.unwrap().to_string(), "the IPv4 header says 59 bytes, the frame has 58");
    }

    #[test]
    fn a_trimmed_packet_may_keep_the_lengths_it_had() {
        let header = Header { flags: Flags::DATA.with(Flags::CHOP), ..data(1024, 0) };
        let frame = header.frame(&[0; 1024]);
        assert_eq!(header.contradiction(&frame[..72], 1024, 2), None);
        assert_eq!(found(header, 8), None);
    }

    #[test]
    fn any_bytes_are_taken_apart_without_a_panic() {
        let mut random = Random::new(seed("lnic"));
        let mut taken = 0;
        for _ in 0..100_000 {
            let mut bytes = random.bytes(160);
            // Half of them get as far as the transport header.
            if random.below(2) == 0 && bytes.len() > 24 {
                bytes[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
                bytes[23] = [NDP_PROTOCOL, HOMA_PROTOCOL][random.below(2) as usize];
            }
            for protocol in [NDP_PROTOCOL, HOMA_PROTOCOL] {
                let Ok((header, payload)) = Header::parse(&bytes, protocol) else { continue };
                taken += 1;
                assert_eq!(payload, &bytes[LNIC_HEADER_BYTES..]);
                let packet_bytes = random.below(3000) as u16;
                let _ = header.contradiction(&bytes, packet_bytes, random.below(5) as u16);
                let _ = header.contradiction(&[], packet_bytes, 0);
                let _ = header.flags.to_string();
                // What is written again differs only in what is not kept.
                let again = header.frame(payload);
                assert_eq!(Header::parse(&again, protocol), Ok((header, payload)));
                assert_eq!(again.len(), bytes.len());
            }
        }
        assert!(taken > 10_000, "{taken}");
    }

    #[test]
    fn a_cut_frame_never_passes_for_whole() {
        let mut random = Random::new(seed("lnic"));
        let frame = data(1500, 0).frame(&[7; 1024]);
        for _ in 0..2000 {
            let cut = &frame[..random.below(frame.len() as u64) as usize];
            if let Ok((header, _)) = Header::parse(cut, NDP_PROTOCOL) {
                assert!(header.contradiction(cut, 1024, 2).is_some(), "cut to {}", cut.len());
            }
        }
    }
}
