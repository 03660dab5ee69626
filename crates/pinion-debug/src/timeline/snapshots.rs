//! Snapshots of a run, so that going back begins near. They lie a fixed number of cycles apart where
//! the run is, and the further away the fewer are kept.

use super::State;

/// Cycles between snapshots as a run goes on.
pub const INTERVAL_CYCLES: u64 = 50_000;

/// Bytes of machines that are kept; some are kept in any case.
const KEPT_BYTES: u64 = 384 << 20;
const LEAST_KEPT: u64 = 8;

/// Holds snapshots, in order of their cycles; the first one is the beginning and stays.
pub struct Snapshots {
    kept: Vec<State>,
    most: usize,
}

impl Snapshots {
    /// Begins with the beginning.
    pub fn new(beginning: State) -> Self {
        let most = (KEPT_BYTES / beginning.bytes().max(1)).max(LEAST_KEPT);
        Self { kept: vec![beginning], most: most as usize }
    }

    /// Gives the last one at or before a cycle.
    pub fn at_or_before(&self, cycle: u64) -> &State {
        &self.kept[self.index(cycle)]
    }

    fn index(&self, cycle: u64) -> usize {
        self.kept.partition_point(|state| state.cycle <= cycle).max(1) - 1
    }

    /// Keeps a state unless one is there within so many cycles before it.
    pub fn keep(&mut self, state: &State, apart: u64) {
        if state.cycle - self.at_or_before(state.cycle).cycle < apart {
            return;
        }
        if self.kept.len() >= self.most {
            self.forget_one(state.cycle);
        }
        let index = self.index(state.cycle);
        self.kept.insert(index + 1, state.clone());
    }

    /// Forgets the one that is missed least from where the run is: the way that it saves is the
    /// shortest, measured by how far it is.
    fn forget_one(&mut self, now: u64) {
        let loss = |index: usize| {
            let before = self.kept[index - 1].cycle;
            let behind = self.kept.get(index + 1).map_or(now, |state| state.cycle);
            let away = self.kept[index].cycle.abs_diff(now) + 1;
            u128::from(behind.saturating_sub(before)) * 1_000_000 / u128::from(away)
        };
        if let Some(index) = (1..self.kept.len()).min_by_key(|&index| loss(index)) {
            self.kept.remove(index);
        }
    }
}
