//! The event queue of a node: an indexed wheel.
//!
//! In: events with the cycle they are due. Out: events in order of cycle and, within a cycle, in the
//! order they were pushed, so a run is deterministic. The wheel holds one slot per cycle for the
//! near future; what is due later waits in a heap. Empty cycles are skipped with a bitmap, so idle
//! time costs nothing, and slots keep their memory, so steady state allocates nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SLOTS: usize = 4096;
const MASK: u64 = SLOTS as u64 - 1;
const WORDS: usize = SLOTS / 64;
const NONE: u64 = u64::MAX;
const _: () = assert!(WORDS == 64, "one bit per word fits into a word");

/// Orders events by cycle, then by the order of pushing.
#[derive(Clone, Debug)]
pub struct Wheel<E> {
    slots: Vec<Vec<E>>,
    /// Bit per slot: has events that were not popped.
    occupied: [u64; WORDS],
    /// Bit per word of `occupied`: is not zero.
    occupied_words: u64,
    /// Cycle of the next event, or [`NONE`].
    next: u64,
    /// Cycle of the last popped event; nothing may be pushed before it.
    now: u64,
    /// How many events of the current slot were popped.
    cursor: usize,
    far: BinaryHeap<Reverse<Far<E>>>,
    pushed: u64,
    len: usize,
}

#[derive(Clone, Debug)]
struct Far<E> {
    at: u64,
    order: u64,
    event: E,
}

impl<E> PartialEq for Far<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl<E> Eq for Far<E> {}
impl<E> PartialOrd for Far<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Far<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl<E: Copy> Default for Wheel<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Wheel<E> {
    /// Makes an empty wheel at cycle 0.
    pub fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Vec::new()).collect(),
            occupied: [0; WORDS],
            occupied_words: 0,
            next: NONE,
            now: 0,
            cursor: 0,
            far: BinaryHeap::new(),
            pushed: 0,
            len: 0,
        }
    }

    /// Gives the cycle of the last popped event.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Gives the number of waiting events.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Says whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Drops all events; the cycle stays.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(Vec::clear);
        self.far.clear();
        (self.occupied, self.occupied_words) = ([0; WORDS], 0);
        (self.next, self.cursor, self.len) = (NONE, 0, 0);
    }

    /// Adds an event due at `cycle`; an event due in the past is due now.
    #[inline]
    pub fn push(&mut self, cycle: u64, event: E) {
        let at = cycle.max(self.now);
        self.len += 1;
        self.next = self.next.min(at);
        if at - self.now < SLOTS as u64 {
            self.place(at, event);
        } else {
            self.pushed += 1;
            self.far.push(Reverse(Far { at, order: self.pushed, event }));
        }
    }

    #[inline]
    fn place(&mut self, at: u64, event: E) {
        let slot = (at & MASK) as usize;
        self.slots[slot].push(event);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.occupied_words |= 1 << (slot / 64);
    }

    /// Gives the cycle of the next event.
    #[inline]
    pub fn next_cycle(&self) -> Option<u64> {
        (self.next != NONE).then_some(self.next)
    }

    /// Finds the next occupied slot after the current one, as a cycle.
    #[inline]
    fn next_occupied(&self) -> Option<u64> {
        let start = ((self.now + 1) & MASK) as usize;
        let (word, bit) = (start / 64, start % 64);
        let mut found = word;
        let mut bits = self.occupied[word] & (u64::MAX << bit);
        if bits == 0 {
            // The words behind it, then those before, then its own lower bits.
            let behind = self.occupied_words & u64::MAX.checked_shl(word as u32 + 1).unwrap_or(0);
            let words = if behind != 0 { behind } else { self.occupied_words };
            if words == 0 {
                return None;
            }
            found = words.trailing_zeros() as usize;
            bits = self.occupied[found];
        }
        let slot = (found * 64) as u64 + u64::from(bits.trailing_zeros());
        let distance = slot.wrapping_sub(self.now) & MASK;
        // Distance 0 is the current slot, whose events were all popped.
        (distance != 0).then(|| self.now + distance)
    }

    /// Computes the cycle of the next event.
    fn find_next(&self) -> u64 {
        if self.cursor < self.slots[(self.now & MASK) as usize].len() {
            return self.now;
        }
        let far = self.far.peek().map_or(NONE, |Reverse(far)| far.at);
        self.next_occupied().map_or(far, |near| near.min(far))
    }

    /// Takes the next event if it is due at or before `until`.
    #[inline]
    pub fn pop_until(&mut self, until: u64) -> Option<(u64, E)> {
        if self.next > until || self.next == NONE {
            return None;
        }
        if self.next != self.now || self.cursor >= self.current().len() {
            self.advance(self.next);
        }
        let event = self.current()[self.cursor];
        self.cursor += 1;
        self.len -= 1;
        if self.cursor >= self.current().len() {
            self.next = self.find_next();
        }
        Some((self.now, event))
    }

    #[inline]
    fn current(&self) -> &[E] {
        &self.slots[(self.now & MASK) as usize]
    }

    /// Moves to `cycle`, which must be the next event's or, with no event before it, any later one.
    fn advance(&mut self, cycle: u64) {
        let slot = (self.now & MASK) as usize;
        self.slots[slot].clear();
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        if self.occupied[slot / 64] == 0 {
            self.occupied_words &= !(1 << (slot / 64));
        }
        self.cursor = 0;
        self.now = cycle;
        // What waited in the heap was pushed before anything that is pushed into the slot from now
        // on; what stands in the slot already was pushed when the slot was near, hence later still.
        while let Some(Reverse(far)) = self.far.peek() {
            if far.at - cycle >= SLOTS as u64 {
                break;
            }
            if let Some(Reverse(far)) = self.far.pop() {
                self.place(far.at, far.event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Xorshift64;

    #[test]
    fn pops_in_order_of_cycle_then_of_pushing() {
        let mut wheel = Wheel::new();
        for (cycle, event) in [(5, 'a'), (3, 'b'), (5, 'c'), (100_000, 'd'), (4_099, 'e'), (3, 'f')]
        {
            wheel.push(cycle, event);
        }
        let mut order = Vec::new();
        while let Some((cycle, event)) = wheel.pop_until(u64::MAX) {
            order.push((cycle, event));
            if event == 'b' {
                wheel.push(3, 'g');
                wheel.push(0, 'h');
            }
        }
        let expected = [(3, 'b'), (3, 'f'), (3, 'g'), (3, 'h'), (5, 'a'), (5, 'c'), (4_099, 'e')];
        assert_eq!(order[..7], expected);
        assert_eq!(order[7], (100_000, 'd'));
        assert!(wheel.is_empty());
    }

    #[test]
    fn stops_at_the_bound_and_goes_on() {
        let mut wheel = Wheel::new();
        wheel.push(10, 1);
        wheel.push(1_000_000, 2);
        assert_eq!(wheel.pop_until(9), None);
        assert_eq!(wheel.next_cycle(), Some(10));
        assert_eq!(wheel.pop_until(10), Some((10, 1)));
        assert_eq!(wheel.pop_until(10), None);
        wheel.push(12, 3);
        assert_eq!(wheel.pop_until(u64::MAX), Some((12, 3)));
        assert_eq!(wheel.pop_until(u64::MAX), Some((1_000_000, 2)));
        assert_eq!(wheel.pop_until(u64::MAX), None);
    }

    #[test]
    fn goes_on_where_it_was_cleared() {
        let mut wheel = Wheel::new();
        [3, 3, 9, 50_000].into_iter().for_each(|cycle| wheel.push(cycle, cycle));
        assert_eq!(wheel.pop_until(3), Some((3, 3)));
        wheel.clear();
        assert_eq!((wheel.len(), wheel.now(), wheel.next_cycle()), (0, 3, None));
        wheel.push(4, 7);
        wheel.push(1, 6);
        assert_eq!(wheel.pop_until(u64::MAX), Some((3, 6)));
        assert_eq!(wheel.pop_until(u64::MAX), Some((4, 7)));
        assert_eq!(wheel.pop_until(u64::MAX), None);
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        let mut stream = Xorshift64::new(0x2545_f491_4f6c_dd1d);
        let mut random = move || stream.draw();
        let mut wheel = Wheel::new();
        let mut reference: Vec<(u64, u64)> = Vec::new();
        let mut next = 0u64;
        for _ in 0..20_000 {
            if random() % 3 > 0 {
                let delay = [0, 1, 3, 70, 4_095, 4_096, 9_000][(random() % 7) as usize];
                wheel.push(wheel.now() + delay, next);
                reference.push((wheel.now() + delay, next));
                next += 1;
            } else if let Some(first) = reference.iter().copied().min() {
                assert_eq!(wheel.next_cycle(), Some(first.0));
                let popped = wheel.pop_until(u64::MAX).expect("the reference has one");
                assert_eq!(popped.0, first.0, "cycle");
                reference.retain(|&entry| entry != popped);
            }
        }
    }
}
