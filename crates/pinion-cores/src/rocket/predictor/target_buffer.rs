//! The branch target buffer: where the frontend goes from a fetch word, before anybody has decoded
//! what stands there (RTL BTB.scala).
//!
//! In: addresses of control-flow instructions, where they went. Out: what is known of a fetch word.
//! Holds up to 32 entries, found by fetch word and replaced by a pseudo-LRU tree.

/// Most entries of the target buffer.
const MOST_TARGETS: usize = 32;
/// Stands for no address in the target buffer: fetch words have fewer bits.
const NOWHERE: u64 = u64::MAX;
/// Slots of the table that says where an address was found last.
const HINTS: usize = 256;

/// Says where an instruction of a fetch word goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Address it goes to.
    pub target: u64,
    /// It is a conditional branch: the counters decide.
    pub branch: bool,
    /// It is a return: the stack of return addresses knows better.
    pub ret: bool,
}

/// Bits of an address below those of its fetch word, which is four bytes.
pub(super) const FETCH_WORD_SHIFT: u32 = 2;

/// Entry in which a word with these low bits was found last; only to find it faster, so that buffers are alike
/// whatever stands here.
#[derive(Clone)]
struct Hints([u8; HINTS]);

impl PartialEq for Hints {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Hints {}

impl std::fmt::Debug for Hints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// Holds the target buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TargetBuffer {
    /// Fetch word that each entry is for.
    words: [u64; MOST_TARGETS],
    entries: [Entry; MOST_TARGETS],
    targets: usize,
    hints: Hints,
    /// Entries of words with these low bits; only to find them faster.
    held: [u8; HINTS],
    /// Bits of the pseudo-LRU tree, node 1 is the root: no node has a greater number than entries.
    lru: u32,
    /// What a use of each entry clears and sets in the tree.
    lru_clear: [u32; MOST_TARGETS],
    lru_set: [u32; MOST_TARGETS],
    /// Some word may have two entries.
    doubles: bool,
}

impl TargetBuffer {
    /// Makes an empty buffer of so many entries.
    pub fn new(targets: u32) -> Self {
        let targets = (targets as usize).clamp(1, MOST_TARGETS);
        let (mut lru_clear, mut lru_set) = ([0; MOST_TARGETS], [0; MOST_TARGETS]);
        for entry in 0..targets {
            (lru_clear[entry], lru_set[entry]) = tree_path(entry, targets);
        }
        Self {
            words: [NOWHERE; MOST_TARGETS],
            entries: [Entry::default(); MOST_TARGETS],
            targets,
            hints: Hints([0; HINTS]),
            held: [0; HINTS],
            lru: 0,
            lru_clear,
            lru_set,
            doubles: false,
        }
    }

    /// Finds the entry of the fetch word (four bytes) that an address lies in, and what it says.
    #[inline(always)]
    pub fn find(&mut self, pc: u64) -> Option<(usize, Entry)> {
        let word = pc >> FETCH_WORD_SHIFT;
        let slot = word as usize % HINTS;
        let held = self.held[slot];
        if held == 0 {
            return None;
        }
        let hint = usize::from(self.hints.0[slot]) % MOST_TARGETS;
        if self.words[hint] == word && (!self.doubles || held == 1) {
            return Some((hint, self.entries[hint]));
        }
        self.find_among_all(word)
    }

    fn find_among_all(&mut self, word: u64) -> Option<(usize, Entry)> {
        if self.doubles
            && self.held[word as usize % HINTS] > 1
            && let Some(found) = self.strike_doubles(word)
        {
            return Some(found);
        }
        // Without an early exit the compiler compares many at once.
        let mut found = usize::MAX;
        for (entry, &held) in self.words.iter().enumerate() {
            if held == word {
                found = entry;
            }
        }
        if found == usize::MAX {
            return None;
        }
        self.hints.0[word as usize % HINTS] = found as u8;
        Some((found, self.entries[found]))
    }

    /// Strikes a word off that has more than one entry. This look-up still finds what they say, and
    /// takes the bits of all their indices for its own (RTL BTB.scala).
    #[cold]
    fn strike_doubles(&mut self, word: u64) -> Option<(usize, Entry)> {
        let holds = |held: &u64| *held == word;
        let first = self.words.iter().position(holds)?;
        self.words[first + 1..].iter().position(holds)?;
        let known = self.entries[first];
        let mut index = 0;
        for entry in first..MOST_TARGETS {
            if self.words[entry] == word {
                self.set_word(entry, NOWHERE);
                index |= entry;
            }
        }
        let mut rest = self.words.iter().enumerate().filter(|(_, held)| **held != NOWHERE);
        self.doubles = rest.any(|(entry, held)| self.words[..entry].contains(held));
        Some((index, known))
    }

    /// Tells whether the fetch word that an address lies in may have two entries, so that a look-up strikes it off.
    pub fn may_strike(&self, pc: u64) -> bool {
        self.doubles && self.held[(pc >> FETCH_WORD_SHIFT) as usize % HINTS] > 1
    }

    /// Makes an entry be for a word, or for none.
    fn set_word(&mut self, entry: usize, word: u64) {
        let before = std::mem::replace(&mut self.words[entry], word);
        for (word, entries) in [(before, -1), (word, 1)] {
            if word != NOWHERE {
                let held = &mut self.held[word as usize % HINTS];
                *held = held.wrapping_add_signed(entries);
            }
        }
    }

    /// Tells whether an entry is for no word.
    #[cfg(test)]
    pub fn is_empty(&self, entry: usize) -> bool {
        self.words[entry] == NOWHERE
    }

    /// Corrects an entry, or makes a new one where there is no such.
    pub fn correct(&mut self, entry: Option<usize>, pc: u64, known: Entry) {
        match entry {
            Some(entry) if entry < self.targets => {
                self.set_word(entry, pc >> FETCH_WORD_SHIFT);
                self.entries[entry] = known;
                self.touch(entry);
            }
            _ => self.insert(pc, known),
        }
    }

    /// Strikes the first entry off: what has none has its index.
    pub fn strike_first(&mut self) {
        self.set_word(0, NOWHERE);
        self.touch(0);
    }

    /// Makes an entry in the place of the one that was not used for longest.
    pub fn insert(&mut self, pc: u64, known: Entry) {
        let entry = self.oldest();
        self.doubles |= self.words.contains(&(pc >> FETCH_WORD_SHIFT));
        self.set_word(entry, pc >> FETCH_WORD_SHIFT);
        self.entries[entry] = known;
        self.touch(entry);
    }

    /// Marks an entry as used in the pseudo-LRU tree.
    #[inline(always)]
    pub fn touch(&mut self, entry: usize) {
        let entry = entry % MOST_TARGETS;
        self.lru = self.lru & !self.lru_clear[entry] | self.lru_set[entry];
    }

    fn oldest(&self) -> usize {
        let (mut node, mut entry) = (1usize, 0usize);
        for level in (0..levels(self.targets)).rev() {
            // Only the left half exists where the right one begins beyond the last entry.
            let right = entry | 1 << level;
            let bit = usize::from(self.lru >> node & 1 != 0 && right < self.targets);
            entry |= bit << level;
            node = 2 * node + bit;
        }
        entry
    }
}

/// Gives the levels of a tree over `targets` entries.
fn levels(targets: usize) -> u32 {
    usize::BITS - (targets - 1).leading_zeros()
}

/// Gives the bits of the tree on the way to an entry, and those of them to set: a node points away
/// from what was used. There is one node less than entries, as if their number were a power of two
/// (RTL Replacement.scala): of 28 entries the last pairs have none.
fn tree_path(entry: usize, targets: usize) -> (u32, u32) {
    let (mut node, mut path, mut set) = (1usize, 0, 0);
    for level in (0..levels(targets)).rev() {
        let bit = entry >> level & 1;
        // The tree has no more nodes than this, so that of some pairs the first alone is replaced.
        if node < targets {
            path |= 1 << node;
            set |= u32::from(bit == 0) << node;
        }
        node = 2 * node + bit;
    }
    (path, set)
}
