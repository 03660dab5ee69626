//! Accesses to memory: what they say of bits that nobody wrote, and whether something orders them with
//! the accesses of others.

use pinion_spin::InstructionRecord;

use super::{Unit, deed};
use crate::cells::{Slot, words};
use crate::hart::Hart;
use crate::map::{Area, Asker};
use crate::operations::{Engine, Operation, overlap};
use crate::shared::{Change, Collision, Earlier, Touch, whole_cycle};
use pinion_observe::check::{Deed, Kind, Seen};

impl Unit {
    pub(super) fn asker(&self, id: usize) -> Asker {
        let hart = &self.harts[id];
        let context = hart.task.map_or(pinion_spin::ContextId(0), |task| task.context);
        Asker { cluster: hart.cluster, hpu: hart.hpu, context, place: hart.place }
    }

    /// Finds the flat bytes of an access to memory, and what they are of. What is not the handler's is
    /// reported.
    #[inline]
    pub(super) fn locate(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        (address, bytes): (u32, u32),
    ) -> Option<(u32, Area)> {
        for range in &self.harts[id].ranges {
            if let Some(flat) = range.flat(address, bytes) {
                return Some((flat, range.kind));
            }
        }
        self.find(id, record, (address, bytes))
    }

    #[cold]
    fn find(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        (address, bytes): (u32, u32),
    ) -> Option<(u32, Area)> {
        self.map.flat(address)?;
        let asker = self.asker(id);
        let range = match self.map.range(address, &asker) {
            Ok(range) => range,
            Err(crate::map::Foreign::Nobody) => return None,
            Err(foreign) => {
                self.foreign(id, record, deed(&record.instruction), (address, bytes), foreign);
                return None;
            }
        };
        let Some(flat) = range.flat(address, bytes) else {
            let end = address + bytes - 1;
            let deed = deed(&record.instruction);
            if let Err(foreign) = self.map.range(end, &asker) {
                self.foreign(id, record, deed, (end, bytes), foreign);
            }
            return None;
        };
        self.harts[id].keep_range(range);
        Some((flat, range.kind))
    }

    pub(super) fn load(&mut self, id: usize, record: &InstructionRecord) {
        let i = &record.instruction;
        let Some(address) = record.address else { return self.harts[id].registers.define(i.rd) };
        let bytes = u32::from(i.access_bytes());
        let Some((flat, area)) = self.locate(id, record, (address, bytes)) else {
            self.harts[id].registers.define(i.rd);
            return self.device_read(id, record, address);
        };
        let undefined = self.undefined_at(flat, bytes).into();
        let pc = self.line_of(id, record.pc);
        let is_whole = bytes == 4 && flat.is_multiple_of(4);
        let word = (area == Area::Shared && is_whole).then_some(flat / 4);
        self.harts[id].registers.load(i, pc, undefined, word);
        self.meets_pending(id, record, Deed::Read, (address, bytes));
        if area == Area::Shared {
            if is_whole && self.map.is_packet(record.result) && !self.is_own(id, record.result) {
                self.harts[id].keep_stale(record.result);
            }
            self.share(id, record, (flat, bytes), false);
        }
    }

    fn is_own(&self, id: usize, address: u32) -> bool {
        let place = &self.harts[id].place;
        [place.l1, place.l2].iter().any(|(first, bytes)| address.wrapping_sub(*first) < *bytes)
    }

    pub(super) fn store(&mut self, id: usize, record: &InstructionRecord) {
        let i = &record.instruction;
        let undefined = self.harts[id].registers.undefined(i.rs2) as u32;
        let Some(address) = record.address else { return };
        let bytes = u32::from(i.access_bytes());
        let Some((flat, area)) = self.locate(id, record, (address, bytes)) else {
            return self.device_written(id, record, address, undefined);
        };
        self.set_undefined(flat, bytes, undefined);
        self.meets_pending(id, record, Deed::Write, (address, bytes));
        if area == Area::Shared {
            self.share(id, record, (flat, bytes), true);
        }
    }

    #[inline]
    pub(super) fn undefined_at(&self, flat: u32, bytes: u32) -> u32 {
        let at = flat as usize;
        let word: [u8; 4] = self.undefined[at..at + 4].try_into().unwrap_or([0; 4]);
        let word = u32::from_le_bytes(word);
        if bytes >= 4 { word } else { word & ((1 << (8 * bytes)) - 1) }
    }

    #[inline]
    pub(super) fn set_undefined(&mut self, flat: u32, bytes: u32, undefined: u32) {
        let at = flat as usize;
        let count = bytes.min(4) as usize;
        self.undefined[at..at + count].copy_from_slice(&undefined.to_le_bytes()[..count]);
    }

    /// Looks at a load or store of memory that handlers share.
    #[inline]
    fn share(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        (flat, bytes): (u32, u32),
        is_write: bool,
    ) {
        if self.lines.synchronises(record.pc) {
            let word = flat / 4;
            self.shared.acquire(id, word);
            if is_write {
                self.release(id, record, word);
            }
            return;
        }
        if flat % 4 + bytes <= 4 {
            let mask = (((1u32 << bytes) - 1) << (flat % 4)) as u8;
            return self.share_word(id, record, (flat / 4, mask), is_write);
        }
        for part in words(flat, bytes) {
            self.share_word(id, record, part, is_write);
        }
    }

    #[inline]
    fn share_word(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        (word, mask): (u32, u8),
        is_write: bool,
    ) {
        let pc = self.line_of(id, record.pc);
        let slot = self.shared.slot(id, pc, record.cycle, mask);
        let deed = if is_write { Deed::Write } else { Deed::Read };
        self.touch(id, record, deed, word, slot);
    }

    /// Takes an access to a word up, and reports what it collides with.
    #[inline]
    pub(super) fn touch(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        word: u32,
        slot: Slot,
    ) {
        let (harts, hart) = (&self.harts, &self.harts[id]);
        let is_write = !matches!(deed, Deed::Read | Deed::OperationReads);
        let rewrites =
            deed == Deed::Write && hart.registers.depends_on(record.instruction.rs2, word);
        let has_changed = is_write && hart.changed.has(word);
        let touch = Touch { who: id, word, slot, is_write, rewrites, has_changed };
        let collisions = self.shared.share(&touch, |slot| ended(harts, slot));
        for collision in collisions.into_iter().flatten() {
            self.collides(id, record, deed, word, collision);
        }
    }

    #[cold]
    pub(super) fn collides(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        word: u32,
        collision: Collision,
    ) {
        let seen = self.seen(id, deed, record);
        let other = match collision.earlier {
            Earlier::Access(met) => self.earlier(&met.slot, met.is_read, record.cycle),
            Earlier::Change(change) => self.changed(&change, record.cycle),
        };
        let kind = if collision.is_lost_update { Kind::LostUpdate } else { Kind::DataRace };
        let address = self.address_of(record, word);
        self.found(kind, Some((address, 4)), seen, Some(other), || None);
    }

    /// Gives a word's address, of an access that touched it.
    pub(super) fn address_of(&self, record: &InstructionRecord, word: u32) -> u32 {
        let address = record.address.filter(|address| {
            self.map.flat(*address).is_some_and(|flat| flat.abs_diff(word * 4) < 8)
        });
        address.or_else(|| self.map.address(word * 4)).unwrap_or(0)
    }

    /// Describes an earlier access; the finding is made in `cycle`.
    fn earlier(&self, slot: &Slot, is_read: bool, cycle: u64) -> Seen {
        let hart = &self.harts[slot.hpu()];
        let operation = slot.is_operation().then(|| hart.operations.get(slot.clock)).flatten();
        let (deed, clock) = match operation {
            Some(one) if is_read => (Deed::OperationReads, one.clock),
            Some(one) => (Deed::OperationWrites, one.clock),
            None if is_read => (Deed::Read, slot.clock),
            None if slot.is_atomic => (Deed::Atomic, slot.clock),
            None => (Deed::Write, slot.clock),
        };
        let cycle = whole_cycle(slot.cycle, cycle);
        let who = self.who(slot.hpu(), hart.task_at(clock));
        Seen { deed, pc: slot.pc.into(), cycle, who }
    }

    /// Describes an earlier change of a word by an atomic.
    fn changed(&self, change: &Change, cycle: u64) -> Seen {
        let hart = &self.harts[change.who];
        let cycle = whole_cycle(change.cycle, cycle);
        let who = self.who(change.who, hart.task_at(change.clock));
        Seen { deed: Deed::Atomic, pc: change.pc.into(), cycle, who }
    }

    /// Reports an access to bytes that a command or copy of the same HPU may still use.
    #[inline]
    pub(super) fn meets_pending(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        range: (u32, u32),
    ) {
        if !self.harts[id].operations.are_awaited() {
            self.meets(id, record, deed, range, None);
        }
    }

    /// Does the same of what an engine does.
    pub(super) fn meets(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        range: (u32, u32),
        engine: Option<Engine>,
    ) {
        let writes = !matches!(deed, Deed::Read | Deed::OperationReads);
        let hit = |one: &&Operation| {
            Some(one.engine) != engine
                && (overlap(one.writes, range) || writes && overlap(one.reads, range))
        };
        let hart = &self.harts[id];
        let Some(one) = hart.operations.pending().find(hit) else { return };
        let is_written = overlap(one.writes, range);
        let (kind, done) = match is_written {
            true => (Kind::UnfinishedTransfer, Deed::OperationWrites),
            false => (Kind::ReusedBuffer, Deed::OperationReads),
        };
        let other = Seen {
            deed: done,
            pc: one.pc.into(),
            cycle: whole_cycle(one.cycle, record.cycle),
            who: self.who(id, hart.task_at(one.clock)),
        };
        let seen = self.seen(id, deed, record);
        self.found(kind, Some(range), seen, Some(other), || None);
    }
}

/// Gives the number of an HPU's clock at which an access of it had ended: of a command or copy, that at
/// which the HPU knew.
pub(super) fn ended(harts: &[Hart], slot: &Slot) -> u32 {
    if !slot.is_operation() {
        return slot.clock;
    }
    harts[slot.hpu()].operations.get(slot.clock).map_or(0, |one| one.done)
}
