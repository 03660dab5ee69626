//! Runs a small core ahead like [`run_ahead`](super::run_ahead), for what nearly all instructions are.
//!
//! In and out are those of [`run_ahead`](super::run_ahead::run_ahead), and so is every cycle. It is
//! written for the host: it executes [micro-operations](super::code), what changes with every one
//! (place, time, count) is local, and what is seldom seen goes through the interpreter, which is the
//! reference that tests hold this against in lock-step. For cores with compressed instructions, where
//! a jump may go to any half word, and without Xpulp.

use pinion_isa::{Class, Extensions};
use pinion_translate::Left;

use super::code::{Code, Kind, MicroOp, waits_for};
use super::costs::Costs;
use super::micro_op::asks_whether_it_waits;
use super::near_access::NearAccess;
use super::prefetch_buffer::Reach;
use super::run_ahead::{RUN_AHEAD_CYCLES, Unwatched, run_ahead_until};
use super::translated::Placed;
use super::{Core, NO_REGISTER, Stalls};
use crate::port::{Destinations, HeldLines, Stop};

/// Says whence a core runs ahead: what an access that it has just executed left behind.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Place of the next instruction in the program; the hart's program counter need not be kept up.
    pub place: u32,
    /// Register that was just loaded, or [`NO_REGISTER`].
    pub loaded: u8,
    /// How often the next instruction waits for that: once or not at all.
    pub stalls: u64,
    /// Whether the last access had to wait.
    pub waited: bool,
    /// Cycles until the next instruction that are not counted yet: the access's response.
    pub response: u64,
    /// Whether that is an access, or a sum and behind it one.
    pub leads: bool,
}

impl Start {
    /// Nothing is known yet.
    pub const NONE: Self =
        Self { place: 0, loaded: NO_REGISTER, stalls: 0, waited: false, response: 0, leads: false };

    /// Goes on behind an access that has just been executed, at a place, and did not wait.
    #[inline(always)]
    pub fn behind(access: &MicroOp, place: u32, response: u64) -> Self {
        let (place, stalls) = (place + u32::from(access.step), access.flags.stalls_next());
        let leads = access.flags.leads_to_access();
        Self { place, loaded: access.loaded, stalls, waited: false, response, leads }
    }

    /// Takes it from a core whose state is whole; the core does not remember what it loaded any more.
    #[inline(always)]
    pub fn of(core: &mut Core, code: &Code) -> Self {
        let place = code.place(core.hart.pc);
        let loaded = std::mem::replace(&mut core.loaded, NO_REGISTER);
        let next = code.at(place).filter(|_| loaded != NO_REGISTER);
        let stalls = next.is_some_and(|instruction| waits_for(instruction, loaded)).into();
        Self { place, loaded, stalls, waited: core.waited, ..Self::NONE }
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
    let mut stop = Stop::Shared;
    let program = (code, code.micro());
    match run_to_near(core, port, costs, program, start, time, &mut stop) {
        Some(access) => Stop::Near(access.address()),
        None => stop,
    }
}

/// Gives an access to near memory and its place; or `None`, and writes it to `stop`, if what is behind it is not
/// within reach: whoever asks for that does so while the access waits for its turn.
#[inline(always)]
fn near(
    address: u32,
    place: u32,
    one: &MicroOp,
    ops: &[MicroOp],
    stop: &mut Stop,
) -> Option<NearAccess> {
    if (place + u32::from(one.step)) as usize >= ops.len() {
        *stop = Stop::Near(address);
        return None;
    }
    Some(NearAccess::new(address, place))
}

/// Says what ended a way through the loop, where it does not end at near memory.
pub(super) enum End {
    /// The core yields, or must fetch.
    Shared,
    /// An access to something else at this address.
    Far(u32),
    /// What the interpreter executes.
    Other,
    /// What asks whether the instruction before it held the decode stage, which it did: the interpreter's, too.
    Waits,
}

/// Executes like [`run_lean`] a program with its micro-operations; gives the address that is accessed
/// next and the instruction's place, or writes to `stop` why there is none in near memory, or that it is the last
/// within reach. Stops at near memory are most, and many: nothing but numbers goes back and forth.
#[inline(always)]
pub fn run_to_near<P: HeldLines + Destinations + Copy>(
    core: &mut Core,
    port: P,
    costs: &Costs,
    (code, micro): (&Code, &[MicroOp]),
    start: Start,
    time: &mut u64,
    stop: &mut Stop,
) -> Option<NearAccess> {
    debug_assert!(code.extensions().has(Extensions::C) && !costs.xpulp);
    let base = code.base();
    let begun = *time + start.response;
    let mut now = begun;
    let place = start.place;
    let mut reach = core.buffer.reach(&port, base);
    if !reach.contains(place) {
        let pc = base.wrapping_add(place << 1);
        let Some(entered) = core.enter_run(start.waited, (pc, now), port, base) else {
            (core.hart.pc, core.loaded, core.waited) = (pc, start.loaded, start.waited);
            core.stalls.load_use += start.response;
            (*time, *stop) = (now, Stop::Shared);
            return None;
        };
        reach = entered;
    }
    // Whether it waits for what was loaded cannot be foreseen either.
    now += start.stalls * costs.load_use;
    core.stalls.load_use += now - *time;
    let ops = within(micro, reach);
    // Accesses often follow each other, or there is a sum between them: which of both cannot be foreseen.
    if start.leads
        && let Some(one) = ops.get(place as usize)
        && let at = place + one.skip()
        && let Some(access) = ops.get(at as usize)
    {
        let x = &mut core.hart.x;
        let before = one.added().of(x);
        let sums = one.add(x);
        let address = access.rs1.of(x).wrapping_add(access.imm);
        if port.is_near(address) {
            now += sums;
            core.hart.instret += sums;
            (core.left, core.jumped, core.waited) = (now, false, start.waited & (sums == 0));
            core.hart.pc = base.wrapping_add(at << 1);
            core.buffer.note(core.hart.pc);
            *time = now;
            return near(address, at, access, ops, stop);
        }
        one.added().set(x, before);
    }
    let start = Start { place, ..start };
    run_on(core, port, costs, (code, micro), (start, reach, ops), (now, begun), time, stop)
}

/// Goes on from a place at `now`, as a core that has run ahead since `begun`; `ops` are the micro-operations
/// within reach, none of them if the place is not.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "it is a part of the function above")]
pub(super) fn run_on<'a, P: HeldLines + Destinations + Copy>(
    core: &mut Core,
    port: P,
    costs: &Costs,
    (code, micro): (&Code, &'a [MicroOp]),
    (start, mut reach, mut ops): (Start, Reach, &'a [MicroOp]),
    (mut now, begun): (u64, u64),
    time: &mut u64,
    stop: &mut Stop,
) -> Option<NearAccess> {
    let (base, mut place) = (code.base(), start.place);
    // When the next instruction could leave after the last one of which the core remembers when that
    // left; what comes behind leaves a cycle after the other.
    let mut passed = now;
    let mut retired = 0;
    let end = 'run: loop {
        // A run: all that only computes, and what ends it. Its cycles are counted beforehand.
        let Some(mut one) = ops.get(place as usize) else {
            if micro.get(place as usize).is_none() {
                break 'run End::Other;
            }
            let pc = base.wrapping_add(place << 1);
            let behind_wait = start.waited && retired == 0;
            let Some(entered) = core.enter_run(behind_wait, (pc, now), port, base) else {
                break 'run End::Shared;
            };
            (reach, ops) = (entered, within(micro, entered));
            continue 'run;
        };
        if one.block != 0
            && !one.kind.accesses()
            && let Some(placed) = code.block(one.block)
            && placed.lies_within(reach)
            && !(start.waited && retired == 0)
        {
            let left = execute(core, placed, (begun + RUN_AHEAD_CYCLES).saturating_sub(now));
            retired += 1; // the others are counted
            (now, place) = (now + left.cycles(), left.place());
            if left.at_access() {
                let address = left.address();
                if !port.is_near(address) {
                    (core.left, core.jumped, passed) = (now, false, now);
                    break 'run End::Far(address);
                }
                core.hart.instret += retired;
                (core.left, core.jumped, core.waited) = (now, false, false);
                core.hart.pc = base.wrapping_add(place << 1);
                core.buffer.note(core.hart.pc);
                *time = now;
                return Some(NearAccess::new(address, place));
            }
            (core.left, core.jumped) = (now - left.last_cycles(), left.jumped());
            passed = now;
            if left.yields() || !reach.contains(place) {
                core.buffer.note(base.wrapping_add(placed.places[left.last_step()] << 1));
                if left.yields() {
                    break 'run End::Shared;
                }
                ops = &micro[..0];
            }
            if last_waits(left) {
                break 'run End::Waits;
            }
            continue 'run;
        }
        now += u64::from(one.run);
        retired += u64::from(one.run);
        let x = &mut core.hart.x;
        let taken = loop {
            let (a, b) = (one.rs1.of(x), || one.rs2.of(x));
            let value = match one.kind {
                Kind::Beq => break a == b(),
                Kind::Bne => break a != b(),
                Kind::Blt => break (a as i32) < b() as i32,
                Kind::Bge => break a as i32 >= b() as i32,
                Kind::Bltu => break a < b(),
                Kind::Bgeu => break a >= b(),
                Kind::Lw
                | Kind::Sw
                | Kind::AmoAdd
                | Kind::Lbu
                | Kind::Lhu
                | Kind::Lb
                | Kind::Lh
                | Kind::Sb
                | Kind::Sh
                | Kind::AmoSwap
                | Kind::AmoXor
                | Kind::AmoAnd
                | Kind::AmoOr
                | Kind::AmoMin
                | Kind::AmoMax
                | Kind::AmoMinu
                | Kind::AmoMaxu => {
                    let address = a.wrapping_add(one.imm); // atomics have no offset
                    if !port.is_near(address) {
                        (core.left, core.jumped, passed) = (now, false, now);
                        break 'run End::Far(address);
                    }
                    core.hart.instret += retired;
                    (core.left, core.jumped) = (now, false);
                    core.waited = start.waited & (retired == 0);
                    core.hart.pc = base.wrapping_add(place << 1);
                    core.buffer.note(core.hart.pc);
                    *time = now;
                    return near(address, place, one, ops, stop);
                }
                Kind::Jal | Kind::Jalr => {
                    let behind = base.wrapping_add((place + u32::from(one.step)) << 1);
                    let target = match one.kind {
                        Kind::Jal => one.imm,
                        _ => code.place(a.wrapping_add(one.imm) & !1),
                    };
                    one.rd.set(x, behind);
                    let mut goes_at = 0;
                    if matches!(one.kind, Kind::Jalr) && costs.jump_waits_for_register {
                        goes_at = core.lets_jump(one.rs1 as u8);
                        let held = goes_at.saturating_sub(now);
                        now += held;
                        core.stalls.load_use += held;
                    }
                    // Where a jump leaves in the decode stage, it costs no bubble of its own directly
                    // behind an access that waited, unless both write one register.
                    let goes_first = goes_at < now && start.loaded != one.rd as u8;
                    let is_behind = start.waited && retired == 0 && costs.jump_behind_access;
                    let hidden = is_behind && goes_first;
                    let bubbles = if hidden { 0 } else { costs.jump - 1 };
                    core.stalls.branch += bubbles;
                    retired += 1;
                    (core.left, core.jumped) = (now, true);
                    let last = std::mem::replace(&mut place, target);
                    let pc = base.wrapping_add(place << 1);
                    now += 1 + bubbles + second_line(costs, code, &mut core.stalls, pc);
                    passed = now;
                    if now >= begun + RUN_AHEAD_CYCLES {
                        core.buffer.note(base.wrapping_add(last << 1));
                        break 'run End::Shared;
                    }
                    if !reach.contains(place) {
                        core.buffer.note(base.wrapping_add(last << 1));
                        ops = &micro[..0];
                    }
                    continue 'run;
                }
                Kind::Mul | Kind::Long => {
                    (core.left, core.jumped) = (now, false);
                    retired += 1;
                    let cycles = match one.kind {
                        Kind::Mul => {
                            let value = a.wrapping_mul(b());
                            one.rd.set(x, value);
                            let cycles = costs.by_class[Class::Mul as usize];
                            core.stalls.arithmetic += cycles - 1;
                            cycles
                        }
                        _ => long(core, costs, code, place),
                    };
                    now += cycles;
                    passed = now;
                    if place + u32::from(one.step) >= reach.end {
                        core.buffer.note(base.wrapping_add(place << 1));
                    }
                    place += u32::from(one.step);
                    if cycles > 1 && asks_whether_it_waits(ops.get(place as usize)) {
                        break 'run End::Waits;
                    }
                    continue 'run;
                }
                Kind::Other => break 'run End::Other,
                Kind::Set | Kind::Addi | Kind::Add => one.sum(x),
                Kind::Slti => u32::from((a as i32) < one.imm as i32),
                Kind::Sltiu => u32::from(a < one.imm),
                Kind::Xori => a ^ one.imm,
                Kind::Ori => a | one.imm,
                Kind::Andi => a & one.imm,
                Kind::Slli => a.wrapping_shl(one.imm),
                Kind::Srli => a.wrapping_shr(one.imm),
                Kind::Srai => (a as i32).wrapping_shr(one.imm) as u32,
                Kind::Sub => a.wrapping_sub(b()),
                Kind::Sll => a.wrapping_shl(b()),
                Kind::Slt => u32::from((a as i32) < b() as i32),
                Kind::Sltu => u32::from(a < b()),
                Kind::Xor => a ^ b(),
                Kind::Srl => a.wrapping_shr(b()),
                Kind::Sra => (a as i32).wrapping_shr(b()) as u32,
                Kind::Or => a | b(),
                Kind::And => a & b(),
            };
            one.rd.set(x, value);
            place += u32::from(one.step);
            let Some(next) = ops.get(place as usize) else {
                // The rest of the run lies beyond what is within reach.
                let rest = micro.get(place as usize).map_or(0, |next| next.run.into());
                (now, retired) = (now - rest, retired - rest);
                core.buffer.note(base.wrapping_add((place - u32::from(one.step)) << 1));
                continue 'run;
            };
            one = next;
        };
        retired += 1;
        if !taken {
            now += 1;
            if place + u32::from(one.step) >= reach.end {
                core.buffer.note(base.wrapping_add(place << 1));
            }
            place += u32::from(one.step);
            continue 'run;
        }
        (core.left, core.jumped) = (now, true);
        let last = std::mem::replace(&mut place, one.imm);
        core.stalls.branch += costs.branch_taken - 1;
        let pc = base.wrapping_add(place << 1);
        now += costs.branch_taken + second_line(costs, code, &mut core.stalls, pc);
        passed = now;
        if now >= begun + RUN_AHEAD_CYCLES {
            core.buffer.note(base.wrapping_add(last << 1));
            break 'run End::Shared;
        }
        if !reach.contains(place) {
            core.buffer.note(base.wrapping_add(last << 1));
            ops = &micro[..0];
        }
    };
    if passed != now {
        (core.left, core.jumped) = (now - 1, false);
    }
    core.waited = start.waited && retired == 0 || matches!(end, End::Waits);
    core.hart.instret += retired;
    if retired == 0 && start.stalls == 0 && matches!(end, End::Other) {
        core.loaded = start.loaded; // what comes may not even be an instruction
    }
    let (at, limit) = ((place, now, reach.contains(place)), begun + RUN_AHEAD_CYCLES);
    (*stop, *time) = stop_at(core, port, costs, code, at, end, limit);
    None
}

/// Executes a block, and counts all of its instructions but the last; says how it was left.
#[cold]
#[inline(never)]
fn execute(core: &mut Core, placed: &Placed, budget: u64) -> Left {
    let left = placed.execute(core, &mut [0; 4], budget);
    core.hart.instret -= 1;
    left
}

/// Says whether the last instruction of a block that was left behind it held the decode stage.
pub(super) fn last_waits(left: Left) -> bool {
    !left.jumped() && left.last_cycles() > 1
}

/// Leaves a core whole at a place, to which it comes at a time and which may be within reach, where something
/// ends its way through the loop; says why it stops, and when.
#[cold]
#[inline(never)]
pub(super) fn stop_at<P: HeldLines + Destinations + Copy>(
    core: &mut Core,
    port: P,
    costs: &Costs,
    code: &Code,
    (place, mut time, is_within): (u32, u64, bool),
    end: End,
    limit: u64,
) -> (Stop, u64) {
    core.hart.pc = code.base().wrapping_add(place << 1);
    let stop = match end {
        End::Shared => Stop::Shared,
        End::Far(address) => {
            core.buffer.note(core.hart.pc);
            far(code, port, place, address)
        }
        End::Other | End::Waits => {
            if is_within {
                core.buffer.note(core.hart.pc);
            }
            let time = &mut time;
            run_ahead_until::<false, _, _>(core, &port, costs, code, time, limit, &mut Unwatched)
        }
    };
    (stop, time)
}

/// Gives the micro-operations up to the end of a reach.
#[inline(always)]
pub(super) fn within(micro: &[MicroOp], reach: Reach) -> &[MicroOp] {
    micro.get(..reach.end as usize).unwrap_or(micro)
}

/// Gives the cycle that the instruction at a place costs that a core jumped to, if it lies in two
/// lines.
#[inline(always)]
fn second_line(costs: &Costs, code: &Code, stalls: &mut Stalls, pc: u32) -> u64 {
    #[cold]
    #[inline(never)]
    fn last_half(costs: &Costs, code: &Code, stalls: &mut Stalls, pc: u32) -> u64 {
        costs.second_line_of(pc, stalls, code)
    }
    if costs.is_last_half(pc) { last_half(costs, code, stalls, pc) } else { 0 }
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
