//! The lines that an instruction cache holds: tags, and from when to when each is there.
//!
//! In: lines that are written, and where. Out: whether a core that looks in a cycle finds one, and where another would
//! be written. A line that loses its place stays until the other one is written. What is asked most, whether a line is
//! there with the next one, is kept by line. (RTL: icache_bank_mp_128, with the memories of tags and data.)

use pinion_spin_machine::Machine;

/// Stands for a line that is not there.
pub const NEVER: u64 = u64::MAX;

/// Cycles behind the latest write in which cores may still ask what was there.
const SEEN_CYCLES: u64 = 16;

const EMPTY: u32 = u32::MAX;

/// Bits of a word that has one for each line.
const WORD_BITS: usize = 64;

/// Holds a line's tag and the cycle in which it is written: whoever looks in a later one finds it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    line: u32,
    written: u64,
    /// The cycle in which the first line is written there.
    taken: u64,
}

impl Entry {
    const NOTHING: Self = Self { line: EMPTY, written: 0, taken: NEVER };

    /// Gives the cycle in which cores that waited for the line get its data.
    fn ready(self) -> u64 {
        self.written.saturating_add(1)
    }
}

/// A line whose place another one gets.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    line: u32,
    written: u64,
    /// The cycle in which the other one is written.
    until: u64,
}

/// Chooses ways for a core by an 8-bit shift register with inverted linear feedback (bits 7, 3, 2, 1).
#[derive(Clone, Copy, Debug)]
struct RandomWays(u8);

impl RandomWays {
    fn next(&mut self, ways: usize) -> usize {
        let fed = self.0 >> 7 ^ self.0 >> 3 ^ self.0 >> 2 ^ self.0 >> 1;
        let way = usize::from(self.0 >> 1) % ways;
        self.0 = self.0 << 1 | (!fed & 1);
        way
    }
}

/// Holds a cache's lines.
#[derive(Clone, Debug)]
pub struct Lines {
    entries: Vec<Entry>,
    /// What whoever looks soon enough still finds.
    leaving: Vec<Leaving>,
    ways: usize,
    sets_mask: u32,
    /// By core: each looks at the tags itself, and chooses.
    random: Vec<RandomWays>,
    /// By line of program memory: the cycle from which it and the next one are there, [`NEVER`] if
    /// one is not.
    pairs: Vec<u64>,
    /// By line, too, a bit each: both are there once the last one has come.
    paired: Vec<u64>,
    /// No line was or will be written later than this, as far as is known.
    last_ready: u64,
    /// The first of those lines.
    pub first_line: u32,
    changes: u64,
}

impl Lines {
    /// Makes a cache's lines, none of which is there.
    pub fn new(machine: &Machine) -> Self {
        let config = &machine.instruction_cache;
        let entries = (config.bytes / config.line_bytes) as usize;
        let ways = config.ways as usize;
        let lines = (machine.program.bytes / config.line_bytes) as usize + 1;
        Self {
            entries: vec![Entry::NOTHING; entries],
            leaving: Vec::new(),
            ways,
            sets_mask: (entries / ways) as u32 - 1,
            random: vec![RandomWays(0); machine.cluster.cores as usize],
            pairs: vec![NEVER; lines],
            // With a word on either side in which nothing is there.
            paired: vec![0; lines / WORD_BITS + 3],
            last_ready: 0,
            first_line: machine.program.base / config.line_bytes,
            changes: 0,
        }
    }

    /// Gives the number of sets.
    pub fn sets(&self) -> u32 {
        self.sets_mask + 1
    }

    /// Counts what was filled, and what [`Self::change`] was told.
    #[inline(always)]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Counts another change.
    pub fn change(&mut self) {
        self.changes += 1;
    }

    fn set(&self, line: u32) -> std::ops::Range<usize> {
        let first = (line & self.sets_mask) as usize * self.ways;
        first..first + self.ways
    }

    #[inline]
    fn find(&self, line: u32) -> Option<usize> {
        self.set(line).find(|&index| self.entries[index].line == line)
    }

    /// Says whether a core that looks in a cycle finds a line.
    pub fn is_there(&self, line: u32, cycle: u64) -> bool {
        let leaves = |it: &Leaving| it.line == line && (it.written..it.until).contains(&cycle);
        self.stays(line, cycle) || self.leaving.iter().any(leaves)
    }

    /// Says whether a core that looks in a cycle finds a line whose place no other one gets.
    #[inline]
    pub fn stays(&self, line: u32, cycle: u64) -> bool {
        self.find(line).is_some_and(|index| self.entries[index].written <= cycle)
    }

    /// Gives where a line is to be written that a core has not found in a cycle: the last place of its set in which
    /// there is nothing, or one that the core draws.
    pub fn place(&mut self, line: u32, cycle: u64, core: usize) -> usize {
        let free = self.set(line).rev().find(|&index| self.entries[index].taken > cycle);
        free.unwrap_or_else(|| self.set(line).start + self.random[core].next(self.ways))
    }

    /// Has a line written to a place in a cycle to come; what is there stays until then.
    pub fn fill(&mut self, place: usize, line: u32, written: u64) {
        let Entry { line: replaced, written: since, taken } = self.entries[place];
        if replaced == line {
            return; // it was there before
        }
        self.changes += 1;
        self.entries[place] = Entry { line, written, taken: taken.min(written) };
        if replaced != EMPTY {
            // Nobody asks any more for those that have been gone for long.
            self.leaving.retain(|it| it.until + SEEN_CYCLES > written);
            self.leaving.push(Leaving { line: replaced, written: since, until: written });
        }
        self.last_ready = self.last_ready.max(written + 1);
        for line in [replaced, line] {
            self.note_pair(line.wrapping_sub(1));
            self.note_pair(line);
        }
    }

    /// Notes from when on a line and the next one are there.
    fn note_pair(&mut self, line: u32) {
        let ready = |line| self.find(line).map_or(NEVER, |index| self.entries[index].ready());
        let both = ready(line).max(ready(line.wrapping_add(1)));
        let index = line.wrapping_sub(self.first_line) as usize;
        if let Some(pair) = self.pairs.get_mut(index) {
            *pair = both;
            let (word, bit) = (index / WORD_BITS + 1, index % WORD_BITS);
            self.paired[word] = self.paired[word] & !(1 << bit) | u64::from(both != NEVER) << bit;
        }
    }

    /// Says whether a line that stays has come by a cycle.
    #[inline(always)]
    pub fn has(&self, line: u32, now: u64) -> bool {
        self.find(line).is_some_and(|index| self.entries[index].ready() <= now)
    }

    /// Says whether a line and the next one have.
    #[inline(always)]
    pub fn has_with_next(&self, line: u32, now: u64) -> bool {
        match self.pairs.get(line.wrapping_sub(self.first_line) as usize) {
            Some(&ready) => ready <= now,
            None => self.has(line, now) && self.has(line.wrapping_add(1), now),
        }
    }

    /// Gives how many lines before and behind a line have come with their next one, at most `most`; `None`: one is on
    /// its way, and they are to be asked one by one.
    #[inline]
    pub fn around(&self, line: u32, now: u64, most: u32) -> Option<[u32; 2]> {
        let index = line.wrapping_sub(self.first_line) as usize;
        if index >= self.pairs.len() {
            return Some([0, 0]);
        }
        if self.last_ready > now {
            return None;
        }
        // The bits before the line's, the last one first, and those behind it.
        let (word, bit) = (index / WORD_BITS + 1, (index % WORD_BITS) as u32);
        let words =
            |word: usize| u128::from(self.paired[word + 1]) << 64 | u128::from(self.paired[word]);
        let before = (words(word - 1) << (64 - bit)).leading_ones();
        let behind = (words(word) >> bit >> 1).trailing_ones();
        Some([before.min(most), behind.min(most)])
    }
}
