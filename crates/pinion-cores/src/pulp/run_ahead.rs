//! Runs a small core ahead of all others until it touches something that is not its own.
//!
//! In: a core, what it may see of its port, its program, and its local time. Out: why it stopped, and
//! when; the machine does what it stopped for when its turn comes, and calls again.

use pinion_isa::{Class, DecodedProgram, Instruction, Outcome};

use super::code::waits_for;
use super::costs::{Costs, MEMORY};
use super::{Core, NO_REGISTER};
pub use crate::port::Stop;
use crate::port::{Destinations, HeldLines};

/// Cycles a core may run ahead without touching anything shared: bounds how long a loop of its own
/// keeps the queue waiting.
pub const RUN_AHEAD_CYCLES: u64 = 4096;

/// Hears of the instructions that a core executes as it runs ahead.
pub trait Watch {
    /// Whether it hears anything at all; otherwise nothing of it is compiled in.
    const WATCHES: bool;
    /// What it keeps of an instruction while that executes.
    type Before;

    /// Looks at an instruction that is about to execute.
    fn before(&mut self, core: &Core, instruction: &Instruction) -> Self::Before;

    /// Hears that it executed in cycle `time`.
    fn executed(&mut self, before: Self::Before, core: &Core, time: u64);
}

/// Hears nothing.
pub struct Unwatched;

impl Watch for Unwatched {
    const WATCHES: bool = false;
    type Before = ();

    fn before(&mut self, _: &Core, _: &Instruction) {}
    fn executed(&mut self, (): (), _: &Core, _: u64) {}
}

/// Executes until something is touched that is not the core's alone; notes what it executes if
/// `W` watches. Without `XPULP` nothing asks for hardware loops and third sources: for cores that have
/// none.
#[inline(always)]
pub fn run_ahead<const XPULP: bool, P: HeldLines + Destinations, W: Watch>(
    core: &mut Core,
    port: &P,
    costs: &Costs,
    program: &DecodedProgram<u32>,
    time: &mut u64,
    watch: &mut W,
) -> Stop {
    let limit = time.saturating_add(RUN_AHEAD_CYCLES);
    run_ahead_until::<XPULP, _, _>(core, port, costs, program, time, limit, watch)
}

/// Executes like [`run_ahead`], to cycle `limit` or a little further.
#[inline(always)]
pub(super) fn run_ahead_until<const XPULP: bool, P: HeldLines + Destinations, W: Watch>(
    core: &mut Core,
    port: &P,
    costs: &Costs,
    program: &DecodedProgram<u32>,
    time: &mut u64,
    limit: u64,
    watch: &mut W,
) -> Stop {
    loop {
        let pc = core.hart.pc;
        if !core.buffer.covers(pc)
            && (core.may_come_late(core.waited) || !core.buffer.enter(pc, *time, port))
        {
            return Stop::Shared;
        }
        let Some(instruction) = program.get(pc) else { return Stop::Shared };
        let loaded = core.loaded;
        if loaded != NO_REGISTER {
            let third = XPULP && core.loaded != 0 && instruction.rs3 == core.loaded;
            if waits_for(instruction, core.loaded) || third {
                *time += costs.load_use;
                core.stalls.load_use += costs.load_use;
            }
            core.loaded = NO_REGISTER;
        }
        let mut goes_at = 0;
        if instruction.class == Class::JumpRegister && costs.jump_waits_for_register {
            goes_at = core.lets_jump(instruction.rs1);
            let held = goes_at.saturating_sub(*time);
            *time += held;
            core.stalls.load_use += held;
        }
        core.jumped = false;
        core.left = *time;
        let mut cycles = costs.by_class[instruction.class as usize];
        if cycles != 1 {
            if cycles == MEMORY {
                let address = core.address::<XPULP>(instruction);
                return port.destination(instruction, address);
            }
            if cycles == 0 {
                cycles = costs.of(core, instruction, *time);
            }
            core.stalls.arithmetic += cycles - 1;
        }
        let before = if W::WATCHES { Some(watch.before(core, instruction)) } else { None };
        let outcome = core.hart.execute(instruction);
        let looped = XPULP && outcome.goes_straight() && core.hart.loop_back(pc);
        if looped {
            core.jumped = true;
        }
        if let Some(before) = before
            && !matches!(outcome, Outcome::Trap(_) | Outcome::Access(_))
        {
            watch.executed(before, core, *time);
        }
        if matches!(outcome, Outcome::Next) {
            *time += cycles;
            core.computes(instruction.rd, *time);
            core.waited = cycles > 1;
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
                (core.jumped, core.waited) = (true, false);
                if *time >= limit {
                    return Stop::Shared;
                }
            }
            Outcome::Jumped => {
                // Where a jump leaves in the decode stage, it costs no bubble of its own behind what
                // waits, unless that is an access and both write one register, x0 counts.
                let goes_first = goes_at < core.left && loaded != instruction.rd;
                let hidden = core.waited && costs.jump_behind_access && goes_first;
                let bubbles = if hidden { 0 } else { costs.jump - 1 };
                *time += 1 + bubbles;
                core.stalls.branch += bubbles;
                *time += costs.second_line(core, program);
                (core.jumped, core.waited) = (true, false);
                if *time >= limit {
                    return Stop::Shared;
                }
            }
            Outcome::Csr => {
                *time += cycles;
                core.computes(instruction.rd, *time);
            }
            Outcome::Fence | Outcome::WaitForInterrupt => *time += cycles,
            Outcome::FenceI => *time += cycles, // stores to program memory keep the table true
            Outcome::Returned => {
                *time += costs.mret + costs.second_line(core, program);
                core.jumped = true;
            }
            Outcome::Trap(exception) => {
                core.waited = false; // what comes next is not directly behind
                return Stop::Trap(exception);
            }
            // Every class that accesses memory costs MEMORY.
            Outcome::Access(_) => return Stop::Shared,
        }
        core.waited = false;
        if looped && *time >= limit {
            return Stop::Shared;
        }
    }
}
