//! Retransmission timers: one per message id, compared with the clock by a scan (nanoPU
//! paper, §2.1; RTL LNIC/Timers).
//!
//! In: a message's timer is set when its header word enters packetization and cancelled when it is
//! delivered. Out: which message timed out, and when. Holds a deadline per id. The scan spends two
//! cycles on each id, one to read its entry and one to compare, and goes round for ever, so a
//! timeout comes up to a round late. Setting a timer takes the memory from the scan for a cycle: it
//! goes on one cycle later, or two if it had to read its entry again.
//!
//! Nothing ticks: since all timers run equally long, those that are set form a queue, and the
//! cycle in which the scan meets an entry is arithmetic.

use crate::Cycle;
use crate::hardware::{InLoop, TimersSeat};
use crate::machine::transmit::TimerSection;

/// Ends the queue of set timers.
const NONE: u16 = u16::MAX;

/// Says how far the next expiry is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// No timer is set.
    Never,
    /// None expires before this cycle.
    NotBefore(Cycle),
    /// This one expires in this cycle.
    Expires(Cycle, u16),
}

/// Links a timer that is set with its neighbours in order of deadline.
#[derive(Clone, Copy, Debug)]
struct Entry {
    deadline: Cycle,
    before: u16,
    after: u16,
    set: bool,
}

/// Holds the timers of all message ids.
#[derive(Clone, Debug)]
pub struct Timers {
    timeout: u64,
    per_entry: u64,
    /// Cycle, modulo a round, in which entry 0 is compared.
    phase: u64,
    entries: Vec<Entry>,
    first: u16,
    last: u16,
    /// The scan before this cycle is history.
    floor: Cycle,
    next: Next,
    /// The block in their place, or beside them.
    hardware: InLoop<TimersSeat>,
}

impl Timers {
    /// Makes timers for `ids` message ids.
    pub fn new(section: &TimerSection, ids: u16) -> Self {
        Self {
            timeout: section.timeout_cycles,
            per_entry: section.scan_cycles_per_entry,
            phase: section.scan_phase_cycles,
            entries: vec![Entry { deadline: 0, before: NONE, after: NONE, set: false }; ids.into()],
            first: NONE,
            last: NONE,
            floor: 0,
            next: Next::Never,
            hardware: InLoop::default(),
        }
    }

    /// Puts a block into their place, or beside them.
    pub fn set_hardware(&mut self, seat: TimersSeat) {
        self.hardware = InLoop::new(seat);
    }

    /// Gives their block, if they have one.
    pub fn hardware(&self) -> Option<&TimersSeat> {
        self.hardware.get()
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        if let Some(seat) = self.hardware.get_mut() {
            seat.clock(to);
        }
    }

    /// Sets the timer of `id`; the write to its entry happens in cycle `at`.
    pub fn set(&mut self, id: u16, at: Cycle) {
        let was_set = self.forget(id);
        if let Some(seat) = self.hardware.get_mut() {
            seat.set(id, at, !was_set);
        }
        let comparing = self.since_comparison(0, at).is_multiple_of(self.per_entry);
        let delay = if comparing { self.per_entry } else { 1 };
        self.delay_scan(delay, at);
        self.append(id, at);
    }

    /// Cancels the timer of `id` in cycle `at`, if it is set.
    pub fn cancel(&mut self, id: u16, at: Cycle) {
        if self.forget(id)
            && let Some(seat) = self.hardware.get_mut()
        {
            seat.cancel(id, at);
        }
    }

    /// Takes the timer of `id` out of the queue; tells whether it was set.
    fn forget(&mut self, id: u16) -> bool {
        let Entry { before, after, set, .. } = self.entries[usize::from(id)];
        if !set {
            return false;
        }
        self.entries[usize::from(id)].set = false;
        match before {
            NONE => self.first = after,
            before => self.entries[usize::from(before)].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.entries[usize::from(after)].before = before,
        }
        self.look_again();
        true
    }

    /// Tells when [`expire`](Self::expire) has something to do.
    pub fn next(&self) -> Option<Cycle> {
        if let Some(seat) = self.hardware.in_place() {
            // Nobody knows ahead what it will say.
            return (self.first != NONE).then(|| seat.next());
        }
        match self.next {
            Next::Never => None,
            Next::NotBefore(at) | Next::Expires(at, _) => Some(at),
        }
    }

    /// Does what is due in cycle `at`, which is that of [`next`](Self::next): gives the message
    /// that times out, whose timer then runs again, and when, or finds out when one will.
    pub fn expire(&mut self, at: Cycle) -> Option<(Cycle, u16)> {
        if let Some(seat) = self.hardware.in_place_mut() {
            let id = seat.expired(at)?;
            if !self.entries.get(usize::from(id)).is_some_and(|entry| entry.set) {
                seat.refuse(id);
                return None;
            }
            self.forget(id);
            self.append(id, at);
            return Some((at, id));
        }
        match self.next {
            Next::Expires(due, id) if due <= at => {
                self.forget(id);
                self.delay_scan(1, due + 1);
                self.append(id, due);
                if let Some(seat) = self.hardware.get_mut() {
                    seat.follow(due, id);
                }
                Some((due, id))
            }
            _ => {
                self.find();
                None
            }
        }
    }

    /// Counts the cycles of a round of the scan.
    fn round(&self) -> u64 {
        self.per_entry * self.entries.len() as u64
    }

    /// Counts the cycles since the scan last compared the entry of `id`, at cycle `at`.
    fn since_comparison(&self, id: u16, at: Cycle) -> u64 {
        let round = self.round();
        let entry = (self.phase + self.per_entry * u64::from(id)) % round;
        (at % round + round - entry) % round
    }

    /// Makes the scan `cycles` late from cycle `from` on.
    fn delay_scan(&mut self, cycles: u64, from: Cycle) {
        self.phase = (self.phase + cycles) % self.round();
        self.floor = self.floor.max(from);
    }

    /// Puts a timer behind all others.
    fn append(&mut self, id: u16, set_at: Cycle) {
        let deadline = set_at + self.timeout;
        let before = self.last;
        self.entries[usize::from(id)] = Entry { deadline, before, after: NONE, set: true };
        match before {
            NONE => self.first = id,
            before => self.entries[usize::from(before)].after = id,
        }
        self.last = id;
        self.look_again();
    }

    /// Forgets what was known of the next expiry.
    fn look_again(&mut self) {
        self.next = match self.first {
            NONE => Next::Never,
            first => Next::NotBefore(self.entries[usize::from(first)].deadline.max(self.floor)),
        };
    }

    /// Finds the next expiry. Later deadlines than the best comparison found cannot beat it.
    fn find(&mut self) {
        let mut best = None;
        let mut id = self.first;
        while id != NONE {
            let entry = self.entries[usize::from(id)];
            if best.is_some_and(|(at, _)| entry.deadline >= at) {
                break;
            }
            let from = entry.deadline.max(self.floor);
            let late = self.since_comparison(id, from);
            let at = if late == 0 { from } else { from + self.round() - late };
            if best.is_none_or(|(best, _)| at < best) {
                best = Some((at, id));
            }
            id = entry.after;
        }
        self.next = best.map_or(Next::Never, |(at, id)| Next::Expires(at, id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timers(timeout_cycles: u64) -> Timers {
        let section =
            TimerSection { timeout_cycles, scan_cycles_per_entry: 2, scan_phase_cycles: 0 };
        Timers::new(&section, 128)
    }

    /// Runs to the next expiry.
    fn next(timers: &mut Timers) -> Option<(Cycle, u16)> {
        loop {
            let at = timers.next()?;
            if let Some(expired) = timers.expire(at) {
                return Some(expired);
            }
        }
    }

    #[test]
    fn a_timeout_comes_with_the_scan_and_then_every_3073_cycles() {
        let mut timers = timers(3000);
        // Written while entry 0 is read (it is compared at 256): the scan is one cycle late.
        timers.set(1, 255);
        // Deadline 3255; entry 1 is compared at 3 + 256 n.
        assert_eq!(next(&mut timers), Some((3331, 1)));
        assert_eq!(next(&mut timers), Some((3331 + 3073, 1)));
        assert_eq!(next(&mut timers), Some((3331 + 2 * 3073, 1)));
        timers.cancel(1, 9000);
        assert_eq!(next(&mut timers), None);
    }

    #[test]
    fn a_neighbour_set_too_late_for_the_same_round_expires_259_cycles_later() {
        let mut timers = timers(3000);
        timers.set(1, 101);
        timers.set(2, 400);
        // Entry 1 is compared at 2 + 256 n + the delays of both sets.
        let first = next(&mut timers).unwrap();
        assert_eq!(first.1, 1);
        assert_eq!(next(&mut timers), Some((first.0 + 259, 2)));
    }

    #[test]
    fn setting_a_timer_in_the_comparing_cycle_costs_two() {
        let mut a = timers(1000);
        let mut b = a.clone();
        a.set(0, 511); // read
        b.set(0, 512); // comparing
        assert_eq!(next(&mut a), Some((1537, 0)));
        assert_eq!(next(&mut b), Some((1538, 0)));
    }

    #[test]
    fn cancelled_timers_never_expire_whatever_their_place() {
        for cancelled in 0..3 {
            let mut timers = timers(500);
            for id in 0..3 {
                timers.set(id, 100 * u64::from(id));
            }
            timers.cancel(cancelled, 300);
            timers.cancel(cancelled, 301);
            let expired: Vec<_> = (0..2).map(|_| next(&mut timers).unwrap().1).collect();
            assert!(!expired.contains(&cancelled), "{cancelled}: {expired:?}");
            assert_ne!(expired[0], expired[1]);
        }
    }
}
