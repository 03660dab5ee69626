//! The allocator of a cluster's L1 packet buffer: rings of slots, freed out of order.
//!
//! In: sizes. Out: offsets. An allocation is contiguous; the first ring with room takes it; a ring's
//! head moves over slots that were freed, and both pointers go back to its start when it is empty.
//! Makes the cluster's scheduler wait when no ring has room. (Paper §III-B2; RTL cluster scheduler.)

/// Allocates in rings of slots.
#[derive(Clone, Debug)]
pub struct PacketRings {
    rings: Vec<Ring>,
    slots: u32,
    slot_bytes: u32,
}

#[derive(Clone, Debug)]
struct Ring {
    head: u32,
    tail: u32,
    used: u32,
    held: Vec<bool>,
}

impl PacketRings {
    /// Makes `rings` empty rings of `ring_bytes` bytes each.
    pub fn new(rings: u32, ring_bytes: u32, slot_bytes: u32) -> Self {
        let slots = ring_bytes / slot_bytes;
        let ring = Ring { head: 0, tail: 0, used: 0, held: vec![false; slots as usize] };
        Self { rings: vec![ring; rings as usize], slots, slot_bytes }
    }

    /// Gives the offset of room for `bytes` bytes and the slots it takes.
    pub fn allocate(&mut self, bytes: u32) -> Option<(u32, u32)> {
        let count = bytes.div_ceil(self.slot_bytes);
        let slots = self.slots;
        for (index, ring) in self.rings.iter_mut().enumerate() {
            if let Some(first) = ring.place(count, slots) {
                return Some(((index as u32 * slots + first) * self.slot_bytes, count));
            }
        }
        None
    }

    /// Frees what was allocated at `offset`.
    #[inline(always)]
    pub fn free(&mut self, offset: u32, count: u32) {
        let slot = offset / self.slot_bytes;
        let ring = &mut self.rings[(slot / self.slots) as usize];
        ring.release(slot % self.slots, count, self.slots);
    }

    /// Gives the bytes held, gaps included.
    #[cfg(test)]
    fn occupied_bytes(&self) -> u32 {
        self.rings.iter().map(|ring| ring.used).sum::<u32>() * self.slot_bytes
    }
}

impl Ring {
    fn place(&mut self, count: u32, slots: u32) -> Option<u32> {
        let first = if self.used == 0 {
            (self.head, self.tail) = (0, 0);
            (count <= slots).then_some(0)?
        } else if self.tail > self.head {
            if self.tail + count <= slots {
                self.tail
            } else if count <= self.head {
                // The slots behind the tail are skipped: they count as used until the head passes.
                self.used += slots - self.tail;
                0
            } else {
                return None;
            }
        } else {
            (self.tail + count <= self.head).then_some(self.tail)?
        };
        self.hold(first, count, true);
        self.used += count;
        self.tail = (first + count) % slots;
        Some(first)
    }

    /// Notes of slots whether they are held: mostly of one.
    #[inline]
    fn hold(&mut self, first: u32, count: u32, held: bool) {
        match count {
            1 => self.held[first as usize] = held,
            _ => self.held[first as usize..(first + count) as usize].fill(held),
        }
    }

    #[inline(always)]
    fn release(&mut self, first: u32, count: u32, slots: u32) {
        self.hold(first, count, false);
        while self.used > 0 && !self.held[self.head as usize] {
            self.head = if self.head + 1 == slots { 0 } else { self.head + 1 };
            self.used -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use pinion_sim::random::Xorshift32;

    use super::*;

    #[test]
    fn fills_the_first_ring_and_wraps() {
        let mut rings = PacketRings::new(2, 256, 64);
        assert_eq!(rings.allocate(64), Some((0, 1)));
        assert_eq!(rings.allocate(150), Some((64, 3)));
        assert_eq!(rings.allocate(64), Some((256, 1)), "the second ring");
        rings.free(64, 3);
        assert_eq!(rings.allocate(64), Some((320, 1)), "the head has not moved");
        rings.free(0, 1);
        assert_eq!(rings.allocate(64), Some((0, 1)), "empty: pointers are back");
        rings.free(0, 1);
        rings.free(256, 1);
        rings.free(320, 1);
        assert_eq!(rings.occupied_bytes(), 0);
    }

    #[test]
    fn never_overlaps_and_always_drains() {
        let mut stream = Xorshift32::new(0x9e37_79b9);
        let mut random = move || stream.draw();
        let mut rings = PacketRings::new(4, 16 * 64, 64);
        let mut held: Vec<(u32, u32)> = Vec::new();
        for _ in 0..20_000 {
            if random() % 2 == 0 {
                if let Some((offset, count)) = rings.allocate(random() % 600 + 1) {
                    let end = offset + count * 64;
                    assert!(held.iter().all(|&(o, c)| end <= o || o + c * 64 <= offset));
                    held.push((offset, count));
                }
            } else if !held.is_empty() {
                let (offset, count) = held.swap_remove(random() as usize % held.len());
                rings.free(offset, count);
            }
        }
        held.drain(..).for_each(|(offset, count)| rings.free(offset, count));
        assert_eq!(rings.occupied_bytes(), 0);
    }
}
