//! What the frontend fetches in vain: words behind an instruction that the pipeline takes back in its
//! last stage (a replay, a trap, a CSR write that flushes).
//!
//! Branches among them are predicted, and the predictions stay in the global history: on a replay
//! the same branches come a second time. Measured: the guesses in the first message of
//! dot_stream_backtoback follow from the branch behind a load that missed being there twice.

use pinion_isa::Class;

use super::code::Code;
use super::run::FETCH_STAGES;
use super::{Ahead, Core, FETCH_RING, RETIRE};

impl Core {
    /// Notes that the instruction that decodes in cycle `decode` is taken back, the frontend going
    /// on at `pc`. Call before the fetch cycle is changed.
    pub(super) fn takes_back(&mut self, pc: u64, decode: u64) {
        self.ahead = Some(Ahead { pc, decode, fetch: self.fetch });
    }

    /// Predicts the branches that were fetched in vain.
    #[cold]
    pub(super) fn fetch_ahead(&mut self, ahead: Ahead, code: &Code) {
        let last = ahead.decode + RETIRE;
        let (mut pc, mut fetch) = (ahead.pc, ahead.fetch);
        let mut word = self.fetch_word;
        // The queue holds as many words as the ring remembers departures of.
        let depth = self.timing.fetch_queue_words as usize;
        let mut extra = 0;
        let mut late = 0;
        while let Some(slot) = code.get(pc) {
            if pc >> 2 != word {
                extra += 1;
                let left = match depth.checked_sub(extra) {
                    Some(0) => ahead.decode,
                    Some(before) => {
                        self.departed[self.word_count.wrapping_sub(before - 1) % FETCH_RING]
                    }
                    None => return,
                };
                fetch = (fetch + 1 + late).max(left + FETCH_STAGES);
                late = 0;
                word = pc >> 2;
                let line = pc / crate::memory::LINE_BYTES;
                if fetch > last || self.instruction_cache.find(line).is_none() {
                    return;
                }
            }
            let i = &slot.instruction;
            let target = pc.wrapping_add(i.imm as i64 as u64);
            let behind = pc.wrapping_add(u64::from(i.length));
            pc = match i.class {
                Class::Branch => {
                    let (taken, known) = self.predictor.speculate(pc, fetch);
                    late = u64::from(taken && !known);
                    if taken {
                        word = u64::MAX; // a jump fetches anew, be it to the same word
                        target
                    } else {
                        behind
                    }
                }
                Class::Jump => {
                    word = u64::MAX;
                    target
                }
                Class::JumpRegister => return,
                _ => behind,
            };
        }
    }
}
