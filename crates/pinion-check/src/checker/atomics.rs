//! Atomics, and words that they change: whoever comes to such a word knows what whoever changed it
//! before knew.

use pinion_isa::Op;
use pinion_observe::check::{Deed, Kind, Seen};
use pinion_spin::InstructionRecord;

use super::Checker;
use super::memory::whole_cycle;
use crate::cells::Slot;
use crate::clocks::Knowledge;

/// What whoever changed a word last by an atomic knew.
pub struct Known {
    hpu: usize,
    /// The number of its clock.
    clock: u32,
    pc: u32,
    cycle: u32,
    knowledge: Knowledge,
    /// An HPU that has loaded the word since, without knowing of the atomic: and whether.
    loaded: (usize, bool),
}

/// Holds that of all words that atomics changed.
#[derive(Default)]
pub struct Atomics {
    list: Vec<Known>,
}

impl Checker {
    /// Looks at an atomic: whoever comes later to the word knows what its HPU knew.
    pub(super) fn atomic(&mut self, id: usize, record: &InstructionRecord, operand: u32) {
        let i = &record.instruction;
        let Some(address) = record.address else { return self.define(id, i.rd) };
        let Some((flat, _)) = self.locate(id, record, (address, 4)) else {
            self.define(id, i.rd);
            return;
        };
        let before = self.undefined_at(flat, 4);
        let is_load = i.op == Op::LrW;
        let failed = i.op == Op::ScW && record.result != 0;
        let after = match i.op {
            Op::LrW => before,
            Op::ScW if failed => before,
            Op::ScW | Op::AmoSwapW => operand,
            _ if before | operand == 0 => 0,
            _ => (before | operand) | (before | operand).wrapping_neg(),
        };
        self.set_undefined(flat, 4, after);
        self.define(id, i.rd);
        if before != 0 && i.op != Op::ScW && i.rd != 0 {
            let hart = &mut self.harts[id];
            let register = usize::from(i.rd & 63);
            (hart.undefined[register], hart.origin[register]) = (before, record.pc);
        }
        let deed = if is_load { Deed::Read } else { Deed::Atomic };
        self.meets_pending(id, record, deed, (address, 4));
        let word = flat / 4;
        self.acquire(id, word);
        let cell = *self.cells.word(word);
        self.collide(id, record, deed, word, (0b1111, cell.write));
        if is_load || failed {
            return;
        }
        self.harts[id].keep_atomic(word);
        self.release(id, record, word);
    }

    /// Lets an HPU know what whoever changed the word last by an atomic knew.
    #[inline]
    pub(super) fn acquire(&mut self, id: usize, word: u32) {
        let number = self.cells.word(word).atomics;
        let Some(index) = (number as usize).checked_sub(1) else { return };
        let known = &self.atomics.list[index];
        if !self.clocks.knows(id, known.hpu, known.clock) {
            self.clocks.learn(id, &known.knowledge);
        }
    }

    /// Lets those who come to a word later know what an HPU knows.
    pub(super) fn release(&mut self, id: usize, record: &InstructionRecord, word: u32) {
        let clock = self.clocks.own(id);
        let (pc, cycle) = (self.line_of(id, record.pc), record.cycle as u32);
        let cell = self.cells.word(word);
        cell.reads = Default::default();
        if cell.write.mask == 0b1111 {
            cell.write = Slot::default();
        }
        match (cell.atomics as usize).checked_sub(1) {
            Some(index) => {
                let known = &mut self.atomics.list[index];
                (known.hpu, known.clock, known.pc, known.cycle) = (id, clock, pc, cycle);
                known.knowledge.copy_from_slice(self.clocks.of(id));
                known.loaded = (id, false);
            }
            None => {
                let knowledge = self.clocks.of(id).into();
                let loaded = (id, false);
                self.atomics.list.push(Known { hpu: id, clock, pc, cycle, knowledge, loaded });
                cell.atomics = self.atomics.list.len() as u32;
            }
        }
        self.clocks.tick(id);
    }

    /// Looks at a plain access to a word that atomics change. A load lets know, as an atomic would. A
    /// store by who has changed the word itself gives a lock back; another one may come in between.
    pub(super) fn share_atomic_word(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        word: u32,
        is_write: bool,
        slot: Slot,
    ) {
        let cell = *self.cells.word(word);
        let known = &mut self.atomics.list[cell.atomics as usize - 1];
        let last = (known.hpu, known.clock, known.pc, known.cycle);
        let is_known = known.hpu == id || self.clocks.knows(id, known.hpu, known.clock);
        if !is_write {
            if known.loaded.0 != id || !is_known {
                known.loaded = (id, !is_known);
            }
            self.collide(id, record, Deed::Read, word, (slot.mask, cell.write));
            return self.acquire(id, word);
        }
        if self.harts[id].has_changed(word) {
            return self.release(id, record, word);
        }
        let register = usize::from(record.instruction.rs2 & 63);
        let rewrites = self.harts[id].depends[register] == word + 1;
        let was_unknown = known.loaded == (id, true) || !is_known;
        if was_unknown {
            let kind = if rewrites { Kind::LostUpdate } else { Kind::DataRace };
            let seen = self.seen(id, Deed::Write, record);
            let (hpu, clock, pc, cycle) = last;
            let hart = &self.harts[hpu];
            let other = Seen {
                deed: Deed::Atomic,
                pc,
                cycle: whole_cycle(cycle, record.cycle),
                cluster: hart.cluster,
                hpu: hart.hpu,
                task: hart.task_at(clock),
            };
            let address = self.address_of(record, word);
            self.found(kind, Some((address, 4)), seen, Some(other), || None);
        }
        self.collide(id, record, Deed::Write, word, (slot.mask, cell.write));
        self.cells.word(word).write = slot;
    }

    /// Reports a command or copy that touches a word whose last atomic it does not know of.
    pub(super) fn meets_atomics(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        word: u32,
        is_write: bool,
    ) {
        let number = self.cells.word(word).atomics;
        let Some(known) = self.atomics.list.get((number as usize).wrapping_sub(1)) else { return };
        if known.hpu == id || self.clocks.knows(id, known.hpu, known.clock) || !is_write {
            return;
        }
        let hart = &self.harts[known.hpu];
        let other = Seen {
            deed: Deed::Atomic,
            pc: known.pc,
            cycle: whole_cycle(known.cycle, record.cycle),
            cluster: hart.cluster,
            hpu: hart.hpu,
            task: hart.task_at(known.clock),
        };
        let seen = self.seen(id, deed, record);
        let address = self.map.address(word * 4).unwrap_or(0);
        self.found(Kind::DataRace, Some((address, 4)), seen, Some(other), || None);
    }
}
