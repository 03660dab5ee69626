//! What a block beside the model sees in each cycle, where the model knows it only some cycles later: such a block
//! runs behind.

use std::collections::BTreeMap;

use crate::{Ended, Seat};

/// Holds what happens in each cycle of a block that runs some cycles behind the model.
#[derive(Debug)]
pub struct Timeline<T> {
    behind_cycles: u64,
    cycle: u64,
    ahead: BTreeMap<u64, T>,
}

impl<T: Default> Timeline<T> {
    /// Makes an empty one.
    pub const fn new(behind_cycles: u64) -> Self {
        Self { behind_cycles, cycle: 0, ahead: BTreeMap::new() }
    }

    /// Gives the cycles by which the block is behind.
    pub const fn behind_cycles(&self) -> u64 {
        self.behind_cycles
    }

    /// Begins the block's cycle beside the model's cycle `now`; gives its number and what happens in it.
    pub fn begin(&mut self, now: u64) -> (u64, T) {
        self.cycle = now.wrapping_sub(self.behind_cycles);
        (self.cycle, self.ahead.remove(&self.cycle).unwrap_or_default())
    }

    /// Gives what happens in a cycle; `None`: the block is beyond it.
    pub fn at(&mut self, cycle: u64) -> Option<&mut T> {
        let is_ahead = cycle.wrapping_sub(self.cycle).wrapping_sub(1) < u64::MAX / 2;
        is_ahead.then(|| self.ahead.entry(cycle).or_default())
    }

    /// Says whether something lies ahead of the block.
    pub fn is_behind(&self) -> bool {
        !self.ahead.is_empty()
    }
}

/// Is what a seat keeps whose block runs some cycles behind the model.
pub trait Timed {
    /// What happens in a cycle.
    type Now: Default;

    /// Gives the cycles ahead.
    fn time(&mut self) -> &mut Timeline<Self::Now>;
}

impl<T: Timed> Seat<T> {
    /// Changes what happens in a cycle.
    pub fn set(&mut self, cycle: u64, change: impl FnOnce(&mut T::Now)) {
        match self.own.time().at(cycle) {
            Some(there) => change(there),
            None => {
                self.wrong.get_or_insert_with(|| {
                    format!("the model tells of cycle {cycle} when the block is beyond it")
                });
            }
        }
    }

    /// Ends a cycle.
    pub fn end(&mut self, state: impl FnOnce() -> String) -> Option<Ended> {
        let behind = self.own.time().behind_cycles();
        let (what, packet, state) = self.end_cycle(state)?;
        Some((format!("{what}\n  the block is {behind} cycles behind the model"), packet, state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_each_cycle_once_and_takes_nothing_for_what_is_over() {
        let mut line = Timeline::<u32>::new(4);
        assert_eq!(line.begin(10), (6, 0));
        *line.at(7).expect("ahead") = 1;
        assert!(line.at(6).is_none());
        assert!(line.is_behind());
        assert_eq!(line.begin(11), (7, 1));
        assert!(!line.is_behind());
        assert_eq!(line.begin(12), (8, 0));
    }
}
