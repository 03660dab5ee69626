//! A ring, filled in order, freed out of order: makes the inbound engine wait when the oldest packets
//! still hold what it needs. (RTL: the NIC inbound engine of the published model.)

use std::collections::VecDeque;

/// Allocates packets in a ring.
#[derive(Clone, Debug)]
pub struct Ring {
    base: u32,
    bytes: u32,
    align: u32,
    /// Offset of the next packet.
    tail: u32,
    /// Packets from the oldest on: their numbers count up.
    held: VecDeque<Held>,
    /// The oldest one's number.
    oldest: u64,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    offset: u32,
    bytes: u32,
    free: bool,
}

impl Ring {
    /// Makes an empty ring of `bytes` bytes from `base`, packets aligned to `align` bytes.
    pub fn new(base: u32, bytes: u32, align: u32) -> Self {
        Self { base, bytes, align, tail: 0, held: VecDeque::with_capacity(1024), oldest: 0 }
    }

    /// Gives room for the packet of a number, which is one more than the last one's, or `None` if there
    /// is none now.
    pub fn allocate(&mut self, number: u64, bytes: u32) -> Option<u32> {
        let bytes = bytes.max(1).next_multiple_of(self.align);
        let offset = match self.held.front() {
            None if bytes <= self.bytes => {
                if self.tail + bytes > self.bytes {
                    0
                } else {
                    self.tail
                }
            }
            None => return None,
            Some(oldest) if oldest.offset < self.tail => {
                if self.tail + bytes <= self.bytes {
                    self.tail
                } else if bytes <= oldest.offset {
                    0
                } else {
                    return None;
                }
            }
            Some(oldest) if self.tail + bytes <= oldest.offset => self.tail,
            Some(_) => return None,
        };
        self.tail = offset + bytes;
        if self.held.is_empty() {
            self.oldest = number;
        }
        self.held.push_back(Held { offset, bytes, free: false });
        Some(self.base + offset)
    }

    /// Frees the packet of a number.
    ///
    /// # Panics
    /// If it is not there: then the machine freed one twice.
    pub fn free(&mut self, number: u64) {
        let held = self.held.get_mut(number.wrapping_sub(self.oldest) as usize);
        held.filter(|held| !held.free).expect("a packet is freed once").free = true;
        while self.held.front().is_some_and(|held| held.free) {
            self.held.pop_front();
            self.oldest += 1;
        }
    }

    /// Gives the bytes held, gaps and packets freed out of order included.
    pub fn occupied_bytes(&self) -> u32 {
        self.held.iter().map(|held| held.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_waits_for_the_oldest() {
        let mut buffer = Ring::new(0x1000, 256, 64);
        let packets: Vec<u32> = (7..11).filter_map(|packet| buffer.allocate(packet, 60)).collect();
        assert_eq!(packets, [0x1000, 0x1040, 0x1080, 0x10c0]);
        assert_eq!(buffer.allocate(11, 1), None);
        buffer.free(8);
        assert_eq!(buffer.allocate(11, 1), None, "the oldest is still there");
        buffer.free(7);
        assert_eq!(buffer.allocate(11, 65), Some(0x1000));
        assert_eq!(buffer.allocate(12, 1), None);
        for packet in [9, 10, 11] {
            buffer.free(packet);
        }
        assert_eq!(buffer.occupied_bytes(), 0);
        assert_eq!(buffer.allocate(12, 257), None);
        assert_eq!(buffer.allocate(12, 256), Some(0x1000));
    }

    #[test]
    #[should_panic(expected = "a packet is freed once")]
    fn refuses_to_free_twice() {
        let mut buffer = Ring::new(0x1000, 256, 64);
        (0..3).for_each(|packet| assert!(buffer.allocate(packet, 60).is_some()));
        buffer.free(1);
        buffer.free(1);
    }
}
