//! The event queue of a node: an indexed wheel.
//!
//! In: events with the cycle they are due. Out: events in order of cycle and, within a cycle, in the
//! order they were pushed, so a run is deterministic. The wheel holds one slot per cycle for the
//! near future, where nearly all events are; what is due later waits in a heap. A word has a bit for
//! each slot, so that empty cycles cost nothing. A slot is a list that is read from its start and keeps
//! its room when it is empty: steady state allocates nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots of the wheel: as many as a word has bits.
const SLOTS: usize = 64;
const MASK: u64 = SLOTS as u64 - 1;
const NONE: u64 = u64::MAX;
/// Orders events by cycle, then by the order of pushing.
#[derive(Clone, Debug)]
pub struct Wheel<E> {
    /// Cycle of the next event, or [`NONE`].
    next: u64,
    /// Cycle of the last popped event; nothing may be pushed before it.
    now: u64,
    /// Bit per slot: has events.
    occupied: u64,
    slots: Box<[Slot<E>; SLOTS]>,
    /// Cycle of the heap's first event, or [`NONE`].
    far_next: u64,
    far: BinaryHeap<Reverse<Far<E>>>,
    pushed: u64,
    len: usize,
}

/// Holds the events of one cycle, in the order they were pushed.
#[derive(Clone, Debug)]
struct Slot<E> {
    events: Vec<E>,
    /// How many of them were popped.
    popped: usize,
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
            next: NONE,
            now: 0,
            occupied: 0,
            slots: Box::new(std::array::from_fn(|_| Slot { events: Vec::new(), popped: 0 })),
            far_next: NONE,
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
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Says whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Drops all events; the cycle stays.
    pub fn clear(&mut self) {
        for slot in self.slots.iter_mut() {
            slot.events.clear();
            slot.popped = 0;
        }
        self.far.clear();
        (self.occupied, self.len) = (0, 0);
        (self.next, self.far_next) = (NONE, NONE);
    }

    /// Adds an event due at `cycle`; an event due in the past is due now.
    #[inline]
    pub fn push(&mut self, cycle: u64, event: E) {
        let at = cycle.max(self.now);
        self.len += 1;
        self.next = self.next.min(at);
        self.put(at, event);
    }

    /// Puts an event where its cycle's are.
    #[inline]
    fn put(&mut self, at: u64, event: E) {
        if at - self.now < SLOTS as u64 {
            self.place(at, event);
        } else {
            self.push_far(at, event);
        }
    }

    #[cold]
    fn push_far(&mut self, at: u64, event: E) {
        self.pushed += 1;
        self.far_next = self.far_next.min(at);
        self.far.push(Reverse(Far { at, order: self.pushed, event }));
    }

    #[inline]
    fn place(&mut self, at: u64, event: E) {
        let slot = (at & MASK) as usize;
        self.occupied |= 1 << slot;
        self.slots[slot].events.push(event);
    }

    /// Gives the cycle of the next event.
    #[inline]
    pub fn next_cycle(&self) -> Option<u64> {
        (self.next != NONE).then_some(self.next)
    }

    /// Says whether an event is due in the current cycle.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.next == self.now
    }

    /// Takes the next event if it is due at or before `until`.
    #[inline]
    pub fn pop_until(&mut self, until: u64) -> Option<(u64, E)> {
        if self.next > until || self.next == NONE {
            return None;
        }
        if self.next != self.now {
            self.arrive(self.next);
        }
        self.pop_due().map(|event| (self.now, event))
    }

    /// Moves events on, one after the other as they are due, to the later cycles that `to` gives for them,
    /// up to the first that it gives none for or that is due after `until`.
    #[inline]
    pub fn move_on(&mut self, until: u64, mut to: impl FnMut(&E) -> Option<u64>) {
        while self.next <= until && self.next.wrapping_sub(self.now) < SLOTS as u64 {
            let now = self.next;
            let index = (now & MASK) as usize;
            let first = self.slots[index].popped;
            let mut moved = first;
            while let Some(&event) = self.slots[index].events.get(moved)
                && let Some(cycle) = to(&event)
            {
                if moved == first {
                    self.arrive(now);
                }
                moved += 1;
                self.put(cycle.max(now + 1), event);
            }
            if moved == first {
                return;
            }
            let slot = &mut self.slots[index];
            slot.popped = moved;
            if moved < slot.events.len() {
                return;
            }
            self.empty(index);
        }
    }

    /// Takes the next event if it is due in the current cycle.
    #[inline]
    pub fn pop_due(&mut self) -> Option<E> {
        if self.next != self.now {
            return None;
        }
        let index = (self.now & MASK) as usize;
        let slot = &mut self.slots[index];
        let event = slot.events[slot.popped];
        slot.popped += 1;
        self.len -= 1;
        if slot.popped == slot.events.len() {
            self.empty(index);
        }
        Some(event)
    }

    /// Lets time go on to the next event's cycle.
    #[inline]
    fn arrive(&mut self, cycle: u64) {
        self.now = cycle;
        if self.far_next - self.now < SLOTS as u64 {
            self.bring_near();
        }
    }

    /// Empties the current slot, whose events have all been taken, and looks for the next one.
    #[inline]
    fn empty(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.events.clear();
        slot.popped = 0;
        self.occupied &= !(1 << index);
        // The current slot is empty, and what is far is later than what is near.
        let behind = self.occupied.rotate_right(index as u32).trailing_zeros();
        let near = self.now + u64::from(behind);
        self.next = if self.occupied == 0 { self.far_next } else { near };
    }

    /// Takes what is near now out of the heap. Its slots have just become near, so that nothing was
    /// pushed into them yet: what waited in the heap comes first, as it was pushed first.
    #[cold]
    fn bring_near(&mut self) {
        while let Some(Reverse(far)) = self.far.peek() {
            if far.at - self.now >= SLOTS as u64 {
                break;
            }
            if let Some(Reverse(far)) = self.far.pop() {
                self.place(far.at, far.event);
            }
        }
        self.far_next = self.far.peek().map_or(NONE, |Reverse(far)| far.at);
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

    /// Events that are moved on come as if each had been taken out and pushed again.
    #[test]
    fn moves_on_as_if_each_was_pushed_again() {
        let mut random = Xorshift64::new(3);
        let (mut moving, mut pushed) = (Wheel::new(), Wheel::new());
        for event in 0..40_u64 {
            let cycle = random.draw() % 90;
            moving.push(cycle, event);
            pushed.push(cycle, event);
        }
        for round in 0..2_000 {
            let until = pushed.now() + random.draw() % 20;
            // Some stay for who takes events out.
            let to = |event: &u64, now: u64| {
                let kept = (now + event).is_multiple_of(13);
                (!kept).then_some(
                    now + 1 + (now * 7 + event) % if event.is_multiple_of(5) { 90 } else { 9 },
                )
            };
            let mut due = moving.next_cycle();
            moving.move_on(until, |event| {
                due = pushed.next_cycle();
                let to = to(event, due?)?;
                let (_, other) = pushed.pop_until(until)?;
                assert_eq!(*event, other, "round {round}");
                pushed.push(to, other);
                Some(to)
            });
            assert_eq!(moving.next_cycle(), pushed.next_cycle(), "round {round}");
            assert_eq!(moving.len(), pushed.len());
            let next = moving.pop_until(until);
            assert_eq!(next, pushed.pop_until(until), "round {round}");
            if let Some((now, event)) = next {
                let cycle = now + random.draw() % 100;
                moving.push(cycle, event);
                pushed.push(cycle, event);
            }
        }
        assert!(pushed.now() > 4_000, "{}", pushed.now());
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
                let delay = [0, 1, 3, 63, 64, 70, 4_095, 9_000][(random() % 8) as usize];
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
