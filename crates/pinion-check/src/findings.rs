//! What was found, equal findings counted.

use rustc_hash::FxHashMap;

use crate::lines::Lines;
use pinion_observe::check::{Deed, Finding, Kind, Seen};

type Key = (Kind, Deed, u64, u64);

/// Counts equal findings.
#[derive(Debug, Default)]
pub struct Findings {
    /// Number of those that lines of source say are meant so.
    pub intended: u64,
    list: Vec<Finding>,
    places: FxHashMap<Key, usize>,
}

impl Findings {
    /// Adds a finding of one access and, where there is one, another, unless a line of source says that
    /// it is meant so.
    pub fn add(
        &mut self,
        lines: &Lines,
        (kind, memory): (Kind, Option<(u64, u32)>),
        seen: Seen,
        other: Option<Seen>,
        note: impl FnOnce() -> Option<String>,
    ) {
        let pcs = [Some(seen.pc), other.map(|other| other.pc)];
        if pcs.into_iter().flatten().any(|pc| lines.is_intended(pc as u32)) {
            self.intended += 1;
            return;
        }
        let key = (kind, seen.deed, seen.pc, other.map_or(0, |other| other.pc));
        if let Some(&place) = self.places.get(&key) {
            self.list[place].count += 1;
            return;
        }
        self.places.insert(key, self.list.len());
        let seen = [Some(seen), other].into_iter().flatten().collect();
        self.list.push(Finding { kind, memory, note: note(), seen, count: 1 });
    }

    /// Gives the findings, in the order in which they were made.
    pub fn list(&self) -> &[Finding] {
        &self.list
    }
}
