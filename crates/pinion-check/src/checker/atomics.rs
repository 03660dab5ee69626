//! Atomics, and words that they change: whoever comes to such a word knows what whoever changed it
//! before knew.

use pinion_isa::Op;
use pinion_observe::check::Deed;
use pinion_spin::InstructionRecord;

use super::Unit;
use super::memory::ended;
use crate::defined;
use crate::shared::WHOLE;

impl Unit {
    /// Looks at an atomic: whoever comes later to the word knows what its HPU knew.
    pub(super) fn atomic(&mut self, id: usize, record: &InstructionRecord) {
        let i = &record.instruction;
        let operand = self.harts[id].registers.undefined(i.rs2);
        self.harts[id].registers.define(i.rd);
        let Some(address) = record.address else { return };
        let Some((flat, _)) = self.locate(id, record, (address, 4)) else { return };
        let before = u64::from(self.undefined_at(flat, 4));
        let is_load = i.op == Op::LrW;
        let failed = i.op == Op::ScW && record.result != 0;
        let after = defined::of_atomic(i, before, operand, failed);
        self.set_undefined(flat, 4, after as u32);
        if i.op != Op::ScW {
            self.harts[id].registers.load(i, record.pc, before, None);
        }
        let deed = if is_load { Deed::Read } else { Deed::Atomic };
        self.meets_pending(id, record, deed, (address, 4));
        let word = flat / 4;
        self.shared.acquire(id, word);
        self.meets_write(id, record, deed, word, WHOLE);
        if is_load || failed {
            return;
        }
        self.harts[id].changed.keep(word);
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
            self.collides(id, record, deed, word, met.into());
        }
    }

    /// Lets those who come to a word later know what an HPU knows.
    pub(super) fn release(&mut self, id: usize, record: &InstructionRecord, word: u32) {
        let pc = self.line_of(id, record.pc);
        self.shared.release(id, word, pc, record.cycle as u32);
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
            self.collides(id, record, deed, word, change.into());
        }
    }
}
