//! The second-level cache: inclusive, shared by all harts, with a directory of who holds what.
//!
//! In: misses and upgrades of first-level caches. Out: whether it had the line, and which harts have
//! to give the line up. Replacement is random.

use std::ops::Range;

use pinion_sim::random::Xorshift32;

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

/// Tag of an empty way: those of lines are one more than their addresses, so that tags of sets that
/// nothing touches stay zero and need no memory of the host's.
const EMPTY: u64 = 0;

/// Holds the tags and the directory.
#[derive(Clone, Debug)]
pub struct L2 {
    tags: Vec<u64>,
    /// Harts that may hold each line, one bit each.
    holders: Vec<u32>,
    ways: usize,
    set_mask: u64,
    random: Xorshift32,
}

impl L2 {
    /// Makes an empty cache of `sets` (a power of two) times `ways` lines.
    pub fn new(sets: u32, ways: u32) -> Self {
        let lines = (sets * ways) as usize;
        Self {
            tags: vec![EMPTY; lines],
            holders: vec![0; lines],
            ways: ways as usize,
            set_mask: u64::from(sets) - 1,
            random: Xorshift32::new(1),
        }
    }

    fn set(&self, line: u64) -> Range<usize> {
        let first = (line & self.set_mask) as usize * self.ways;
        first..first + self.ways
    }

    /// Puts a line in that loading the program brought, if there is room.
    pub fn preload(&mut self, line: u64) {
        let ways = self.set(line);
        if let Some(free) = self.tags[ways].iter_mut().find(|tag| **tag == EMPTY) {
            *free = line + 1;
        }
    }

    /// Gives a line to a hart, to write it or only to read it.
    pub fn acquire(&mut self, line: u64, hart: u32, write: bool) -> Grant {
        let found = self.find(line);
        let mut grant = Grant { hit: found.is_some(), ..Grant::default() };
        let slot = match found {
            Some(slot) => slot,
            None => {
                let slot = self.room(self.set(line));
                let (tag, holders) = (self.tags[slot], self.holders[slot]);
                grant.evicted = (tag != EMPTY).then(|| (tag - 1, holders));
                (self.tags[slot], self.holders[slot]) = (line + 1, 0);
                slot
            }
        };
        let holders = &mut self.holders[slot];
        grant.probe = *holders & !(1 << hart);
        *holders = if write { 1 << hart } else { *holders | 1 << hart };
        grant.exclusive = *holders == 1 << hart;
        grant
    }

    /// Hears that a hart's cache evicted a line.
    pub fn release(&mut self, line: u64, hart: u32) {
        if let Some(slot) = self.find(line) {
            self.holders[slot] &= !(1 << hart);
        }
    }

    fn find(&self, line: u64) -> Option<usize> {
        let ways = self.set(line);
        let found = self.tags[ways.clone()].iter().position(|&tag| tag == line + 1);
        found.map(|way| ways.start + way)
    }

    fn room(&mut self, ways: Range<usize>) -> usize {
        if let Some(free) = self.tags[ways.clone()].iter().position(|&tag| tag == EMPTY) {
            return ways.start + free;
        }
        // Any sequence that is the same in every run will do.
        ways.start + self.random.draw() as usize % self.ways
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
