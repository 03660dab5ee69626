//! Accesses to memory: what they say of bits that nobody wrote, and whether something orders them with
//! those of other harts; and the stack pointer.

use pinion_isa::{Class, Op};

use super::{NanoChecker, SP, Step};
use crate::cells::words;
use crate::defined;
use crate::shared::{Collision, Earlier, Touch, WHOLE, whole_cycle};
use pinion_observe::check::{Deed, Kind};

/// How far below its stack the stack pointer still counts as overflown.
const OVERFLOW_BYTES: u64 = 64 << 10;

impl NanoChecker {
    /// Finds an access's place in memory; `None`: it goes to a device.
    #[inline]
    fn flat(&self, address: u64, bytes: u32) -> Option<u32> {
        let offset = address.wrapping_sub(self.memory.0);
        (offset < self.memory.1 && u64::from(bytes) <= self.memory.1 - offset)
            .then_some(offset as u32)
    }

    pub(super) fn load(&mut self, step: &Step) {
        let bytes = u32::from(step.i.access_bytes());
        let Some(flat) = self.flat(step.address(), bytes) else {
            return self.harts[step.hart].registers.define(step.i.rd);
        };
        let undefined = self.bits.at(flat, bytes);
        let pc = self.line_of(step.hart, step.pc);
        let word = (bytes >= 4).then_some(flat / 4);
        self.harts[step.hart].registers.load(&step.i, pc, undefined, word);
        self.share(step, (flat, bytes), Deed::Read);
    }

    pub(super) fn store(&mut self, step: &Step) {
        let bytes = u32::from(step.i.access_bytes());
        let undefined = self.harts[step.hart].registers.undefined(step.i.rs2);
        let Some(flat) = self.flat(step.address(), bytes) else {
            return self.device_written(step, undefined);
        };
        self.bits.set(flat, bytes, undefined);
        self.share(step, (flat, bytes), Deed::Write);
    }

    fn device_written(&mut self, step: &Step, undefined: u64) {
        if undefined != 0 {
            self.uninitialised(step, Deed::Output, step.i.rs2);
        }
        let who = self.who(step);
        crate::clocks::join(&mut self.devices, self.shared.clocks.of(who));
        self.shared.clocks.tick(who);
    }

    /// Looks at an atomic: whoever comes later to the word knows what its hart knew.
    pub(super) fn atomic(&mut self, step: &Step) {
        let i = &step.i;
        let bytes = u32::from(i.access_bytes());
        let operand = self.harts[step.hart].registers.undefined(i.rs2);
        self.harts[step.hart].registers.define(i.rd);
        let Some(flat) = self.flat(step.address(), bytes) else { return };
        let before = self.bits.at(flat, bytes);
        let is_store = i.class == Class::StoreConditional;
        let failed = is_store && step.result != 0;
        let after = defined::of_atomic(i, before, operand, failed);
        self.bits.set(flat, bytes, after);
        if !is_store {
            let loads = if bytes == 4 { Op::Lw } else { Op::Ld };
            let load = pinion_isa::Instruction { op: loads, ..*i };
            self.harts[step.hart].registers.load(&load, step.pc, before, None);
        }
        let is_load = i.class == Class::LoadReserved;
        let deed = if is_load { Deed::Read } else { Deed::Atomic };
        let who = self.who(step);
        for (word, mask) in words(flat, bytes) {
            self.shared.acquire(who, word);
            if let Some(met) = self.shared.meets_write(who, word, mask, |slot| slot.clock) {
                self.collides(step, deed, (word, bytes), met.into());
            }
            if !is_load && !failed {
                self.harts[step.hart].changed.keep(word);
                self.release(step, word);
            }
        }
    }

    /// Gives who of those that share memory runs on a hart.
    #[inline]
    fn who(&self, step: &Step) -> usize {
        self.harts[step.hart].threads.who()
    }

    fn release(&mut self, step: &Step, word: u32) {
        let pc = self.line_of(step.hart, step.pc);
        self.shared.release(self.who(step), word, pc, step.at as u32);
    }

    /// Looks at a load or store of memory that harts share.
    #[inline]
    fn share(&mut self, step: &Step, (flat, bytes): (u32, u32), deed: Deed) {
        let is_write = deed == Deed::Write;
        if self.program.lines.synchronises(step.pc) {
            let who = self.who(step);
            for (word, _) in words(flat, bytes) {
                self.shared.acquire(who, word);
                if is_write {
                    self.release(step, word);
                }
            }
            return;
        }
        if bytes == 8 {
            self.share_word(step, (flat / 4, WHOLE), bytes, deed);
            return self.share_word(step, (flat / 4 + 1, WHOLE), bytes, deed);
        }
        let mask = (((1u32 << bytes) - 1) << (flat % 4)) as u8;
        self.share_word(step, (flat / 4, mask), bytes, deed);
    }

    #[inline]
    fn share_word(&mut self, step: &Step, (word, mask): (u32, u8), bytes: u32, deed: Deed) {
        let pc = self.line_of(step.hart, step.pc);
        let hart = &self.harts[step.hart];
        let is_write = deed == Deed::Write;
        let touch = Touch {
            who: hart.threads.who(),
            word,
            slot: self.shared.slot(hart.threads.who(), pc, step.at, mask),
            is_write,
            rewrites: is_write && hart.registers.depends_on(step.i.rs2, word),
            has_changed: is_write && hart.changed.has(word),
        };
        let collisions = self.shared.share(&touch, |slot| slot.clock);
        for collision in collisions.into_iter().flatten() {
            self.collides(step, deed, (word, bytes), collision);
        }
    }

    /// Reports an access to a word that collides with an earlier one.
    #[cold]
    fn collides(
        &mut self,
        step: &Step,
        deed: Deed,
        (word, bytes): (u32, u32),
        collision: Collision,
    ) {
        let seen = self.seen(step, deed);
        let each = self.shared.clocks.count() / self.harts.len();
        let other = match collision.earlier {
            Earlier::Access(met) => {
                let slot = &met.slot;
                let deed = if met.is_read { Deed::Read } else { Deed::Write };
                let cycle = whole_cycle(slot.cycle, step.at);
                self.earlier(slot.hpu() / each, deed, (slot.pc, cycle))
            }
            Earlier::Change(change) => {
                let cycle = whole_cycle(change.cycle, step.at);
                self.earlier(change.who / each, Deed::Atomic, (change.pc, cycle))
            }
        };
        let kind = if collision.is_lost_update { Kind::LostUpdate } else { Kind::DataRace };
        let first = (word / (bytes / 4).max(1)) * (bytes / 4).max(1);
        let address = self.memory.0 + u64::from(first) * 4;
        let memory = Some((address, bytes));
        self.findings.add(&self.program.lines, (kind, memory), seen, Some(other), || None);
    }

    /// Follows the stack pointer: what it leaves, and what it comes to, nobody has written. One that comes
    /// from elsewhere is another stack's.
    pub(super) fn stack_moves(&mut self, step: &Step) {
        let hart = &mut self.harts[step.hart];
        let (before, now) = (hart.value(SP), step.result);
        let moves = step.i.class == Class::Alu && step.i.sources().contains(&SP);
        if !moves {
            hart.has_threads |= step.i.class == Class::Load;
            let layout = self.program.layout;
            hart.stack = layout.and_then(|layout| layout.stack(step.hart, now, hart.has_threads));
            return;
        }
        let Some(stack) = hart.stack else { return };
        let is_own = |address: u64| (stack.low..=stack.high).contains(&address);
        if now < stack.low && stack.low - now < OVERFLOW_BYTES && is_own(before) {
            let seen = self.seen(step, Deed::Stack);
            let by = stack.low - now;
            let note = match stack.thread {
                Some(thread) => format!("by {by} B; it is that of the thread of context {thread}"),
                None => format!("by {by} B"),
            };
            let memory = Some((now, 0));
            let lines = &self.program.lines;
            return self
                .findings
                .add(lines, (Kind::StackOverflow, memory), seen, None, || Some(note));
        }
        if is_own(now) && is_own(before) {
            let flat = |address: u64| (address - self.memory.0) as u32;
            self.bits.fill(flat(before.min(now))..flat(before.max(now)), false);
        }
    }
}
