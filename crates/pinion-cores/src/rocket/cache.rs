//! The tags of a first-level cache: which lines it holds, in which state; replacement is random, as
//! Rocket's (RTL ICache.scala, DCache.scala).
//!
//! In: line addresses. Out: hit or miss, and which line had to go. Holds no data: memory has that.

/// Says what a hart may do with a line it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Read it; others may hold it too.
    Shared,
    /// Write it; nobody else holds it.
    Exclusive,
    /// Wrote it.
    Dirty,
}

/// A line that had to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its address divided by the line's size.
    pub line: u64,
    /// Whether it was written.
    pub dirty: bool,
}

const EMPTY: u64 = u64::MAX;

/// Holds the tags of one cache.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Line held by each way of each set, or [`EMPTY`].
    lines: Vec<u64>,
    states: Vec<State>,
    ways: usize,
    set_mask: u64,
    random: Lfsr,
}

impl Cache {
    /// Makes an empty cache of `sets` (a power of two) times `ways` lines.
    pub fn new(sets: u32, ways: u32) -> Self {
        let slots = (sets * ways) as usize;
        Self {
            lines: vec![EMPTY; slots],
            states: vec![State::Shared; slots],
            ways: ways as usize,
            set_mask: u64::from(sets) - 1,
            random: Lfsr::new(),
        }
    }

    #[inline(always)]
    fn set(&self, line: u64) -> usize {
        (line & self.set_mask) as usize * self.ways
    }

    /// Finds the slot that holds a line.
    #[inline(always)]
    pub fn find(&self, line: u64) -> Option<usize> {
        let first = self.set(line);
        self.lines[first..first + self.ways]
            .iter()
            .position(|&held| held == line)
            .map(|i| first + i)
    }

    /// Gives the state of a slot.
    #[inline(always)]
    pub fn state(&self, slot: usize) -> State {
        self.states[slot]
    }

    /// Sets the state of a slot.
    #[inline(always)]
    pub fn set_state(&mut self, slot: usize, state: State) {
        self.states[slot] = state;
    }

    /// Puts a line in, into an empty way or instead of a random one.
    pub fn insert(&mut self, line: u64, state: State) -> Option<Victim> {
        let first = self.set(line);
        let random = self.random.next() as usize;
        let ways = first..first + self.ways;
        let empty = self.lines[ways].iter().position(|&held| held == EMPTY);
        let slot = first + empty.unwrap_or(random % self.ways);
        let victim = (self.lines[slot] != EMPTY)
            .then(|| Victim { line: self.lines[slot], dirty: self.states[slot] == State::Dirty });
        self.lines[slot] = line;
        self.states[slot] = state;
        victim
    }

    /// Drops a line; tells whether it was dirty.
    pub fn remove(&mut self, line: u64) -> bool {
        match self.find(line) {
            Some(slot) => {
                self.lines[slot] = EMPTY;
                self.states[slot] == State::Dirty
            }
            None => false,
        }
    }

    /// Drops everything (`fence.i` of an instruction cache).
    pub fn clear(&mut self) {
        self.lines.fill(EMPTY);
    }
}

/// Distances from the lowest bit of the bits that are fed back.
const TAPS: [u32; 4] = [0, 2, 3, 5];

/// A 16-bit linear feedback shift register, which random replacement draws from.
#[derive(Clone, Debug)]
struct Lfsr(u16);

impl Lfsr {
    fn new() -> Self {
        Self(1)
    }

    fn next(&mut self) -> u16 {
        let bit = TAPS.iter().fold(0, |bit, tap| bit ^ self.0 >> tap) & 1;
        self.0 = self.0 >> 1 | bit << (u16::BITS - 1);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_as_many_lines_as_it_has_ways() {
        let mut cache = Cache::new(64, 4);
        for way in 0..4 {
            assert_eq!(cache.insert(7 + 64 * way, State::Shared), None);
        }
        let victim = cache.insert(7 + 64 * 4, State::Exclusive).expect("one had to go");
        assert_eq!(victim.line % 64, 7);
        assert!(cache.find(7 + 64 * 4).is_some());
        assert_eq!(cache.find(victim.line), None);
        assert_eq!(cache.find(8), None);
    }

    #[test]
    fn dirty_lines_say_so_when_they_go() {
        let mut cache = Cache::new(1, 1);
        cache.insert(1, State::Dirty);
        assert_eq!(cache.insert(2, State::Shared), Some(Victim { line: 1, dirty: true }));
        cache.set_state(0, State::Dirty);
        assert!(cache.remove(2));
        assert!(!cache.remove(2));
    }
}
