//! A calendar of a few cores: which of them does something in which cycle.
//!
//! In: a core, its cycle, its place among equals (in a bank's round robin). Out: the cores of the next cycle in
//! which there are any, in the order of their places, then of their numbers. A cycle's cores are words
//! of bits, sorted by place as they are: the host can begin with one of them while it still works on the
//! one before, which it could not if it had to look for the least of all cycles each time.

/// Most cores in a calendar.
pub const CORES: usize = 16;

/// Stands for no cycle: no core waits for its turn.
pub const NEVER: u64 = u64::MAX >> 8;

/// Cycles that have words of bits, one after the other; what is later waits aside.
const SLOTS: u64 = 64;

/// Places among equals.
pub const PLACES: u64 = 16;

/// Most words of a cycle: a bit for each core at each place.
const WORDS: usize = CORES * PLACES as usize / 64;

/// Holds the cycles in which cores are due.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// By cycle, modulo their number: the bit [`Self::at`] which each core is that is due. The fewer cores
    /// there are, the fewer words have to be looked at.
    due: [[u64; WORDS]; SLOTS as usize],
    /// Bit per cycle from `base` on: somebody is due.
    occupied: u64,
    /// The binary logarithm of a place's bits: as many as there are cores, or some more.
    shift: u32,
    /// The bits of a core's number.
    cores: u32,
    /// The last word of a cycle.
    last_word: u32,
    /// No core is due before this cycle; slots are for it and those that follow.
    base: u64,
    /// Bit per core: it is due beyond the slots.
    later: u16,
    /// Cycle from which the first of those has a slot; it may be too early.
    bring_in_at: u64,
    /// By core that is due beyond the slots: its cycle and its place.
    aside: [(u64, u64); CORES],
}

/// Holds those who are yet to be served in a cycle, beside what its slot still has.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    slot: u64,
    /// The word under way, and who is left of it.
    word: u32,
    due: u64,
}

impl Calendar {
    /// Makes an empty calendar of so many cores.
    pub const fn new(cores: usize) -> Self {
        assert!(cores <= CORES);
        let each = cores.next_power_of_two();
        Self {
            due: [[0; WORDS]; SLOTS as usize],
            occupied: 0,
            shift: each.trailing_zeros(),
            cores: each as u32 - 1,
            last_word: ((PLACES as usize * each - 1) / 64) as u32,
            base: 0,
            later: 0,
            bring_in_at: NEVER,
            aside: [(NEVER, 0); CORES],
        }
    }

    /// Puts a core in, which is not there, to be served at `time`; `place` decides among equals.
    #[inline(always)]
    pub fn enter(&mut self, core: usize, time: u64, place: u64) {
        let ahead = time.wrapping_sub(self.base);
        if ahead < SLOTS {
            self.set((time % SLOTS) as usize, core, place);
            self.occupied |= 1 << ahead;
        } else {
            self.enter_elsewhere(core, time, place);
        }
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, core: usize, place: u64) {
        let (word, bit) = self.at(core, place);
        self.due[slot][word] |= 1 << bit;
    }

    #[cold]
    #[inline(never)]
    fn enter_elsewhere(&mut self, core: usize, time: u64, place: u64) {
        self.put_aside(core, time, place);
        if time < self.base {
            // Those in the slots may be beyond them now.
            for slot in 0..SLOTS {
                let time = self.base + slot.wrapping_sub(self.base) % SLOTS;
                let due = std::mem::take(&mut self.due[slot as usize]);
                for (word, mut due) in due.into_iter().enumerate() {
                    while due != 0 {
                        let bit = (word as u32) << 6 | due.trailing_zeros();
                        due &= due - 1;
                        let core = (bit & self.cores) as usize;
                        self.put_aside(core, time, u64::from(bit >> self.shift));
                    }
                }
            }
            (self.base, self.occupied) = (time, 0);
            self.bring_in();
        }
    }

    fn put_aside(&mut self, core: usize, time: u64, place: u64) {
        self.later |= 1 << core;
        self.aside[core % CORES] = (time, place);
        self.bring_in_at = self.bring_in_at.min(time.saturating_sub(SLOTS - 1));
    }

    /// Brings those into the slots that are not beyond them any more.
    #[cold]
    fn bring_in(&mut self) {
        let later = std::mem::take(&mut self.later);
        self.bring_in_at = NEVER;
        for core in (0..CORES).filter(|core| later >> core & 1 == 1) {
            let (time, place) = self.aside[core];
            if time - self.base < SLOTS {
                self.enter(core, time, place);
            } else {
                self.put_aside(core, time, place);
            }
        }
    }

    /// Takes a core out.
    pub fn leave(&mut self, core: usize) {
        self.later &= !(1 << core);
        for ahead in 0..SLOTS {
            let slot = ((self.base + ahead) % SLOTS) as usize;
            for place in 0..PLACES {
                let (word, bit) = self.at(core, place);
                self.due[slot][word] &= !(1 << bit);
            }
            let is_empty = self.due[slot] == [0; WORDS];
            self.occupied = self.occupied & !(1 << ahead) | u64::from(!is_empty) << ahead;
        }
    }

    /// Gives the next cycle in which somebody is due, [`NEVER`] if nobody is.
    #[inline]
    pub fn next_time(&self) -> u64 {
        if self.occupied != 0 {
            return self.base + u64::from(self.occupied.trailing_zeros());
        }
        let later = (0..CORES).filter(|core| self.later >> core & 1 == 1);
        later.map(|core| self.aside[core].0).min().unwrap_or(NEVER)
    }

    /// Begins a cycle, which is the next one: those who are due take turns.
    #[inline(always)]
    pub fn begin(&mut self, time: u64) -> Turns {
        // Nobody is due before: where it lies beyond the slots, all of them are empty.
        self.occupied = self.occupied.wrapping_shr((time - self.base) as u32);
        self.base = time;
        if time >= self.bring_in_at {
            self.bring_in();
        }
        self.occupied &= !1;
        self.turns(time % SLOTS)
    }

    /// Gives the turns of those who are due in a slot.
    #[inline(always)]
    fn turns(&mut self, slot: u64) -> Turns {
        Turns { slot, word: 0, due: self.take(slot, 0) }
    }

    /// Takes the core out whose turn it is.
    #[inline(always)]
    pub fn turn(&mut self, turns: &mut Turns) -> Option<usize> {
        loop {
            if turns.due != 0 {
                let bit = turns.due.trailing_zeros();
                turns.due &= turns.due - 1;
                return Some((bit & self.cores) as usize);
            }
            if turns.word == self.last_word {
                return None;
            }
            turns.word += 1;
            turns.due = self.take(turns.slot, turns.word);
        }
    }

    /// Gives the word of a core at a place, and its bit there.
    #[inline(always)]
    const fn at(&self, core: usize, place: u64) -> (usize, u32) {
        let bit = (place as usize) << self.shift | core;
        (bit >> 6 & (WORDS - 1), bit as u32 & 63)
    }

    /// Takes a word of a slot out.
    #[inline(always)]
    fn take(&mut self, slot: u64, word: u32) -> u64 {
        std::mem::take(&mut self.due[(slot % SLOTS) as usize][word as usize % WORDS])
    }

    /// Puts a core back into the cycle under way, in another place.
    #[cold]
    #[inline(never)]
    pub fn turn_at(&mut self, turns: Turns, core: usize, place: u64) -> Turns {
        let slot = turns.slot % SLOTS;
        self.due[slot as usize][turns.word as usize % WORDS] |= turns.due;
        self.set(slot as usize, core, place);
        self.turns(slot)
    }

    /// Ends a cycle: those who were not served are due in it still.
    pub fn put_back(&mut self, turns: Turns) {
        let due = &mut self.due[(turns.slot % SLOTS) as usize];
        due[turns.word as usize % WORDS] |= turns.due;
        self.occupied |= u64::from(*due != [0; WORDS]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes everybody out in order.
    fn drain(calendar: &mut Calendar) -> Vec<(usize, u64)> {
        let mut served = Vec::new();
        loop {
            let time = calendar.next_time();
            if time == NEVER {
                return served;
            }
            let mut turns = calendar.begin(time);
            while let Some(core) = calendar.turn(&mut turns) {
                served.push((core, time));
            }
        }
    }

    #[test]
    fn serves_the_first_of_those_who_are_due() {
        let mut calendar = Calendar::new(CORES);
        assert_eq!(calendar.next_time(), NEVER);
        for (core, time, order) in [(3, 7, 0), (2, 5, 1), (15, 5, 0), (1, 5, 2), (0, 9, 15)] {
            calendar.enter(core, time, order);
        }
        assert_eq!(drain(&mut calendar), [(15, 5), (2, 5), (1, 5), (3, 7), (0, 9)]);
    }

    #[test]
    fn orders_sixteen_cores_by_place_then_number() {
        let place = |core: usize| (core * 7 % 16 / 2) as u64;
        let mut calendar = Calendar::new(CORES);
        (0..16).for_each(|core| calendar.enter(core, 3, place(core)));
        let mut expected: Vec<usize> = (0..16).collect();
        expected.sort_by_key(|&core| (place(core), core));
        let served: Vec<usize> = drain(&mut calendar).into_iter().map(|(core, _)| core).collect();
        assert_eq!(served, expected);
    }

    #[test]
    fn places_may_change_while_their_cycle_lasts() {
        let mut calendar = Calendar::new(CORES);
        (0..4).for_each(|core| calendar.enter(core, 8, core as u64));
        let mut turns = calendar.begin(8);
        assert_eq!(calendar.turn(&mut turns), Some(0));
        turns = calendar.turn_at(turns, 0, 2); // before core 2, which has the same place
        assert_eq!(calendar.turn(&mut turns), Some(1));
        assert_eq!(calendar.turn(&mut turns), Some(0));
        calendar.put_back(turns);
        assert_eq!(drain(&mut calendar), [(2, 8), (3, 8)]);
    }

    #[test]
    fn keeps_what_lies_far_ahead_or_before() {
        let mut calendar = Calendar::new(CORES);
        for (core, time) in [(0, 1_000_000), (1, 63), (2, 64), (3, 65), (4, 1_000_000), (5, 127)] {
            calendar.enter(core, time, 0);
        }
        calendar.leave(4);
        let turns = calendar.begin(60);
        calendar.put_back(turns);
        calendar.enter(6, 2, 0); // an earlier cycle, after it began later
        let served = drain(&mut calendar);
        assert_eq!(served, [(6, 2), (1, 63), (2, 64), (3, 65), (5, 127), (0, 1_000_000)]);
    }

    /// Cores come and go at random, as in a lane; a sorted list says who is next.
    #[test]
    fn agrees_with_a_sorted_list() {
        [1, 2, 5, 8, CORES].into_iter().for_each(agrees_with_a_sorted_list_of);
    }

    fn agrees_with_a_sorted_list_of(cores: usize) {
        let mut seed = 7_u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let mut calendar = Calendar::new(cores);
        let mut list: Vec<(u64, u64, usize)> = Vec::new();
        for core in 0..cores {
            let (time, place) = (random(9), random(PLACES));
            calendar.enter(core, time, place);
            list.push((time, place, core));
        }
        for _ in 0..20_000 {
            let now = calendar.next_time();
            assert_eq!(Some(now), list.iter().map(|one| one.0).min());
            let mut turns = calendar.begin(now);
            while let Some(core) = calendar.turn(&mut turns) {
                let first = list.iter().min().copied();
                assert_eq!(first.map(|one| (one.0, one.2)), Some((now, core)));
                list.retain(|one| one.2 != core);
                let place = random(PLACES);
                if random(8) == 0 {
                    turns = calendar.turn_at(turns, core, place);
                    list.push((now, place, core));
                } else {
                    let time = now + 1 + if random(50) == 0 { random(200) } else { random(4) };
                    calendar.enter(core, time, place);
                    list.push((time, place, core));
                }
                if random(20) == 0 {
                    calendar.put_back(turns);
                    turns = calendar.begin(now);
                }
            }
        }
    }
}
