//! Runs a core whose access a translated block begins with, in that access's turn.
//!
//! In: the block, the bytes that the access touches, the cycle in which it does. Out: the next access, or why
//! there is none in near memory, as from [`lean`](super::lean): a block that is left elsewhere than at such an
//! access leaves the core to that.

use pinion_translate::Left;

use super::Core;
use super::code::{Code, MicroOp};
use super::costs::Costs;
use super::lean::{End, Start, last_waits, run_on, stop_at, within};
use super::near_access::NearAccess;
use super::run_ahead::RUN_AHEAD_CYCLES;
use super::translated::{Behind, Placed};
use crate::port::{Destinations, HeldLines, Stop};

/// Leaves a core at an access to near memory, at which a block was left in cycle `time`, in a program from
/// `base` on; gives the access. Its last one, at which the block began, did not wait.
#[inline(always)]
pub fn pass_to_access(core: &mut Core, base: u32, left: Left, time: u64) -> NearAccess {
    (core.left, core.jumped, core.waited) = (time, false, false);
    core.hart.pc = base.wrapping_add(left.place() << 1);
    core.buffer.note(core.hart.pc);
    NearAccess::new(left.address(), left.place())
}

/// Executes a block that begins with an access, of the bytes at `word`, in its turn at `time`; behind it
/// the core goes on as in [`run_to_near`](super::lean::run_to_near). `waited` says whether the access has waited.
#[inline(always)]
pub fn run_behind_access<P: HeldLines + Destinations + Copy>(
    core: &mut Core,
    port: P,
    costs: &Costs,
    program: (&Code, &[MicroOp]),
    (placed, word, waited): (&Placed, &mut [u8; 4], bool),
    time: &mut u64,
    stop: &mut Stop,
) -> Option<NearAccess> {
    let left = placed.execute(core, word, placed.budget);
    let waited = waited && placed.behind == Behind::Access;
    if left.at_access() && port.is_near(left.address()) {
        *time += left.cycles();
        let access = pass_to_access(core, program.0.base(), left, *time);
        core.waited = waited;
        return Some(access);
    }
    run_behind_block(core, port, costs, program, (placed, left, waited), time, stop)
}

/// Goes on where such a block was left elsewhere than at an access to near memory; `time` is the access's
/// turn.
#[cold]
#[inline(never)]
pub fn run_behind_block<P: HeldLines + Destinations + Copy>(
    core: &mut Core,
    port: P,
    costs: &Costs,
    (code, micro): (&Code, &[MicroOp]),
    (placed, left, waited): (&Placed, Left, bool),
    time: &mut u64,
    stop: &mut Stop,
) -> Option<NearAccess> {
    let limit = *time + placed.budget;
    *time += left.cycles();
    let (base, place, now) = (code.base(), left.place(), *time);
    let reach = core.buffer.reach(&port, base);
    core.waited = waited;
    if left.at_access() {
        (core.left, core.jumped) = (now, false);
        let end = End::Far(left.address());
        (*stop, *time) = stop_at(core, port, costs, code, (place, now, true), end, limit);
        return None;
    }
    (core.left, core.jumped) = (now - left.last_cycles(), left.jumped());
    core.waited = last_waits(left);
    let is_within = reach.contains(place);
    if left.yields() || !is_within {
        core.buffer.note(base.wrapping_add(placed.places[left.last_step()] << 1));
    }
    if left.yields() {
        let at = (place, now, is_within);
        (*stop, *time) = stop_at(core, port, costs, code, at, End::Shared, limit);
        return None;
    }
    let ops = if is_within { within(micro, reach) } else { &micro[..0] };
    let start = Start { place, waited: core.waited, ..Start::NONE };
    let begun = limit - RUN_AHEAD_CYCLES;
    run_on(core, port, costs, (code, micro), (start, reach, ops), (now, begun), time, stop)
}
