//! What the frontend fetches in vain: words behind a branch that goes elsewhere, or behind an
//! instruction that the pipeline takes back in its last stage (a replay, a trap, a CSR write that
//! flushes).
//!
//! Their branches are predicted, and of an instruction that is taken back the predictions stay in
//! the global history: on a replay the same branches come a second time. Measured: the guesses in
//! the first message of dot_stream_backtoback follow from the branch behind a load that missed
//! being there twice. Jumps among them enter the target buffer, calls and returns move the stack of
//! return addresses, and a line that they miss is fetched: none of that is undone.

use super::code::Code;
use super::fetch::FETCH_STAGES;
use super::predictor::{Flow, Meeting};
use super::{Ahead, Core, FETCH_RING};
use crate::port::{LINE_BYTES, MemoryPort};

impl Core {
    /// Follows the frontend through words that it fetches in vain.
    #[cold]
    pub(super) fn fetch_ahead<M: MemoryPort>(&mut self, ahead: Ahead, code: &Code, memory: &mut M) {
        let Some((astray, lesson)) = ahead.undone else {
            return self.follow(ahead, code, memory);
        };
        let history = self.predictor.replace_history(astray);
        self.follow(ahead, code, memory);
        self.predictor.replace_history(history);
        self.predictor.learn(lesson);
    }

    fn follow<M: MemoryPort>(&mut self, ahead: Ahead, code: &Code, memory: &mut M) {
        let Ahead { mut pc, mut word, last, mut fetch, mut late, mut blind, .. } = ahead;
        // The queue holds as many words as the ring remembers departures of.
        let depth = self.timing.fetch_queue_words as usize;
        let mut extra = 0;
        // When the word before the last and the last leave the queue.
        let mut leaves = [self.departed_before(1), ahead.decode];
        while let Some(slot) = code.peek(pc) {
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
                if fetch == last + 1 {
                    self.predictor.glance(pc, fetch);
                }
                match self.enters(pc / LINE_BYTES, fetch, last, memory) {
                    Some(at) => fetch = at,
                    None => return,
                }
                leaves = [leaves[1], fetch.max(leaves[1] + 1)];
            }
            let i = &slot.instruction;
            let behind = pc.wrapping_add(u64::from(i.length));
            let Some(flow) = Flow::of(i).filter(|_| !blind) else {
                pc = behind;
                continue;
            };
            let foreseen = self.predictor.foresee(
                flow,
                Meeting {
                    pc,
                    target: pc.wrapping_add(i.imm as i64 as u64),
                    behind,
                    taken: true,
                    fetched: fetch,
                    queue_short: leaves[0] < fetch && !(ahead.taught && fetch == last),
                },
            );
            blind = foreseen.blind;
            late = u64::from(foreseen.late);
            if foreseen.pc != behind {
                word = u64::MAX; // a jump fetches anew, be it to the same word
            }
            pc = foreseen.pc;
        }
    }
}
