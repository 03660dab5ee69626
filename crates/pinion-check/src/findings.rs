//! What was found, equal findings counted.

use rustc_hash::FxHashMap;

use pinion_observe::check::{Deed, Kind, Seen};

/// Holds what was found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// Where: an address, and bytes.
    pub memory: Option<(u32, u32)>,
    /// What more there is to say.
    pub note: Option<String>,
    /// The accesses: the one that showed it, then those it collides with.
    pub seen: Vec<Seen>,
    /// How often.
    pub count: u64,
}

type Key = (Kind, Deed, u32, u32);

/// Counts equal findings.
#[derive(Debug, Default)]
pub struct Findings {
    /// Number of those that lines of source say are meant so.
    pub intended: u64,
    list: Vec<Finding>,
    places: FxHashMap<Key, usize>,
}

impl Findings {
    /// Adds a finding of one access and, where there is one, another.
    pub fn add(
        &mut self,
        kind: Kind,
        memory: Option<(u32, u32)>,
        seen: Seen,
        other: Option<Seen>,
        note: impl FnOnce() -> Option<String>,
    ) {
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
