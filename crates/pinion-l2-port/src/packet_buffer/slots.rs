//! Two lists of free slots: small packets take a small slot, others a large one (FPsPIN §IV,
//! `pspin_pkt_alloc`). With either list empty the input stalls, whatever comes next.

use std::collections::VecDeque;

use pinion_spin_machine::Allocator;

/// Allocates packets in slots of two sizes.
#[derive(Clone, Debug)]
pub struct Slots {
    /// Where the large slots begin: behind the small ones.
    large_base: u32,
    small_bytes: u32,
    large_bytes: u32,
    small: VecDeque<u32>,
    large: VecDeque<u32>,
    held_bytes: u32,
}

impl Slots {
    /// Makes free slots from `base` on.
    pub fn new(base: u32, config: &Allocator) -> Self {
        let large_base = base + config.small_slots * config.small_bytes;
        let list =
            |base: u32, count: u32, bytes: u32| (0..count).map(|i| base + i * bytes).collect();
        Self {
            large_base,
            small_bytes: config.small_bytes,
            large_bytes: config.large_bytes,
            small: list(base, config.small_slots, config.small_bytes),
            large: list(large_base, config.large_slots, config.large_bytes),
            held_bytes: 0,
        }
    }

    /// Gives a slot for a packet of up to a large slot's size, or `None` while a list is empty.
    pub fn allocate(&mut self, bytes: u32) -> Option<u32> {
        if self.small.is_empty() || self.large.is_empty() || bytes > self.large_bytes {
            return None;
        }
        let (list, size) = match bytes <= self.small_bytes {
            true => (&mut self.small, self.small_bytes),
            false => (&mut self.large, self.large_bytes),
        };
        self.held_bytes += size;
        list.pop_front()
    }

    /// Gives the slot at `address` back.
    pub fn free(&mut self, address: u32) {
        let (list, size) = match address < self.large_base {
            true => (&mut self.small, self.small_bytes),
            false => (&mut self.large, self.large_bytes),
        };
        debug_assert!(!list.contains(&address), "a packet is freed once");
        self.held_bytes -= size;
        list.push_back(address);
    }

    /// Gives the bytes of the slots held.
    pub fn occupied_bytes(&self) -> u32 {
        self.held_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn either_list_empty_stalls_the_input() {
        let mut config = machine().allocator;
        (config.small_slots, config.large_slots) = (3, 2);
        let mut slots = Slots::new(0x1000, &config);
        assert_eq!(slots.allocate(128), Some(0x1000));
        assert_eq!(slots.allocate(129), Some(0x1000 + 3 * 128));
        assert_eq!(slots.allocate(1536), Some(0x1000 + 3 * 128 + 1536));
        assert_eq!(slots.occupied_bytes(), 128 + 2 * 1536);
        assert_eq!(slots.allocate(60), None, "no large slot is left");
        slots.free(0x1000 + 3 * 128);
        assert_eq!(slots.allocate(60), Some(0x1080));
        assert_eq!(slots.allocate(1), Some(0x1100));
        assert_eq!(slots.allocate(1500), None, "no small slot is left");
        slots.free(0x1000);
        assert_eq!(slots.allocate(1500), Some(0x1000 + 3 * 128), "first freed, first given");
    }
}
