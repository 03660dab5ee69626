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

/// An access of a word that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// Who does it.
    pub who: usize,
    /// The word.
    pub word: u32,
    /// The access.
    pub slot: Slot,
    /// Whether it writes.
    pub is_write: bool,
    /// Whether what it writes was made of what it read there.
    pub rewrites: bool,
    /// Whether its doer has changed the word by an atomic lately.
    pub has_changed: bool,
}

/// What came earlier than an access, and is not ordered with it.
#[derive(Clone, Copy, Debug)]
pub enum Earlier {
    /// A load, a store, or what a command or copy does.
    Access(Met),
    /// An atomic.
    Change(Change),
}

/// A collision of an access with an earlier one.
#[derive(Clone, Copy, Debug)]
pub struct Collision {
    /// What came earlier.
    pub earlier: Earlier,
    /// Whether what the earlier one wrote is lost.
    pub is_lost_update: bool,
}

impl From<Met> for Collision {
    fn from(met: Met) -> Self {
        Self { earlier: Earlier::Access(met), is_lost_update: false }
    }
}

impl From<Change> for Collision {
    fn from(change: Change) -> Self {
        Self { earlier: Earlier::Change(change), is_lost_update: false }
    }
}

/// What an access collides with: a write, and two reads at most.
pub type Collisions = [Option<Collision>; 3];

/// Words that are remembered of those that somebody changed by an atomic.
const CHANGED: usize = 4;

/// Words that somebody changed by his last atomics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changed {
    words: [u32; CHANGED],
    next: usize,
}

impl Changed {
    /// Remembers a word.
    #[inline]
    pub const fn keep(&mut self, word: u32) {
        self.words[self.next] = word + 1;
        self.next = (self.next + 1) % CHANGED;
    }

    /// Tells whether a word is among them.
    pub fn has(&self, word: u32) -> bool {
        self.words.contains(&(word + 1))
    }
}

/// Knows who touched what last, and who knows of it.
pub struct Shared {
    /// By word.
    pub cells: Cells,
    /// By who shares.
    pub clocks: Clocks,
    atomics: Vec<Known>,
}

impl Shared {
    /// Makes a memory that so many share.
    pub fn new(sharers: usize) -> Self {
        let (cells, clocks) = (Cells::default(), Clocks::new(sharers));
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

    /// Takes up a load or store of a word; gives what it collides with.
    #[inline]
    pub fn share(&mut self, touch: &Touch, ended: impl Fn(&Slot) -> u32) -> Collisions {
        let Touch { who, word, slot, is_write, .. } = *touch;
        if slot.mask == WHOLE && self.has_atomics(word) {
            return self.share_atomic(touch, ended);
        }
        if self.touch_alone(word, slot, is_write) {
            return [None; 3];
        }
        let met = self.touch(who, word, slot, is_write, ended);
        met.map(|met| met.map(|met| touch.collides_with(met)))
    }

    /// Does the same of a word that atomics change. A load lets know, as an atomic would. A store by who
    /// has changed the word itself gives a lock back; another one may come in between.
    #[cold]
    fn share_atomic(&mut self, touch: &Touch, ended: impl Fn(&Slot) -> u32) -> Collisions {
        let Touch { who, word, slot, .. } = *touch;
        if !touch.is_write {
            let met = self.meets_write(who, word, slot.mask, ended);
            self.load_atomic(who, word);
            return [met.map(|met| touch.collides_with(met)), None, None];
        }
        if touch.has_changed {
            self.release(who, word, slot.pc, slot.cycle);
            return [None; 3];
        }
        let change = self.unknown_change(who, word);
        let is_lost_update = touch.rewrites;
        let change = change.map(|change| Collision { is_lost_update, ..change.into() });
        let met = self.meets_write(who, word, slot.mask, ended);
        self.cells.word(word).write = slot;
        [change, met.map(|met| touch.collides_with(met)), None]
    }

    /// Takes up a load or store of a word that nobody else has touched; `false`: others have.
    #[inline]
    fn touch_alone(&mut self, word: u32, slot: Slot, is_write: bool) -> bool {
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

    /// Takes an access to a word up as one that is no load or store; gives what it met.
    pub fn touch(
        &mut self,
        who: usize,
        word: u32,
        slot: Slot,
        is_write: bool,
        ended: impl Fn(&Slot) -> u32,
    ) -> [Option<Met>; 3] {
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
    pub fn release(&mut self, who: usize, word: u32, pc: u32, cycle: u32) {
        let change = Change { who, clock: self.clocks.own(who), pc, cycle };
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
    fn load_atomic(&mut self, who: usize, word: u32) {
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
    fn unknown_change(&mut self, who: usize, word: u32) -> Option<Change> {
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

impl Touch {
    /// Makes the collision with an earlier access.
    const fn collides_with(&self, met: Met) -> Collision {
        let is_lost_update = self.is_write && self.rewrites && !met.is_read;
        Collision { earlier: Earlier::Access(met), is_lost_update }
    }
}

/// Cycles by which an earlier access may lie behind a later one: harts run ahead of each other.
const AHEAD_CYCLES: u32 = 1 << 24;

/// Gives the cycle around `now` whose lower half is known: before it, or a little behind.
pub const fn whole_cycle(low: u32, now: u64) -> u64 {
    let ahead = low.wrapping_sub(now as u32);
    if ahead < AHEAD_CYCLES {
        return now + ahead as u64;
    }
    now.saturating_sub((now as u32).wrapping_sub(low) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_whole_again() {
        assert_eq!(whole_cycle(100, 140), 100);
        assert_eq!(whole_cycle(160, 140), 160, "a hart that ran ahead");
        assert_eq!(whole_cycle(u32::MAX - 5, (7 << 32) + 20), (7 << 32) - 6);
        assert_eq!(whole_cycle(3, (7 << 32) - 6), (7 << 32) + 3);
    }
}
