//! Packets made for a figure. In: how many, how large, how fast. Out: frames, each of which knows
//! its message, so that nothing but PsPIN itself is measured.
//!
//! A packet starts at its IP header; 20 bytes of IPv4, 8 of UDP, then the argument, a word that a
//! handler may read, then filling.

use pinion_sim::Time;
use pinion_sim::random::Xorshift32;
use pinion_spin::{Classification, ContextId, Frame, Offer, Traffic};

/// Bytes of the headers, after which the argument stands.
const HEADER_BYTES: usize = 28;

/// Says which packets come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// How many.
    pub packets: u64,
    /// The size of each from its IP header on, headers included where they fit.
    pub bytes: u32,
    /// How many messages they belong to in turn; also how many home clusters there can be.
    pub messages: u32,
    /// When they come.
    pub pace: Pace,
    /// The word after the headers.
    pub argument: u32,
}

/// Says when packets come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// As fast as the NIC takes them.
    BackToBack,
    /// At a rate, in Mbit/s.
    Rate(u64),
    /// So many nanoseconds apart.
    Apart(u64),
}

impl Load {
    /// Gives the packets in order.
    pub(super) fn traffic(self) -> impl Traffic {
        let mut next = 0;
        move || {
            if next == self.packets {
                return Offer::End;
            }
            next += 1;
            Offer::Frame(self.frame(next - 1))
        }
    }

    fn frame(&self, index: u64) -> Frame {
        let messages = u64::from(self.messages.max(1));
        Frame {
            arrival: self.arrival(index),
            bytes: self.contents(index),
            skip: 0,
            classification: Some(Classification {
                context: ContextId(0),
                message: (index % messages) as u32,
                end_of_message: index + messages >= self.packets,
                l1_bytes: self.bytes,
            }),
            tag: index,
        }
    }

    fn arrival(&self, index: u64) -> Time {
        match self.pace {
            Pace::BackToBack => Time::ZERO,
            Pace::Rate(mbit_s) => {
                let bits = u128::from(index) * u128::from(self.bytes) * 8;
                Time::from_ps((bits * 1_000_000 / u128::from(mbit_s.max(1))) as u64)
            }
            Pace::Apart(ns) => Time::from_ns(index * ns),
        }
    }

    fn contents(&self, index: u64) -> Vec<u8> {
        let mut filling = Xorshift32::new(0x9e37_79b9_u32.wrapping_mul(index as u32 + 1) | 1);
        let udp_bytes = (self.bytes as u16).saturating_sub(20);
        let mut bytes = vec![0x45, 0];
        bytes.extend((self.bytes as u16).to_be_bytes());
        bytes.extend([0, 0, 0, 0, 64, 17, 0, 0]);
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0x10, 0x00, 0x23, 0x28]);
        bytes.extend(udp_bytes.to_be_bytes());
        bytes.extend([0, 0]);
        debug_assert_eq!(bytes.len(), HEADER_BYTES);
        bytes.extend(self.argument.to_le_bytes());
        bytes.extend(filling.bytes(self.bytes as usize));
        bytes.truncate(self.bytes as usize);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_at_their_rate_and_end_their_messages() {
        let load = Load {
            packets: 10,
            bytes: 64,
            messages: 4,
            pace: Pace::Rate(400_000),
            argument: 0x0102_0304,
        };
        let mut traffic = load.traffic();
        let mut frames = Vec::new();
        while let Offer::Frame(frame) = traffic.next() {
            frames.push(frame);
        }
        assert_eq!(frames.len(), 10);
        assert_eq!(frames[1].arrival, Time::from_ps(1_280));
        assert_eq!(frames[9].bytes.len(), 64);
        assert_eq!(frames[9].bytes[28..32], [4, 3, 2, 1]);
        let last = |frame: &Frame| frame.classification.is_some_and(|known| known.end_of_message);
        assert_eq!(frames.iter().filter(|frame| last(frame)).count(), 4);
        assert!(frames[6..].iter().all(last));
    }
}
