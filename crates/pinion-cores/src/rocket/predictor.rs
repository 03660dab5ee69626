//! Rocket's branch prediction: branch target buffer, branch history table, return address stack
//! (RTL BTB.scala and the prediction part of Frontend.scala).
//!
//! In: the addresses of control-flow instructions in the order the frontend meets them, and what
//! they really did. Out: for each, whether the frontend went the right way and when it redirected
//! itself. Holds 28 targets, 512 one-bit counters with 8 bits of global history, and 6 return
//! addresses. Makes nobody wait: the pipeline turns the answer into cycles.

use pinion_isa::{Class, Instruction};

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

impl Flow {
    /// Tells what an instruction is, if it is one that controls the flow.
    pub fn of(i: &Instruction) -> Option<Self> {
        match i.class {
            Class::Branch => Some(Self::Branch),
            Class::Jump => Some(Self::jump(i)),
            Class::JumpRegister => Some(Self::register(i)),
            _ => None,
        }
    }

    /// Describes a jump whose target stands in the instruction.
    pub fn jump(i: &Instruction) -> Self {
        Self::Jump { call: i.rd & 0x1b == 1 }
    }

    /// Describes a jump to an address in a register.
    pub fn register(i: &Instruction) -> Self {
        Self::Register { call: i.rd & 0x1b == 1, ret: i.rd & 1 == 0 && i.rs1 & 0x1b == 1 }
    }
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
    Wrong(Astray),
}

/// Says where the frontend went instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Astray {
    /// The address.
    pub pc: u64,
    /// It jumped there.
    pub jumps: bool,
    /// One fetch was lost on the way.
    pub late: bool,
    /// It knows that it has gone astray, and predicts nothing until it is redirected.
    pub blind: bool,
    /// The history as it is on that way.
    pub history: History,
    /// What the execution teaches in the end.
    pub lesson: Lesson,
}

/// What the execution teaches the predictor when it takes a guess for wrong, some cycles behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lesson {
    pc: u64,
    target: u64,
    branch: bool,
    ret: bool,
    taken: bool,
    /// Entry to correct; none: a new one is made.
    entry: Option<usize>,
    /// Counter of a branch.
    counter: usize,
    /// The history that the guess was made with.
    seen: u8,
}

/// The global history, with what branches fetched right behind others see of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    now: u8,
    /// When the last two branches entered the fetch queue and the history before each, the last one
    /// first: what a branch fetched right behind them sees.
    recent: [(Cycle, u8); 2],
}

impl History {
    /// Gives the history as the look-up of a word sees it that enters the queue in `fetched`: a
    /// prediction enters the history in the cycle after the look-up of the branch it is for.
    #[inline(always)]
    fn seen(&self, fetched: Cycle) -> u8 {
        let [(last, before), (last_but_one, long_before)] = self.recent;
        if fetched > last + HISTORY_LAG {
            self.now
        } else if fetched > last_but_one + HISTORY_LAG {
            before
        } else {
            long_before
        }
    }

    /// Adds a branch that enters the queue in `fetched`.
    #[inline(always)]
    fn add(&mut self, taken: bool, fetched: Cycle) {
        self.recent = [(fetched, self.now), self.recent[0]];
        self.now = shifted(self.now, taken);
    }
}

/// Gives a history with one more branch.
#[inline(always)]
fn shifted(history: u8, taken: bool) -> u8 {
    u8::from(taken) << (HISTORY_BITS - 1) | history >> 1
}

/// Says where the frontend goes behind an instruction that it fetches in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// The address.
    pub pc: u64,
    /// One fetch is lost on the way.
    pub late: bool,
    /// It knows from here on that it has gone astray.
    pub blind: bool,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    history: History,
    /// What the last control-flow instruction teaches.
    met: Lesson,
    /// Some word may have two entries.
    doubles: bool,
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
            history: History::default(),
            met: Lesson::default(),
            doubles: false,
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
        self.history.now
    }

    /// Puts another history in place; gives the one that was.
    pub fn replace_history(&mut self, history: History) -> History {
        std::mem::replace(&mut self.history, history)
    }

    #[inline(always)]
    fn meet_branch(&mut self, at: &Meeting) -> Guess {
        let seen = self.history.seen(at.fetched);
        let index = self.index(at.pc, seen);
        let counter = self.counters[index];
        let hit = self.find(at.pc);
        let (early, target) = match hit {
            Some((_, known)) => (!known.branch || counter, known.target),
            None => (false, 0),
        };
        let hit = hit.map(|(entry, _)| entry);
        if let Some(entry) = hit
            && early
        {
            self.touch(entry);
        }
        let late = hit.is_none() && counter;
        self.met = Lesson {
            pc: at.pc,
            target: at.target,
            branch: true,
            ret: false,
            taken: at.taken,
            // The index of no entry is that of the first.
            entry: Some(hit.unwrap_or(0)).filter(|_| !late),
            counter: index,
            seen,
        };
        if late && at.queue_short {
            self.insert(at.pc, at.target, true, false);
        }
        let pc = match (early, late) {
            (true, _) => target,
            (false, true) => at.target,
            (false, false) => at.behind,
        };
        let before = self.history;
        self.history.add(counter, at.fetched);
        if pc == if at.taken { at.target } else { at.behind } {
            // A branch to what stands behind it is right either way.
            self.counters[index] = at.taken;
            return match (early, late) {
                (true, _) => Guess::Early,
                (false, true) => Guess::Late,
                (false, false) => Guess::FallThrough,
            };
        }
        // The history goes on from what this branch saw.
        let history = self.history;
        self.history = before;
        self.history.add(at.taken, at.fetched);
        self.history.now = shifted(seen, at.taken);
        let (jumps, lesson) = (early || late, self.met);
        Guess::Wrong(Astray { pc, jumps, late, blind: false, history, lesson })
    }

    fn meet_jump(&mut self, at: &Meeting, call: bool) -> Guess {
        let hit = self.find(at.pc);
        self.note(at, hit, false);
        if call {
            self.push(at);
        }
        match hit {
            Some((entry, known)) => {
                self.touch(entry);
                if known.target == at.target {
                    return Guess::Early;
                }
                self.wrong_jump(known.target)
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
        self.note(at, hit, ret);
        let early_top = self.early_top(at.fetched);
        let late_top = self.returns.last().copied();
        if ret {
            self.pop(at);
        } else if call {
            self.push(at);
        }
        if let Some((entry, known)) = hit {
            let guessed = if known.ret { early_top.unwrap_or(known.target) } else { known.target };
            self.touch(entry);
            if guessed == at.target {
                return Guess::Early;
            }
            return self.wrong_jump(guessed);
        }
        match late_top.filter(|_| ret) {
            Some(top) => {
                if at.queue_short {
                    self.insert(at.pc, top, false, true);
                }
                if top == at.target {
                    return Guess::Late;
                }
                self.wrong_jump(top)
            }
            None => {
                let (history, lesson) = (self.history, self.correct());
                Guess::Wrong(Astray {
                    pc: at.behind,
                    jumps: false,
                    late: false,
                    blind: true,
                    history,
                    lesson,
                })
            }
        }
    }

    /// Says that a jump went elsewhere than to `guessed`.
    fn wrong_jump(&mut self, guessed: u64) -> Guess {
        let (history, lesson) = (self.history, self.correct());
        let late = lesson.entry.is_none();
        Guess::Wrong(Astray { pc: guessed, jumps: true, late, blind: false, history, lesson })
    }

    /// Puts the history back to what the last jump's look-up saw; gives what the jump teaches.
    fn correct(&mut self) -> Lesson {
        self.history.now = self.met.seen;
        self.met
    }

    fn note(&mut self, at: &Meeting, hit: Option<(usize, Entry)>, ret: bool) {
        self.met = Lesson {
            pc: at.pc,
            target: at.target,
            branch: false,
            ret,
            taken: true,
            entry: hit.map(|(entry, _)| entry),
            counter: 0,
            seen: self.history.seen(at.fetched),
        };
    }

    /// Hears that the pipeline found nothing behind an instruction when it asked, and took the
    /// frontend for gone astray: one that was guessed rightly is corrected all the same, and what is
    /// no control-flow instruction, whose word entered the queue in `other`, is struck off.
    pub fn starve(&mut self, other: Option<Cycle>) {
        if let Some(fetched) = other {
            self.history.now = self.history.seen(fetched);
            // The index of no entry is that of the first.
            self.words[0] = NOWHERE;
            self.touch(0);
            return;
        }
        let met = self.met;
        self.history.now = if met.branch { shifted(met.seen, met.taken) } else { met.seen };
        self.learn(met);
    }

    /// Meets an instruction that the frontend fetches in vain: predicts it as any other. What it does
    /// is not known.
    pub fn foresee(&mut self, flow: Flow, at: Meeting) -> Foreseen {
        let hit = self.find(at.pc);
        let seen = self.history.seen(at.fetched);
        let counter = self.counters[self.index(at.pc, seen)];
        let early_top = self.early_top(at.fetched);
        let late_top = self.returns.last().copied();
        match flow {
            Flow::Branch => self.history.add(counter, at.fetched),
            Flow::Register { ret: true, .. } => self.pop(&at),
            Flow::Jump { call: true } | Flow::Register { call: true, .. } => self.push(&at),
            _ => {}
        }
        if let Some((entry, known)) = hit {
            if known.branch && !counter {
                return Foreseen { pc: at.behind, late: false, blind: false };
            }
            self.touch(entry);
            let pc = if known.ret { early_top.unwrap_or(known.target) } else { known.target };
            return Foreseen { pc, late: false, blind: false };
        }
        let goes = match flow {
            Flow::Branch if !counter => {
                return Foreseen { pc: at.behind, late: false, blind: false };
            }
            Flow::Branch | Flow::Jump { .. } => Some(at.target),
            Flow::Register { ret, .. } => late_top.filter(|_| ret),
        };
        let Some(pc) = goes else {
            return Foreseen { pc: at.behind, late: false, blind: true };
        };
        if at.queue_short {
            let ret = matches!(flow, Flow::Register { .. });
            self.insert(at.pc, pc, flow == Flow::Branch, ret);
        }
        Foreseen { pc, late: true, blind: false }
    }

    /// Gives the stack's top as the second stage sees it, a cycle before an instruction is in the third.
    fn early_top(&self, fetched: Cycle) -> Option<u64> {
        if fetched == self.last_return_update + 1 {
            self.top_before
        } else {
            self.returns.last().copied()
        }
    }

    #[inline(always)]
    fn index(&self, pc: u64, history: u8) -> usize {
        let words = pc >> 2;
        let address = (words & self.counter_mask) ^ (words >> self.counter_bits & 3);
        let hashed = HASH.wrapping_mul(u32::from(history)) & ((1 << HISTORY_BITS) - 1);
        let hashed = u64::from(hashed >> (HISTORY_BITS - HASHED_BITS));
        (address ^ hashed << (self.counter_bits - HASHED_BITS)) as usize
    }

    /// Finds the entry of the fetch word (four bytes) that an address lies in, and what it says.
    #[inline(always)]
    fn find(&mut self, pc: u64) -> Option<(usize, Entry)> {
        let word = pc >> 2;
        let hint = usize::from(self.hints[word as usize % HINTS]) % MOST_TARGETS;
        if self.words[hint] == word && !self.doubles {
            return Some((hint, self.entries[hint]));
        }
        self.find_among_all(word)
    }

    fn find_among_all(&mut self, word: u64) -> Option<(usize, Entry)> {
        if self.doubles
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
        self.hints[word as usize % HINTS] = found as u8;
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
        for (entry, held) in self.words.iter_mut().enumerate().filter(|(_, held)| **held == word) {
            *held = NOWHERE;
            index |= entry;
        }
        let mut rest = self.words.iter().enumerate().filter(|(_, held)| **held != NOWHERE);
        self.doubles = rest.any(|(entry, held)| self.words[..entry].contains(held));
        Some((index, known))
    }

    /// Learns from a wrong guess.
    pub fn learn(&mut self, lesson: Lesson) {
        if lesson.branch {
            self.counters[lesson.counter] = lesson.taken;
        }
        let Lesson { pc, target, branch, ret, .. } = lesson;
        match lesson.entry {
            _ if !lesson.taken => {}
            Some(entry) if entry < self.targets => {
                self.words[entry] = pc >> 2;
                self.entries[entry] = Entry { target, branch, ret };
                self.touch(entry);
            }
            _ => self.insert(pc, target, branch, ret),
        }
    }

    /// Looks a word up that never gets into the fetch queue.
    pub fn glance(&mut self, pc: u64, fetched: Cycle) {
        if let Some((entry, known)) = self.find(pc) {
            let seen = self.history.seen(fetched);
            if !known.branch || self.counters[self.index(pc, seen)] {
                self.touch(entry);
            }
        }
    }

    fn insert(&mut self, pc: u64, target: u64, branch: bool, ret: bool) {
        let entry = self.oldest();
        self.doubles |= self.words.contains(&(pc >> 2));
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
/// from what was used. There is one node less than entries, as if their number were a power of two
/// (RTL Replacement.scala): of 28 entries the last pairs have none.
fn tree_path(entry: usize, targets: usize) -> (u64, u64) {
    let (mut node, mut path, mut set) = (1usize, 0, 0);
    for level in (0..levels(targets)).rev() {
        let bit = entry >> level & 1;
        // The tree has no more nodes than this, so that of some pairs the first alone is replaced.
        if node < targets {
            path |= 1 << node;
            set |= u64::from(bit == 0) << node;
        }
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

    /// Meets an instruction as the pipeline does; tells whether the guess was wrong.
    fn wrong(predictor: &mut Predictor, flow: Flow, at: Meeting) -> bool {
        match predictor.meet(flow, at) {
            Guess::Wrong(astray) => {
                predictor.learn(astray.lesson);
                true
            }
            _ => false,
        }
    }

    #[test]
    fn a_loop_is_learnt_after_its_first_turn() {
        let mut predictor = predictor();
        assert!(wrong(&mut predictor, Flow::Branch, at(0x100, 0x80, true, 0)));
        // Another history reads another counter, until the history is all ones.
        let guesses: Vec<_> = (1..20)
            .map(|i| wrong(&mut predictor, Flow::Branch, at(0x100, 0x80, true, 10 * i)))
            .collect();
        assert_eq!(guesses.last(), Some(&false));
        assert!(wrong(&mut predictor, Flow::Branch, at(0x100, 0x80, false, 500)));
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
            assert!(!wrong(&mut predictor, ret, at(0x410, from + 4, true, 100 * i + 20)), "{i}");
        }
    }

    #[test]
    fn branches_that_nobody_knew_all_take_the_first_entry() {
        let mut predictor = predictor();
        let pcs = [0x100, 0x200];
        for (turn, pc) in pcs.into_iter().enumerate() {
            let fetched = 10 * turn as Cycle;
            assert!(wrong(&mut predictor, Flow::Branch, at(pc, pc + 0x40, true, fetched)));
        }
        assert_eq!(pcs.map(|pc| predictor.find(pc).map(|(entry, _)| entry)), [None, Some(0)]);
    }

    #[test]
    fn a_jump_into_a_line_that_is_missing_is_entered_twice_and_found_once() {
        let mut predictor = predictor();
        let jump = |fetched| at(0x100, 0x1000, true, fetched);
        assert_eq!(predictor.meet(Flow::Jump { call: false }, jump(0)), Guess::Late);
        predictor.starve(None);
        let guesses = [10, 20, 30].map(|at| predictor.meet(Flow::Jump { call: false }, jump(at)));
        assert_eq!(guesses, [Guess::Early, Guess::Late, Guess::Early]);
    }

    #[test]
    fn what_is_no_jump_before_a_line_that_is_missing_costs_the_first_entry() {
        let mut predictor = predictor();
        predictor.meet(Flow::Jump { call: false }, at(0x100, 0x1000, true, 0));
        predictor.starve(Some(5));
        assert_eq!(predictor.find(0x100), None);
    }

    #[test]
    fn of_28_entries_two_are_never_replaced_by_others() {
        let mut predictor = predictor();
        for jump in 0..1000u64 {
            predictor.meet(Flow::Jump { call: false }, at(8 * jump, 0x1000, true, 10 * jump));
        }
        let unused: Vec<_> = (0..28).filter(|&entry| predictor.words[entry] == NOWHERE).collect();
        assert_eq!(unused, [25, 27]);
    }
}
