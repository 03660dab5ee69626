//! Runs a small core ahead like [`run_ahead`](super::run_ahead), for what nearly all instructions are.
//!
//! In and out are those of [`run_ahead`](super::run_ahead::run_ahead), and so is every cycle. It is
//! written for the host: it executes [micro-operations](super::code), what changes with every one
//! (place, time, count) is local, and what is seldom seen goes through the interpreter, which is the
//! reference that tests hold this against in lock-step. For cores with compressed instructions, where
//! a jump may go to any half word, and without Xpulp.

use pinion_isa::{Class, Extensions};

use super::code::{Code, Kind, waits_for};
use super::costs::{Costs, REGISTER_BITS};
use super::run_ahead::{RUN_AHEAD_CYCLES, Unwatched, run_ahead_until};
use super::{Core, NO_REGISTER};
use crate::port::{Destinations, HeldLines, Stop};

/// Says whence a core runs ahead: what an access that it has just executed left behind.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Place of the next instruction in the program; the hart's program counter need not be kept up.
    pub place: u32,
    /// Register that was just loaded, or [`NO_REGISTER`].
    pub loaded: u8,
    /// Whether the next instruction waits for that.
    pub stalls: bool,
    /// Whether the last access had to wait.
    pub waited: bool,
}

impl Start {
    /// Takes it from a core whose state is whole; the core does not remember what it loaded any more.
    #[inline(always)]
    pub fn of(core: &mut Core, code: &Code) -> Self {
        let place = code.place(core.hart.pc);
        let loaded = std::mem::replace(&mut core.loaded, NO_REGISTER);
        let next = code.at(place).filter(|_| loaded != NO_REGISTER);
        let stalls = next.is_some_and(|instruction| waits_for(instruction, loaded));
        Self { place, loaded, stalls, waited: core.waited }
    }

    /// Gives it back to a core: its state is whole then.
    pub fn settle(&self, core: &mut Core, code: &Code) {
        core.hart.pc = code.base().wrapping_add(self.place << 1);
        (core.loaded, core.waited) = (self.loaded, self.waited);
    }
}

/// Executes until something is touched that is not the core's alone; says why it stopped; leaves
/// the core's state whole.
#[inline(always)]
pub fn run_lean<P: HeldLines + Destinations + Copy>(
    core: &mut Core,
    port: P,
    costs: &Costs,
    code: &Code,
    start: Start,
    time: &mut u64,
) -> Stop {
    debug_assert!(code.extensions().has(Extensions::C) && !costs.xpulp);
    let (micro, base) = (code.micro(), code.base());
    let began = *time;
    let mut now = began;
    let mut place = start.place;
    let mut retired = 0;
    let mut reach = core.buffer.reach(&port);
    reach.0 = reach.0.wrapping_sub(base >> 1);
    if place.wrapping_sub(reach.0) >= reach.1 {
        let pc = base.wrapping_add(place << 1);
        let Some(entered) = core.buffer.enter_run(pc, now, port) else {
            (core.hart.pc, core.loaded, core.waited) = (pc, start.loaded, start.waited);
            return Stop::Shared;
        };
        reach = (entered.0.wrapping_sub(base >> 1), entered.1);
    }
    let stall = u64::from(start.stalls) * costs.load_use;
    now += stall;
    core.stalls.load_use += stall;
    // When the last instruction left that did not leave a cycle ago; in `passed` the next could.
    let (mut left, mut jumped, mut passed) = (core.left, core.jumped, now);
    let mut last = place;
    let stop = 'run: loop {
        if place.wrapping_sub(reach.0) >= reach.1 {
            core.buffer.settle(base.wrapping_add(last << 1), &port);
            let pc = base.wrapping_add(place << 1);
            let Some(entered) = core.buffer.enter_run(pc, now, port) else {
                break 'run Stop::Shared;
            };
            reach = (entered.0.wrapping_sub(base >> 1), entered.1);
        }
        last = place;
        let Some(one) = micro.get(place as usize) else { break 'run Stop::Shared };
        let a = core.hart.x[usize::from(one.rs1 & REGISTER_BITS)];
        let b = core.hart.x[usize::from(one.rs2 & REGISTER_BITS)];
        // One table of jumps for all: what computes a value goes on here, what branches below.
        let taken = 'branch: {
            let value = match one.kind {
                Kind::Lw
                | Kind::Lbu
                | Kind::Lhu
                | Kind::Lb
                | Kind::Lh
                | Kind::Sw
                | Kind::Sb
                | Kind::Sh
                | Kind::AmoAdd
                | Kind::Amo => {
                    let offset = if one.kind == Kind::Amo { 0 } else { one.imm };
                    let address = a.wrapping_add(offset);
                    (core.left, core.jumped) = (now, false);
                    if port.is_near(address) {
                        core.hart.instret += retired;
                        core.waited = start.waited && retired == 0;
                        core.hart.pc = base.wrapping_add(place << 1);
                        core.buffer.settle(core.hart.pc, &port);
                        *time = now;
                        return Stop::Near(address);
                    }
                    (left, jumped, passed) = (now, false, now);
                    break 'run far(code, port, place, address);
                }
                Kind::Beq => break 'branch a == b,
                Kind::Bne => break 'branch a != b,
                Kind::Blt => break 'branch (a as i32) < b as i32,
                Kind::Bge => break 'branch a as i32 >= b as i32,
                Kind::Bltu => break 'branch a < b,
                Kind::Bgeu => break 'branch a >= b,
                Kind::Jal | Kind::Jalr => {
                    let behind = base.wrapping_add((place + u32::from(one.step)) << 1);
                    place = match one.kind {
                        Kind::Jal => one.imm,
                        _ => code.place(a.wrapping_add(one.imm) & !1),
                    };
                    core.hart.set_x(one.rd, behind);
                    // Where a jump leaves in the decode stage, it costs no bubble of its own behind an
                    // access that waits.
                    let hidden = start.waited && retired == 0 && costs.jump_behind_access;
                    let bubbles = if hidden { 0 } else { costs.jump - 1 };
                    core.stalls.branch += bubbles;
                    retired += 1;
                    (left, jumped) = (now, true);
                    let target = base.wrapping_add(place << 1);
                    now += 1 + bubbles + costs.second_line_of(target, &mut core.stalls, code);
                    passed = now;
                    if now - began >= RUN_AHEAD_CYCLES {
                        break 'run Stop::Shared;
                    }
                    continue 'run;
                }
                Kind::Set => one.imm,
                Kind::Addi => a.wrapping_add(one.imm),
                Kind::Slti => u32::from((a as i32) < one.imm as i32),
                Kind::Sltiu => u32::from(a < one.imm),
                Kind::Xori => a ^ one.imm,
                Kind::Ori => a | one.imm,
                Kind::Andi => a & one.imm,
                Kind::Slli => a.wrapping_shl(one.imm),
                Kind::Srli => a.wrapping_shr(one.imm),
                Kind::Srai => (a as i32).wrapping_shr(one.imm) as u32,
                Kind::Add => a.wrapping_add(b),
                Kind::Sub => a.wrapping_sub(b),
                Kind::Sll => a.wrapping_shl(b),
                Kind::Slt => u32::from((a as i32) < b as i32),
                Kind::Sltu => u32::from(a < b),
                Kind::Xor => a ^ b,
                Kind::Srl => a.wrapping_shr(b),
                Kind::Sra => (a as i32).wrapping_shr(b) as u32,
                Kind::Or => a | b,
                Kind::And => a & b,
                Kind::Mul => {
                    let cycles = costs.by_class[Class::Mul as usize];
                    core.stalls.arithmetic += cycles - 1;
                    core.hart.set_x(one.rd, a.wrapping_mul(b));
                    (left, jumped) = (now, false);
                    retired += 1;
                    now += cycles;
                    passed = now;
                    place += u32::from(one.step);
                    continue 'run;
                }
                Kind::Long => {
                    (left, jumped) = (now, false);
                    retired += 1;
                    now += long(core, costs, code, place);
                    passed = now;
                    place += u32::from(one.step);
                    continue 'run;
                }
                Kind::Other => {
                    if retired == 0 && !start.stalls {
                        core.loaded = start.loaded; // what comes may not even be an instruction
                    }
                    let waited = start.waited && retired == 0;
                    (left, jumped) = if passed == now { (left, jumped) } else { (now - 1, false) };
                    (core.left, core.jumped, core.waited) = (left, jumped, waited);
                    core.hart.pc = base.wrapping_add(place << 1);
                    core.hart.instret += retired;
                    core.buffer.settle(core.hart.pc, &port);
                    *time = now;
                    return interpret(core, port, costs, code, time, began);
                }
            };
            core.hart.set_x(one.rd, value);
            retired += 1;
            now += 1;
            place += u32::from(one.step);
            continue 'run;
        };
        retired += 1;
        if !taken {
            now += 1;
            place += u32::from(one.step);
            continue;
        }
        (left, jumped) = (now, true);
        place = one.imm;
        core.stalls.branch += costs.branch_taken - 1;
        let target = base.wrapping_add(place << 1);
        now += costs.branch_taken + costs.second_line_of(target, &mut core.stalls, code);
        passed = now;
        if now - began >= RUN_AHEAD_CYCLES {
            break 'run Stop::Shared;
        }
    };
    (left, jumped) = if passed == now { (left, jumped) } else { (now - 1, false) };
    (core.left, core.jumped) = (left, jumped);
    core.waited = start.waited && retired == 0;
    core.hart.pc = base.wrapping_add(place << 1);
    core.hart.instret += retired;
    core.buffer.settle(base.wrapping_add(last << 1), &port);
    *time = now;
    stop
}

/// Says where an access goes that does not plainly touch the near memory.
#[inline(never)]
#[cold]
fn far<P: Destinations>(code: &Code, port: P, place: u32, address: u32) -> Stop {
    code.at(place).map_or(Stop::Shared, |instruction| port.destination(instruction, address))
}

/// Executes a multiplication's upper half or a division; gives its cycles. The caller counts it.
#[inline(never)]
fn long(core: &mut Core, costs: &Costs, code: &Code, place: u32) -> u64 {
    let Some(instruction) = code.at(place) else { return 0 };
    let mut cycles = costs.by_class[instruction.class as usize];
    if cycles == 0 {
        cycles = costs.division(core, instruction);
    }
    core.stalls.arithmetic += cycles - 1;
    let instret = core.hart.instret;
    core.hart.execute(instruction);
    core.hart.instret = instret;
    cycles
}

/// Goes on with the interpreter, for what is seldom seen.
#[inline(never)]
fn interpret<P: HeldLines + Destinations>(
    core: &mut Core,
    port: P,
    costs: &Costs,
    code: &Code,
    time: &mut u64,
    began: u64,
) -> Stop {
    let limit = began.saturating_add(RUN_AHEAD_CYCLES);
    run_ahead_until::<false, _, _>(core, &port, costs, code, time, limit, &mut Unwatched)
}
