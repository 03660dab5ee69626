//! A calendar of a few cores: which of them does something in which cycle.
//!
//! In: a core and its cycle. Out: the cores of the next cycle in which there are any, the lowest number first. A
//! cycle's cores are bits of one word: the host can begin with one of them while it still works on the one before,
//! which it could not if it had to look for the least of all cycles each time, and those who wait for the same thing
//! go from one cycle to another together.

/// Most cores in a calendar.
pub const CORES: usize = 16;

/// Stands for no cycle: no core waits for its turn.
pub const NEVER: u64 = u64::MAX >> 8;

/// Cycles that have a word of bits, one after the other; what is later waits aside.
const SLOTS: u64 = 64;

/// Holds the cycles in which cores are due.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// By cycle, modulo their number: a bit for each core that is due.
    due: [u16; SLOTS as usize],
    /// Bit per cycle from `base` on: somebody is due.
    occupied: u64,
    /// No core is due before this cycle; slots are for it and those that follow.
    base: u64,
    /// Bit per core: it is due beyond the slots.
    later: u32,
    /// Cycle from which the first of those has a slot; it may be too early.
    bring_in_at: u64,
    /// By core that is due beyond the slots: its cycle.
    aside: [u64; CORES],
}

impl Default for Calendar {
    fn default() -> Self {
        Self::new()
    }
}

/// Holds those who are yet to be served in a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    slot: u64,
    /// Bit per core. A whole word: what is written in halves and read whole the host would wait for.
    pub due: u32,
}

impl Calendar {
    /// Makes an empty calendar.
    pub const fn new() -> Self {
        Self {
            due: [0; SLOTS as usize],
            occupied: 0,
            base: 0,
            later: 0,
            bring_in_at: NEVER,
            aside: [NEVER; CORES],
        }
    }

    /// Puts a core in, which is not there, to be served at `time`.
    #[inline(always)]
    pub fn enter(&mut self, core: usize, time: u64) {
        self.enter_all(bit(core), time);
    }

    /// Puts those cores in whose bits are set, none of which is there, to be served at `time`.
    #[inline(always)]
    pub fn enter_all(&mut self, cores: u32, time: u64) {
        let ahead = time.wrapping_sub(self.base);
        if ahead < SLOTS {
            self.due[(time % SLOTS) as usize] |= cores as u16;
            self.occupied |= 1 << ahead;
        } else {
            self.enter_elsewhere(cores, time);
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_elsewhere(&mut self, cores: u32, time: u64) {
        self.put_aside(cores, time);
        if time < self.base {
            // Those in the slots may be beyond them now.
            for slot in 0..SLOTS {
                let time = self.base + slot.wrapping_sub(self.base) % SLOTS;
                let due = std::mem::take(&mut self.due[slot as usize]);
                self.put_aside(due.into(), time);
            }
            (self.base, self.occupied) = (time, 0);
            self.bring_in();
        }
    }

    fn put_aside(&mut self, cores: u32, time: u64) {
        self.later |= cores;
        each(cores).for_each(|core| self.aside[core] = time);
        if cores != 0 {
            self.bring_in_at = self.bring_in_at.min(time.saturating_sub(SLOTS - 1));
        }
    }

    /// Brings those into the slots that are not beyond them any more.
    #[cold]
    fn bring_in(&mut self) {
        let later = std::mem::take(&mut self.later);
        self.bring_in_at = NEVER;
        for core in each(later) {
            let time = self.aside[core];
            if time - self.base < SLOTS {
                self.enter(core, time);
            } else {
                self.put_aside(bit(core), time);
            }
        }
    }

    /// Takes a core out; gives the cycle in which it was due, if it was there.
    pub fn leave(&mut self, core: usize) -> Option<u64> {
        let bit = bit(core);
        if self.later & bit != 0 {
            self.later &= !bit;
            return Some(self.aside[core % CORES]);
        }
        let is_due =
            |ahead: &u64| u32::from(self.due[((self.base + ahead) % SLOTS) as usize]) & bit != 0;
        let ahead = (0..SLOTS).find(is_due)?;
        let due = &mut self.due[((self.base + ahead) % SLOTS) as usize];
        *due &= !(bit as u16);
        if *due == 0 {
            self.occupied &= !(1 << ahead);
        }
        Some(self.base + ahead)
    }

    /// Gives the next cycle in which somebody is due, [`NEVER`] if nobody is.
    #[inline]
    pub fn next_time(&self) -> u64 {
        if self.occupied != 0 {
            return self.base + u64::from(self.occupied.trailing_zeros());
        }
        each(self.later).map(|core| self.aside[core]).min().unwrap_or(NEVER)
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
        let slot = time % SLOTS;
        Turns { slot, due: std::mem::take(&mut self.due[slot as usize]).into() }
    }

    /// Ends a cycle: those who were not served are due in it still.
    pub fn put_back(&mut self, turns: Turns) {
        self.due[(turns.slot % SLOTS) as usize] |= turns.due as u16;
        self.occupied |= u64::from(turns.due != 0);
    }
}

impl Turns {
    /// Takes the core out whose turn it is.
    #[inline(always)]
    pub fn next_core(&mut self) -> Option<usize> {
        let core = self.due.trailing_zeros() as usize;
        self.due &= self.due.wrapping_sub(1);
        (core < CORES).then_some(core)
    }
}

/// Gives a core's bit.
#[inline(always)]
pub const fn bit(core: usize) -> u32 {
    1 << (core % CORES)
}

/// Gives the cores whose bits are set, the lowest first.
pub fn each(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let core = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (core < CORES).then_some(core)
    })
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
            while let Some(core) = turns.next_core() {
                served.push((core, time));
            }
        }
    }

    #[test]
    fn serves_the_first_of_those_who_are_due() {
        let mut calendar = Calendar::new();
        assert_eq!(calendar.next_time(), NEVER);
        for (core, time) in [(3, 7), (2, 5), (15, 5), (1, 5), (0, 9)] {
            calendar.enter(core, time);
        }
        assert_eq!(drain(&mut calendar), [(1, 5), (2, 5), (15, 5), (3, 7), (0, 9)]);
    }

    #[test]
    fn those_who_are_left_are_due_still() {
        let mut calendar = Calendar::new();
        calendar.enter_all(0b1111, 8);
        let mut turns = calendar.begin(8);
        assert_eq!(turns.next_core(), Some(0));
        calendar.enter(0, 9);
        calendar.put_back(turns);
        calendar.enter(4, 8);
        assert_eq!(drain(&mut calendar), [(1, 8), (2, 8), (3, 8), (4, 8), (0, 9)]);
    }

    #[test]
    fn keeps_what_lies_far_ahead_or_before() {
        let mut calendar = Calendar::new();
        for (core, time) in [(0, 1_000_000), (1, 63), (2, 64), (3, 65), (4, 1_000_000), (5, 127)] {
            calendar.enter(core, time);
        }
        assert_eq!(calendar.leave(4), Some(1_000_000));
        assert_eq!(calendar.leave(4), None);
        let turns = calendar.begin(60);
        calendar.put_back(turns);
        calendar.enter(6, 2); // an earlier cycle, after it began later
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
        let mut calendar = Calendar::new();
        let mut list: Vec<(u64, usize)> = Vec::new();
        for core in 0..cores {
            let time = random(9);
            calendar.enter(core, time);
            list.push((time, core));
        }
        for _ in 0..20_000 {
            let now = calendar.next_time();
            assert_eq!(Some(now), list.iter().map(|one| one.0).min());
            let mut turns = calendar.begin(now);
            while let Some(core) = turns.next_core() {
                assert_eq!(list.iter().min().copied(), Some((now, core)));
                list.retain(|one| one.1 != core);
                let time = now + 1 + if random(50) == 0 { random(200) } else { random(4) };
                calendar.enter(core, time);
                list.push((time, core));
                if random(20) == 0 {
                    calendar.put_back(turns);
                    turns = calendar.begin(now);
                }
            }
            if random(20) == 0 {
                let core = random(cores as u64) as usize;
                let due = calendar.leave(core);
                assert_eq!(due, list.iter().find(|one| one.1 == core).map(|one| one.0));
                let time = now + 1 + random(100);
                list.retain(|one| one.1 != core);
                calendar.enter(core, time);
                list.push((time, core));
            }
        }
    }
}
