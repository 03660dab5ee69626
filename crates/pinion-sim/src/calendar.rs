//! A calendar of a few cores: which of them does something in which cycle.
//!
//! In: a core, its cycle, its place among equals (in a bank's round robin). Out: the cores of the next cycle in
//! which there are any, in the order of their places, then of their numbers. A cycle's cores are a
//! word of bits: the host can begin with one of them while it still works on the one before, which
//! it could not if it had to look for the least of all cycles each time. Those of the cycle under way
//! are sorted by their places, again in words of bits.

/// Most cores in a calendar.
pub const CORES: usize = 16;

/// Stands for no cycle: no core waits for its turn.
pub const NEVER: u64 = u64::MAX >> 8;

/// Cycles that have a word of bits, one after the other; what is later waits aside.
const SLOTS: u64 = 64;

/// Places among equals.
const PLACES: usize = 16;

/// Holds the cycles in which cores are due.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// By cycle, modulo their number: a bit per core.
    due: [u32; SLOTS as usize],
    /// Bit per slot: somebody is due.
    occupied: u64,
    /// No core is due before this cycle; slots are for it and those that follow.
    base: u64,
    /// Bit per core: it is due beyond the slots.
    later: u16,
    /// The first cycle of those, [`NEVER`] if there are none.
    later_from: u64,
    /// By core that is due beyond the slots: its cycle.
    times: [u64; CORES],
    /// By core: its place among equals.
    orders: [u8; CORES],
    /// Those who are yet to be served in the cycle under way: by place, a bit per core.
    turns: [u32; PLACES],
    /// Bit per place: somebody has it.
    taken: u32,
}

impl Calendar {
    /// Makes an empty calendar.
    pub const fn new() -> Self {
        Self {
            due: [0; SLOTS as usize],
            occupied: 0,
            base: 0,
            later: 0,
            later_from: NEVER,
            times: [NEVER; CORES],
            orders: [0; CORES],
            turns: [0; PLACES],
            taken: 0,
        }
    }

    /// Puts a core in, which is not there, to be served at `time`; `order`, its place, decides among
    /// equals.
    #[inline(always)]
    pub fn enter(&mut self, core: usize, time: u64, order: u64) {
        self.orders[core % CORES] = order as u8;
        self.place(core, time);
    }

    #[inline(always)]
    fn place(&mut self, core: usize, time: u64) {
        if time.wrapping_sub(self.base) < SLOTS {
            self.due[(time % SLOTS) as usize] |= 1 << core;
            self.occupied |= 1 << (time % SLOTS);
        } else {
            self.place_elsewhere(core, time);
        }
    }

    #[cold]
    fn place_elsewhere(&mut self, core: usize, time: u64) {
        self.put_aside(core, time);
        if time < self.base {
            // Those in the slots may be beyond them now.
            for slot in 0..SLOTS {
                let time = self.base + slot.wrapping_sub(self.base) % SLOTS;
                let due = std::mem::take(&mut self.due[slot as usize]);
                for core in (0..CORES).filter(|core| due >> core & 1 == 1) {
                    self.put_aside(core, time);
                }
            }
            (self.base, self.occupied) = (time, 0);
            self.bring_in();
        }
    }

    fn put_aside(&mut self, core: usize, time: u64) {
        self.later |= 1 << core;
        self.times[core % CORES] = time;
        self.later_from = self.later_from.min(time);
    }

    /// Brings those into the slots that are not beyond them any more.
    #[cold]
    fn bring_in(&mut self) {
        let later = std::mem::take(&mut self.later);
        self.later_from = NEVER;
        for core in (0..CORES).filter(|core| later >> core & 1 == 1) {
            let time = self.times[core];
            if time - self.base < SLOTS {
                self.place(core, time);
            } else {
                self.put_aside(core, time);
            }
        }
    }

    /// Takes a core out.
    pub fn leave(&mut self, core: usize) {
        self.later &= !(1 << core); // that `later_from` may be too early does no harm
        for (slot, due) in self.due.iter_mut().enumerate() {
            *due &= !(1 << core);
            self.occupied = self.occupied & !(1 << slot) | u64::from(*due != 0) << slot;
        }
    }

    /// Gives the next cycle in which somebody is due, [`NEVER`] if nobody is.
    #[inline]
    pub fn next_time(&self) -> u64 {
        if self.occupied != 0 {
            let ahead = self.occupied.rotate_right((self.base % SLOTS) as u32).trailing_zeros();
            return self.base + u64::from(ahead);
        }
        let later = (0..CORES).filter(|core| self.later >> core & 1 == 1);
        later.map(|core| self.times[core]).min().unwrap_or(NEVER)
    }

    /// Begins a cycle, which is the next one: those who are due leave their slot, in turns.
    #[inline(always)]
    pub fn begin(&mut self, time: u64) {
        self.base = time;
        if self.later_from < time.saturating_add(SLOTS) {
            self.bring_in();
        }
        self.occupied &= !(1 << (time % SLOTS));
        let mut due = std::mem::take(&mut self.due[(time % SLOTS) as usize]);
        while due != 0 {
            let core = due.trailing_zeros() as usize;
            due &= due - 1;
            self.queue(core, self.orders[core % CORES]);
        }
    }

    #[inline(always)]
    fn queue(&mut self, core: usize, order: u8) {
        self.turns[usize::from(order) % PLACES] |= 1 << core;
        self.taken |= 1 << (usize::from(order) % PLACES);
    }

    /// Takes the core out whose turn it is in the cycle under way; gives its place, too.
    #[inline(always)]
    pub fn turn(&mut self) -> Option<(usize, u64)> {
        if self.taken == 0 {
            return None;
        }
        let order = self.taken.trailing_zeros() as usize;
        let turns = &mut self.turns[order % PLACES];
        let core = turns.trailing_zeros() as usize;
        *turns &= turns.wrapping_sub(1);
        self.taken &= !(u32::from(*turns == 0) << order);
        Some((core % CORES, order as u64))
    }

    /// Puts a core back into the cycle under way, in another place.
    #[inline]
    pub fn turn_at(&mut self, core: usize, order: u64) {
        self.orders[core % CORES] = order as u8;
        self.queue(core, order as u8);
    }

    /// Ends a cycle: those who were not served are due in it still.
    pub fn put_back(&mut self, time: u64) {
        let due = std::mem::take(&mut self.turns).iter().fold(0, |due, turns| due | turns);
        self.taken = 0;
        self.due[(time % SLOTS) as usize] = due;
        self.occupied |= u64::from(due != 0) << (time % SLOTS);
    }
}

impl Default for Calendar {
    fn default() -> Self {
        Self::new()
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
            calendar.begin(time);
            while let Some((core, _)) = calendar.turn() {
                served.push((core, time));
            }
        }
    }

    #[test]
    fn serves_the_first_of_those_who_are_due() {
        let mut calendar = Calendar::new();
        assert_eq!(calendar.next_time(), NEVER);
        for (core, time, order) in [(3, 7, 0), (2, 5, 1), (15, 5, 0), (1, 5, 2), (0, 9, 15)] {
            calendar.enter(core, time, order);
        }
        assert_eq!(drain(&mut calendar), [(15, 5), (2, 5), (1, 5), (3, 7), (0, 9)]);
    }

    #[test]
    fn orders_sixteen_cores_by_place_then_number() {
        let place = |core: usize| (core * 7 % 16 / 2) as u64;
        let mut calendar = Calendar::new();
        (0..16).for_each(|core| calendar.enter(core, 3, place(core)));
        let mut expected: Vec<usize> = (0..16).collect();
        expected.sort_by_key(|&core| (place(core), core));
        let served: Vec<usize> = drain(&mut calendar).into_iter().map(|(core, _)| core).collect();
        assert_eq!(served, expected);
    }

    #[test]
    fn places_may_change_while_their_cycle_lasts() {
        let mut calendar = Calendar::new();
        (0..4).for_each(|core| calendar.enter(core, 8, core as u64));
        calendar.begin(8);
        assert_eq!(calendar.turn(), Some((0, 0)));
        calendar.turn_at(0, 2); // before core 2, which has the same place
        assert_eq!(calendar.turn(), Some((1, 1)));
        assert_eq!(calendar.turn(), Some((0, 2)));
        calendar.put_back(8);
        assert_eq!(drain(&mut calendar), [(2, 8), (3, 8)]);
    }

    #[test]
    fn keeps_what_lies_far_ahead_or_before() {
        let mut calendar = Calendar::new();
        for (core, time) in [(0, 1_000_000), (1, 63), (2, 64), (3, 65), (4, 1_000_000), (5, 127)] {
            calendar.enter(core, time, 0);
        }
        calendar.leave(4);
        calendar.begin(60);
        calendar.put_back(60);
        calendar.enter(6, 2, 0); // an earlier cycle, after it began later
        let served = drain(&mut calendar);
        assert_eq!(served, [(6, 2), (1, 63), (2, 64), (3, 65), (5, 127), (0, 1_000_000)]);
    }
}
