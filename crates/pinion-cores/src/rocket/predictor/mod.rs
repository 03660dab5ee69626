//! Rocket's branch prediction: branch target buffer, branch history table, return address stack
//! (RTL BTB.scala and the prediction part of Frontend.scala).
//!
//! In: the addresses of control-flow instructions in the order the frontend meets them, and what
//! they really did. Out: for each, whether the frontend went the right way and when it redirected
//! itself. Holds 28 targets, 512 one-bit counters with 8 bits of global history, and 6 return
//! addresses. Makes nobody wait: the pipeline turns the answer into cycles.

mod foregone;
mod history;
mod return_stack;
mod target_buffer;

use pinion_isa::{Class, Instruction};

pub use self::foregone::Control;
pub use self::history::History;
use self::history::{HISTORY_BITS, shifted};
use self::return_stack::ReturnStack;
use self::target_buffer::{Entry, FETCH_WORD_SHIFT, TargetBuffer};
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
        Self::Jump { call: links(i.rd) }
    }

    /// Describes a jump to an address in a register.
    pub fn register(i: &Instruction) -> Self {
        Self::Register { call: links(i.rd), ret: i.rd & ODD == 0 && links(i.rs1) }
    }
}

/// Bits of a register's number that tell x1 and x5 from all others: those in which they are alike.
const LINK_BITS: u8 = 0b11011;
/// Those bits of x1 and x5.
const LINK: u8 = 0b00001;
/// Bit of the destination's number that is clear where a jump counts as a return.
const ODD: u8 = 1;

/// Tells whether a register holds return addresses by convention: x1 and x5.
fn links(register: u8) -> bool {
    register & LINK_BITS == LINK
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

/// What a predictor has guessed last, as far as the next guesses follow from it.
#[derive(Clone, Copy, Debug)]
pub struct Guessed {
    history: History,
    met: Lesson,
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

/// Bits of the hashed history, which index the table's upper bits.
const HASHED_BITS: u32 = 3;
/// Bits of the address beyond the table that are folded into the index.
const FOLDED_BITS: u64 = 0b11;
/// Multiplier of the history hash: 2^8 · √3 / 2.
const HASH: u32 = 221;

/// Holds the state of one hart's frontend predictor.
#[derive(Clone, Debug)]
pub struct Predictor {
    buffer: TargetBuffer,
    returns: ReturnStack,
    counters: Vec<bool>,
    counter_mask: u64,
    counter_bits: u32,
    history: History,
    /// What the last control-flow instruction teaches.
    met: Lesson,
}

impl Predictor {
    /// Makes an empty predictor.
    pub fn new(targets: u32, counters: u32, return_addresses: u32) -> Self {
        let counters = counters.next_power_of_two();
        Self {
            buffer: TargetBuffer::new(targets),
            returns: ReturnStack::new(return_addresses),
            counters: vec![false; counters as usize],
            counter_mask: u64::from(counters) - 1,
            counter_bits: counters.trailing_zeros(),
            history: History::default(),
            met: Lesson::default(),
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

    /// Tells whether it is as another was so many cycles before.
    pub fn is_as(&self, before: &Self, cycles: Cycle) -> bool {
        self.history.is_as(&before.history, cycles)
            && self.met == before.met
            && self.knows_as(before)
    }

    /// Tells whether it has learnt what another has.
    pub fn knows_as(&self, other: &Self) -> bool {
        self.buffer == other.buffer
            && self.returns == other.returns
            && self.counters == other.counters
    }

    /// Gives what it has guessed last.
    pub fn guess(&self) -> Guessed {
        Guessed { history: self.history, met: self.met }
    }

    /// Becomes as it was when it had guessed this, so many cycles later; it has learnt nothing since.
    pub fn come_to(&mut self, guess: &Guessed, cycles: Cycle) {
        (self.history, self.met) = (guess.history, guess.met);
        self.history.move_on(cycles);
    }

    /// Lets cycles pass in which it was met as in those before.
    pub fn move_on(&mut self, cycles: Cycle) {
        self.history.move_on(cycles);
    }

    /// Becomes as another that differs in time alone.
    pub fn follow(&mut self, other: &Self) {
        self.history = other.history;
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
        let hit = self.buffer.find(at.pc);
        let (early, target) = match hit {
            Some((_, known)) => (!known.branch || counter, known.target),
            None => (false, 0),
        };
        let hit = hit.map(|(entry, _)| entry);
        if let Some(entry) = hit
            && early
        {
            self.buffer.touch(entry);
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
            self.buffer.insert(at.pc, Entry { target: at.target, branch: true, ret: false });
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
        let hit = self.buffer.find(at.pc);
        self.note(at, hit, false);
        if call {
            self.returns.push(at);
        }
        match hit {
            Some((entry, known)) => {
                self.buffer.touch(entry);
                if known.target == at.target {
                    return Guess::Early;
                }
                self.wrong_jump(known.target)
            }
            None => {
                if at.queue_short {
                    self.buffer
                        .insert(at.pc, Entry { target: at.target, branch: false, ret: false });
                }
                Guess::Late
            }
        }
    }

    fn meet_register(&mut self, at: &Meeting, call: bool, ret: bool) -> Guess {
        let hit = self.buffer.find(at.pc);
        self.note(at, hit, ret);
        let early_top = self.returns.early_top(at.fetched);
        let late_top = self.returns.top();
        if ret {
            self.returns.pop(at);
        } else if call {
            self.returns.push(at);
        }
        if let Some((entry, known)) = hit {
            let guessed = if known.ret { early_top.unwrap_or(known.target) } else { known.target };
            self.buffer.touch(entry);
            if guessed == at.target {
                return Guess::Early;
            }
            return self.wrong_jump(guessed);
        }
        match late_top.filter(|_| ret) {
            Some(top) => {
                if at.queue_short {
                    self.buffer.insert(at.pc, Entry { target: top, branch: false, ret: true });
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
            self.buffer.strike_first();
            return;
        }
        let met = self.met;
        self.history.now = if met.branch { shifted(met.seen, met.taken) } else { met.seen };
        self.learn(met);
    }

    /// Meets an instruction that the frontend fetches in vain: predicts it as any other. What it does
    /// is not known.
    pub fn foresee(&mut self, flow: Flow, at: Meeting) -> Foreseen {
        let hit = self.buffer.find(at.pc);
        let seen = self.history.seen(at.fetched);
        let counter = self.counters[self.index(at.pc, seen)];
        let early_top = self.returns.early_top(at.fetched);
        let late_top = self.returns.top();
        match flow {
            Flow::Branch => self.history.add(counter, at.fetched),
            Flow::Register { ret: true, .. } => self.returns.pop(&at),
            Flow::Jump { call: true } | Flow::Register { call: true, .. } => self.returns.push(&at),
            _ => {}
        }
        if let Some((entry, known)) = hit {
            if known.branch && !counter {
                return Foreseen { pc: at.behind, late: false, blind: false };
            }
            self.buffer.touch(entry);
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
            self.buffer.insert(at.pc, Entry { target: pc, branch: flow == Flow::Branch, ret });
        }
        Foreseen { pc, late: true, blind: false }
    }

    #[inline(always)]
    fn index(&self, pc: u64, history: u8) -> usize {
        let words = pc >> FETCH_WORD_SHIFT;
        let address = (words & self.counter_mask) ^ (words >> self.counter_bits & FOLDED_BITS);
        let hashed = HASH.wrapping_mul(u32::from(history)) & ((1 << HISTORY_BITS) - 1);
        let hashed = u64::from(hashed >> (HISTORY_BITS - HASHED_BITS));
        (address ^ hashed << (self.counter_bits - HASHED_BITS)) as usize
    }

    /// Learns from a wrong guess.
    pub fn learn(&mut self, lesson: Lesson) {
        if lesson.branch {
            self.counters[lesson.counter] = lesson.taken;
        }
        let Lesson { pc, target, branch, ret, .. } = lesson;
        if lesson.taken {
            self.buffer.correct(lesson.entry, pc, Entry { target, branch, ret });
        }
    }

    /// Looks a word up that never gets into the fetch queue.
    pub fn glance(&mut self, pc: u64, fetched: Cycle) {
        if let Some((entry, known)) = self.buffer.find(pc) {
            let seen = self.history.seen(fetched);
            if !known.branch || self.counters[self.index(pc, seen)] {
                self.buffer.touch(entry);
            }
        }
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
mod tests;
