//! Atomics, and words that they change: whoever comes to such a word knows what whoever changed it
//! before knew.

use pinion_isa::Op;
use pinion_observe::check::{Deed, Kind, Seen};
use pinion_spin::InstructionRecord;

use super::Checker;
use super::memory::ended;
use crate::cells::Slot;
use crate::shared::{Change, WHOLE, whole_cycle};

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
        self.shared.acquire(id, word);
        self.meets_write(id, record, deed, word, WHOLE);
        if is_load || failed {
            return;
        }
        self.harts[id].keep_atomic(word);
        self.release(id, record, word);
    }

    /// Reports an access to a word if nothing orders it with the last write.
    fn meets_write(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        word: u32,
        mask: u8,
    ) {
        let harts = &self.harts;
        if let Some(met) = self.shared.meets_write(id, word, mask, |slot| ended(harts, slot)) {
            self.race(id, record, deed, word, met);
        }
    }

    /// Lets those who come to a word later know what an HPU knows.
    pub(super) fn release(&mut self, id: usize, record: &InstructionRecord, word: u32) {
        let pc = self.line_of(id, record.pc);
        self.shared.release(id, word, pc, record.cycle);
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
        if !is_write {
            self.meets_write(id, record, Deed::Read, word, slot.mask);
            return self.shared.load_atomic(id, word);
        }
        if self.harts[id].has_changed(word) {
            return self.release(id, record, word);
        }
        if let Some(change) = self.shared.unknown_change(id, word) {
            let register = usize::from(record.instruction.rs2 & 63);
            let rewrites = self.harts[id].depends[register] == word + 1;
            let kind = if rewrites { Kind::LostUpdate } else { Kind::DataRace };
            let address = self.address_of(record, word);
            self.meets_change(id, record, Deed::Write, kind, address, change);
        }
        self.meets_write(id, record, Deed::Write, word, slot.mask);
        self.shared.cells.word(word).write = slot;
    }

    /// Reports an access that collides with the last change of a word by an atomic.
    fn meets_change(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        kind: Kind,
        address: u32,
        change: Change,
    ) {
        let hart = &self.harts[change.who];
        let other = Seen {
            deed: Deed::Atomic,
            pc: change.pc,
            cycle: whole_cycle(change.cycle, record.cycle),
            cluster: hart.cluster,
            hpu: hart.hpu,
            task: hart.task_at(change.clock),
        };
        let seen = self.seen(id, deed, record);
        self.found(kind, Some((address, 4)), seen, Some(other), || None);
    }

    /// Reports a command or copy that writes a word whose last atomic it does not know of.
    pub(super) fn meets_atomics(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        word: u32,
    ) {
        if let Some(change) = self.shared.unknown_atomic(id, word) {
            let address = self.map.address(word * 4).unwrap_or(0);
            self.meets_change(id, record, deed, Kind::DataRace, address, change);
        }
    }
}
