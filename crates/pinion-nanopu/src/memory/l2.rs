//! The second-level cache: inclusive, shared by all harts, with a directory of who holds what.
//!
//! In: misses and upgrades of first-level caches. Out: whether it had the line, and which harts have
//! to give the line up. Replacement is random.

use std::sync::Arc;

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

/// Tag of an empty way: those of lines are one more than their addresses.
const EMPTY: u64 = 0;

/// Sets whose tags of one way are kept together: small, for a few lines that somebody touches.
const SETS: usize = 32;

/// One way of neighbouring sets.
#[derive(Clone, Debug)]
struct Block {
    tags: [u64; SETS],
    /// Harts that may hold each line, one bit each.
    holders: [u32; SETS],
}

/// Names a line's place: its set and its way.
#[derive(Clone, Copy, Debug)]
struct Place {
    set: usize,
    way: usize,
}

/// Holds the tags and the directory, of the sets and ways that lines have come to. Clones share
/// blocks until one changes them.
#[derive(Clone, Debug)]
pub struct L2 {
    /// By [`SETS`] sets, the ways that were ever used, in order.
    blocks: Vec<Vec<Arc<Block>>>,
    ways: usize,
    set_mask: u64,
    random: Xorshift32,
}

impl L2 {
    /// Makes an empty cache of `sets` (a power of two) times `ways` lines.
    pub fn new(sets: u32, ways: u32) -> Self {
        Self {
            blocks: vec![Vec::new(); (sets as usize).div_ceil(SETS)],
            ways: ways as usize,
            set_mask: u64::from(sets) - 1,
            random: Xorshift32::new(1),
        }
    }

    fn set(&self, line: u64) -> usize {
        (line & self.set_mask) as usize
    }

    /// Gives the block of a place; it is made if no line has come there yet.
    fn block(&mut self, place: Place) -> &mut Block {
        let ways = &mut self.blocks[place.set / SETS];
        while ways.len() <= place.way {
            ways.reserve_exact(1);
            ways.push(Arc::new(Block { tags: [EMPTY; SETS], holders: [0; SETS] }));
        }
        Arc::make_mut(&mut ways[place.way])
    }

    /// Puts a line in that loading the program brought, if there is room.
    pub fn preload(&mut self, line: u64) {
        let set = self.set(line);
        if let Some(way) = self.empty(set) {
            self.block(Place { set, way }).tags[set % SETS] = line + 1;
        }
    }

    /// Gives a line to a hart, to write it or only to read it.
    pub fn acquire(&mut self, line: u64, hart: u32, write: bool) -> Grant {
        let found = self.find(line);
        let mut grant = Grant { hit: found.is_some(), ..Grant::default() };
        let place = found.unwrap_or_else(|| self.room(self.set(line)));
        let (hit, within) = (grant.hit, place.set % SETS);
        let block = self.block(place);
        let (tag, holders) = (&mut block.tags[within], &mut block.holders[within]);
        if !hit {
            grant.evicted = (*tag != EMPTY).then(|| (*tag - 1, *holders));
            (*tag, *holders) = (line + 1, 0);
        }
        grant.probe = *holders & !(1 << hart);
        *holders = if write { 1 << hart } else { *holders | 1 << hart };
        grant.exclusive = *holders == 1 << hart;
        grant
    }

    /// Hears that a hart's cache evicted a line.
    pub fn release(&mut self, line: u64, hart: u32) {
        if let Some(place) = self.find(line) {
            self.block(place).holders[place.set % SETS] &= !(1 << hart);
        }
    }

    fn find(&self, line: u64) -> Option<Place> {
        let set = self.set(line);
        let holds = |block: &Arc<Block>| block.tags[set % SETS] == line + 1;
        let way = self.blocks[set / SETS].iter().position(holds)?;
        Some(Place { set, way })
    }

    /// Gives the first way of a set in which no line is.
    fn empty(&self, set: usize) -> Option<usize> {
        let blocks = &self.blocks[set / SETS];
        let known = blocks.iter().position(|block| block.tags[set % SETS] == EMPTY);
        known.or((blocks.len() < self.ways).then_some(blocks.len()))
    }

    fn room(&mut self, set: usize) -> Place {
        // Any sequence that is the same in every run will do.
        let way = self.empty(set).unwrap_or_else(|| self.random.draw() as usize % self.ways);
        Place { set, way }
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
