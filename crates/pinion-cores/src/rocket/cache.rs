//! The tags of a first-level cache: which lines it holds, in which state; replacement is random, as
//! Rocket's (RTL ICache.scala, DCache.scala).
//!
//! In: line addresses. Out: hit or miss, and which line had to go. Holds no data: memory has that. A line takes
//! four bytes, its tag and its state, for clusters have many caches and what lies in the host's own makes them fast.

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

/// Bits of a slot that hold its line's state; the others are the line's key.
const STATE_BITS: u32 = 2;
/// Slot without a line.
const EMPTY: u32 = 0;
/// Key of lines whose own does not fit: no memory is that large, but a program may jump anywhere.
const FAR: u32 = u32::MAX >> STATE_BITS;

/// Holds the tags of one cache.
#[derive(Clone, Debug)]
pub struct Cache {
    /// By way of each set: the key of the line there, which is one more than its tag, and the line's state.
    slots: Vec<u32>,
    /// Slots of lines whose keys do not fit, and those lines.
    far: Vec<(usize, u64)>,
    ways: usize,
    set_mask: u64,
    set_bits: u32,
    random: Lfsr,
}

impl Cache {
    /// Makes an empty cache of `sets` (a power of two) times `ways` lines.
    pub fn new(sets: u32, ways: u32) -> Self {
        Self {
            slots: vec![EMPTY; (sets * ways) as usize],
            far: Vec::new(),
            ways: ways as usize,
            set_mask: u64::from(sets) - 1,
            set_bits: sets.trailing_zeros(),
            random: Lfsr::new(),
        }
    }

    #[inline(always)]
    fn set(&self, line: u64) -> usize {
        (line & self.set_mask) as usize * self.ways
    }

    #[inline(always)]
    fn key(&self, line: u64) -> u32 {
        let tag = line >> self.set_bits;
        if tag < u64::from(FAR) - 1 { tag as u32 + 1 } else { FAR }
    }

    /// Finds the slot that holds a line.
    #[inline(always)]
    pub fn find(&self, line: u64) -> Option<usize> {
        let (first, key) = (self.set(line), self.key(line));
        if key == FAR {
            return self.find_far(line);
        }
        self.slots[first..first + self.ways]
            .iter()
            .position(|&held| held >> STATE_BITS == key)
            .map(|i| first + i)
    }

    #[cold]
    fn find_far(&self, line: u64) -> Option<usize> {
        self.far.iter().find(|&&(_, held)| held == line).map(|&(slot, _)| slot)
    }

    /// Gives the state of a slot.
    #[inline(always)]
    pub fn state(&self, slot: usize) -> State {
        const EXCLUSIVE: u32 = State::Exclusive as u32;
        const DIRTY: u32 = State::Dirty as u32;
        match self.slots[slot] & ((1 << STATE_BITS) - 1) {
            DIRTY => State::Dirty,
            EXCLUSIVE => State::Exclusive,
            _ => State::Shared,
        }
    }

    /// Sets the state of a slot.
    #[inline(always)]
    pub fn set_state(&mut self, slot: usize, state: State) {
        let held = &mut self.slots[slot];
        *held = *held >> STATE_BITS << STATE_BITS | state as u32;
    }

    /// Puts a line in, into an empty way or instead of a random one.
    pub fn insert(&mut self, line: u64, state: State) -> Option<Victim> {
        let first = self.set(line);
        let random = self.random.next() as usize;
        let ways = first..first + self.ways;
        let empty = self.slots[ways].iter().position(|&held| held == EMPTY);
        let slot = first + empty.unwrap_or(random % self.ways);
        let dirty = self.state(slot) == State::Dirty;
        let victim = self.empty(slot, line & self.set_mask).map(|line| Victim { line, dirty });
        let key = self.key(line);
        if key == FAR {
            self.far.push((slot, line));
        }
        self.slots[slot] = key << STATE_BITS | state as u32;
        victim
    }

    /// Empties a slot of a set; gives the line that it held.
    fn empty(&mut self, slot: usize, set: u64) -> Option<u64> {
        match std::mem::replace(&mut self.slots[slot], EMPTY) >> STATE_BITS {
            EMPTY => None,
            FAR => {
                let index = self.far.iter().position(|&(held, _)| held == slot)?;
                Some(self.far.swap_remove(index).1)
            }
            key => Some(u64::from(key - 1) << self.set_bits | set),
        }
    }

    /// Drops a line; tells whether it was dirty.
    pub fn remove(&mut self, line: u64) -> bool {
        let Some(slot) = self.find(line) else { return false };
        let dirty = self.state(slot) == State::Dirty;
        self.empty(slot, line & self.set_mask);
        dirty
    }

    /// Drops everything (`fence.i` of an instruction cache).
    pub fn clear(&mut self) {
        self.slots.fill(EMPTY);
        self.far.clear();
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

    /// A cache of which each line is kept whole.
    struct Plain {
        ways: Vec<Option<(u64, State)>>,
        random: Lfsr,
    }

    impl Plain {
        fn insert(&mut self, line: u64, state: State) -> Option<Victim> {
            let random = self.random.next() as usize;
            let set = &mut self.ways[(line % 4 * 2) as usize..][..2];
            let way = set.iter().position(Option::is_none).unwrap_or(random % 2);
            let victim = set[way].replace((line, state));
            victim.map(|(line, state)| Victim { line, dirty: state == State::Dirty })
        }

        fn take(&mut self, line: u64) -> Option<State> {
            let held =
                self.ways.iter_mut().find(|way| way.is_some_and(|(held, _)| held == line))?;
            held.take().map(|(_, state)| state)
        }
    }

    /// Lines of small and of large numbers, at whose ends keys begin not to fit, meet in few sets.
    #[test]
    fn lines_of_any_number_are_kept_apart() {
        let last_near = (u64::from(FAR) - 1) * 4 - 1;
        let bases = [0, last_near - 3, last_near + 1, 1 << 34, u64::MAX - 7];
        let mut stream = pinion_sim::random::SplitMix64::new(3);
        let mut cache = Cache::new(4, 2);
        let mut plain = Plain { ways: vec![None; 8], random: Lfsr::new() };
        for turn in 0..50_000 {
            let line = bases[(stream.draw() % 5) as usize] + stream.draw() % 8;
            let states = [State::Shared, State::Exclusive, State::Dirty];
            let state = states[(stream.draw() % 3) as usize];
            let held = cache.find(line).map(|slot| cache.state(slot));
            match (held, stream.draw() % 4) {
                (None, _) => {
                    assert_eq!(cache.insert(line, state), plain.insert(line, state), "{turn}")
                }
                (Some(held), 0) => {
                    assert_eq!(plain.take(line), Some(held), "{turn}");
                    assert_eq!(cache.remove(line), held == State::Dirty, "{turn}");
                }
                (Some(held), _) => {
                    let way = plain.ways.iter_mut().flatten().find(|way| way.0 == line);
                    let way = way.expect("both hold it");
                    assert_eq!(std::mem::replace(&mut way.1, state), held, "{turn}");
                    cache.set_state(cache.find(line).expect("it is held"), state);
                }
            }
            if stream.draw().is_multiple_of(1_000) {
                cache.clear();
                plain.ways.fill(None);
            }
        }
    }
}
