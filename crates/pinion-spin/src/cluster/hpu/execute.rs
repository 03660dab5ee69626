//! Runs cores: decode table, pipeline costs, fetches; ahead of the event queue until something
//! shared is touched.
//!
//! A core's local time runs ahead while it executes instructions of its own. Accesses to its own
//! cluster's L1 are ordered within the cluster (`lanes.rs`); before any other access that others can
//! see, and before a fetch that misses, it puts itself into the queue and goes on when its turn
//! comes. So shared state is touched in the order of time, and private work costs no ordering. The core
//! model is the machine file's choice: its numbers become the [`Costs`](pinion_cores::pulp::Costs) that
//! everything here reads, and it runs ahead by itself (`pinion_cores::pulp`).
//! (RI5CY's are pinned by the `pipeline` calibration rows.)

use pinion_cores::pulp::NO_REGISTER;
use pinion_cores::pulp::code::{Code, Kind};
use pinion_cores::pulp::lean::Start;
use pinion_instruction_cache::InstructionPort;
use pinion_isa::{Access, Cause, Exception, MemoryKind, Outcome, Privilege};

use crate::cluster::Clusters;
use crate::cluster::hpu::{Core, Waiting};
use crate::cluster::pe_interconnect::{DRIVER, Performed};
use crate::listener::{Fault, Listener};
use crate::memory::PERIPHERALS;
use crate::shared::Shared;
use crate::wake::Due;

impl Clusters {
    /// Lets a core go on at cycle `now`: performs what it was to do in this cycle, then lets it run
    /// ahead.
    #[inline]
    pub fn run_core(
        &mut self,
        shared: &mut Shared,
        id: usize,
        now: u64,
        listener: &mut dyn Listener,
    ) {
        let looks_behind = std::mem::take(&mut self.cores[id].looks_behind);
        if looks_behind && self.cores[id].pending.is_none() && self.look_behind(shared, id, now) {
            return;
        }
        let time = match self.due_access(shared, id, now, listener) {
            Ok(access) => {
                let since = self.cores[id].since;
                let register = self.near.driver_register(&access);
                let performed = match register.filter(|_| !shared.interest.instructions) {
                    Some(register) => {
                        self.access_own_driver(shared, id, &access, register, now, listener)
                    }
                    None => self.perform(shared, id, &access, now, listener),
                };
                match performed {
                    Performed::Done { value, next } => {
                        self.finish(shared, id, &access, value, since, next)
                    }
                    Performed::Wait(waiting) => {
                        return self.suspend(shared, id, access, waiting, now);
                    }
                    Performed::Fault(exception) => self.trap(shared, id, exception, now, listener),
                }
            }
            Err(time) => time,
        };
        if self.cores[id].waiting != Waiting::Ever {
            self.advance(shared, id, time, listener);
        }
    }

    /// Gives the access that a core is to perform in its turn: the one that it waited with, or its next
    /// instruction's.
    ///
    /// # Errors
    /// The cycle of its next instruction, if there is none to perform.
    #[inline]
    fn due_access(
        &mut self,
        shared: &mut Shared,
        id: usize,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Result<Access<u32>, u64> {
        let core = &mut self.cores[id];
        if let Some(access) = core.pending.take() {
            return Ok(access);
        }
        let Some(instruction) = self.program.get(core.model.hart.pc) else {
            return Err(match self.decode_at(shared, id) {
                Ok(()) => now,
                Err(exception) => self.trap(shared, id, exception, now, listener),
            });
        };
        if !core.model.buffer.covers(core.model.hart.pc) {
            return Err(self.fetch(shared, id, now));
        }
        if !self.costs.accesses(instruction.class) {
            return Err(now); // it only yielded
        }
        core.since = now;
        match core.model.hart.execute(instruction) {
            Outcome::Access(access) => Ok(access),
            // A misaligned atomic, say.
            Outcome::Trap(exception) => Err(self.trap(shared, id, exception, now, listener)),
            _ => Err(now + 1), // no class that accesses memory has another outcome
        }
    }

    /// Performs an access to what is the core's alone; gives the cycle of the next instruction, and how the core
    /// goes on there if its state says less, or `None` if it is not so simple.
    pub fn access_private(
        &mut self,
        shared: &mut Shared,
        id: usize,
        now: u64,
    ) -> Option<(u64, Option<Start>)> {
        let (core, driver) = (&mut self.cores[id], &mut self.drivers[id]);
        let place = self.program.place(core.model.hart.pc);
        if let Some(one) = self.program.micro().get(place as usize)
            && matches!(one.kind, Kind::Lw | Kind::Sw)
            && !shared.interest.instructions
            && !self.costs.xpulp
        {
            // As below, without the interpreter.
            let x = &mut core.model.hart.x;
            let offset = one.rs1.of(x).wrapping_add(one.imm).wrapping_sub(PERIPHERALS + DRIVER);
            if one.flags.writes() {
                driver.write_draft(offset, one.rs2.of(x));
            } else {
                one.rd.set(x, driver.task_register(offset));
            }
            core.model.hart.instret += 1;
            core.model.stalls.load_use += self.costs.response;
            core.model.executed(one, now + 1);
            return Some((now + 1 + self.costs.response, Some(Start::behind(one, place, 0))));
        }
        let instruction = self.program.get(core.model.hart.pc)?;
        let Outcome::Access(access) = core.model.hart.execute(instruction) else { return None };
        let offset = access.address.wrapping_sub(PERIPHERALS + DRIVER);
        let value = if access.kind == MemoryKind::Load {
            core.model.loaded = access.rd;
            driver.task_register(offset)
        } else {
            driver.write_draft(offset, access.data);
            0
        };
        Some((self.finish(shared, id, &access, value, now, now + 1), None))
    }

    /// Finishes an access that was due at `since`; gives the cycle of the next instruction.
    #[inline]
    fn finish(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        value: u32,
        since: u64,
        next: u64,
    ) -> u64 {
        let before = self.before(shared, id);
        let core = &mut self.cores[id];
        core.model.waited = next > since + 1;
        if access.kind == MemoryKind::EventLoad {
            core.model.left = next - 1; // the instruction behind it comes to the decode stage now
        }
        if self.costs.xpulp {
            core.model.jumped |= core.model.hart.complete_xpulp(access, value);
        } else {
            core.model.hart.complete_integer(access, value);
        }
        core.model.stalls.load_use += self.costs.response;
        core.model.performed(access, next);
        if let Some(before) = before {
            self.note_access(shared, id, &before, access.address, next);
        }
        next + self.costs.response
    }

    /// Leaves a core waiting; whoever has what it waits for lets it go on.
    fn suspend(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: Access<u32>,
        waiting: Waiting,
        now: u64,
    ) {
        let core = &mut self.cores[id];
        (core.pending, core.waiting) = (Some(access), waiting);
        if access.kind == MemoryKind::EventLoad {
            return; // nothing moves behind it (RTL riscv_controller, ELW_EXE)
        }
        let Some(pc) = self.ask_behind(id, now) else { return };
        if let Some(one) = self.program.get(pc) {
            let (core, last) = (&self.cores[id], pc + u32::from(one.length) - 1);
            let loaded = (access.kind != MemoryKind::Store).then_some(access.rd);
            let costs = &self.costs;
            let target = costs.target_while_waiting(&core.model, (one, pc), loaded, &self.program);
            if let Some((target, from)) = target {
                let (core, _, mut port) = self.instruction_port(id, now);
                core.model.buffer.jump_ahead(last, target, from.max(now + 1), &mut port);
            }
        }
        self.ask_for_line(shared, id, now);
    }

    /// Lets the instruction behind a core's access, which comes to the decode stage in the cycle after `now`, ask for its
    /// line, if it is to; gives its address.
    #[inline(always)]
    pub fn ask_behind(&mut self, id: usize, now: u64) -> Option<u32> {
        let behind = self.cores[id].model.behind(now, &self.program)?;
        let (core, program, mut port) = self.instruction_port(id, now);
        core.model.buffer.look_ahead(&behind, program, &mut port);
        Some(behind.pc)
    }

    /// Lets a core hear, at cycle `now`, of the line that it has asked for ahead, unless it is to ask again at
    /// another cycle.
    pub fn line_due(&mut self, shared: &mut Shared, id: usize, now: u64) {
        if self.cores[id].line_due == now {
            self.ask_for_line(shared, id, now);
        }
    }

    /// Lets a core ask whether the line it has asked for ahead has come, until it has: refills take their
    /// turns when they are due, whatever the core does meanwhile.
    #[inline(always)]
    pub fn ask_for_line(&mut self, shared: &mut Shared, id: usize, now: u64) {
        let core = &self.cores[id];
        if !core.model.buffer.expects_line() {
            return;
        }
        let (core, _, mut port) = self.instruction_port(id, now);
        if let Some(again) = core.model.buffer.ask_again(now, &mut port) {
            core.line_due = again;
            shared.wheel.push(again, Due::Line(id as u16));
        }
    }

    /// Brings a core the instruction it goes to; gives the cycle from which it can execute it.
    fn fetch(&mut self, shared: &mut Shared, id: usize, time: u64) -> u64 {
        let (core, program, mut port) = self.instruction_port(id, time);
        let arrival = core.model.arrival(time);
        let fetched = core.model.buffer.fetch(&arrival, program, &mut port);
        let start = fetched.unwrap_or_else(|again| again);
        core.model.fetched(time, start);
        self.ask_for_line(shared, id, time);
        start
    }

    /// Gives a core, the program, and the core's port to its cluster's cache, with which it may ask for
    /// lines at cycle `now`.
    fn instruction_port(&mut self, id: usize, now: u64) -> (&mut Core, &Code, InstructionPort<'_>) {
        let core = &mut self.cores[id];
        let cache = &mut self.each[core.cluster as usize].cache;
        let (index, program) = (core.index as usize, &mut self.program_port);
        (core, &self.program, InstructionPort { core: index, now, cache, program })
    }

    /// Decodes the instruction at a core's program counter.
    fn decode_at(&mut self, shared: &mut Shared, id: usize) -> Result<(), Exception<u32>> {
        let pc = self.cores[id].model.hart.pc;
        let fault = Exception::new(Cause::InstructionAccessFault, pc);
        let offset = pc.wrapping_sub(shared.machine.program.base);
        if offset >= shared.machine.program.bytes {
            return Err(fault);
        }
        let whole =
            shared.memories.read(pc, 4).map(|bytes| [bytes[0], bytes[1], bytes[2], bytes[3]]);
        let half = shared.memories.read(pc, 2).map(|bytes| [bytes[0], bytes[1], 0, 0]);
        let bytes = whole.or(half).ok_or(fault)?;
        self.program.fill(pc, u32::from_le_bytes(bytes));
        Ok(())
    }

    /// Takes a trap; gives the cycle of the next instruction.
    pub fn trap(
        &mut self,
        shared: &mut Shared,
        id: usize,
        exception: Exception<u32>,
        time: u64,
        listener: &mut dyn Listener,
    ) -> u64 {
        self.tell_trap(shared, id, &exception, time, listener);
        self.keep_registers(id);
        let core = &mut self.cores[id];
        let pc = core.model.hart.pc;
        core.model.loaded = NO_REGISTER;
        (core.model.jumped, core.model.waited) = (true, false);
        core.model.buffer.leave();
        let in_handler = core.model.hart.privilege == Privilege::User;
        let vector = core.model.hart.csr.mtvec;
        let base = shared.machine.program.base;
        let vector_leads_nowhere = vector.wrapping_sub(base) >= shared.machine.program.bytes;
        let fetch_hangs = exception.cause == Cause::InstructionAccessFault
            && shared.machine.protection.pmp == crate::machine::PmpPolicy::Rtl;
        if vector_leads_nowhere || !in_handler && self.drivers[id].running.is_some() || fetch_hangs
        {
            self.lose_core(shared, time, id, (pc, exception), listener);
            return time;
        }
        let core = &mut self.cores[id];
        core.model.hart.take_trap(exception);
        time + self.costs.trap + self.costs.second_line(&mut core.model, &self.program)
    }

    /// Gives up a core that cannot go on; its packet is freed all the same.
    fn lose_core(
        &mut self,
        shared: &mut Shared,
        time: u64,
        id: usize,
        (pc, exception): (u32, Exception<u32>),
        listener: &mut dyn Listener,
    ) {
        self.cores[id].waiting = Waiting::Ever;
        if let Some(seat) = shared.hardware.driver(id) {
            seat.leave();
        }
        if shared.machine.protection.pmp == crate::machine::PmpPolicy::Rtl {
            return; // the RTL hangs here, and so does its packet
        }
        self.report_fault(shared, time, id, Fault::HpuLost, (pc, exception.value), listener);
        self.end_task(shared, time, id, listener);
    }
}
