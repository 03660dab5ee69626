//! Match-action tables as they run: entries are looked for, counted, added and removed while packets flow.
//! In: a key for each packet, and changes. Out: whether an entry fits, its action, the action's
//! arguments. Entries come from a file, or from whoever controls the NIC ([`entries`]).
//!
//! Which entry it is where several fit: that with the longest prefix; of ternary ones that with the highest
//! priority, and of the same priority that which came first.

pub mod entries;

use std::collections::HashMap;
use std::sync::Arc;

use crate::program::{KeyKind, Row, TableShape};

/// Most values that a table compares.
pub const MOST_KEYS: usize = 8;

/// A value, and the bits of it that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The value, in these bits.
    pub value: u128,
    /// The bits.
    pub mask: u128,
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it compares.
    pub keys: Vec<Match>,
    /// What is done.
    pub row: Row,
    /// Of several that fit the highest counts.
    pub priority: u32,
    /// How often it fitted.
    pub hits: u64,
}

impl Entry {
    /// Tells whether it compares what another one does.
    fn is_same(&self, keys: &[Match], priority: u32) -> bool {
        self.keys == keys && self.priority == priority
    }

    fn fits(&self, key: &[u128]) -> bool {
        self.keys.iter().zip(key).all(|(own, value)| value & own.mask == own.value)
    }
}

/// What is changed in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An entry comes.
    Add {
        /// What it compares.
        keys: Vec<Match>,
        /// What is done.
        row: Row,
        /// Of several that fit the highest counts.
        priority: u32,
    },
    /// An entry goes.
    Remove {
        /// What it compares.
        keys: Vec<Match>,
        /// Its priority.
        priority: u32,
    },
    /// What is done where none fits.
    Default(Row),
}

/// Says why a table cannot be changed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// There is an entry for this key.
    Twice,
    /// There is no entry for this key.
    Missing,
    /// There is no room.
    Full,
}

/// A table with its entries.
#[derive(Clone, Debug)]
pub struct Table {
    shape: Arc<TableShape>,
    /// Of tables that compare by equality alone: the entry of each key.
    exact: Option<HashMap<Vec<u128>, usize>>,
    /// Of others in the order in which they are looked at; the first that fits counts.
    entries: Vec<Entry>,
    default: Row,
    misses: u64,
}

impl Table {
    /// Makes a table without entries.
    pub fn new(shape: &Arc<TableShape>) -> Self {
        let is_exact = shape.keys.iter().all(|key| key.kind == KeyKind::Exact);
        Self {
            exact: is_exact.then(HashMap::new),
            entries: Vec::new(),
            default: shape.default.clone(),
            misses: 0,
            shape: Arc::clone(shape),
        }
    }

    /// Gives what it is.
    pub fn shape(&self) -> &TableShape {
        &self.shape
    }

    /// Lists its entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Counts the packets that no entry fitted.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Finds what is done with a key, and counts it; tells whether that is an entry's.
    pub fn find(&mut self, key: &[u128]) -> (bool, &Row) {
        let found = match &self.exact {
            Some(exact) => exact.get(key).copied(),
            None => self.entries.iter().position(|entry| entry.fits(key)),
        };
        match found {
            Some(at) => {
                self.entries[at].hits += 1;
                (true, &self.entries[at].row)
            }
            None => {
                self.misses += 1;
                (false, &self.default)
            }
        }
    }

    /// Changes it.
    ///
    /// # Errors
    /// Why it cannot be changed so; it is as it was then.
    pub fn change(&mut self, what: &What) -> Result<(), Problem> {
        match what {
            What::Default(row) => self.default = row.clone(),
            What::Add { keys, row, priority } => {
                if self.position(keys, *priority).is_some() {
                    return Err(Problem::Twice);
                }
                if self.entries.len() >= self.shape.size as usize {
                    return Err(Problem::Full);
                }
                let entry =
                    Entry { keys: keys.clone(), row: row.clone(), priority: *priority, hits: 0 };
                match &mut self.exact {
                    Some(exact) => {
                        exact.insert(values(keys), self.entries.len());
                        self.entries.push(entry);
                    }
                    None => {
                        let rank = self.rank(&entry);
                        let at = self.entries.partition_point(|other| self.rank(other) >= rank);
                        self.entries.insert(at, entry);
                    }
                }
            }
            What::Remove { keys, priority } => {
                let at = self.position(keys, *priority).ok_or(Problem::Missing)?;
                match &mut self.exact {
                    Some(exact) => {
                        exact.remove(&values(keys));
                        self.entries.swap_remove(at);
                        if let Some(moved) = self.entries.get(at) {
                            exact.insert(values(&moved.keys), at);
                        }
                    }
                    None => drop(self.entries.remove(at)),
                }
            }
        }
        Ok(())
    }

    fn position(&self, keys: &[Match], priority: u32) -> Option<usize> {
        match &self.exact {
            Some(exact) => exact.get(&values(keys)).copied(),
            None => self.entries.iter().position(|entry| entry.is_same(keys, priority)),
        }
    }

    /// Gives what decides which of several entries counts.
    fn rank(&self, entry: &Entry) -> u32 {
        let prefix = self.shape.keys.iter().position(|key| key.kind == KeyKind::Prefix);
        prefix.map_or(entry.priority, |key| entry.keys[key].mask.count_ones())
    }
}

fn values(keys: &[Match]) -> Vec<u128> {
    keys.iter().map(|key| key.value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{ActionShape, KeyShape};
    use crate::source::Span;

    fn shape(kind: KeyKind, size: u32) -> Arc<TableShape> {
        let key = |name: &str, kind| KeyShape { name: name.to_owned(), width: 32, kind };
        let action =
            ActionShape { name: "to".to_owned(), parameters: vec![("port".to_owned(), 16)] };
        Arc::new(TableShape {
            name: "ways".to_owned(),
            keys: vec![key("dst", kind), key("tag", KeyKind::Exact)],
            actions: vec![action],
            size,
            default: Row { action: 1, arguments: Vec::new() },
            span: Span::default(),
        })
    }

    fn add(value: u128, mask: u128, port: u128, priority: u32) -> What {
        let all = u128::from(u32::MAX);
        let keys = vec![Match { value, mask }, Match { value: 7, mask: all }];
        What::Add { keys, row: Row { action: 0, arguments: vec![port] }, priority }
    }

    fn port(table: &mut Table, key: u128) -> Option<u128> {
        let (hit, row) = table.find(&[key, 7]);
        hit.then(|| row.arguments[0])
    }

    const ALL: u128 = u32::MAX as u128;

    #[test]
    fn equal_keys_are_found_counted_and_removed() {
        let mut table = Table::new(&shape(KeyKind::Exact, 3));
        for (value, to) in [(1, 10), (2, 20), (3, 30)] {
            assert_eq!(table.change(&add(value, ALL, to, 0)), Ok(()));
        }
        assert_eq!(table.change(&add(2, ALL, 1, 0)), Err(Problem::Twice));
        assert_eq!(table.change(&add(4, ALL, 1, 0)), Err(Problem::Full));
        let keys = vec![Match { value: 1, mask: ALL }, Match { value: 7, mask: ALL }];
        let gone = What::Remove { keys, priority: 0 };
        assert_eq!(table.change(&gone), Ok(()));
        assert_eq!(table.change(&gone), Err(Problem::Missing));
        assert_eq!(
            [1, 2, 3, 3].map(|key| port(&mut table, key)),
            [None, Some(20), Some(30), Some(30)]
        );
        let hits: Vec<_> = table.entries().iter().map(|entry| entry.hits).collect();
        assert_eq!((hits, table.misses()), (vec![2, 1], 1));
    }

    #[test]
    fn the_longest_prefix_counts_whatever_came_first() {
        let mut table = Table::new(&shape(KeyKind::Prefix, 9));
        for (value, bits, to) in [(0x0a00_0000, 8, 1), (0x0a01_0000, 16, 2), (0, 0, 3)] {
            let mask = ALL & !(ALL >> bits);
            assert_eq!(table.change(&add(value, mask, to, 0)), Ok(()));
        }
        let keys = [0x0a01_0203, 0x0a02_0203, 0x0b00_0000];
        assert_eq!(keys.map(|key| port(&mut table, key)), [Some(2), Some(1), Some(3)]);
    }

    #[test]
    fn the_highest_priority_counts_then_the_first() {
        let mut table = Table::new(&shape(KeyKind::Ternary, 9));
        for (value, mask, to, priority) in [(0, 0, 1, 0), (5, 0xf, 2, 9), (0x15, 0xff, 3, 9)] {
            assert_eq!(table.change(&add(value, mask, to, priority)), Ok(()));
        }
        assert_eq!([0x15, 0x16].map(|key| port(&mut table, key)), [Some(2), Some(1)]);
        assert_eq!(table.change(&add(5, 0xf, 2, 8)), Ok(()));
        assert_eq!(table.change(&add(5, 0xf, 4, 9)), Err(Problem::Twice));
    }
}
