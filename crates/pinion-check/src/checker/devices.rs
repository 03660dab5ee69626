//! What handlers read and write of their HPU's driver and of the cluster's DMA engine: commands and
//! copies begin there, and an HPU learns there that they are done. (Register list: the SDK's hwsched.h
//! and spin_dma.h.)

use pinion_spin::{InstructionRecord, driver_register as driver};

use super::Unit;
use super::memory::ended;
use crate::cells::{ENGINES, Slot, words};
use crate::map::Area;
use crate::operations::{Engine, Operation, overlap};
use crate::shared::{WHOLE, whole_cycle};
use pinion_observe::check::{Deed, Kind, Seen};

/// Offsets in a cluster's peripherals.
mod part {
    pub const PUBLIC_DMA: std::ops::Range<u32> = 0x1800..0x1900;
    pub const DMA: std::ops::Range<u32> = 0x4400..0x4800;
    pub const DRIVER: std::ops::Range<u32> = 0x5000..0x5400;
}

/// Registers of the DMA engine's ports.
mod dma {
    pub const WORDS: [u32; 3] = [0x00, 0x08, 0x10];
    pub const LAUNCH: u32 = 0x18;
    pub const DONE: u32 = 0x20;
    pub const PORT_BYTES: u32 = 0x80;
}

/// Names a register.
enum Register {
    Driver(u32),
    Dma(u32),
    Output,
    Other,
}

impl Unit {
    fn register(&self, address: u32) -> Register {
        match self.map.peripheral(address) {
            Some(offset) if part::DRIVER.contains(&offset) => {
                Register::Driver((offset - part::DRIVER.start) % driver::SPAN)
            }
            Some(offset) if part::DMA.contains(&offset) => {
                Register::Dma((offset - part::DMA.start) % dma::PORT_BYTES)
            }
            Some(offset) if part::PUBLIC_DMA.contains(&offset) => {
                Register::Dma((offset - part::PUBLIC_DMA.start) % dma::PORT_BYTES)
            }
            _ if self.map.is_output(address) => Register::Output,
            _ => Register::Other,
        }
    }

    /// Looks at a load from a register.
    pub(super) fn device_read(&mut self, id: usize, record: &InstructionRecord, address: u32) {
        let clock = self.shared.clocks.own(id);
        match self.register(address) {
            Register::Driver(driver::ISSUE) => self.issue(id, record),
            Register::Driver(driver::TEST) if record.result == 1 => {
                let handle = self.harts[id].tested;
                self.command_done(id, handle);
            }
            Register::Driver(offset) if self.queue_registers.contains(&offset) => {
                self.queue_named(id);
            }
            Register::Dma(dma::LAUNCH) => self.launch(id, record),
            Register::Dma(dma::DONE) => {
                let done = record.result;
                let is_done = |one: &Operation| one.engine == Engine::Copy && one.handle <= done;
                self.harts[id].operations.awaited(clock, is_done);
            }
            _ => {}
        }
    }

    /// Looks at a store to a register.
    pub(super) fn device_written(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        address: u32,
        undefined: u32,
    ) {
        let register = self.register(address);
        if undefined != 0 {
            let deed = match register {
                Register::Driver(_) | Register::Dma(_) => Some(Deed::Device),
                Register::Output => Some(Deed::Output),
                Register::Other => None,
            };
            let source = record.instruction.rs2;
            if let Some(deed) = deed {
                self.uninitialised(id, record, deed, source);
            }
        }
        let data = record.sources[1];
        let hart = &mut self.harts[id];
        match register {
            Register::Driver(driver::WAIT) => self.command_done(id, data),
            Register::Driver(driver::TEST) => hart.tested = data,
            Register::Driver(driver::INFO) => hart.info = data,
            Register::Driver(offset) if (driver::WORDS..driver::END).contains(&offset) => {
                hart.words[((offset - driver::WORDS) / 4) as usize] = data;
            }
            Register::Dma(offset) => {
                if let Some(word) = dma::WORDS.iter().position(|register| *register == offset) {
                    hart.copy[word] = data;
                }
            }
            _ => {}
        }
    }

    /// Notes that an HPU knows a command to be done.
    fn command_done(&mut self, id: usize, handle: u32) {
        let clock = self.shared.clocks.own(id);
        let is_done = |one: &Operation| one.engine != Engine::Copy && one.handle == handle;
        self.harts[id].operations.awaited(clock, is_done);
    }

    /// Looks at a command that was issued. If all slots may have been taken, it had to wait for its own,
    /// and what had that before is done; else that it was free is a matter of timing.
    fn issue(&mut self, id: usize, record: &InstructionRecord) {
        let handle = record.result;
        let pending = self.harts[id].operations.pending();
        if pending.filter(|one| one.engine != Engine::Copy).count() >= self.slots {
            self.command_done(id, handle);
        }
        let hart = &self.harts[id];
        let words = hart.words;
        let (engine, reads, writes) = match hart.info >> 1 & 3 {
            0 if words[4] & 1 == 1 => (Engine::HostDma, (words[2], words[3]), (0, 0)),
            0 => (Engine::HostDma, (0, 0), (words[2], words[3])),
            1 => (Engine::Send, (words[2], words[4]), (0, 0)),
            _ => (Engine::HostDirect, (0, 0), (0, 0)),
        };
        self.operate(id, record, (engine, handle), reads, writes);
    }

    /// Looks at a copy that was launched.
    fn launch(&mut self, id: usize, record: &InstructionRecord) {
        let [from, to, bytes] = self.harts[id].copy;
        self.operate(id, record, (Engine::Copy, record.result), (from, bytes), (to, bytes));
    }

    /// Looks at what a command or copy will do: the bytes it reads were written, those it touches are
    /// the handler's, and nothing that others did or may still do collides with it.
    fn operate(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        (engine, handle): (Engine, u32),
        reads: (u32, u32),
        writes: (u32, u32),
    ) {
        let cluster = self.harts[id].cluster;
        let physical = |(address, bytes): (u32, u32)| (self.map.physical(cluster, address), bytes);
        let (reads, writes) = (physical(reads), physical(writes));
        let from = self.operand(id, record, Deed::OperationReads, reads);
        let to = self.operand(id, record, Deed::OperationWrites, writes);
        if from.is_none() || to.is_none() {
            return; // the hardware refuses it, too, or it does harm elsewhere: that was said
        }
        self.meets(id, record, Deed::OperationReads, reads, Some(engine));
        self.meets(id, record, Deed::OperationWrites, writes, Some(engine));
        let (pc, cycle) = (self.line_of(id, record.pc), record.cycle as u32);
        let clock = self.shared.clocks.own(id);
        let hart = &mut self.harts[id];
        let number = hart.operations.add(Operation {
            engine,
            handle,
            reads,
            writes,
            task: hart.tasks,
            clock,
            pc,
            cycle,
            done: u32::MAX,
        });
        let slot = Slot {
            clock: number,
            pc,
            cycle,
            who: id as u16 * ENGINES + engine as u16,
            mask: 0,
            is_atomic: false,
        };
        if let Some(Some((flat, area))) = from {
            let bytes = reads.1;
            if engine != Engine::Copy {
                self.leaves_undefined(id, record, (reads.0, flat, bytes));
            }
            if area == Area::Shared {
                self.touch_words(id, record, Deed::OperationReads, (flat, bytes), slot);
            }
        }
        if let Some(Some((flat, area))) = to {
            let bytes = writes.1;
            self.define_bytes(from.flatten().map(|(flat, _)| flat), flat, bytes);
            if area == Area::Shared {
                self.touch_words(id, record, Deed::OperationWrites, (flat, bytes), slot);
            }
        }
    }

    /// Finds the flat bytes of what a command or copy touches: `Some(None)` if that is nothing, `None`
    /// if it is not the handler's.
    fn operand(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        (address, bytes): (u32, u32),
    ) -> Option<Option<(u32, Area)>> {
        if bytes == 0 || self.map.is_program(address) {
            return Some(None);
        }
        let asker = self.asker(id);
        let range = match self.map.range(address, &asker) {
            Ok(range) => range,
            Err(foreign) => {
                self.foreign(id, record, deed, (address, bytes), foreign);
                return None;
            }
        };
        if let Some(flat) = range.flat(address, bytes) {
            return Some(Some((flat, range.kind)));
        }
        let beyond = range.end();
        let end = address.wrapping_add(bytes - 1);
        match self.map.range(beyond, &asker) {
            Err(foreign) => self.foreign(id, record, deed, (beyond, bytes), foreign),
            // Two ranges of the handler's touch: that is its own affair.
            Ok(_) if self.map.range(end, &asker).is_ok() => return Some(None),
            Ok(_) => {}
        }
        None
    }

    /// Reports bytes that nobody wrote and that leave the NIC.
    fn leaves_undefined(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        (address, flat, bytes): (u32, u32, u32),
    ) {
        let range = flat as usize..(flat + bytes) as usize;
        let Some(at) = self.undefined[range.clone()].iter().position(|byte| *byte != 0) else {
            return;
        };
        let count = self.undefined[range.clone()].iter().filter(|byte| **byte != 0).count();
        self.undefined[range].fill(0);
        let seen = self.seen(id, Deed::OperationReads, record);
        let place = Some((address + at as u32, count as u32));
        let note = || Some(format!("{count} of its {bytes} B, the first at offset {at}"));
        self.found(Kind::Uninitialised, place, seen, None, note);
    }

    /// Notes bytes that a command or copy writes: as undefined as those they are copied from.
    fn define_bytes(&mut self, from: Option<u32>, to: u32, bytes: u32) {
        let (to, bytes) = (to as usize, bytes as usize);
        match from {
            Some(from) => {
                let from = from as usize;
                self.undefined.copy_within(from..from + bytes, to);
            }
            None => self.undefined[to..to + bytes].fill(0),
        }
    }

    /// Looks at the words that a command or copy touches.
    fn touch_words(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        (flat, bytes): (u32, u32),
        slot: Slot,
    ) {
        let is_write = deed == Deed::OperationWrites;
        for (word, mask) in words(flat, bytes) {
            let slot = Slot { mask, ..slot };
            if is_write {
                self.meets_atomics(id, record, deed, word);
            }
            let harts = &self.harts;
            let met = self.shared.touch(id, word, slot, is_write, |slot| ended(harts, slot));
            for met in met.into_iter().flatten() {
                self.collides(id, record, deed, word, met.into());
            }
            if is_write && mask == WHOLE {
                self.shared.cells.word(word).atomics = 0; // what it was before is gone
            }
        }
    }

    /// Looks at a function that returns, or an HPU that ends its handler, while a command or copy may
    /// still use the part of its stack that goes away.
    pub(super) fn leaves_pending(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        range: (u32, u32),
    ) {
        let hart = &self.harts[id];
        let task = hart.tasks;
        let hit = |one: &&Operation| {
            one.task == task && (overlap(one.reads, range) || overlap(one.writes, range))
        };
        let Some(one) = hart.operations.pending().find(hit).copied() else { return };
        let is_written = overlap(one.writes, range);
        let deed = if is_written { Deed::OperationWrites } else { Deed::OperationReads };
        let seen = self.seen(id, deed, record);
        let issued =
            Seen { pc: one.pc.into(), cycle: whole_cycle(one.cycle, record.cycle), ..seen };
        let end = Seen { deed: Deed::End, ..seen };
        let memory = if is_written { one.writes } else { one.reads };
        self.found(Kind::NeverAwaited, Some(memory), issued, Some(end), || None);
    }
}
