//! Memory that several share: an access comes in, those that nothing orders with it go out.
//!
//! Of each word the last write and two reads since are kept; of a word that atomics change, what whoever
//! changed it last knew. Whoever comes to such a word comes after that.

use crate::cells::{Cell, Cells, ENGINES, Slot};
use crate::clocks::{Clocks, Knowledge};

/// All bytes of a word.
pub const WHOLE: u8 = 0b1111;

/// What whoever changed a word last by an atomic knew.
struct Known {
    change: Change,
    knowledge: Knowledge,
    /// Who has loaded the word since, without knowing of the atomic: and whether.
    loaded: (usize, bool),
}

/// The last change of a word by an atomic.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Who made it.
    pub who: usize,
    /// The number of its clock.
    pub clock: u32,
    /// The instruction.
    pub pc: u32,
    /// The cycle.
    pub cycle: u32,
}

/// An earlier access that nothing orders with a later one of the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct Met {
    /// The access.
    pub slot: Slot,
    /// Whether it was a read.
    pub is_read: bool,
}

/// What an access met: a write, and two reads at most.
pub type Meetings = [Option<Met>; 3];

/// Knows who touched what last, and who knows of it.
pub struct Shared {
    /// By word.
    pub cells: Cells,
    /// By who shares.
    pub clocks: Clocks,
    atomics: Vec<Known>,
}

impl Shared {
    /// Makes a memory of so many bytes that so many share.
    pub fn new(bytes: usize, sharers: usize) -> Self {
        let (cells, clocks) = (Cells::new(bytes), Clocks::new(sharers));
        Self { cells, clocks, atomics: Vec::new() }
    }

    /// Makes the slot of a load or store.
    #[inline]
    pub fn slot(&self, who: usize, pc: u32, cycle: u64, mask: u8) -> Slot {
        let (clock, cycle) = (self.clocks.own(who), cycle as u32);
        Slot { clock, pc, cycle, who: who as u16 * ENGINES, mask, is_atomic: false }
    }

    /// Tells whether what somebody does next comes after an earlier access, whatever the timing;
    /// `ended` gives the number of its doer's clock at which an access had ended.
    #[inline]
    pub fn is_ordered(&self, who: usize, earlier: &Slot, ended: impl Fn(&Slot) -> u32) -> bool {
        let doer = earlier.hpu();
        doer == who || self.clocks.knows(who, doer, ended(earlier))
    }

    /// Tells whether atomics change a word.
    #[inline]
    pub fn has_atomics(&mut self, word: u32) -> bool {
        self.cells.word(word).atomics != 0
    }

    /// Takes up a load or store of a word that nobody else has touched; `false`: others have.
    #[inline]
    pub fn touch_alone(&mut self, word: u32, slot: Slot, is_write: bool) -> bool {
        let cell = self.cells.word(word);
        let is_alone = |other: &Slot| other.mask == 0 || other.who == slot.who;
        let write_is_own = is_alone(&cell.write);
        if is_write {
            let is_free = write_is_own && cell.reads.iter().all(is_alone);
            if is_free {
                cell.write = slot;
            }
            return is_free;
        }
        let place = cell.reads.iter().position(is_alone).filter(|_| write_is_own);
        if let Some(place) = place {
            cell.reads[place] = slot;
        }
        place.is_some()
    }

    /// Takes an access to a word up; gives what it met.
    pub fn touch(
        &mut self,
        who: usize,
        word: u32,
        slot: Slot,
        is_write: bool,
        ended: impl Fn(&Slot) -> u32,
    ) -> Meetings {
        let cell = *self.cells.word(word);
        let met = |slot_before: Slot, is_read: bool| {
            let collides =
                slot_before.mask & slot.mask != 0 && !self.is_ordered(who, &slot_before, &ended);
            collides.then_some(Met { slot: slot_before, is_read })
        };
        let reads = cell.reads.map(|read| met(read, true).filter(|_| is_write));
        let meetings = [met(cell.write, false), reads[0], reads[1]];
        *self.cells.word(word) = self.taken_up(who, cell, is_write, slot, ended);
        meetings
    }

    /// Gives a word's cell after an access.
    fn taken_up(
        &self,
        who: usize,
        mut cell: Cell,
        is_write: bool,
        slot: Slot,
        ended: impl Fn(&Slot) -> u32,
    ) -> Cell {
        if is_write {
            cell.write = slot;
            for read in &mut cell.reads {
                if self.is_ordered(who, read, &ended) {
                    *read = Slot::default();
                }
            }
            return cell;
        }
        let same = cell.reads.iter().position(|read| read.who == slot.who && read.mask != 0);
        let free = || {
            let is_free = |read: &Slot| read.mask == 0 || self.is_ordered(who, read, &ended);
            cell.reads.iter().position(is_free)
        };
        let place = same.or_else(free).unwrap_or((slot.cycle & 1) as usize);
        cell.reads[place] = slot;
        cell
    }

    /// Gives the last write of a word, if nothing orders a later access of it with that.
    pub fn meets_write(
        &mut self,
        who: usize,
        word: u32,
        mask: u8,
        ended: impl Fn(&Slot) -> u32,
    ) -> Option<Met> {
        let slot = self.cells.word(word).write;
        let collides = slot.mask & mask != 0 && !self.is_ordered(who, &slot, ended);
        collides.then_some(Met { slot, is_read: false })
    }

    /// Lets somebody know what whoever changed a word last by an atomic knew.
    #[inline]
    pub fn acquire(&mut self, who: usize, word: u32) {
        let number = self.cells.word(word).atomics;
        let Some(index) = (number as usize).checked_sub(1) else { return };
        let known = &self.atomics[index];
        if !self.clocks.knows(who, known.change.who, known.change.clock) {
            self.clocks.learn(who, &known.knowledge);
        }
    }

    /// Lets those who come to a word later know what somebody knows.
    pub fn release(&mut self, who: usize, word: u32, pc: u32, cycle: u64) {
        let change = Change { who, clock: self.clocks.own(who), pc, cycle: cycle as u32 };
        let cell = self.cells.word(word);
        cell.reads = Default::default();
        if cell.write.mask == WHOLE {
            cell.write = Slot::default();
        }
        match (cell.atomics as usize).checked_sub(1) {
            Some(index) => {
                let known = &mut self.atomics[index];
                (known.change, known.loaded) = (change, (who, false));
                known.knowledge.copy_from_slice(self.clocks.of(who));
            }
            None => {
                let knowledge = self.clocks.of(who).into();
                self.atomics.push(Known { change, knowledge, loaded: (who, false) });
                cell.atomics = self.atomics.len() as u32;
            }
        }
        self.clocks.tick(who);
    }

    /// Takes up a plain load of a word that atomics change: it lets know, as an atomic would.
    pub fn load_atomic(&mut self, who: usize, word: u32) {
        let number = self.cells.word(word).atomics as usize;
        let known = &mut self.atomics[number - 1];
        let is_known =
            known.change.who == who || self.clocks.knows(who, known.change.who, known.change.clock);
        if known.loaded.0 != who || !is_known {
            known.loaded = (who, !is_known);
        }
        self.acquire(who, word);
    }

    /// Gives the last change of a word by an atomic that somebody does not know of who stores to it, or
    /// did not know of when it loaded it.
    pub fn unknown_change(&mut self, who: usize, word: u32) -> Option<Change> {
        let number = self.cells.word(word).atomics as usize;
        let known = self.atomics.get(number.wrapping_sub(1))?;
        let change = known.change;
        let is_known = change.who == who || self.clocks.knows(who, change.who, change.clock);
        (known.loaded == (who, true) || !is_known).then_some(change)
    }

    /// Gives the last change of a word by an atomic, if somebody does not know of it.
    pub fn unknown_atomic(&mut self, who: usize, word: u32) -> Option<Change> {
        let number = self.cells.word(word).atomics as usize;
        let change = self.atomics.get(number.wrapping_sub(1))?.change;
        let is_known = change.who == who || self.clocks.knows(who, change.who, change.clock);
        (!is_known).then_some(change)
    }
}

/// Gives the last cycle up to `now` whose lower half is known.
pub const fn whole_cycle(low: u32, now: u64) -> u64 {
    now - (now as u32).wrapping_sub(low) as u64
}
