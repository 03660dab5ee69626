//! Tells listeners which instructions cores execute and which transfers DMA engines issue.
//!
//! The loops that execute instructions exist twice: with `TRACED` false nothing of this is in them.

use pinion_cores::pulp::run_ahead::Watch;
use pinion_cores::pulp::{self, Stalls};
use pinion_isa::{Exception, Instruction};

use crate::cluster::Clusters;
use crate::cluster::dma::{Issued, Requester};
use crate::cluster::hpu::Core;
use crate::listener::{
    Event, InstructionRecord, Listener, PacketPlace, RunningTask, TransferRecord,
};
use crate::memory::Place;
use crate::shared::Shared;

/// Holds an instruction and what its registers held before it.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    pc: u32,
    instruction: Instruction,
    sources: [u32; 3],
}

/// Holds an instruction that a core has executed.
#[derive(Clone, Copy, Debug)]
pub struct Executed {
    before: Before,
    cluster: u32,
    hpu: u32,
    cycle: u64,
    result: u32,
    increment: Option<u32>,
    address: Option<u32>,
    found: u64,
    trap: Option<u32>,
    stalls: Stalls,
}

impl Before {
    /// Looks at the registers that an instruction reads; it is the one at the program counter.
    pub fn new(core: &pulp::Core, instruction: &Instruction) -> Self {
        let value = |register: u8| core.hart.x[usize::from(register & 31)];
        let sources = instruction.sources().map(value);
        Self { pc: core.hart.pc, instruction: *instruction, sources }
    }

    /// Notes that it was executed in `cycle`.
    pub fn executed(self, core: &pulp::Core, (cluster, hpu): (u32, u32), cycle: u64) -> Executed {
        let value = |register: u8| core.hart.x[usize::from(register & 31)];
        let Instruction { rd, rs1, .. } = self.instruction;
        let base = value(rs1);
        let changed = rs1 != 0 && rs1 != rd && base != self.sources[0];
        Executed {
            before: self,
            cluster,
            hpu,
            cycle,
            result: value(rd),
            increment: changed.then_some(base),
            address: None,
            found: 0,
            trap: None,
            stalls: core.stalls,
        }
    }

    /// Notes that its access to `address` was performed in `cycle` and found these bytes there.
    pub fn accessed(self, core: &Core, cycle: u64, address: u32, found: u64) -> Executed {
        let place = (core.cluster, core.index);
        Executed { address: Some(address), found, ..self.executed(&core.model, place, cycle) }
    }
}

/// Gives what a memory has from the word on in which an offset lies, as [`InstructionRecord::found`]
/// tells it.
pub fn found_at(memory: &[u8], offset: u32) -> u64 {
    let from = memory.get((offset & !3) as usize..).unwrap_or(&[]);
    from.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Keeps what a core executes while it runs ahead.
pub struct Traced<'a> {
    /// Where.
    pub executed: &'a mut Vec<Executed>,
    /// The core's cluster.
    pub cluster: u32,
    /// The core's number in its cluster.
    pub hpu: u32,
}

impl Watch for Traced<'_> {
    const WATCHES: bool = true;
    type Before = Before;

    fn before(&mut self, core: &pulp::Core, instruction: &Instruction) -> Before {
        Before::new(core, instruction)
    }

    fn executed(&mut self, before: Before, core: &pulp::Core, time: u64) {
        self.executed.push(before.executed(core, (self.cluster, self.hpu), time));
    }
}

impl Clusters {
    /// Looks at a core's next instruction, if somebody wants to hear of it.
    #[inline]
    pub fn before(&self, shared: &Shared, id: usize) -> Option<Before> {
        if !shared.interest.instructions {
            return None;
        }
        let core = &self.cores[id];
        Some(Before::new(&core.model, self.program.get(core.model.hart.pc)?))
    }

    /// Notes an access that a core completed; the core's next instruction comes at `next`.
    #[cold]
    pub fn note_access(
        &mut self,
        shared: &mut Shared,
        id: usize,
        before: &Before,
        address: u32,
        next: u64,
    ) {
        let core = &self.cores[id];
        let is_far = match shared.memories.place(address, core.cluster) {
            Some(Place::L1 { cluster, .. }) => cluster != core.cluster,
            place => {
                matches!(place, Some(Place::L2Handler(_) | Place::L2Packet(_) | Place::Program(_)))
            }
        };
        // What is near answers in the cycle before the next instruction; what is far was reached in
        // the turn that this event is.
        let cycle = if is_far { shared.wheel.now() } else { next - 1 };
        self.executed.push(before.accessed(core, cycle, address, self.found));
    }

    /// Looks at what an access finds in memory.
    #[cold]
    pub fn look_at(&mut self, shared: &Shared, id: usize, address: u32) {
        let place = shared.memories.place(address & !3, self.cores[id].cluster);
        let bytes = |bytes| place.and_then(|place| shared.memories.slice(place, bytes));
        self.found = bytes(8).or_else(|| bytes(4)).map_or(0, |bytes| found_at(bytes, 0));
    }

    /// Tells of an instruction that traps.
    pub fn tell_trap(
        &mut self,
        shared: &mut Shared,
        id: usize,
        exception: &Exception<u32>,
        cycle: u64,
        listener: &mut dyn Listener,
    ) {
        if !shared.interest.instructions {
            return;
        }
        let core = &self.cores[id];
        let none = Instruction::illegal(0, 2);
        let instruction = self.program.get(core.model.hart.pc).unwrap_or(&none);
        let executed = Before::new(&core.model, instruction).executed(
            &core.model,
            (core.cluster, core.index),
            cycle,
        );
        let trap = Some(u32::from(exception.cause.code()));
        self.executed.push(Executed { trap, ..executed });
        self.tell_executed(shared, listener);
    }

    /// Tells of the instructions that were noted; nothing may have happened to their HPUs since.
    pub fn tell_executed(&mut self, shared: &mut Shared, listener: &mut dyn Listener) {
        let mut executed = std::mem::take(&mut self.executed);
        for one in executed.drain(..) {
            listener.hear(&Event::Instruction(&self.instruction_record(shared, &one)));
        }
        self.executed = executed;
    }

    fn instruction_record(&self, shared: &Shared, one: &Executed) -> InstructionRecord {
        let Executed { before, cluster, hpu, .. } = *one;
        let bits = shared.memories.read(before.pc, u32::from(before.instruction.length));
        let bits = bits.unwrap_or(&[]).iter().rev();
        InstructionRecord {
            cycle: one.cycle.saturating_sub(shared.epoch),
            time: shared.time(one.cycle),
            cluster,
            hpu,
            pc: before.pc,
            word: bits.fold(0, |word, byte| word << 8 | u32::from(*byte)),
            instruction: before.instruction,
            sources: before.sources,
            result: one.result,
            increment: one.increment,
            address: one.address.map(|address| self.physical(shared, cluster, address)),
            found: one.found,
            trap: one.trap,
            task: self.running_task(shared, self.core_id(cluster, hpu)),
            stalls: one.stalls,
        }
    }

    /// Gives the address that an address means to all: own L1 lies behind an alias too.
    fn physical(&self, shared: &Shared, cluster: u32, address: u32) -> u32 {
        let l1 = &shared.machine.l1;
        let offset = address.wrapping_sub(l1.alias);
        if offset < l1.bytes { l1.base + cluster * l1.stride + offset } else { address }
    }

    /// Says what a core works at.
    pub fn running_task(&self, shared: &Shared, core: usize) -> Option<RunningTask> {
        let running = self.drivers[core].running.as_ref()?;
        running.started?;
        let record = &shared.packets[running.task.packet].record;
        Some(RunningTask {
            packet: record.packet,
            message: record.message,
            context: record.context,
            kind: running.task.kind,
        })
    }

    /// Tells that an HPU took its task.
    pub fn tell_started(
        &self,
        shared: &Shared,
        now: u64,
        core: usize,
        listener: &mut dyn Listener,
    ) {
        if shared.interest.handlers
            && let Some(task) = self.running_task(shared, core)
        {
            let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
            let time = shared.time(now);
            let place = self.packet_place(shared, core).unwrap_or_default();
            listener.hear(&Event::HandlerStarted { time, cluster, hpu, task, place });
        }
    }

    /// Says where the packet lies that a core works at.
    fn packet_place(&self, shared: &Shared, core: usize) -> Option<PacketPlace> {
        let task = &self.drivers[core].running.as_ref()?.task;
        let packet = &shared.packets[task.packet];
        Some(PacketPlace {
            l1: (task.l1_address, packet.l1_bytes),
            l2: (packet.address, packet.record.bytes),
            queue: task.queue,
        })
    }

    /// Tells of a transfer that a cluster's DMA engine issues.
    #[inline(always)]
    pub fn tell_transfer(
        &self,
        shared: &Shared,
        now: u64,
        cluster: u32,
        issued: &Issued,
        listener: &mut dyn Listener,
    ) {
        if !shared.interest.units {
            return;
        }
        let transfer = &issued.part.transfer;
        let (hpu, packet) = match transfer.requester {
            Requester::Scheduler => (None, None),
            Requester::Core(core) => {
                let task = self.running_task(shared, core as usize);
                (Some(core % self.cores_each), task.map(|task| task.packet))
            }
        };
        listener.hear(&Event::Transfer(&TransferRecord {
            cluster,
            hpu,
            packet,
            from: transfer.from,
            to: transfer.to,
            bytes: transfer.bytes,
            issued: shared.time(now),
            done: shared.time(issued.done),
        }));
    }
}
