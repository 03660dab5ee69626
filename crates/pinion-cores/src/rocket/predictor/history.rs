//! The global history of branches, with what branches that are fetched right behind others see of it
//! (RTL BTB.scala, `BHT`).
//!
//! In: each branch as it is predicted. Out: the history that another sees in its cycle.

use crate::Cycle;

/// Cycles after which a branch's prediction is still missing in the history that another sees.
const HISTORY_LAG: Cycle = 1;
/// Bits of global history.
pub(super) const HISTORY_BITS: u32 = 8;
/// The global history, with what branches fetched right behind others see of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub(super) now: u8,
    /// When the last two branches entered the fetch queue and the history before each, the last one
    /// first: what a branch fetched right behind them sees.
    recent: [(Cycle, u8); 2],
}

impl History {
    /// Gives the history as the look-up of a word sees it that enters the queue in `fetched`: a
    /// prediction enters the history in the cycle after the look-up of the branch it is for.
    #[inline(always)]
    pub(super) fn seen(&self, fetched: Cycle) -> u8 {
        let [(last, before), (last_but_one, long_before)] = self.recent;
        if fetched > last + HISTORY_LAG {
            self.now
        } else if fetched > last_but_one + HISTORY_LAG {
            before
        } else {
            long_before
        }
    }

    /// Tells whether it is as another was so many cycles before.
    pub(super) fn is_as(&self, before: &Self, cycles: Cycle) -> bool {
        self.now == before.now && self.recent == before.recent.map(|(at, seen)| (at + cycles, seen))
    }

    /// Lets cycles pass in which branches came as in those before.
    pub(super) fn move_on(&mut self, cycles: Cycle) {
        self.recent.iter_mut().for_each(|(at, _)| *at += cycles);
    }

    /// Adds a branch that enters the queue in `fetched`.
    #[inline(always)]
    pub(super) fn add(&mut self, taken: bool, fetched: Cycle) {
        self.recent = [(fetched, self.now), self.recent[0]];
        self.now = shifted(self.now, taken);
    }
}

/// Gives a history with one more branch.
#[inline(always)]
pub(super) fn shifted(history: u8, taken: bool) -> u8 {
    u8::from(taken) << (HISTORY_BITS - 1) | history >> 1
}
