//! The frontend's way to the pipeline: words of four bytes, the queue they wait in, the instruction
//! cache and its one refill.
//!
//! A word is looked up, and enters the queue two cycles later; if it misses it is looked up again
//! every second cycle. One line is refilled at a time, and while its beats come nothing can be read
//! (RTL ICache.scala, Frontend.scala). When the instruction in the memory stage finds nothing
//! behind it, neither in the execute stage nor in the queue, the pipeline takes what comes next for
//! wrong and fetches anew (RTL RocketCore.scala, `mem_wrong_npc`): that turns the phase of the
//! look-ups around, and the predictor hears of it as of a wrong guess.

use pinion_isa::Instruction;

use super::predictor::{Flow, Guess, Meeting};
use super::{Ahead, Core, FETCH_RING, RETIRE};
use crate::Cycle;
use crate::port::{LINE_BYTES, MemoryPort};

/// Cycles from the departure that makes room to a word's entry into the fetch queue.
pub(super) const FETCH_STAGES: Cycle = 1 + LOOK_UP;
/// Cycles from asking for a word to its entry into the fetch queue.
const LOOK_UP: Cycle = 2;
/// Cycles from the decode stage to the memory stage, which redirects the frontend.
const MEMORY_STAGE: Cycle = 2;
/// Cycles from a redirection to the entry of the first word from there.
const REDIRECT: Cycle = 2;
/// Cycles from one look-up of a word that misses to the next.
const RETRY: Cycle = 2;
/// Beats of a refill, one a cycle.
const BEATS: Cycle = 8;
/// Cycles from a refill's last beat to the entry of a word that is looked up right behind it.
const BEHIND_BEATS: Cycle = 3;

/// A line on its way into the instruction cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refill {
    line: u64,
    /// First cycle in which one of its words may enter the queue.
    enters: Cycle,
}

impl Refill {
    /// Tells whether a word that would enter the queue in `at` is looked up during a beat.
    fn beats_at(&self, at: Cycle) -> bool {
        at + BEHIND_BEATS + BEATS > self.enters + REDIRECT
            && at + BEHIND_BEATS <= self.enters + REDIRECT
    }

    /// Tells whether all its words were there in a cycle.
    pub(super) fn is_past(&self, at: Cycle) -> bool {
        self.enters + BEATS <= at
    }

    /// Tells whether a word that enters the queue behind one that did in a cycle is looked up behind all beats.
    pub(super) fn is_before(&self, at: Cycle) -> bool {
        self.enters <= at
    }

    /// Tells whether another refill may be asked for by a word that misses in `at`.
    fn is_over(&self, at: Cycle) -> bool {
        at + 1 >= self.enters
    }
}

impl Core {
    /// Gives the first cycle in which the instruction can be in decode, its words being fetched.
    #[inline(always)]
    pub(super) fn arrive<M: MemoryPort>(
        &mut self,
        pc: u64,
        instruction: &Instruction,
        memory: &mut M,
    ) -> Cycle {
        let last_word = (pc + u64::from(instruction.length) - 1) >> 2;
        if last_word != self.fetch_word {
            self.fetch_words(pc, last_word, memory);
        }
        self.fetch.max(self.decode + 1)
    }

    #[inline(always)]
    fn fetch_words<M: MemoryPort>(&mut self, pc: u64, last_word: u64, memory: &mut M) {
        let first_word = pc >> 2;
        let before = self.fetch;
        // One word follows the other in every cycle, as far as the queue has room.
        if last_word != first_word && first_word != self.fetch_word {
            self.fetch_word_behind();
            self.look_up_if_new(first_word, before, 0, memory);
            self.fetch_word_behind();
            self.look_up_if_new(last_word, before, 1, memory);
        } else {
            self.fetch_word_behind();
            self.look_up_if_new(last_word, before, 0, memory);
        }
        self.fetch_word = last_word;
    }

    #[inline(always)]
    fn fetch_word_behind(&mut self) {
        self.word_count = self.word_count.wrapping_add(1);
        self.departed[self.word_count % FETCH_RING] = self.decode;
        let next = self.fetch + 1;
        let streams = self.streams;
        self.streams = !self.redirected;
        self.redirected = false;
        self.fetch = next;
        if self.departed_before(self.timing.fetch_queue_words as usize) + FETCH_STAGES > next {
            self.wait_for_room(next.saturating_sub(LOOK_UP), streams);
        }
    }

    /// Finds the cycle in which the next word is asked for, in `slot` if the queue has room then, and
    /// so when it enters. `streams` tells that the word before was asked for in its slot.
    ///
    /// There is room for a word when the queue and the two stages in front of it cannot overflow. A
    /// slot that passes goes through these stages all the same, and its word is asked for again
    /// behind them, by when the next slot may have taken a stage in vain (RTL Frontend.scala,
    /// `s0_fq_has_space`, `s2_replay`).
    #[cold]
    fn wait_for_room(&mut self, slot: Cycle, streams: bool) {
        let words = self.timing.fetch_queue_words;
        let room = |at: Cycle, taken: u64| self.queued(at) + taken < words;
        let in_vain = || u64::from(room(slot + 1, 1));
        let asked = if room(slot, 1 + u64::from(streams)) {
            slot
        } else if room(slot + 2, 1 + in_vain()) {
            slot + 2
        } else {
            (slot + 3..).find(|&at| room(at, 0)).unwrap_or(slot)
        };
        self.streams &= asked == slot;
        self.fetch = asked + LOOK_UP;
    }

    /// Counts the words that lie in the queue when cycle `at` begins.
    #[inline]
    fn queued(&self, at: Cycle) -> u64 {
        let ring = |back: usize| self.word_count.wrapping_sub(back) % FETCH_RING;
        let mut count = 0;
        for back in 1..FETCH_RING {
            // Words leave in order: what was there before one that has left has left, too.
            if self.departed[ring(back - 1)] < at {
                break;
            }
            count += u64::from(self.entered[ring(back)] < at);
        }
        count
    }

    /// Gives when the word `words` before the one that is fetched now left the fetch queue.
    #[inline(always)]
    pub(super) fn departed_before(&self, words: usize) -> Cycle {
        self.departed[self.word_count.wrapping_sub(words - 1) % FETCH_RING]
    }

    #[inline(always)]
    fn look_up_if_new<M: MemoryPort>(
        &mut self,
        word: u64,
        before: Cycle,
        nth: Cycle,
        memory: &mut M,
    ) {
        let line = word * 4 / LINE_BYTES;
        if line != self.fetch_line || self.fetch < self.refill.enters {
            self.look_up(line, before, nth, memory);
        }
        self.entered[self.word_count % FETCH_RING] = self.fetch;
    }

    /// Looks a word up that would enter the queue in cycle `self.fetch`, the `nth` since the
    /// instruction before, whose word entered in `before`.
    #[inline(never)]
    fn look_up<M: MemoryPort>(&mut self, line: u64, before: Cycle, nth: Cycle, memory: &mut M) {
        self.fetch_line = line;
        let checked = self.decode + MEMORY_STAGE;
        let first = self.fetch;
        if first > checked {
            // The frontend has been redirected behind the instruction before: it is past.
            self.fetch = self.enters(line, first, Cycle::MAX, memory).unwrap_or(first);
            return;
        }
        self.fetch = self.enters(line, first, checked, memory).unwrap_or_else(|| {
            self.streams = false;
            let steered = self.steered == self.decode;
            self.predictor.starve((!steered).then_some(before));
            let again = checked + REDIRECT + nth;
            self.enters(line, again, Cycle::MAX, memory).unwrap_or(again)
        });
    }

    /// Gives the cycle in which a word of a line enters the queue that is looked up to enter in
    /// `first`, and again until `last`; `None` if it does not by then.
    pub(super) fn enters<M: MemoryPort>(
        &mut self,
        line: u64,
        first: Cycle,
        last: Cycle,
        memory: &mut M,
    ) -> Option<Cycle> {
        let mut at = first;
        while at <= last {
            if !self.refill.beats_at(at) {
                let held = self.instruction_cache.find(line).is_some();
                if held && (line != self.refill.line || at >= self.refill.enters) {
                    return Some(at);
                }
                if !held && self.refill.is_over(at) {
                    self.refill(line, at, memory);
                }
            }
            at += RETRY;
        }
        None
    }

    /// Asks for a line that a word missed which would have entered the queue in `at`.
    fn refill<M: MemoryPort>(&mut self, line: u64, at: Cycle, memory: &mut M) {
        let enters = at + self.instruction_miss + memory.fetch_line(self.id, line);
        self.instruction_cache.insert(line, super::cache::State::Shared);
        self.refill = Refill { line, enters };
    }

    /// Follows a control-flow instruction that decodes in `t`.
    #[inline(always)]
    pub(super) fn steer(
        &mut self,
        flow: Flow,
        i: &Instruction,
        pc: u64,
        target: u64,
        taken: bool,
        t: Cycle,
    ) {
        self.steered = t;
        let guess = self.predictor.meet(
            flow,
            Meeting {
                pc,
                target,
                behind: pc.wrapping_add(u64::from(i.length)),
                taken,
                fetched: self.fetch,
                queue_short: self.departed_before(2) < self.fetch,
            },
        );
        match guess {
            Guess::FallThrough => {}
            Guess::Early => self.fetch_word = u64::MAX,
            Guess::Late => self.redirect(self.fetch + 2),
            Guess::Wrong(astray) => {
                self.ahead = Some(Ahead {
                    pc: astray.pc,
                    word: if astray.jumps { u64::MAX } else { self.fetch_word },
                    decode: t,
                    last: t + MEMORY_STAGE,
                    fetch: self.fetch,
                    late: u64::from(astray.late),
                    blind: astray.blind,
                    undone: Some((astray.history, astray.lesson)),
                    taught: taken,
                });
                self.redirect(t + self.timing.mispredict_cycles);
            }
        }
    }

    /// Notes that the instruction that decodes in cycle `decode` is taken back, the frontend going
    /// on at `pc`. Call before the fetch cycle is changed.
    pub(super) fn takes_back(&mut self, pc: u64, decode: u64) {
        self.ahead = Some(Ahead {
            pc,
            word: self.fetch_word,
            decode,
            last: decode + RETIRE,
            fetch: self.fetch,
            late: 0,
            blind: false,
            undone: None,
            taught: false,
        });
    }

    /// Fetches from the program counter on: its word enters the queue in `at`.
    #[inline(always)]
    pub(super) fn redirect(&mut self, at: Cycle) {
        self.fetch = at - 1;
        self.fetch_word = u64::MAX;
        self.redirected = true;
    }
}
