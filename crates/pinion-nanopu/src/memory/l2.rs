//! The second-level cache: inclusive, shared by all harts, with a directory of who holds what.
//!
//! In: misses and upgrades of first-level caches. Out: whether it had the line, and which harts have
//! to give the line up. Replacement is random.

use std::ops::Range;

/// Says what a request for a line found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The L2 held the line.
    pub hit: bool,
    /// Harts (bits) that must drop the line, or, of a read, write it back and keep it shared.
    pub probe: u32,
    /// A line that had to go, and the harts (bits) that hold it.
    pub evicted: Option<(u64, u32)>,
    /// Nobody else holds the line now.
    pub exclusive: bool,
}

const EMPTY: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Line {
    address: u64,
    /// Harts that may hold it, one bit each.
    holders: u32,
}

/// Holds the tags and the directory.
#[derive(Clone, Debug)]
pub struct L2 {
    lines: Vec<Line>,
    ways: usize,
    set_mask: u64,
    random: u32,
}

impl L2 {
    /// Makes an empty cache of `sets` (a power of two) times `ways` lines.
    pub fn new(sets: u32, ways: u32) -> Self {
        let empty = Line { address: EMPTY, holders: 0 };
        Self {
            lines: vec![empty; (sets * ways) as usize],
            ways: ways as usize,
            set_mask: u64::from(sets) - 1,
            random: 1,
        }
    }

    fn set(&self, line: u64) -> Range<usize> {
        let first = (line & self.set_mask) as usize * self.ways;
        first..first + self.ways
    }

    /// Puts a line in that loading the program brought, if there is room.
    pub fn preload(&mut self, line: u64) {
        let ways = self.set(line);
        if let Some(free) = self.lines[ways].iter_mut().find(|held| held.address == EMPTY) {
            *free = Line { address: line, holders: 0 };
        }
    }

    /// Gives a line to a hart, to write it or only to read it.
    pub fn acquire(&mut self, line: u64, hart: u32, write: bool) -> Grant {
        let ways = self.set(line);
        let found = self.lines[ways.clone()].iter().position(|held| held.address == line);
        let mut grant = Grant { hit: found.is_some(), ..Grant::default() };
        let slot = match found {
            Some(way) => ways.start + way,
            None => {
                let slot = self.room(ways);
                let old = self.lines[slot];
                grant.evicted = (old.address != EMPTY).then_some((old.address, old.holders));
                self.lines[slot] = Line { address: line, holders: 0 };
                slot
            }
        };
        let entry = &mut self.lines[slot];
        grant.probe = entry.holders & !(1 << hart);
        if write {
            entry.holders = 1 << hart;
        } else {
            entry.holders |= 1 << hart;
        }
        grant.exclusive = entry.holders == 1 << hart;
        grant
    }

    /// Hears that a hart's cache evicted a line.
    pub fn release(&mut self, line: u64, hart: u32) {
        let ways = self.set(line);
        if let Some(held) = self.lines[ways].iter_mut().find(|held| held.address == line) {
            held.holders &= !(1 << hart);
        }
    }

    fn room(&mut self, ways: Range<usize>) -> usize {
        if let Some(free) = self.lines[ways.clone()].iter().position(|held| held.address == EMPTY) {
            return ways.start + free;
        }
        // xorshift: any sequence that is the same in every run will do.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        ways.start + self.random as usize % self.ways
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_who_holds_a_line() {
        let mut l2 = L2::new(4, 2);
        let first = l2.acquire(5, 0, false);
        assert!(!first.hit && first.exclusive && first.probe == 0);
        let second = l2.acquire(5, 1, false);
        assert!(second.hit && !second.exclusive);
        assert_eq!(second.probe, 0b01, "hart 0 must not write it any more");
        let write = l2.acquire(5, 2, true);
        assert_eq!((write.probe, write.exclusive), (0b11, true));
        l2.release(5, 2);
        assert_eq!(l2.acquire(5, 0, true).probe, 0);
    }

    #[test]
    fn a_full_set_evicts_with_its_holders() {
        let mut l2 = L2::new(1, 1);
        l2.acquire(1, 3, true);
        assert_eq!(l2.acquire(2, 0, false).evicted, Some((1, 0b1000)));
    }
}
