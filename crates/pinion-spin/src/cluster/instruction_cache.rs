//! A cluster's instruction cache, shared by its cores.
//!
//! In: the line a core asks for, and when. Out: the cycle in which its data come. Holds tags and the
//! refills under way. Each core looks at the tags itself. What it does not find it asks of one
//! controller, which takes a request in a cycle and knows which lines are on their way: cores that ask
//! for one share its refill, those that come as it is written look again, and those that come later
//! have it refilled once more. Refills go through the program memory's one port, which all clusters
//! share; a refill takes an empty way, or one at random. Off at reset: every line is then read past
//! the cache. What cores ask for ahead is their prefetch buffers' affair. (RTL: icache_bank_mp_128,
//! central_controller_128, merge_refill_cam_128_16, prog_mem; replacement from row capacity.)

use pinion_cores::port::{self, HeldLines};

use crate::Machine;
use cycle_book::CycleBook;

mod cycle_book;

/// Cycles from a core's request to its turn at the controller: a look at the tags, a state and a
/// buffer (RTL: icache_bank_mp_128).
const TO_CONTROLLER_CYCLES: u64 = 3;

/// Cycles from the controller's turn to the data of a core that is to look again (RTL:
/// merge_refill_cam_128_16, retry_fetch).
const RETRY_CYCLES: u64 = 2;

/// Stands for a line that is not there.
const NEVER: u64 = u64::MAX;

/// Books the program memory's port.
#[derive(Clone, Copy, Debug)]
pub struct ProgramPort {
    book: CycleBook,
    beats: u32,
}

impl ProgramPort {
    /// Makes an idle port.
    pub fn new(machine: &Machine) -> Self {
        let beats = machine.instruction_cache.refill_port_cycles as u32;
        Self { book: CycleBook::default(), beats }
    }

    /// Takes the port for a refill from cycle `now` on, in the first gap; gives the cycles it has to
    /// wait.
    fn take(&mut self, now: u64) -> u64 {
        self.book.take(now, self.beats) - now
    }
}

/// Holds a line's tag and the cycle in which it is written: whoever looks in a later one finds it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    line: u32,
    written: u64,
    /// When it was last written, for cores that had looked before.
    again: u64,
}

impl Entry {
    /// Gives the cycle in which cores that waited for the line get its data.
    fn ready(self) -> u64 {
        self.written + 1
    }
}

const EMPTY: u32 = u32::MAX;

/// Banks of the cache, which hold lines in turn (RTL pulp_cluster_cfg_pkg).
const BANKS: usize = 4;

/// Chooses ways by an 8-bit shift register with inverted linear feedback (bits 7, 3, 2, 1).
#[derive(Clone, Copy, Debug)]
struct RandomWays(u8);

impl RandomWays {
    fn next(&mut self, ways: usize) -> usize {
        let fed = self.0 >> 7 ^ self.0 >> 3 ^ self.0 >> 2 ^ self.0 >> 1;
        self.0 = self.0 << 1 | (!fed & 1);
        usize::from(self.0) % ways
    }
}

/// Decides when a core gets its instructions.
#[derive(Clone, Debug)]
pub struct InstructionCache {
    entries: Vec<Entry>,
    ways: usize,
    sets_mask: u32,
    line_shift: u32,
    /// By bank.
    random: [RandomWays; BANKS],
    /// The controller's turns.
    turns: CycleBook,
    /// Cycles from such a turn to the cycle in which the line is written, where the port is free.
    refill_cycles: u64,
    bypass_cycles: u64,
    /// By line of program memory: the cycle from which it and the next one are there, [`NEVER`] if
    /// one is not.
    pairs: Vec<u64>,
    /// The first of those lines.
    first_line: u32,
    on: bool,
    requested: bool,
    misses: u64,
    /// Counts what was filled or turned on.
    changes: u64,
}

/// Cycles from a request to its data where the cache has them.
const HIT_CYCLES: u64 = 1;

impl InstructionCache {
    /// Makes a cache that is off.
    pub fn new(machine: &Machine) -> Self {
        let config = &machine.instruction_cache;
        let entries = (config.bytes / config.line_bytes) as usize;
        let ways = config.ways as usize;
        Self {
            entries: vec![Entry { line: EMPTY, written: 0, again: 0 }; entries],
            ways,
            sets_mask: (entries / ways) as u32 - 1,
            line_shift: config.line_bytes.trailing_zeros(),
            random: [RandomWays(0); BANKS],
            turns: CycleBook::default(),
            refill_cycles: config.miss_cycles.saturating_sub(TO_CONTROLLER_CYCLES),
            bypass_cycles: config.bypass_cycles,
            pairs: vec![NEVER; (machine.program.bytes / config.line_bytes) as usize + 1],
            first_line: machine.program.base / config.line_bytes,
            on: false,
            requested: false,
            misses: 0,
            changes: 0,
        }
    }

    /// Asks for the cache to be turned on: it happens once no core of the cluster fetches.
    pub fn request_on(&mut self) {
        self.requested = true;
    }

    /// Says whether it waits to be turned on.
    pub fn is_requested(&self) -> bool {
        self.requested && !self.on
    }

    /// Says whether it is on.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Turns it on; it has the lines of the waiting cores and those that they have asked for ahead.
    pub fn turn_on(&mut self, now: u64, waiting_lines: impl Iterator<Item = u32>) {
        self.on = true;
        self.changes += 1;
        for line in waiting_lines {
            for line in [line, line.wrapping_add(1)] {
                if self.find(line).is_none() {
                    self.fill(line, now.saturating_sub(1));
                }
            }
        }
    }

    /// Gives the number of lines that had to be refilled.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    fn set(&self, line: u32) -> std::ops::Range<usize> {
        let first = (line & self.sets_mask) as usize * self.ways;
        first..first + self.ways
    }

    #[inline]
    fn find(&self, line: u32) -> Option<usize> {
        self.set(line).find(|&index| self.entries[index].line == line)
    }

    fn fill(&mut self, line: u32, written: u64) {
        self.changes += 1;
        let set = self.set(line);
        let empty = set.clone().find(|&index| self.entries[index].line == EMPTY);
        let victim =
            empty.unwrap_or(set.start + self.random[line as usize % BANKS].next(self.ways));
        let entry = Entry { line, written, again: written };
        let replaced = std::mem::replace(&mut self.entries[victim], entry).line;
        for line in [replaced, line] {
            self.note_pair(line.wrapping_sub(1));
            self.note_pair(line);
        }
    }

    /// Notes from when on a line and the next one are there.
    fn note_pair(&mut self, line: u32) {
        let ready = |line| self.find(line).map_or(NEVER, |index| self.entries[index].ready());
        let both = ready(line).max(ready(line.wrapping_add(1)));
        if let Some(pair) = self.pairs.get_mut(line.wrapping_sub(self.first_line) as usize) {
            *pair = both;
        }
    }

    /// Asks for a line in cycle `now`; gives the cycle in which its data come.
    pub fn request(&mut self, line: u32, now: u64, port: &mut ProgramPort) -> u64 {
        let found = self.find(line);
        let entry = found.map(|index| self.entries[index]);
        if entry.is_some_and(|entry| entry.written <= now) {
            return now + HIT_CYCLES;
        }
        let turn = self.turns.take(now + TO_CONTROLLER_CYCLES, 1);
        let refills = entry.map(|entry| [entry.written, entry.again]);
        // The controller remembers the line that was written last for a cycle.
        match refills.into_iter().flatten().find(|&written| turn <= written + 1) {
            Some(written) if turn < written => return written + HIT_CYCLES,
            Some(_) => return turn + RETRY_CYCLES,
            None => self.misses += 1,
        }
        let written = turn + self.refill_cycles + port.take(turn + 1);
        match found {
            Some(index) => self.entries[index].again = written,
            None => self.fill(line, written),
        }
        written + HIT_CYCLES
    }

    /// Reads a line past the cache, which is off; gives the cycle from which it can be executed.
    pub fn bypass(&self, now: u64, port: &mut ProgramPort) -> u64 {
        now + self.bypass_cycles + port.take(now)
    }
}

/// The cache as the port of a core in its turn: it may ask for lines.
pub struct InstructionPort<'a> {
    /// The cache.
    pub cache: &'a mut InstructionCache,
    /// The port to program memory behind it.
    pub program: &'a mut ProgramPort,
}

impl HeldLines for InstructionCache {
    #[inline(always)]
    fn line_shift(&self) -> u32 {
        self.line_shift
    }

    #[inline(always)]
    fn has(&self, line: u32, now: u64) -> bool {
        self.on && self.find(line).is_some_and(|index| self.entries[index].ready() <= now)
    }

    #[inline(always)]
    fn has_with_next(&self, line: u32, now: u64) -> bool {
        match self.pairs.get(line.wrapping_sub(self.first_line) as usize) {
            Some(&ready) => ready <= now && self.on,
            None => self.has(line, now) && self.has(line.wrapping_add(1), now),
        }
    }

    #[inline(always)]
    fn changes(&self) -> u64 {
        self.changes
    }
}

impl HeldLines for InstructionPort<'_> {
    #[inline(always)]
    fn line_shift(&self) -> u32 {
        self.cache.line_shift()
    }

    #[inline(always)]
    fn has(&self, line: u32, now: u64) -> bool {
        self.cache.has(line, now)
    }

    fn changes(&self) -> u64 {
        self.cache.changes()
    }
}

impl port::InstructionPort for InstructionPort<'_> {
    fn is_on(&self) -> bool {
        self.cache.is_on()
    }

    fn request(&mut self, line: u32, now: u64) -> u64 {
        self.cache.request(line, now, self.program)
    }

    fn bypass(&mut self, now: u64) -> u64 {
        self.cache.bypass(now, self.program)
    }
}

#[cfg(test)]
mod fetches;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    fn cache() -> (InstructionCache, ProgramPort) {
        let mut cache = InstructionCache::new(&machine());
        cache.turn_on(0, std::iter::empty());
        (cache, ProgramPort::new(&machine()))
    }

    #[test]
    fn shares_refills_between_cores() {
        let (mut cache, mut port) = cache();
        let first = cache.request(100, 1000, &mut port);
        assert_eq!(first, 1009);
        assert_eq!(cache.request(100, 1003, &mut port), first);
        assert_eq!(cache.request(100, 2000, &mut port), 2001);
        assert_eq!(cache.misses(), 1);
    }

    /// As the last line of row cold_line-single_by8: five cores share the refill, two come as it is
    /// written, and for the last one the line is refilled once more.
    #[test]
    fn cores_that_come_too_late_look_again_or_refill_again() {
        let (mut cache, mut port) = cache();
        let mut data = || cache.request(100, 1000, &mut port) - 1000;
        assert_eq!(std::array::from_fn(|_| data()), [9, 9, 9, 9, 9, 10, 11, 16]);
        assert_eq!(cache.misses(), 2);
    }

    #[test]
    fn refills_follow_each_other_beat_by_beat() {
        let mut port = ProgramPort::new(&machine());
        assert_eq!([port.take(100), port.take(100), port.take(100)], [0, 2, 4]);
        assert_eq!([port.take(200), port.take(210), port.take(205)], [0, 0, 0], "in any order");
    }

    /// Row capacity: of 320 lines in sequence, the second time through 256 lines of cache, 122 missed
    /// on the RTL. With the oldest replaced all of them would.
    #[test]
    fn replaces_at_random() {
        let (mut cache, mut port) = cache();
        let mut now = 0;
        let mut pass = || {
            let before = cache.misses();
            for line in 0..320 {
                now = cache.request(line, now, &mut port);
            }
            cache.misses() - before
        };
        assert_eq!(pass(), 320);
        assert!((100..145).contains(&pass()));
    }
}
