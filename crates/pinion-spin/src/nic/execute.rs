//! Runs cores: decode table, pipeline costs, fetches; ahead of the event queue until something
//! shared is touched.
//!
//! A core's local time runs ahead while it executes instructions of its own. Before an access that
//! others can see, or a fetch that misses, it compares its time with the next event's: if something
//! is due before, it puts itself into the queue and goes on when its turn comes. So shared state is
//! touched in the order of time, and private work costs no ordering. (RI5CY's pipeline: numbers in
//! the machine file, pinned by the `pipeline` calibration rows.)

use pinion_isa::{Access, Cause, Class, Exception, Instruction, Outcome, Privilege};

use super::Nic;
use super::memory_access::Performed;
use crate::Machine;
use crate::hpu::core::{NO_LINE, RECENT_LINES};
use crate::hpu::{Core, Waiting};
use crate::listener::{Fault, Listener};

/// Gives the cycles of instructions that always take the same.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Cycles by class; 0: it depends; [`MEMORY`]: it accesses memory.
    by_class: [u64; 32],
    load_use: u64,
    branch_taken: u64,
    jump: u64,
    div_base: u64,
    trap: u64,
    mret: u64,
    line_shift: u32,
}

/// Cycles a core may run ahead without touching anything shared: bounds how long a loop of its own
/// keeps the queue waiting.
const RUN_AHEAD_CYCLES: u64 = 4096;

/// Stands for the cycles of an instruction that accesses memory.
const MEMORY: u64 = u64::MAX;

impl Costs {
    /// Takes the numbers from a machine.
    pub fn new(machine: &Machine) -> Self {
        let core = &machine.core;
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
        ] {
            by_class[class as usize] = MEMORY;
        }
        Self {
            by_class,
            load_use: core.load_use_cycles,
            branch_taken: core.branch_taken_cycles,
            jump: core.jump_cycles,
            div_base: core.div_base_cycles,
            trap: core.trap_cycles,
            mret: core.mret_cycles,
            line_shift: machine.instruction_cache.line_bytes.trailing_zeros(),
        }
    }

    /// Gives the cycles of a division: RI5CY's divider skips the divisor's leading zeros one by one.
    fn division(&self, core: &Core, instruction: &Instruction) -> u64 {
        use pinion_isa::Op;
        let divisor = core.hart.x[usize::from(instruction.rs2 & 31)];
        let signed = matches!(instruction.op, Op::Div | Op::Rem);
        let magnitude = if signed { (divisor as i32).unsigned_abs() } else { divisor };
        self.div_base + u64::from(magnitude.leading_zeros())
    }
}

impl Nic {
    /// Lets a core go on at cycle `now` until it waits, or until others come first.
    pub(super) fn run_core(&mut self, id: usize, now: u64, listener: &mut dyn Listener) {
        let mut time = now;
        if let Some(access) = self.cores[id].pending.take() {
            let since = self.cores[id].since;
            match self.perform(id, &access, time, listener) {
                Performed::Done { value, next } => time = self.finish(id, &access, value, since, next),
                Performed::Wait(waiting) => return self.suspend(id, access, waiting, time),
                Performed::Fault(exception) => time = self.trap(id, exception, time, listener),
            }
        }
        let limit = now.saturating_add(RUN_AHEAD_CYCLES);
        while self.cores[id].waiting != Waiting::Ever {
            let turn = self.turn();
            match self.run_ahead(id, &mut time, limit, turn) {
                Stop::Access(instruction) => {
                    // The instruction does nothing yet but say what it accesses.
                    let Outcome::Access(access) = self.cores[id].hart.execute(&instruction) else {
                        continue;
                    };
                    match self.perform(id, &access, time, listener) {
                        Performed::Done { value, next } => {
                            time = self.finish(id, &access, value, time, next);
                        }
                        Performed::Wait(waiting) => {
                            self.cores[id].since = time;
                            return self.suspend(id, access, waiting, time);
                        }
                        Performed::Fault(exception) => {
                            time = self.trap(id, exception, time, listener);
                        }
                    }
                }
                Stop::Turn => return self.resume(id, time),
                Stop::Fetch(line) => {
                    if time > turn {
                        return self.resume(id, time);
                    }
                    time = self.fetch(id, line, time);
                }
                Stop::Trap(exception) => time = self.trap(id, exception, time, listener),
                Stop::Undecoded => {
                    if let Err(exception) = self.decode_at(id) {
                        time = self.trap(id, exception, time, listener);
                    }
                }
                Stop::FenceI => self.program.clear(),
            }
        }
    }

    /// Finishes an access that was due at `since`; gives the cycle of the next instruction.
    #[inline]
    fn finish(&mut self, id: usize, access: &Access<u32>, value: u32, since: u64, next: u64) -> u64 {
        let core = &mut self.cores[id];
        core.waited = next > since + 1;
        core.hart.complete(access, value);
        next
    }

    /// Leaves a core waiting; whoever has what it waits for lets it go on.
    fn suspend(&mut self, id: usize, access: Access<u32>, waiting: Waiting, time: u64) {
        let core = &mut self.cores[id];
        (core.pending, core.waiting) = (Some(access), waiting);
        self.core_waits(id, time);
    }

    /// Gives the last cycle in which a core may touch something shared now: whatever is due before
    /// goes first.
    #[inline]
    fn turn(&self) -> u64 {
        self.wheel.next_cycle().map_or(self.horizon, |next| next.min(self.horizon))
    }

    /// Executes until something shared or unusual comes up.
    #[inline]
    fn run_ahead(&mut self, id: usize, time: &mut u64, limit: u64, turn: u64) -> Stop {
        let core = &mut self.cores[id];
        let cache = &mut self.clusters[core.cluster as usize].cache;
        let costs = &self.costs;
        let program = &self.program;
        loop {
            let pc = core.hart.pc;
            let line = pc >> costs.line_shift;
            if line != core.line {
                let recent = &mut core.recent[line as usize % RECENT_LINES];
                if *recent != (line, cache.version()) {
                    if !cache.hit(line, *time) {
                        return Stop::Fetch(line);
                    }
                    *recent = (line, cache.version());
                }
                core.line = line;
            }
            let Some(instruction) = program.get(pc) else { return Stop::Undecoded };
            if instruction.reads(core.loaded) {
                *time += costs.load_use;
                core.stalls.load_use += costs.load_use;
            }
            core.loaded = 0;
            let mut cycles = costs.by_class[instruction.class as usize];
            if cycles != 1 {
                if cycles == MEMORY {
                    if *time > turn && !Self::is_private(&core.hart, instruction) {
                        return Stop::Turn;
                    }
                    return Stop::Access(*instruction);
                }
                if cycles == 0 {
                    cycles = costs.division(core, instruction);
                }
                core.stalls.arithmetic += cycles - 1;
            } else if instruction.class == Class::Csr {
                core.hart.csr.cycle = *time;
            }
            match core.hart.execute(instruction) {
                Outcome::Next | Outcome::NotTaken => *time += cycles,
                Outcome::Branched => {
                    *time += costs.branch_taken;
                    core.stalls.branch += costs.branch_taken - 1;
                    core.jumped = true;
                }
                Outcome::Jumped => {
                    // A jump leaves in the decode stage: behind an access that waits it costs no
                    // bubble of its own.
                    let bubbles = if core.waited { 0 } else { costs.jump - 1 };
                    *time += 1 + bubbles;
                    core.stalls.branch += bubbles;
                    core.jumped = true;
                }
                Outcome::Csr | Outcome::Fence | Outcome::WaitForInterrupt => *time += cycles,
                Outcome::FenceI => {
                    *time += cycles;
                    return Stop::FenceI;
                }
                Outcome::Returned => {
                    *time += costs.mret;
                    core.jumped = true;
                }
                Outcome::Trap(exception) => return Stop::Trap(exception),
                // Every class that accesses memory costs MEMORY.
                Outcome::Access(_) => return Stop::Access(*instruction),
            }
            core.waited = false;
            if core.jumped && *time >= limit {
                return Stop::Turn;
            }
        }
    }

    /// Brings a line to a core; gives the cycle from which it can execute it.
    fn fetch(&mut self, id: usize, line: u32, time: u64) -> u64 {
        let core = &mut self.cores[id];
        let cache = &mut self.clusters[core.cluster as usize].cache;
        let start = cache.fetch(line, time, core.jumped, &mut self.program_port);
        core.line = line;
        core.jumped = false;
        core.stalls.fetch += start - time;
        start
    }

    /// Decodes the instruction at a core's program counter.
    fn decode_at(&mut self, id: usize) -> Result<(), Exception<u32>> {
        let pc = self.cores[id].hart.pc;
        let fault = Exception::new(Cause::InstructionAccessFault, pc);
        let offset = pc.wrapping_sub(self.machine.program.base);
        if offset >= self.machine.program.bytes {
            return Err(fault);
        }
        let whole = self.memories.read(pc, 4).map(|bytes| [bytes[0], bytes[1], bytes[2], bytes[3]]);
        let half = self.memories.read(pc, 2).map(|bytes| [bytes[0], bytes[1], 0, 0]);
        let bytes = whole.or(half).ok_or(fault)?;
        self.program.fill(pc, u32::from_le_bytes(bytes));
        Ok(())
    }

    /// Takes a trap; gives the cycle of the next instruction.
    fn trap(
        &mut self,
        id: usize,
        exception: Exception<u32>,
        time: u64,
        listener: &mut dyn Listener,
    ) -> u64 {
        let core = &mut self.cores[id];
        let pc = core.hart.pc;
        core.loaded = 0;
        core.jumped = true;
        core.line = NO_LINE;
        let in_handler = core.hart.privilege == Privilege::User;
        let vector = core.hart.csr.mtvec;
        let base = self.machine.program.base;
        let vector_leads_nowhere = vector.wrapping_sub(base) >= self.machine.program.bytes;
        let fetch_hangs = exception.cause == Cause::InstructionAccessFault
            && self.machine.protection.pmp == crate::machine::PmpPolicy::Rtl;
        if vector_leads_nowhere || !in_handler && self.drivers[id].running.is_some() || fetch_hangs
        {
            self.lose_core(time, id, (pc, exception), listener);
            return time;
        }
        self.cores[id].hart.take_trap(exception);
        time + self.costs.trap
    }

    /// Gives up a core that cannot go on; its packet is freed all the same.
    fn lose_core(
        &mut self,
        time: u64,
        id: usize,
        (pc, exception): (u32, Exception<u32>),
        listener: &mut dyn Listener,
    ) {
        self.cores[id].waiting = Waiting::Ever;
        if self.machine.protection.pmp == crate::machine::PmpPolicy::Rtl {
            return; // the RTL hangs here, and so does its packet
        }
        self.report_fault(time, id, Fault::HpuLost, (pc, exception.value), listener);
        self.end_task(time, id, listener);
    }

    /// Ends a handler whose time is over: an interrupt that no handler can mask, so the runtime's
    /// trap handler drops it (paper §III-B3).
    pub(super) fn watchdog(
        &mut self,
        now: u64,
        id: usize,
        assigned: u64,
        listener: &mut dyn Listener,
    ) {
        let Some(running) = &self.drivers[id].running else { return };
        if running.assigned != assigned || self.cores[id].waiting == Waiting::Ever {
            return;
        }
        let context = &self.contexts[running.context as usize];
        let limit_cycles =
            context.watchdog_cycles.unwrap_or(self.machine.protection.watchdog_cycles);
        let pc = self.cores[id].hart.pc;
        self.report_fault(now, id, Fault::Watchdog { limit_cycles }, (pc, 0), listener);
        let core = &mut self.cores[id];
        core.pending = None;
        core.loaded = 0;
        core.jumped = true;
        core.line = NO_LINE;
        if core.hart.privilege != Privilege::User {
            // Even the trap handler hangs: nothing but the driver can free the packet.
            core.waiting = Waiting::Ever;
            core.generation = core.generation.wrapping_add(1);
            return self.end_task(now, id, listener);
        }
        core.hart.take_trap(Exception::new(Cause::MachineExternalInterrupt, 0));
        self.resume(id, now + self.costs.trap);
    }
}

/// Says why a core stopped running ahead.
enum Stop {
    /// It accesses memory, and it is its turn.
    Access(Instruction),
    /// Others come first, or it ran ahead far enough.
    Turn,
    /// It needs a line that is not there.
    Fetch(u32),
    /// It traps.
    Trap(Exception<u32>),
    /// Its next instruction is not decoded.
    Undecoded,
    /// It made stores visible to fetches.
    FenceI,
}
