//! Snapshots of a run, so that going back begins near. They lie a fixed number of cycles apart where
//! the run is, and the further away the fewer are kept.

use pinion_sim::node::Saved;

use crate::log::Heard;

/// Cycles between snapshots as a run goes on.
pub const INTERVAL_CYCLES: u64 = 50_000;

/// Bytes of machines that are kept; some are kept in any case.
const KEPT_BYTES: u64 = 384 << 20;
const LEAST_KEPT: u64 = 8;

/// A run as it was somewhere.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What was heard, and how far it was.
    pub heard: Heard,
    /// The machine.
    pub saved: Saved,
}

impl Snapshot {
    fn cycle(&self) -> u64 {
        self.heard.reached.cycle
    }
}

/// Holds snapshots, in order of their cycles; the first one is the beginning and stays.
pub struct Snapshots {
    kept: Vec<Snapshot>,
    most: usize,
}

impl Snapshots {
    /// Begins with the beginning of a machine that takes so many bytes.
    pub fn new(beginning: Snapshot, bytes: u64) -> Self {
        let most = (KEPT_BYTES / bytes.max(1)).max(LEAST_KEPT);
        Self { kept: vec![beginning], most: most as usize }
    }

    /// Gives the last one at or before a cycle.
    pub fn at_or_before(&self, cycle: u64) -> &Snapshot {
        &self.kept[self.index(cycle)]
    }

    fn index(&self, cycle: u64) -> usize {
        self.kept.partition_point(|kept| kept.cycle() <= cycle).max(1) - 1
    }

    /// Tells whether none is there within so many cycles before one.
    pub fn wants(&self, cycle: u64, apart: u64) -> bool {
        cycle - self.at_or_before(cycle).cycle().min(cycle) >= apart
    }

    /// Keeps one.
    pub fn keep(&mut self, snapshot: Snapshot) {
        let cycle = snapshot.cycle();
        if self.kept.len() >= self.most {
            self.forget_one(cycle);
        }
        let index = self.index(cycle);
        self.kept.insert(index + 1, snapshot);
    }

    /// Forgets the one that is missed least from where the run is: the way that it saves is the
    /// shortest, measured by how far it is.
    fn forget_one(&mut self, now: u64) {
        let loss = |index: usize| {
            let before = self.kept[index - 1].cycle();
            let behind = self.kept.get(index + 1).map_or(now, Snapshot::cycle);
            let away = self.kept[index].cycle().abs_diff(now) + 1;
            u128::from(behind.saturating_sub(before)) * 1_000_000 / u128::from(away)
        };
        if let Some(index) = (1..self.kept.len()).min_by_key(|&index| loss(index)) {
            self.kept.remove(index);
        }
    }
}
