//! Branches and jumps of a loop that is known, met again and again: where they stand in the target buffer is
//! looked up once.
//!
//! In: branches and jumps in the order in which they are met, and where they go. Out: whether all of them are
//! guessed rightly without a fetch lost; then the predictor as if it had met each. It learns nothing by that
//! but who was first.

use super::{Guessed, Lesson, Predictor};
use crate::Cycle;

/// A branch or a jump that saves no address, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Its address.
    pub pc: u64,
    /// Where it goes if taken.
    pub target: u64,
    /// It is a branch.
    pub branch: bool,
    /// It is taken.
    pub taken: bool,
}

/// Most of them that are met together.
pub const MOST_CONTROLS: usize = 4;

/// Their entries in the target buffer; that of no entry is the first.
#[derive(Clone, Copy, Debug)]
pub struct Entries([usize; MOST_CONTROLS]);

impl Predictor {
    /// Gives the entries of instructions that the frontend finds its way at without losing a fetch, as long as
    /// the counters agree; none if it may not.
    pub fn entries(&mut self, controls: &[Control]) -> Option<Entries> {
        let mut entries = [0; MOST_CONTROLS];
        let strikes = |control: &Control| self.buffer.may_strike(control.pc);
        if controls.len() > MOST_CONTROLS || controls.iter().any(strikes) {
            return None;
        }
        for (control, entry) in controls.iter().zip(&mut entries) {
            *entry = match self.buffer.find(control.pc) {
                Some((_, known)) if known.branch != control.branch => return None,
                Some((_, known)) if control.taken && known.target != control.target => return None,
                Some((found, _)) => found,
                None if control.taken => return None,
                None => 0,
            };
        }
        Some(Entries(entries))
    }

    /// Gives what it will have guessed last when it has met instructions whose entries are these, each in its
    /// cycle `fetched`; none if one of them would be guessed wrongly.
    #[inline(always)]
    pub fn foregone(
        &self,
        controls: &[Control],
        entries: &Entries,
        fetched: impl Iterator<Item = Cycle>,
    ) -> Option<Guessed> {
        let mut guessed = self.guess();
        for ((control, entry), fetched) in controls.iter().zip(entries.0).zip(fetched) {
            let &Control { pc, target, branch, taken } = control;
            let seen = guessed.history.seen(fetched);
            let counter = if branch { self.index(pc, seen) } else { 0 };
            if branch {
                if self.counters[counter] != taken {
                    return None;
                }
                guessed.history.add(taken, fetched);
            }
            let entry = Some(entry);
            guessed.met = Lesson { pc, target, branch, ret: false, taken, entry, counter, seen };
        }
        Some(guessed)
    }

    /// Meets instructions by which it comes to this.
    #[inline(always)]
    pub fn meet_again(&mut self, guessed: Guessed, controls: &[Control], entries: &Entries) {
        self.come_to(&guessed, 0);
        for (control, entry) in controls.iter().zip(entries.0) {
            if control.taken {
                self.buffer.touch(entry);
            }
        }
    }
}
