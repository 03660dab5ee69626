//! Runs cores: decode table, pipeline costs, fetches; ahead of the event queue until something
//! shared is touched.
//!
//! A core's local time runs ahead while it executes instructions of its own. Accesses to its own
//! cluster's L1 are ordered within the cluster (`lanes.rs`); before any other access that others can
//! see, and before a fetch that misses, it puts itself into the queue and goes on when its turn
//! comes. So shared state is touched in the order of time, and private work costs no ordering. The core
//! model is the machine file's choice: its numbers become the [`Costs`] that everything here reads.
//! (RI5CY's are pinned by the `pipeline` calibration rows.)

use pinion_isa::{
    Access, Cause, Class, DecodedProgram, Exception, Instruction, MemoryKind, Op, Outcome,
    Privilege,
};

use super::trace::{Before, Executed};
use crate::Machine;
use crate::cluster::Clusters;
use crate::cluster::hpu::core::NO_REGISTER;
use crate::cluster::hpu::driver::register;
use crate::cluster::hpu::prefetch_buffer::Arrival;
use crate::cluster::hpu::{Core, Waiting};
use crate::cluster::instruction_cache::InstructionCache;
use crate::cluster::lanes::is_plain;
use crate::cluster::pe_interconnect::{DRIVER, Performed};
use crate::listener::{Fault, Listener};
use crate::machine::Division;
use crate::memory::PERIPHERALS;
use crate::shared::Shared;

/// Gives the cycles of instructions that always take the same.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Cycles by class; 0: it depends; [`MEMORY`]: it accesses memory.
    by_class: [u64; 32],
    load_use: u64,
    branch_taken: u64,
    jump: u64,
    jump_behind_access: bool,
    division: Division,
    div_base: u64,
    /// Cycles that a core waits for an access's response.
    pub response: u64,
    /// Cycles from an instruction that traps to the first of the trap handler.
    pub trap: u64,
    mret: u64,
    /// Offset of a line's last half word.
    last_half: u32,
    l1_bytes: u32,
    l1_alias: u32,
    /// Whether the cores have Xpulp: its hardware loops and moving base registers.
    pub xpulp: bool,
}

/// Cycles a core may run ahead without touching anything shared: bounds how long a loop of its own
/// keeps the queue waiting.
pub const RUN_AHEAD_CYCLES: u64 = 4096;

/// Stands for the cycles of an instruction that accesses memory.
const MEMORY: u64 = u64::MAX;

impl Costs {
    /// Takes the numbers from a machine.
    pub fn new(machine: &Machine) -> Self {
        let core = machine.core.pipeline();
        let mut by_class = [1; 32];
        by_class[Class::Mul as usize] = core.mul_cycles;
        by_class[Class::MulHigh as usize] = core.mulh_cycles;
        by_class[Class::Div as usize] = 0;
        by_class[Class::Csr as usize] = core.csr_cycles;
        for class in [
            Class::Load,
            Class::Store,
            Class::LoadReserved,
            Class::StoreConditional,
            Class::Amo,
            Class::EventLoad,
            Class::XpulpLoad,
            Class::XpulpStore,
        ] {
            by_class[class as usize] = MEMORY;
        }
        Self {
            by_class,
            load_use: core.load_use_cycles,
            branch_taken: core.branch_taken_cycles,
            jump: core.jump_cycles,
            jump_behind_access: core.jump_behind_access,
            division: core.division,
            div_base: core.div_base_cycles,
            response: core.response_cycles,
            trap: core.trap_cycles,
            mret: core.mret_cycles,
            last_half: machine.instruction_cache.line_bytes - 2,
            l1_bytes: machine.l1.bytes,
            l1_alias: machine.l1.alias,
            xpulp: machine.core.xpulp,
        }
    }

    /// Says where a memory instruction goes. Always inlined: called, it costs reductions a tenth more
    /// host instructions.
    #[inline(always)]
    fn destination<const XPULP: bool>(&self, core: &Core, instruction: &Instruction) -> Stop {
        let offset = match instruction.class {
            Class::Load | Class::Store => instruction.imm as u32,
            Class::XpulpLoad | Class::XpulpStore if XPULP => core.hart.xpulp_offset(instruction),
            _ => 0, // atomics have none
        };
        let address = core.hart.x[usize::from(instruction.rs1 & 31)].wrapping_add(offset);
        let own = address.wrapping_sub(core.l1_base) < self.l1_bytes
            || address.wrapping_sub(self.l1_alias) < self.l1_bytes;
        if own && is_plain(instruction.class) {
            return Stop::OwnL1(address);
        }
        let register = address.wrapping_sub(PERIPHERALS + DRIVER);
        let private = match instruction.op {
            Op::Lw => (register::FIRST_TASK..=register::LAST_TASK).contains(&register),
            Op::Sw => (register::INFO..register::END).contains(&register),
            _ => false,
        };
        // Every policy lets handlers reach their peripherals.
        if private && register % 4 == 0 {
            return Stop::Private;
        }
        Stop::Shared
    }

    /// Gives the cycle that the instruction a core jumped to costs if it lies in two lines: they are
    /// fetched one after the other (row back_straddle).
    #[inline(always)]
    fn second_line(&self, core: &mut Core, program: &DecodedProgram<u32>) -> u64 {
        let pc = core.hart.pc;
        if pc & self.last_half != self.last_half {
            return 0;
        }
        let cycles = u64::from(program.get(pc).is_some_and(|instruction| instruction.length > 2));
        core.stalls.fetch += cycles;
        cycles
    }

    /// Gives the cycles of a division: RI5CY's divider skips the divisor's leading zeros one by one.
    fn division(&self, core: &Core, instruction: &Instruction) -> u64 {
        let divisor = core.hart.x[usize::from(instruction.rs2 & 31)];
        match self.division {
            Division::Fixed if divisor == 0 => 2.min(self.div_base),
            Division::Fixed => self.div_base,
            Division::LeadingZeros => {
                let signed = matches!(instruction.op, Op::Div | Op::Rem);
                let magnitude = if signed { (divisor as i32).unsigned_abs() } else { divisor };
                self.div_base + u64::from(magnitude.leading_zeros())
            }
        }
    }
}

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
        let mut time = now;
        if let Some(access) = self.cores[id].pending.take() {
            let since = self.cores[id].since;
            match self.perform(shared, id, &access, time, listener) {
                Performed::Done { value, next } => {
                    time = self.finish(shared, id, &access, value, since, next)
                }
                Performed::Wait(waiting) => return self.suspend(id, access, waiting, time),
                Performed::Fault(exception) => {
                    time = self.trap(shared, id, exception, time, listener)
                }
            }
        } else {
            match self.step_shared(shared, id, now, listener) {
                Some(next) => time = next,
                None => return,
            }
        }
        if self.cores[id].waiting != Waiting::Ever {
            self.advance(shared, id, time, listener);
        }
    }

    /// Executes a core's next instruction in its turn, whatever it touches; gives the cycle of the
    /// instruction after it, or `None`: the core waits.
    fn step_shared(
        &mut self,
        shared: &mut Shared,
        id: usize,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Option<u64> {
        let core = &mut self.cores[id];
        let Some(instruction) = self.program.get(core.hart.pc) else {
            return match self.decode_at(shared, id) {
                Ok(()) => Some(now),
                Err(exception) => Some(self.trap(shared, id, exception, now, listener)),
            };
        };
        if !core.buffer.covers(core.hart.pc) {
            return Some(self.fetch(id, now));
        }
        if self.costs.by_class[instruction.class as usize] != MEMORY {
            return Some(now); // it only yielded
        }
        let access = match core.hart.execute(instruction) {
            Outcome::Access(access) => access,
            // A misaligned atomic, say.
            Outcome::Trap(exception) => {
                return Some(self.trap(shared, id, exception, now, listener));
            }
            _ => return Some(now + 1), // no class that accesses memory has another outcome
        };
        core.since = now;
        match self.perform(shared, id, &access, now, listener) {
            Performed::Done { value, next } => {
                Some(self.finish(shared, id, &access, value, now, next))
            }
            Performed::Wait(waiting) => {
                self.suspend(id, access, waiting, now);
                None
            }
            Performed::Fault(exception) => Some(self.trap(shared, id, exception, now, listener)),
        }
    }

    /// Performs an access to what is the core's alone; gives the cycle of the next instruction, or
    /// `None` if it is not so simple.
    pub fn access_private(&mut self, shared: &mut Shared, id: usize, now: u64) -> Option<u64> {
        let core = &mut self.cores[id];
        let instruction = self.program.get(core.hart.pc)?;
        let Outcome::Access(access) = core.hart.execute(instruction) else { return None };
        let offset = access.address.wrapping_sub(PERIPHERALS + DRIVER);
        let driver = &mut self.drivers[id];
        let value = if access.kind == MemoryKind::Load {
            core.loaded = access.rd;
            driver.task_register(offset)
        } else {
            driver.write_draft(offset, access.data);
            0
        };
        Some(self.finish(shared, id, &access, value, now, now + 1))
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
        core.waited = next > since + 1;
        if self.costs.xpulp {
            core.jumped |= core.hart.complete_xpulp(access, value);
        } else {
            core.hart.complete_integer(access, value);
        }
        core.stalls.load_use += self.costs.response;
        if let Some(before) = before {
            self.note_access(shared, id, &before, access.address, next);
        }
        next + self.costs.response
    }

    /// Leaves a core waiting; whoever has what it waits for lets it go on.
    fn suspend(&mut self, id: usize, access: Access<u32>, waiting: Waiting, time: u64) {
        let core = &mut self.cores[id];
        (core.pending, core.waiting) = (Some(access), waiting);
        self.core_waits(id, time);
    }

    /// Brings a core the instruction it goes to; gives the cycle from which it can execute it.
    fn fetch(&mut self, id: usize, time: u64) -> u64 {
        let core = &mut self.cores[id];
        let cache = &mut self.each[core.cluster as usize].cache;
        let arrival = Arrival { pc: core.hart.pc, time, left: core.left, jumped: core.jumped };
        let start = core.buffer.fetch(&arrival, &self.program, cache, &mut self.program_port);
        if start > time {
            core.stalls.fetch += start - time;
            core.loaded = NO_REGISTER; // what was loaded came meanwhile
        }
        start
    }

    /// Decodes the instruction at a core's program counter.
    fn decode_at(&mut self, shared: &mut Shared, id: usize) -> Result<(), Exception<u32>> {
        let pc = self.cores[id].hart.pc;
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
        let pc = core.hart.pc;
        core.loaded = NO_REGISTER;
        core.jumped = true;
        core.buffer.leave();
        let in_handler = core.hart.privilege == Privilege::User;
        let vector = core.hart.csr.mtvec;
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
        core.hart.take_trap(exception);
        time + self.costs.trap + self.costs.second_line(core, &self.program)
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
        if shared.machine.protection.pmp == crate::machine::PmpPolicy::Rtl {
            return; // the RTL hangs here, and so does its packet
        }
        self.report_fault(shared, time, id, Fault::HpuLost, (pc, exception.value), listener);
        self.end_task(shared, time, id, listener);
    }
}

/// Executes until something is touched that is not the core's alone; notes what it executes if
/// `TRACED`. Without `XPULP` nothing asks for hardware loops and third sources: for cores that have
/// none.
#[inline(always)]
pub fn run_ahead<const TRACED: bool, const XPULP: bool>(
    core: &mut Core,
    cache: &InstructionCache,
    costs: &Costs,
    program: &DecodedProgram<u32>,
    time: &mut u64,
    executed: &mut Vec<Executed>,
) -> Stop {
    let limit = time.saturating_add(RUN_AHEAD_CYCLES);
    loop {
        let pc = core.hart.pc;
        if !core.buffer.covers(pc) && !core.buffer.enter(pc, *time, cache) {
            return Stop::Shared;
        }
        let Some(instruction) = program.get(pc) else { return Stop::Shared };
        if core.loaded != NO_REGISTER {
            let third = XPULP && core.loaded != 0 && instruction.rs3 == core.loaded;
            if instruction.reads(core.loaded) || instruction.computes(core.loaded) || third {
                *time += costs.load_use;
                core.stalls.load_use += costs.load_use;
            }
            core.loaded = NO_REGISTER;
        }
        core.jumped = false;
        core.left = *time;
        let mut cycles = costs.by_class[instruction.class as usize];
        if cycles != 1 {
            if cycles == MEMORY {
                return costs.destination::<XPULP>(core, instruction);
            }
            if cycles == 0 {
                cycles = costs.division(core, instruction);
            }
            core.stalls.arithmetic += cycles - 1;
        } else if instruction.class == Class::Csr {
            core.hart.csr.cycle = *time;
        }
        let before = if TRACED { Some(Before::new(core, instruction)) } else { None };
        let outcome = core.hart.execute(instruction);
        let looped = XPULP && outcome.goes_straight() && core.hart.loop_back(pc);
        if looped {
            core.jumped = true;
        }
        if let Some(before) = before
            && !matches!(outcome, Outcome::Trap(_) | Outcome::Access(_))
        {
            executed.push(before.executed(core, *time));
        }
        if matches!(outcome, Outcome::Next) {
            *time += cycles;
            core.waited = false;
            if looped && *time >= limit {
                return Stop::Shared;
            }
            continue;
        }
        match outcome {
            Outcome::Next | Outcome::NotTaken => *time += cycles,
            Outcome::Branched => {
                *time += costs.branch_taken;
                core.stalls.branch += costs.branch_taken - 1;
                *time += costs.second_line(core, program);
                core.jumped = true;
                if *time >= limit {
                    return Stop::Shared;
                }
            }
            Outcome::Jumped => {
                // Where a jump leaves in the decode stage, it costs no bubble of its own behind an
                // access that waits.
                let hidden = core.waited && costs.jump_behind_access;
                let bubbles = if hidden { 0 } else { costs.jump - 1 };
                *time += 1 + bubbles;
                core.stalls.branch += bubbles;
                *time += costs.second_line(core, program);
                core.jumped = true;
                if *time >= limit {
                    return Stop::Shared;
                }
            }
            Outcome::Csr | Outcome::Fence | Outcome::WaitForInterrupt => *time += cycles,
            Outcome::FenceI => *time += cycles, // stores to program memory keep the table true
            Outcome::Returned => {
                *time += costs.mret + costs.second_line(core, program);
                core.jumped = true;
            }
            Outcome::Trap(exception) => return Stop::Trap(exception),
            // Every class that accesses memory costs MEMORY.
            Outcome::Access(_) => return Stop::Shared,
        }
        core.waited = false;
        if looped && *time >= limit {
            return Stop::Shared;
        }
    }
}

/// Says why a core stopped running ahead: what its next instruction does, or that it traps.
pub enum Stop {
    /// It accesses the own cluster's L1, at this address.
    OwnL1(u32),
    /// It accesses registers of the own HPU that nobody else sees.
    Private,
    /// It does something that others can see or that needs what all share.
    Shared,
    /// It traps.
    Trap(Exception<u32>),
}
