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

/// Bits of global history.
const HISTORY_BITS: u32 = 8;
/// Bits of the hashed history, which index the table's upper bits.
const HASHED_BITS: u32 = 3;
/// Multiplier of the history hash: 2^8 · √3 / 2.
const HASH: u32 = 221;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    valid: bool,
    pc: u64,
    target: u64,
    branch: bool,
    ret: bool,
}

/// Holds the state of one hart's frontend predictor.
#[derive(Clone, Debug)]
pub struct Predictor {
    entries: Vec<Entry>,
    /// Bits of the pseudo-LRU tree, node 1 is the root.
    lru: u64,
    counters: Vec<bool>,
    history: u8,
    /// The history before the last branch: what a branch fetched right behind it sees.
    history_before: u8,
    /// When the last branch entered the fetch queue.
    last_branch: Cycle,
    returns: Vec<u64>,
    return_slots: usize,
    /// When the last call or return entered the fetch queue, and the top before it.
    last_return_update: Cycle,
    top_before: Option<u64>,
}

impl Predictor {
    /// Makes an empty predictor.
    pub fn new(targets: u32, counters: u32, return_addresses: u32) -> Self {
        Self {
            entries: vec![Entry::default(); targets as usize],
            lru: 0,
            counters: vec![false; counters.next_power_of_two() as usize],
            history: 0,
            history_before: 0,
            last_branch: 0,
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
    #[inline]
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

    fn meet_branch(&mut self, at: &Meeting) -> Guess {
        // A branch fetched in the cycle after another was looked up before that one's outcome
        // entered the history.
        let seen =
            if at.fetched == self.last_branch + 1 { self.history_before } else { self.history };
        let index = self.index(at.pc, seen);
        let counter = self.counters[index];
        let hit = self.find(at.pc);
        let taken_early = hit.is_some_and(|entry| !self.entries[entry].branch || counter);
        if let Some(entry) = hit
            && taken_early
        {
            self.touch(entry);
        }
        let predicted = if hit.is_some() { taken_early } else { counter };
        self.counters[index] = at.taken;
        let shifted = u8::from(at.taken) << (HISTORY_BITS - 1);
        let right = predicted == at.taken
            && (!at.taken
                || !taken_early
                || hit.is_some_and(|entry| self.entries[entry].target == at.target));
        // The history goes on from what this branch saw.
        let base = if right { self.history } else { seen };
        self.history_before = self.history;
        self.history = shifted | base >> 1;
        self.last_branch = at.fetched;
        match (right, at.taken) {
            (true, false) => Guess::FallThrough,
            (true, true) if taken_early => Guess::Early,
            (true, true) => {
                if at.queue_short {
                    self.insert(at.pc, at.target, true, false);
                }
                Guess::Late
            }
            (false, taken) => {
                if taken {
                    self.learn(hit, at, true, false);
                }
                Guess::Wrong
            }
        }
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

    fn index(&self, pc: u64, history: u8) -> usize {
        let bits = self.counters.len().trailing_zeros();
        let mask = (1u64 << bits) - 1;
        let words = pc >> 2;
        let address = (words & mask) ^ (words >> bits & 3);
        let hashed = HASH.wrapping_mul(u32::from(history)) & ((1 << HISTORY_BITS) - 1);
        let hashed = u64::from(hashed >> (HISTORY_BITS - HASHED_BITS));
        (address ^ hashed << (bits - HASHED_BITS)) as usize
    }

    #[inline]
    fn find(&self, pc: u64) -> Option<usize> {
        // The frontend looks up fetch words of four bytes.
        self.entries.iter().position(|entry| entry.valid && entry.pc == pc >> 2)
    }

    /// Corrects or adds the entry of an instruction that went elsewhere than predicted.
    fn learn(&mut self, hit: Option<usize>, at: &Meeting, branch: bool, ret: bool) {
        match hit {
            Some(entry) => {
                self.entries[entry] =
                    Entry { valid: true, pc: at.pc >> 2, target: at.target, branch, ret };
                self.touch(entry);
            }
            None => self.insert(at.pc, at.target, branch, ret),
        }
    }

    fn insert(&mut self, pc: u64, target: u64, branch: bool, ret: bool) {
        let entry = self.oldest();
        self.entries[entry] = Entry { valid: true, pc: pc >> 2, target, branch, ret };
        self.touch(entry);
    }

    /// Marks an entry as used in the pseudo-LRU tree.
    fn touch(&mut self, entry: usize) {
        let levels = usize::BITS - (self.entries.len() - 1).leading_zeros();
        let mut node = 1;
        for level in (0..levels).rev() {
            let bit = entry >> level & 1;
            // The bit of a node points away from what was used.
            self.lru = self.lru & !(1 << node) | u64::from(bit == 0) << node;
            node = 2 * node + bit;
        }
    }

    fn oldest(&self) -> usize {
        let levels = usize::BITS - (self.entries.len() - 1).leading_zeros();
        let (mut node, mut entry) = (1usize, 0usize);
        for level in (0..levels).rev() {
            // Only the left half exists where the right one begins beyond the last entry.
            let right = entry | 1 << level;
            let bit = usize::from(self.lru >> node & 1 != 0 && right < self.entries.len());
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
