//! Runs cores whose next access goes to their own cluster's L1: ordered within the cluster only.
//!
//! What a cluster's cores do in their own L1 nobody else sees at once: another cluster's access
//! arrives there [`LOOKAHEAD_CYCLES`] after it was issued, at least. So a cluster may run that far
//! ahead of the others, bounded by the next event of the queue, and its cores' accesses, which are
//! most of what handlers do, cost no event at all. Everything else a core does goes through the
//! queue at its exact cycle.

use pinion_cores::pulp::NO_REGISTER;
use pinion_cores::pulp::run_ahead::{RUN_AHEAD_CYCLES, Stop, Unwatched, run_ahead};
use pinion_isa::{
    Access, Cause, Class, DecodedProgram, Exception, MemoryKind, Op, Outcome, Privilege,
};

use super::Clusters;
use super::tcdm_interconnect::L1Banks;
use crate::cluster::hpu::permissions::Right;
use crate::cluster::hpu::port::Port;
use crate::cluster::hpu::trace::{Before, Traced};
use crate::cluster::hpu::{Core, Waiting};
use crate::listener::Listener;
use crate::memory::{read_value, write_value};
use crate::shared::Shared;

/// Cycles by which a cluster may run ahead of the others: the way of an access to another cluster's
/// L1 takes longer (22 cycles in all, row remote_l1).
pub const LOOKAHEAD_CYCLES: u64 = 8;

/// Most cores in a cluster.
const CORES: usize = 16;

/// Stands for no cycle: the core does not wait for its turn here.
const NEVER: u64 = u64::MAX >> (ORDER_BITS + CORE_BITS);

/// Holds the cycles of the next own-L1 accesses of a cluster's cores.
#[derive(Clone, Debug)]
pub struct Lane {
    /// By core: the cycle, then its place in its bank's round robin, then the core, packed so that
    /// the least key is the next to be served.
    keys: [u64; CORES],
    /// By core: the address it accesses, and the place of the instruction in the program.
    accesses: [(u32, u32); CORES],
    cores: usize,
    /// Bit per core: its access had to wait for its bank.
    held: u32,
}

const ORDER_BITS: u32 = 4;
const CORE_BITS: u32 = 4;

impl Lane {
    /// Makes an empty lane.
    pub fn new(cores: u32) -> Self {
        let (keys, accesses) = ([u64::MAX; CORES], [(0, 0); CORES]);
        Self { keys, accesses, cores: cores as usize, held: 0 }
    }

    /// Puts a core in, to be served at `time`; `order` decides among equals.
    #[inline]
    fn enter(&mut self, core: usize, time: u64, order: u64, access: (u32, u32)) {
        self.accesses[core % CORES] = access;
        self.keys[core % CORES] =
            ((time << ORDER_BITS | order) << CORE_BITS) | (core % CORES) as u64;
    }

    /// Takes a core out.
    #[inline]
    fn leave(&mut self, core: usize) {
        self.keys[core % CORES] = u64::MAX;
    }

    /// Gives the core whose turn it is and its cycle, [`NEVER`] if there is none.
    #[inline]
    fn next(&self) -> (usize, u64) {
        let keys = &self.keys;
        let four = |i: usize| keys[i].min(keys[i + 1]).min(keys[i + 2].min(keys[i + 3]));
        let mut least = four(0).min(four(4));
        if self.cores > 8 {
            least = least.min(four(8).min(four(12)));
        }
        (least as usize % CORES, least >> (ORDER_BITS + CORE_BITS))
    }
}

impl Clusters {
    /// Puts a core into its cluster's lane: its next access goes to its own L1 at `time`.
    fn enter_lane(&mut self, id: usize, time: u64, address: u32) {
        let core = &self.cores[id];
        let access = (address, self.program.place(core.model.hart.pc));
        let (cluster, index) = (core.cluster as usize, core.index as usize);
        let order = self.each[cluster].banks.order(address, index);
        self.lanes[cluster].enter(index, time, order, access);
        self.lane_next[cluster] = self.lane_next[cluster].min(time);
    }

    /// Takes a core out of its lane.
    pub fn leave_lane(&mut self, id: usize) {
        let core = &self.cores[id];
        self.lanes[core.cluster as usize].leave(core.index as usize);
    }

    /// Gives the cluster whose lane is due first and the cycle.
    #[inline]
    pub fn next_lane(&self) -> Option<(usize, u64)> {
        let mut first = (0, NEVER);
        for (cluster, &time) in self.lane_next.iter().enumerate() {
            if time < first.1 {
                first = (cluster, time);
            }
        }
        (first.1 != NEVER).then_some(first)
    }

    /// Runs the cores of a cluster's lane, which is due at `now`, as far as nobody can see it.
    pub fn run_lane(
        &mut self,
        shared: &mut Shared,
        cluster: usize,
        now: u64,
        listener: &mut dyn Listener,
    ) {
        let end = now + LOOKAHEAD_CYCLES;
        loop {
            let stopped = if shared.interest.instructions {
                let stopped = self.run_lane_until::<true, true>(shared, cluster, end);
                self.tell_executed(shared, listener);
                stopped
            } else if self.costs.xpulp {
                self.run_lane_until::<false, true>(shared, cluster, end)
            } else {
                self.run_lane_until::<false, false>(shared, cluster, end)
            };
            let Some((index, stop, time)) = stopped else { return };
            let id = cluster * self.cores_each as usize + index;
            self.stopped(shared, id, stop, time, listener);
        }
    }

    /// Runs a lane until its turn is over (`None`) or a core does something else than touching its
    /// own L1: gives that core, why it stopped, and when.
    fn run_lane_until<const TRACED: bool, const XPULP: bool>(
        &mut self,
        shared: &mut Shared,
        cluster: usize,
        end: u64,
    ) -> Option<(usize, Stop, u64)> {
        let bound = shared.wheel.next_cycle().map_or(end, |event| event.min(end));
        let units = &mut self.each[cluster];
        let lane = &mut self.lanes[cluster];
        let first = cluster * lane.cores;
        let cores = &mut self.cores[first..first + lane.cores];
        let l1 = shared.memories.l1_mut(cluster);
        let alias = shared.machine.l1.alias;
        loop {
            let (index, mut time) = lane.next();
            if time >= bound {
                self.lane_next[cluster] = time;
                return None;
            }
            if self.reservations {
                lane.leave(index);
                return Some((index, Stop::Shared, time)); // others' reservations may break
            }
            let core = &mut cores[index];
            let access = lane.accesses[index];
            let (free_at, order) = units.banks.look(access.0, index);
            if free_at > time {
                // The bank is busy: those who wait for it take turns when it is free.
                core.model.stalls.l1 += free_at - time;
                lane.held |= 1 << index;
                lane.enter(index, free_at, order, access);
                continue;
            }
            if lane.keys[index] >> CORE_BITS & 15 != order {
                // The bank has served others since: its order among equals is another now.
                lane.enter(index, time, order, access);
                if lane.next().0 != index {
                    continue;
                }
            }
            lane.leave(index);
            let instruction = if TRACED { self.program.at(access.1) } else { None };
            let before = instruction.map(|instruction| Before::new(&core.model, instruction));
            let (program, banks) = (&self.program, &mut units.banks);
            match step_own_l1::<XPULP>(core, program, banks, l1, alias, time, access) {
                Ok(next) => {
                    core.model.stalls.load_use += self.costs.response;
                    time = next + self.costs.response;
                }
                Err(stop) => return Some((index, stop, time)),
            }
            if let Some(before) = before {
                self.executed.push(before.accessed(core, time - 1 - self.costs.response, access.0));
            }
            core.model.waited |= lane.held >> index & 1 == 1;
            lane.held &= !(1 << index);
            let port = Port { cache: &units.cache, near: &self.near, l1_base: &core.l1_base };
            let (costs, program) = (&self.costs, &self.program);
            let stop = if TRACED {
                let (cluster, hpu) = (core.cluster, core.index);
                let mut watch = Traced { executed: &mut self.executed, cluster, hpu };
                run_ahead::<XPULP, _, _>(
                    &mut core.model,
                    &port,
                    costs,
                    program,
                    &mut time,
                    &mut watch,
                )
            } else {
                let model = &mut core.model;
                run_ahead::<XPULP, _, _>(model, &port, costs, program, &mut time, &mut Unwatched)
            };
            match stop {
                Stop::Near(address) => {
                    let order = units.banks.order(address, index);
                    lane.enter(
                        index,
                        time,
                        order,
                        (address, self.program.place(core.model.hart.pc)),
                    );
                }
                stop => return Some((index, stop, time)),
            }
        }
    }

    /// Lets a core run ahead from `time` until it touches something; puts it where it waits.
    pub fn advance(
        &mut self,
        shared: &mut Shared,
        id: usize,
        mut time: u64,
        listener: &mut dyn Listener,
    ) {
        let stop = self.go_ahead(shared, id, &mut time, listener);
        self.stopped(shared, id, stop, time, listener);
    }

    /// Lets a core run ahead from `time` until it touches something; says what.
    fn go_ahead(
        &mut self,
        shared: &mut Shared,
        id: usize,
        time: &mut u64,
        listener: &mut dyn Listener,
    ) -> Stop {
        if shared.interest.instructions {
            let stop = self.run_ahead::<true, true>(id, time);
            self.tell_executed(shared, listener);
            stop
        } else if self.costs.xpulp {
            self.run_ahead::<false, true>(id, time)
        } else {
            self.run_ahead::<false, false>(id, time)
        }
    }

    #[inline(always)]
    fn run_ahead<const TRACED: bool, const XPULP: bool>(
        &mut self,
        id: usize,
        time: &mut u64,
    ) -> Stop {
        let core = &mut self.cores[id];
        let cache = &self.each[core.cluster as usize].cache;
        let port = Port { cache, near: &self.near, l1_base: &core.l1_base };
        let (costs, program) = (&self.costs, &self.program);
        if TRACED {
            let (cluster, hpu) = (core.cluster, core.index);
            let mut watch = Traced { executed: &mut self.executed, cluster, hpu };
            run_ahead::<XPULP, _, _>(&mut core.model, &port, costs, program, time, &mut watch)
        } else {
            run_ahead::<XPULP, _, _>(&mut core.model, &port, costs, program, time, &mut Unwatched)
        }
    }

    /// Puts a core that stopped at `time` where it waits; what only it sees it does at once, for as
    /// long as it may run ahead.
    fn stopped(
        &mut self,
        shared: &mut Shared,
        id: usize,
        mut stop: Stop,
        mut time: u64,
        listener: &mut dyn Listener,
    ) {
        let limit = time.saturating_add(RUN_AHEAD_CYCLES);
        loop {
            time = match stop {
                Stop::Near(address) => return self.enter_lane(id, time, address),
                Stop::Shared => return self.resume(shared, id, time),
                Stop::Private => match self.access_private(shared, id, time) {
                    Some(next) => next,
                    None => return self.resume(shared, id, time),
                },
                Stop::Trap(exception) => self.trap(shared, id, exception, time, listener),
            };
            if self.cores[id].waiting == Waiting::Ever {
                return;
            }
            if time >= limit {
                return self.resume(shared, id, time);
            }
            stop = self.go_ahead(shared, id, &mut time, listener);
        }
    }
}

/// Executes a core's next instruction, an access to its own L1 at `now`; gives the cycle of the
/// instruction after it, or why it cannot.
#[inline(always)]
fn step_own_l1<const XPULP: bool>(
    core: &mut Core,
    program: &DecodedProgram<u32>,
    banks: &mut L1Banks,
    l1: &mut [u8],
    alias: u32,
    now: u64,
    (address, place): (u32, u32),
) -> Result<u64, Stop> {
    let Some(instruction) = program.at(place) else { return Err(Stop::Shared) };
    // Words are most of what handlers access, and need none of the generality below.
    let hart = &mut core.model.hart;
    let word = match instruction.op {
        Op::Lw => Word::Load,
        Op::Sw => Word::Store,
        Op::AmoAddW => Word::Add,
        _ => return step_any::<XPULP>(core, program, banks, l1, alias, now),
    };
    let right = if matches!(word, Word::Load) { Right::Read } else { Right::Write };
    let allowed = hart.privilege != Privilege::User || core.permissions.found(address, right);
    let offset = address.wrapping_sub(core.l1_base) as usize;
    let Some(bytes) =
        l1.get_mut(offset..offset + 4).filter(|_| allowed && offset.is_multiple_of(4))
    else {
        return step_any::<XPULP>(core, program, banks, l1, alias, now);
    };
    let Some(old) = read_value(bytes) else { return Err(Stop::Shared) };
    let operand = hart.x[usize::from(instruction.rs2 & 31)];
    let new = match word {
        Word::Load => None,
        Word::Store => Some(operand),
        Word::Add => Some(old.wrapping_add(operand)),
    };
    if let Some(new) = new {
        write_value(bytes, new);
    }
    hart.set_x(instruction.rd, old); // a store's rd is 0
    let pc = hart.pc;
    hart.pc = pc.wrapping_add(u32::from(instruction.length));
    hart.instret += 1;
    if XPULP && hart.loop_back(pc) {
        core.model.jumped = true;
    }
    core.model.loaded = if matches!(word, Word::Store) { NO_REGISTER } else { instruction.rd };
    let grant = banks.access(now, offset as u32, matches!(word, Word::Add));
    core.model.stalls.l1 += grant - now;
    core.model.waited = grant > now;
    Ok(grant + 1)
}

/// Names what is done with a word.
#[derive(Clone, Copy)]
enum Word {
    Load,
    Store,
    Add,
}

/// Executes any access to the own L1; see [`step_own_l1`].
#[inline(never)]
fn step_any<const XPULP: bool>(
    core: &mut Core,
    program: &DecodedProgram<u32>,
    banks: &mut L1Banks,
    l1: &mut [u8],
    alias: u32,
    now: u64,
) -> Result<u64, Stop> {
    let Some(instruction) = program.get(core.model.hart.pc) else { return Err(Stop::Shared) };
    let Outcome::Access(access) = core.model.hart.execute(instruction) else {
        return Err(Stop::Shared);
    };
    if core.model.hart.privilege == Privilege::User {
        let right = if access.kind.writes() { Right::Write } else { Right::Read };
        // What may be written may be read too, in memory: one look is enough for atomics.
        if !core.permissions.allows(access.address, access.bytes, right) {
            return Err(Stop::Trap(denied(&access)));
        }
    }
    let mut offset = access.address.wrapping_sub(core.l1_base);
    if offset as usize >= l1.len() {
        offset = access.address.wrapping_sub(alias);
    }
    let start = offset as usize;
    let Some(bytes) = l1.get_mut(start..start + usize::from(access.bytes)) else {
        return Err(Stop::Trap(denied(&access)));
    };
    let Some(old) = read_value(bytes) else { return Err(Stop::Shared) };
    let new = match access.kind {
        MemoryKind::Load => None,
        MemoryKind::Store => Some(access.data),
        MemoryKind::Amo(op) => Some(op.apply(old, access.data, access.bytes)),
        _ => return Err(Stop::Shared),
    };
    if let Some(new) = new {
        write_value(bytes, new);
    }
    let grant = banks.serve(now, offset, &access);
    core.model.stalls.l1 += grant - now;
    core.model.waited = grant > now;
    core.model.loaded = if access.kind == MemoryKind::Store { NO_REGISTER } else { access.rd };
    // A store has no register to put it in.
    if XPULP {
        core.model.jumped |= core.model.hart.complete_xpulp(&access, old);
    } else {
        core.model.hart.complete_integer(&access, old);
    }
    Ok(grant + 1)
}

/// Makes the exception of an access that is not allowed.
pub fn denied(access: &Access<u32>) -> Exception<u32> {
    let cause = if access.kind.writes() { Cause::StoreAccessFault } else { Cause::LoadAccessFault };
    Exception::new(cause, access.address)
}

/// Says whether a class of instructions may run in a lane.
pub const fn is_plain(class: Class) -> bool {
    matches!(class, Class::Load | Class::Store | Class::Amo | Class::XpulpLoad | Class::XpulpStore)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serves_the_first_of_those_who_are_due() {
        let mut lane = Lane::new(16);
        assert_eq!(lane.next().1, NEVER);
        for (core, time, order) in [(3, 7, 0), (2, 5, 1), (15, 5, 0), (1, 5, 2), (0, 9, 0)] {
            lane.enter(core, time, order, (0, 0));
        }
        let mut order = Vec::new();
        while lane.next().1 != NEVER {
            order.push(lane.next());
            lane.leave(lane.next().0);
        }
        assert_eq!(order, [(15, 5), (2, 5), (1, 5), (3, 7), (0, 9)]);
    }
}
