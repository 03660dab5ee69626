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
    /// Packets from the oldest on.
    held: VecDeque<Held>,
}

/// Packets from the oldest on that are looked at before a packet is searched for: mostly it is there.
const LOOKED_AT: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Held {
    offset: u32,
    bytes: u32,
    free: bool,
}

impl Ring {
    /// Makes an empty ring of `bytes` bytes from `base`, packets aligned to `align` bytes.
    pub fn new(base: u32, bytes: u32, align: u32) -> Self {
        Self { base, bytes, align, tail: 0, held: VecDeque::with_capacity(1024) }
    }

    /// Gives room for a packet, or `None` if there is none now.
    pub fn allocate(&mut self, bytes: u32) -> Option<u32> {
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
        self.held.push_back(Held { offset, bytes, free: false });
        Some(self.base + offset)
    }

    /// Frees the packet at `address`.
    ///
    /// # Panics
    /// If no packet lies there: then the machine freed one twice.
    pub fn free(&mut self, address: u32) {
        let offset = address - self.base;
        let among_oldest = self.held.iter().take(LOOKED_AT).position(|held| held.offset == offset);
        let found = among_oldest.or_else(|| self.search(offset));
        let held = found.map(|index| &mut self.held[index]).filter(|held| !held.free);
        held.expect("a packet is freed once").free = true;
        while self.held.front().is_some_and(|held| held.free) {
            self.held.pop_front();
        }
    }

    /// Finds a packet by its offset: they lie in the ring as they came.
    fn search(&self, offset: u32) -> Option<usize> {
        let oldest = self.held.front()?.offset;
        let age = |offset: u32| (offset < oldest, offset);
        self.held.binary_search_by_key(&age(offset), |held| age(held.offset)).ok()
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
        let packets: Vec<u32> = (0..4).filter_map(|_| buffer.allocate(60)).collect();
        assert_eq!(packets, [0x1000, 0x1040, 0x1080, 0x10c0]);
        assert_eq!(buffer.allocate(1), None);
        buffer.free(0x1040);
        assert_eq!(buffer.allocate(1), None, "the oldest is still there");
        buffer.free(0x1000);
        assert_eq!(buffer.allocate(65), Some(0x1000));
        assert_eq!(buffer.allocate(1), None);
        for address in [0x1080, 0x10c0, 0x1000] {
            buffer.free(address);
        }
        assert_eq!(buffer.occupied_bytes(), 0);
        assert_eq!(buffer.allocate(257), None);
        assert_eq!(buffer.allocate(256), Some(0x1000));
    }
}
