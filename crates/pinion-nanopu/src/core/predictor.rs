//! Rocket's branch prediction: branch target buffer, branch history table, return address stack
//! (RTL BTB.scala and the prediction part of Frontend.scala).
//!
//! In: the addresses of control-flow instructions in the order the frontend meets them, and what
//! they really did. Out: for each, whether the frontend went the right way and when it redirected
//! itself. Holds 28 targets, 512 one-bit counters with 8 bits of global history, and 6 return
//! addresses. Makes nobody wait: the pipeline turns the answer into cycles.

use crate::Cycle;

/// Says what a control-flow instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// A conditional branch.
    Branch,
    /// A jump whose target stands in the instruction.
    Jump {
        /// It saves a return address in x1 or x5.
        call: bool,
    },
    /// A jump to an address in a register.
    Register {
        /// It saves a return address in x1 or x5.
        call: bool,
        /// It is a return: from x1 or x5, saving nothing.
        ret: bool,
    },
}

/// Says how well the frontend did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// Went on behind the instruction, rightly.
    FallThrough,
    /// The target buffer redirected it in its second stage: no cycle lost.
    Early,
    /// The instruction itself redirected it in its third stage: one fetch lost.
    Late,
    /// Wrong; the execution redirects it.
    Wrong,
}

/// Cycles after which a branch's prediction is still missing in the history that another sees.
const HISTORY_LAG: Cycle = 1;
/// Bits of global history.
const HISTORY_BITS: u32 = 8;
/// Bits of the hashed history, which index the table's upper bits.
const HASHED_BITS: u32 = 3;
/// Multiplier of the history hash: 2^8 · √3 / 2.
const HASH: u32 = 221;

/// Most entries of the target buffer.
const MOST_TARGETS: usize = 32;
/// Stands for no address in the target buffer: fetch words have fewer bits.
const NOWHERE: u64 = u64::MAX;
/// Slots of the table that says where an address was found last.
const HINTS: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    target: u64,
    branch: bool,
    ret: bool,
}

/// Holds the state of one hart's frontend predictor.
#[derive(Clone, Debug)]
pub struct Predictor {
    /// Fetch word that each entry is for.
    words: [u64; MOST_TARGETS],
    entries: [Entry; MOST_TARGETS],
    targets: usize,
    /// Entry in which a word with these low bits was found last; only to find it faster.
    hints: [u8; HINTS],
    /// Bits of the pseudo-LRU tree, node 1 is the root.
    lru: u64,
    /// What a use of each entry clears and sets in the tree.
    lru_clear: [u64; MOST_TARGETS],
    lru_set: [u64; MOST_TARGETS],
    counters: Vec<bool>,
    counter_mask: u64,
    counter_bits: u32,
    history: u8,
    /// When the last two branches entered the fetch queue and the history before each, the last one
    /// first: what a branch fetched right behind them sees.
    recent: [(Cycle, u8); 2],
    returns: Vec<u64>,
    return_slots: usize,
    /// When the last call or return entered the fetch queue, and the top before it.
    last_return_update: Cycle,
    top_before: Option<u64>,
}

impl Predictor {
    /// Makes an empty predictor.
    pub fn new(targets: u32, counters: u32, return_addresses: u32) -> Self {
        let targets = (targets as usize).clamp(1, MOST_TARGETS);
        let counters = counters.next_power_of_two();
        let (mut lru_clear, mut lru_set) = ([0; MOST_TARGETS], [0; MOST_TARGETS]);
        for entry in 0..targets {
            (lru_clear[entry], lru_set[entry]) = tree_path(entry, targets);
        }
        Self {
            words: [NOWHERE; MOST_TARGETS],
            entries: [Entry::default(); MOST_TARGETS],
            targets,
            hints: [0; HINTS],
            lru: 0,
            lru_clear,
            lru_set,
            counters: vec![false; counters as usize],
            counter_mask: u64::from(counters) - 1,
            counter_bits: counters.trailing_zeros(),
            history: 0,
            recent: [(0, 0); 2],
            returns: Vec::with_capacity(return_addresses as usize),
            return_slots: return_addresses as usize,
            last_return_update: 0,
            top_before: None,
        }
    }

    /// Meets the instruction at `pc` in cycle `fetched` (third stage), which goes on at `target`
    /// if `taken`; `behind` is the address behind it. Says how the frontend did and learns.
    ///
    /// `queue_short` tells that the fetch queue holds less than two words, as the frontend asks before
    /// it fills the target buffer by itself.
    #[inline(always)]
    pub fn meet(&mut self, flow: Flow, at: Meeting) -> Guess {
        match flow {
            Flow::Branch => self.meet_branch(&at),
            Flow::Jump { call } => self.meet_jump(&at, call),
            Flow::Register { call, ret } => self.meet_register(&at, call, ret),
        }
    }

    /// Gives the global history: a loop whose turns leave it as it was predicts each turn alike.
    pub fn history(&self) -> u8 {
        self.history
    }

    #[inline(always)]
    fn meet_branch(&mut self, at: &Meeting) -> Guess {
        let seen = self.seen(at.fetched);
        let index = self.index(at.pc, seen);
        let counter = self.counters[index];
        let hit = self.find(at.pc);
        let (early, target) = match hit {
            Some(entry) => {
                let known = &self.entries[entry % MOST_TARGETS];
                (!known.branch || counter, known.target)
            }
            None => (false, 0),
        };
        let predicted = if hit.is_some() { early } else { counter };
        let right = predicted == at.taken && (!early || target == at.target);
        let shifted = u8::from(at.taken) << (HISTORY_BITS - 1);
        self.recent = [(at.fetched, self.history), self.recent[0]];
        if let Some(entry) = hit
            && early
        {
            self.touch(entry);
        }
        if right {
            self.history = shifted | self.history >> 1;
            return match (at.taken, early) {
                (false, _) => Guess::FallThrough,
                (true, true) => Guess::Early,
                (true, false) => self.late(at),
            };
        }
        // The history goes on from what this branch saw.
        self.history = shifted | seen >> 1;
        self.counters[index] = at.taken;
        if at.taken {
            self.learn(hit, at, true, false);
        }
        Guess::Wrong
    }

    /// Gives the history as the look-up of a branch sees it that enters the queue in `fetched`: a
    /// prediction enters the history in the cycle after the look-up of the branch it is for.
    #[inline(always)]
    fn seen(&self, fetched: Cycle) -> u8 {
        let [(last, before), (last_but_one, long_before)] = self.recent;
        if fetched > last + HISTORY_LAG {
            self.history
        } else if fetched > last_but_one + HISTORY_LAG {
            before
        } else {
            long_before
        }
    }

    /// Predicts a branch that the frontend fetches and the pipeline then takes back, so that it is
    /// fetched once more: the prediction stays in the history. Tells whether it is taken, and
    /// whether the target buffer knows it.
    pub fn speculate(&mut self, pc: u64, fetched: Cycle) -> (bool, bool) {
        let seen = self.seen(fetched);
        let taken = self.counters[self.index(pc, seen)];
        let known = self.find(pc).is_some();
        self.recent = [(fetched, self.history), self.recent[0]];
        self.history = u8::from(taken) << (HISTORY_BITS - 1) | self.history >> 1;
        (taken, known)
    }

    /// Meets a taken branch that the counter knew and the target buffer did not.
    fn late(&mut self, at: &Meeting) -> Guess {
        if at.queue_short {
            self.insert(at.pc, at.target, true, false);
        }
        Guess::Late
    }

    fn meet_jump(&mut self, at: &Meeting, call: bool) -> Guess {
        let hit = self.find(at.pc);
        if call {
            self.push(at);
        }
        match hit {
            Some(entry) if self.entries[entry].target == at.target => {
                self.touch(entry);
                Guess::Early
            }
            Some(_) => {
                self.learn(hit, at, false, false);
                Guess::Wrong
            }
            None => {
                if at.queue_short {
                    self.insert(at.pc, at.target, false, false);
                }
                Guess::Late
            }
        }
    }

    fn meet_register(&mut self, at: &Meeting, call: bool, ret: bool) -> Guess {
        let hit = self.find(at.pc);
        // The stack's top as the second stage sees it, a cycle before this instruction's third.
        let early_top = if at.fetched == self.last_return_update + 1 {
            self.top_before
        } else {
            self.returns.last().copied()
        };
        let late_top = self.returns.last().copied();
        if ret {
            self.pop(at);
        } else if call {
            self.push(at);
        }
        if let Some(entry) = hit {
            let known = self.entries[entry];
            let guessed = if known.ret { early_top.unwrap_or(known.target) } else { known.target };
            if guessed == at.target {
                self.touch(entry);
                return Guess::Early;
            }
        } else if ret && late_top == Some(at.target) {
            if at.queue_short {
                self.insert(at.pc, at.target, false, true);
            }
            return Guess::Late;
        }
        self.learn(hit, at, false, ret);
        Guess::Wrong
    }

    #[inline(always)]
    fn index(&self, pc: u64, history: u8) -> usize {
        let words = pc >> 2;
        let address = (words & self.counter_mask) ^ (words >> self.counter_bits & 3);
        let hashed = HASH.wrapping_mul(u32::from(history)) & ((1 << HISTORY_BITS) - 1);
        let hashed = u64::from(hashed >> (HISTORY_BITS - HASHED_BITS));
        (address ^ hashed << (self.counter_bits - HASHED_BITS)) as usize
    }

    /// Finds the entry of the fetch word (four bytes) that an address lies in.
    #[inline(always)]
    fn find(&mut self, pc: u64) -> Option<usize> {
        let word = pc >> 2;
        let hint = usize::from(self.hints[word as usize % HINTS]) % MOST_TARGETS;
        if self.words[hint] == word {
            return Some(hint);
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
        self.hints[word as usize % HINTS] = found as u8;
        Some(found)
    }

    /// Corrects or adds the entry of an instruction that went elsewhere than predicted.
    fn learn(&mut self, hit: Option<usize>, at: &Meeting, branch: bool, ret: bool) {
        match hit {
            Some(entry) => {
                self.entries[entry] = Entry { target: at.target, branch, ret };
                self.touch(entry);
            }
            None => self.insert(at.pc, at.target, branch, ret),
        }
    }

    fn insert(&mut self, pc: u64, target: u64, branch: bool, ret: bool) {
        let entry = self.oldest();
        self.words[entry] = pc >> 2;
        self.entries[entry] = Entry { target, branch, ret };
        self.touch(entry);
    }

    /// Marks an entry as used in the pseudo-LRU tree.
    #[inline(always)]
    fn touch(&mut self, entry: usize) {
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

    fn push(&mut self, at: &Meeting) {
        self.top_before = self.returns.last().copied();
        self.last_return_update = at.fetched;
        if self.returns.len() == self.return_slots {
            self.returns.remove(0);
        }
        self.returns.push(at.behind);
    }

    fn pop(&mut self, at: &Meeting) {
        self.top_before = self.returns.last().copied();
        self.last_return_update = at.fetched;
        self.returns.pop();
    }
}

/// Gives the levels of a tree over `targets` entries.
fn levels(targets: usize) -> u32 {
    usize::BITS - (targets - 1).leading_zeros()
}

/// Gives the bits of the tree on the way to an entry, and those of them to set: a node points away
/// from what was used.
fn tree_path(entry: usize, targets: usize) -> (u64, u64) {
    let (mut node, mut path, mut set) = (1usize, 0, 0);
    for level in (0..levels(targets)).rev() {
        let bit = entry >> level & 1;
        path |= 1 << node;
        set |= u64::from(bit == 0) << node;
        node = 2 * node + bit;
    }
    (path, set)
}

/// Describes an instruction that the predictor meets.
#[derive(Clone, Copy, Debug)]
pub struct Meeting {
    /// Its address.
    pub pc: u64,
    /// Where it goes if taken.
    pub target: u64,
    /// The address behind it.
    pub behind: u64,
    /// Whether it is taken.
    pub taken: bool,
    /// The cycle in which it is in the frontend's third stage.
    pub fetched: Cycle,
    /// Whether the fetch queue holds less than two words.
    pub queue_short: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictor() -> Predictor {
        Predictor::new(28, 512, 6)
    }

    fn at(pc: u64, target: u64, taken: bool, fetched: Cycle) -> Meeting {
        Meeting { pc, target, behind: pc + 4, taken, fetched, queue_short: true }
    }

    #[test]
    fn a_loop_is_learnt_after_its_first_turn() {
        let mut predictor = predictor();
        assert_eq!(predictor.meet(Flow::Branch, at(0x100, 0x80, true, 0)), Guess::Wrong);
        // Another history reads another counter, until the history is all ones.
        let guesses: Vec<_> =
            (1..20).map(|i| predictor.meet(Flow::Branch, at(0x100, 0x80, true, 10 * i))).collect();
        assert_eq!(guesses.last(), Some(&Guess::Early));
        assert_eq!(predictor.meet(Flow::Branch, at(0x100, 0x80, false, 500)), Guess::Wrong);
    }

    #[test]
    fn more_jumps_than_targets_are_all_late() {
        let mut predictor = predictor();
        for round in 0..3 {
            for jump in 0..64u64 {
                let guess =
                    predictor.meet(Flow::Jump { call: false }, at(8 * jump, 8 * jump + 8, true, 0));
                assert_eq!(guess, Guess::Late, "round {round}, jump {jump}");
            }
        }
        for jump in 0..16u64 {
            predictor.meet(Flow::Jump { call: false }, at(8 * jump, 8 * jump + 8, true, 0));
        }
        let guess = predictor.meet(Flow::Jump { call: false }, at(0, 8, true, 0));
        assert_eq!(guess, Guess::Early);
    }

    #[test]
    fn returns_come_from_the_stack() {
        let mut predictor = predictor();
        let ret = Flow::Register { call: false, ret: true };
        for i in 0..3u64 {
            let from = 0x1000 * (i + 1);
            predictor.meet(Flow::Jump { call: true }, at(from, 0x400, true, 100 * i));
            let guess = predictor.meet(ret, at(0x410, from + 4, true, 100 * i + 20));
            assert_ne!(guess, Guess::Wrong, "{i}");
        }
    }
}
