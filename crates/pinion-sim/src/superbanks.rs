//! Groups of memory banks that two sides share, a beat of either in a cycle.
//!
//! In: beats of an engine whose cycles are known some time ahead, and those of others in the order of their cycles. Out:
//! who has a group in a cycle. Holds who had each last, for it is his turn again where both ask, and then the other's.
//! Makes the others wait; the engine's owner lets its beats come later. (RTL: tcdm_superbank_mux, an rr_arb_tree of two,
//! with a cluster's own DMA engine and the NIC's side.)

use crate::arbiter::RoundRobin;

/// Numbers of those who ask, as they are wired.
const NIC: u32 = 0;
const ENGINE: u32 = 1;

/// Describes what a part of a transfer has to do with the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beats {
    /// The line of the first.
    pub line: u64,
    /// How many there are.
    pub count: u64,
    /// How many were over when one was put off last.
    pub passed: u64,
    /// Cycles by which those behind them were put off.
    pub late: u64,
}

impl Beats {
    /// Gives the cycle of the first, as if none had been put off on the way; `done`: the part is so.
    pub fn start(&self, done: u64) -> u64 {
        done - 1 - self.count
    }

    /// Gives the cycle of the first that is not known to be over.
    pub fn from(&self, done: u64) -> u64 {
        self.start(done) + self.passed
    }

    /// Gives the line of the beat in a cycle, if there is one.
    pub fn at(&self, done: u64, cycle: u64) -> Option<u64> {
        let beat = cycle.checked_sub(self.start(done))?;
        (self.passed..self.count).contains(&beat).then_some(self.line + beat)
    }
}

/// Who had a superbank last.
#[derive(Clone, Debug, Default)]
struct Turn {
    /// Cycle behind that of the engine's last beat.
    engine_until: u64,
    /// Cycle behind that in which the NIC's side asked last.
    nic_until: u64,
    /// Whose turn it was behind that.
    order: RoundRobin,
}

/// Decides who has the superbanks.
#[derive(Clone, Debug)]
pub struct Superbanks {
    turns: Vec<Turn>,
}

impl Superbanks {
    /// Makes some that nobody has had.
    pub fn new(count: u32) -> Self {
        Self { turns: vec![Turn::default(); count as usize] }
    }

    fn index(&self, line: u64) -> usize {
        (line as u32 % self.turns.len() as u32) as usize
    }

    /// Tells whether lines are of the same superbank.
    pub fn are_same(&self, one: Option<u64>, other: u64) -> bool {
        one.is_some_and(|one| self.index(one) == self.index(other))
    }

    /// Notes `count` more beats of a part that is done at a cycle, as things stand.
    pub fn engine_had(&mut self, beats: &Beats, done: u64, count: u64) {
        let last = (beats.passed + count).min(beats.count);
        let first = last.saturating_sub(self.turns.len() as u64).max(beats.passed);
        for beat in first..last {
            let index = self.index(beats.line + beat);
            let until = beats.start(done) + beat + 1;
            self.turns[index].engine_until = until.max(self.turns[index].engine_until);
        }
    }

    /// Says whether the NIC's side has a line's superbank in a cycle, where the engine may ask for it too.
    pub fn nic_asks(&mut self, cycle: u64, line: u64, engine_asks: bool) -> bool {
        let index = self.index(line);
        let turn = &mut self.turns[index];
        if turn.engine_until > turn.nic_until {
            turn.order.serve_alone(ENGINE);
        }
        turn.nic_until = cycle + 1;
        turn.order.grant_word(1 << NIC | u64::from(engine_asks) << ENGINE) == Some(NIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(line: u64, count: u64) -> Beats {
        Beats { line, count, passed: 0, late: 0 }
    }

    #[test]
    fn who_had_it_last_has_it_again_and_then_they_take_turns() {
        let mut superbanks = Superbanks::new(4);
        assert!(superbanks.nic_asks(10, 0, true), "nobody had it");
        assert!(!superbanks.nic_asks(11, 4, true), "four superbanks: the same one");
        assert!(superbanks.nic_asks(12, 0, true));
        assert!(superbanks.nic_asks(13, 0, false));
        assert!(superbanks.nic_asks(14, 0, true));
        superbanks.engine_had(&beats(0, 2), 23, 2); // in cycles 20 and 21
        assert!(!superbanks.nic_asks(22, 0, true));
        assert!(!superbanks.nic_asks(23, 1, true));
        assert!(superbanks.nic_asks(24, 2, true), "which the engine has not had");
    }

    #[test]
    fn beats_that_are_put_off_come_later_with_all_behind_them() {
        let mut put_off = beats(7, 8);
        assert_eq!((put_off.from(109), put_off.at(109, 102)), (100, Some(9)));
        (put_off.passed, put_off.late) = (2, 1);
        let done = 110;
        assert_eq!(
            [101, 102, 103, 108, 109].map(|at| put_off.at(done, at)),
            [None, None, Some(9), Some(14), None]
        );
    }
}
