//! Runs cores whose next access goes to their own cluster's L1: ordered within the cluster only.
//!
//! What a cluster's cores do in their own L1 nobody else sees at once: another cluster's access
//! arrives there [`LOOKAHEAD_CYCLES`] after it was issued, at least. So a cluster may run that far
//! ahead of the others, bounded by the next event of the queue, and its cores' accesses, which are
//! most of what handlers do, cost no event at all. Everything else a core does goes through the
//! queue at its exact cycle.

use pinion_isa::{Access, Cause, Class, Exception, MemoryKind, Outcome, Privilege};

use super::Nic;
use super::execute::Stop;
use crate::hpu::permissions::Right;
use crate::listener::Listener;
use crate::memory::Place;

/// Cycles by which a cluster may run ahead of the others: the way of an access to another cluster's
/// L1 takes longer (22 cycles in all, row remote_l1).
pub const LOOKAHEAD_CYCLES: u64 = 8;

/// Most cores in a cluster.
const CORES: usize = 16;

/// Stands for no cycle: the core does not wait for its turn here.
const NEVER: u64 = u64::MAX;

/// Holds the cycles of the next own-L1 accesses of a cluster's cores.
#[derive(Clone, Debug)]
pub struct Lane {
    times: [u64; CORES],
    cores: usize,
    /// Core after the one that was served last: comes first among equals.
    first: usize,
}

impl Lane {
    /// Makes an empty lane.
    pub fn new(cores: u32) -> Self {
        Self { times: [NEVER; CORES], cores: cores as usize, first: 0 }
    }

    /// Gives the core whose turn it is and its cycle.
    #[inline]
    fn next(&self) -> (usize, u64) {
        let (mut chosen, mut earliest) = (0, NEVER);
        for (index, &time) in self.times[..self.cores].iter().enumerate() {
            // Among equals the first at or after `first`, then the lowest.
            let better = time < earliest
                || time == earliest && chosen < self.first && index >= self.first;
            if better {
                (chosen, earliest) = (index, time);
            }
        }
        (chosen, earliest)
    }
}

impl Nic {
    /// Puts a core into its cluster's lane: its next access goes to its own L1 at `time`.
    pub(super) fn enter_lane(&mut self, id: usize, time: u64) {
        let core = &self.cores[id];
        let cluster = core.cluster as usize;
        self.lanes[cluster].times[core.index as usize] = time;
        self.lane_next[cluster] = self.lane_next[cluster].min(time);
    }

    /// Takes a core out of its lane.
    pub(super) fn leave_lane(&mut self, id: usize) {
        let core = &self.cores[id];
        self.lanes[core.cluster as usize].times[core.index as usize] = NEVER;
    }

    /// Gives the cluster whose lane is due first and the cycle.
    #[inline]
    pub(super) fn next_lane(&self) -> (usize, u64) {
        let mut first = (0, NEVER);
        for (cluster, &time) in self.lane_next.iter().enumerate() {
            if time < first.1 {
                first = (cluster, time);
            }
        }
        first
    }

    /// Runs the cores of a cluster's lane, which is due at `now`, as far as nobody can see it.
    pub(super) fn run_lane(&mut self, cluster: usize, now: u64, listener: &mut dyn Listener) {
        let end = (now + LOOKAHEAD_CYCLES).min(self.horizon.saturating_add(1));
        loop {
            let (index, time) = self.lanes[cluster].next();
            if time >= end || self.wheel.next_cycle().is_some_and(|event| event <= time) {
                self.lane_next[cluster] = time;
                return;
            }
            let cores = self.lanes[cluster].cores;
            self.lanes[cluster].first = if index + 1 == cores { 0 } else { index + 1 };
            self.lanes[cluster].times[index] = NEVER;
            let id = cluster * cores + index;
            let next = match self.step_own_l1(id, time) {
                Ok(next) => next,
                Err(exception) => self.trap(id, exception, time, listener),
            };
            self.advance(id, next, listener);
        }
    }

    /// Executes a core's next instruction, an access to its own L1 at `now`; gives the cycle of the
    /// instruction after it.
    #[inline]
    fn step_own_l1(&mut self, id: usize, now: u64) -> Result<u64, Exception<u32>> {
        let core = &mut self.cores[id];
        // It was there when the core stopped at it.
        let Some(instruction) = self.program.get(core.hart.pc) else { return Ok(now) };
        let Outcome::Access(access) = core.hart.execute(instruction) else { return Ok(now) };
        let writes = access.kind.writes();
        if core.hart.privilege == Privilege::User {
            let right = if writes { Right::Write } else { Right::Read };
            // What may be written may be read too, in memory: one look is enough for atomics.
            if !core.permissions.allows(access.address, access.bytes, right) {
                return Err(denied(&access));
            }
        }
        let cluster = core.cluster;
        let mut offset = access.address.wrapping_sub(core.l1_base);
        if offset >= self.machine.l1.bytes {
            offset = access.address.wrapping_sub(self.machine.l1.alias);
        }
        let atomic = matches!(access.kind, MemoryKind::Amo(_));
        let banks = &mut self.clusters[cluster as usize].banks;
        let mut grant = banks.access(now, offset, atomic);
        if access.is_misaligned() && access.split(4).is_some() {
            grant = banks.access(grant + 1, offset.wrapping_add(4), false);
        }
        core.stalls.l1 += grant - now;
        core.waited = grant > now;
        if access.kind != MemoryKind::Store {
            core.loaded = access.rd;
        }
        let value = match self.touch(id, &access, Place::L1 { cluster, offset }) {
            Some(value) => value,
            None => return Err(denied(&access)),
        };
        self.cores[id].hart.complete(&access, value);
        Ok(grant + 1)
    }

    /// Lets a core run ahead from `time` until it touches something; puts it where it waits.
    #[inline]
    pub(super) fn advance(&mut self, id: usize, mut time: u64, listener: &mut dyn Listener) {
        loop {
            match self.run_ahead(id, &mut time) {
                Stop::OwnL1 => return self.enter_lane(id, time),
                Stop::Private => {
                    if let Some(next) = self.access_private(id, time) {
                        time = next;
                    } else {
                        return self.resume(id, time);
                    }
                }
                Stop::Shared => return self.resume(id, time),
                Stop::Trap(exception) => {
                    time = self.trap(id, exception, time, listener);
                    if self.cores[id].waiting == crate::hpu::Waiting::Ever {
                        return;
                    }
                }
            }
        }
    }
}

/// Makes the exception of an access that is not allowed.
pub(super) fn denied(access: &Access<u32>) -> Exception<u32> {
    let cause = if access.kind.writes() { Cause::StoreAccessFault } else { Cause::LoadAccessFault };
    Exception::new(cause, access.address)
}

/// Says whether a class of instructions may run in a lane.
pub(super) const fn is_plain(class: Class) -> bool {
    matches!(class, Class::Load | Class::Store | Class::Amo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_turns_among_equals() {
        let mut lane = Lane::new(4);
        assert_eq!(lane.next().1, NEVER);
        lane.times[..4].copy_from_slice(&[7, 5, 5, 9]);
        assert_eq!(lane.next(), (1, 5));
        lane.first = 2;
        assert_eq!(lane.next(), (2, 5));
        lane.first = 3;
        assert_eq!(lane.next(), (1, 5));
    }
}
