//! The data side of the pipeline: first-level cache, store buffer, atomics, devices.
//!
//! Rocket's data cache blocks: an access that misses, or that meets a store still on its way into
//! the array, is taken back in the last stage and tried again (RTL DCache.scala: `s2_nack`).

use pinion_isa::csr::event::DATA_CACHE_MISS;
use pinion_isa::{Access, AccessKind, Cause, Exception, MemoryKind};

use super::cache::State;
use super::{Core, Network, PendingStore};
use crate::Cycle;
use crate::port::{LINE_BYTES, MemoryPort};

/// Bytes of a word of the data array: what the store buffer keeps apart.
pub(super) const WORD_BYTES: u64 = 8;
/// Cycles from the decode stage of the first store to a clean line to that of an access that would
/// read the tags while the store marks them.
const TAGS_WRITTEN: Cycle = 2;
/// Bits that tell how a load met the store buffer: which of the two stores waited, and [`MET`].
pub(super) const STORE_BITS: u32 = 3;
/// One of the stores that waited writes what is loaded.
const MET: u8 = 1 << 2;
/// Cycles from the decode stage of a store to the first in which it may go into the array.
const STORE_CYCLES: Cycle = 2;
/// The same of an atomic, which computes first.
const ATOMIC_CYCLES: Cycle = 3;
/// Cycles from the decode stage of an access to that of an access behind a fence that it holds up.
const BUSY_CYCLES: Cycle = 4;

impl Core {
    /// Performs a memory access of an instruction that decodes in `t`: gives the value read and the
    /// cycle in which it decodes for the last time, or what it traps with.
    #[inline(always)]
    pub(super) fn access<M: MemoryPort, N: Network>(
        &mut self,
        access: &Access<u64>,
        t: Cycle,
        memory: &mut M,
        network: &mut N,
    ) -> Result<(u64, Cycle), AccessEnd> {
        let address = access.address;
        let Some(offset) = memory.offset(address, access.bytes) else {
            return self.access_device(access, t, memory);
        };
        if !self.allowed(access) {
            return Err(AccessEnd::Trap(fault(access)));
        }
        let reads = !matches!(access.kind, MemoryKind::Store);
        let writes = access.kind.writes();
        let mut t = t;
        if self.fence {
            t = t.max(self.memory_busy);
            self.fence = false;
        }
        if t == self.tags_written {
            self.takes_back(self.behind, t);
            t += self.timing.replay_cycles;
            self.fetch = t;
        }
        if reads {
            t = self.after_stores(t, address, access.bytes);
        }
        let line = address / LINE_BYTES;
        let slot = self.data_cache.find(line);
        let fits = |state| !writes || state != State::Shared;
        match slot {
            Some(slot) if fits(self.data_cache.state(slot)) => {
                if writes && self.data_cache.state(slot) != State::Dirty {
                    self.data_cache.set_state(slot, State::Dirty);
                    self.tags_written = t + TAGS_WRITTEN;
                }
            }
            _ => {
                self.takes_back(self.behind, t);
                let later = t + self.miss(line, writes, slot.is_some(), memory);
                let first = t + self.timing.replay_cycles;
                if later >= self.attention
                    && let Some(pulse) = network.pulse(first, later)
                {
                    return Err(AccessEnd::Interrupted(pulse));
                }
                self.fetch = self.fetch.max(first);
                self.missed = later;
                t = later;
            }
        }
        self.memory_busy = t + BUSY_CYCLES;
        if writes && network.hears_retired() {
            network.stored(address, access.bytes, memory.read(offset));
        }
        // Plain stores do not need it, and do not pay for it.
        let old = memory.read(offset);
        match access.kind {
            MemoryKind::Load | MemoryKind::EventLoad => {}
            MemoryKind::LoadReserved => self.reservation.reserve(address),
            MemoryKind::Store => {
                self.pend_store(t + STORE_CYCLES, address, access.bytes);
                self.store(offset, access, access.data, memory);
            }
            MemoryKind::StoreConditional => {
                if !self.reservation.take(address) {
                    return Ok((1, t));
                }
                self.pend_store(t + STORE_CYCLES, address, access.bytes);
                self.store(offset, access, access.data, memory);
                return Ok((0, t));
            }
            MemoryKind::Amo(op) => {
                self.pend_store(t + ATOMIC_CYCLES, address, access.bytes);
                self.store(offset, access, op.apply(old, access.data, access.bytes), memory);
            }
        }
        Ok((old, t))
    }

    /// Performs a load that hits, and that nothing but stores on their way into the array may hold up:
    /// gives the value and the cycle in which it decodes for the last time. Else changes nothing.
    #[inline(always)]
    pub(super) fn load_near<M: MemoryPort>(
        &mut self,
        address: u64,
        bytes: u8,
        t: Cycle,
        memory: &M,
    ) -> Option<(u64, Cycle)> {
        let offset = memory.offset(address, bytes)?;
        if self.fence || t == self.tags_written {
            return None;
        }
        self.data_cache.find(address / LINE_BYTES)?;
        let done = self.after_stores(t, address, bytes);
        self.memory_busy = done + BUSY_CYCLES;
        Some((memory.read(offset), done))
    }

    /// Performs a store that decodes in `t`, to a line that may be written. Else changes nothing and
    /// gives `false`.
    #[inline(always)]
    pub(super) fn store_near<M: MemoryPort>(
        &mut self,
        access: &Access<u64>,
        t: Cycle,
        memory: &mut M,
    ) -> bool {
        let Some(offset) = memory.offset(access.address, access.bytes) else { return false };
        if self.fence || t == self.tags_written {
            return false;
        }
        let Some(slot) = self.data_cache.find(access.address / LINE_BYTES) else { return false };
        match self.data_cache.state(slot) {
            State::Shared => return false,
            State::Exclusive => {
                self.data_cache.set_state(slot, State::Dirty);
                self.tags_written = t + TAGS_WRITTEN;
            }
            State::Dirty => {}
        }
        self.memory_busy = t + BUSY_CYCLES;
        self.pend_store(t + STORE_CYCLES, access.address, access.bytes);
        self.store(offset, access, access.data, memory);
        true
    }

    #[inline(always)]
    fn store<M: MemoryPort>(
        &mut self,
        offset: usize,
        access: &Access<u64>,
        value: u64,
        memory: &mut M,
    ) {
        self.effects += 1;
        memory.write(offset, access.bytes, value);
        memory.stored(access.address, value);
    }

    #[inline(always)]
    fn allowed(&self, access: &Access<u64>) -> bool {
        if !self.protected {
            return true;
        }
        let kind = if access.kind.writes() { AccessKind::Write } else { AccessKind::Read };
        self.hart.pmp.check(
            access.address,
            u32::from(access.bytes),
            kind,
            self.hart.data_privilege(),
        )
    }

    /// Gives the decode cycle of a load that may meet stores on their way into the array.
    #[inline(always)]
    fn after_stores(&mut self, t: Cycle, address: u64, bytes: u8) -> Cycle {
        let run = if self.load_run.1 == t { self.load_run.0 } else { t };
        // A run begins no later than now.
        let waits = self.stores.map(|store| run <= store.from);
        let waits = u8::from(waits[0]) | u8::from(waits[1]) << 1;
        self.loads_met = self.loads_met << STORE_BITS | u64::from(waits);
        if waits != 0 && self.meets(address, bytes, waits) {
            self.loads_met |= u64::from(MET);
            self.takes_back(self.behind, t);
            let t = t + self.timing.replay_cycles;
            self.fetch = t;
            self.stores = [PendingStore::default(); 2];
            self.load_run = (t, t + 1);
            return t;
        }
        self.load_run = (run, t + 1);
        t
    }

    /// Tells whether an access touches what one of the stores writes that wait, a bit each.
    #[inline(always)]
    pub(super) fn meets(&self, address: u64, bytes: u8, waits: u8) -> bool {
        let word = place(address) & self.word_index;
        let mask = mask(address, bytes);
        let meets = |nth: usize| {
            let store = &self.stores[nth];
            waits >> nth & 1 != 0 && store.word == word && store.mask & mask != 0
        };
        meets(0) || meets(1)
    }

    #[inline(always)]
    fn pend_store(&mut self, from: Cycle, address: u64, bytes: u8) {
        self.stores[0] = self.stores[1];
        let word = place(address) & self.word_index;
        self.stores[1] = PendingStore { from, word, mask: mask(address, bytes) };
    }

    /// Fetches a line, or the right to write it; gives what that costs.
    #[cold]
    fn miss<M: MemoryPort>(&mut self, line: u64, write: bool, held: bool, memory: &mut M) -> Cycle {
        self.hart.csr.events.count(DATA_CACHE_MISS, self.hart.csr.mcountinhibit);
        let acquired = memory.acquire(self.id, line, write);
        let mut cost = self.data_miss + acquired.cycles;
        if let Some(evicted) = acquired.evicted {
            self.data_cache.remove(evicted);
        }
        let state = match (write, acquired.exclusive) {
            (true, _) => State::Dirty,
            (false, true) => State::Exclusive,
            (false, false) => State::Shared,
        };
        if held {
            if let Some(slot) = self.data_cache.find(line) {
                self.data_cache.set_state(slot, state);
            }
        } else if let Some(victim) = self.data_cache.insert(line, state) {
            cost += memory.release(self.id, victim.line, victim.dirty);
        }
        cost
    }

    #[cold]
    fn access_device<M: MemoryPort>(
        &mut self,
        access: &Access<u64>,
        t: Cycle,
        memory: &mut M,
    ) -> Result<(u64, Cycle), AccessEnd> {
        if !memory.has_device(access.address) || !self.allowed(access) {
            return Err(AccessEnd::Trap(fault(access)));
        }
        self.effects += 1;
        let done = t + memory.device_cycles();
        match access.kind {
            MemoryKind::Load => {
                let value = memory.read_device(access.address, done);
                self.take_probes(memory);
                Ok((value, done))
            }
            MemoryKind::Store => {
                memory.write_device(access.address, access.bytes, access.data, t);
                self.take_probes(memory);
                self.attention = 0;
                Ok((0, t))
            }
            _ => Err(AccessEnd::Trap(fault(access))),
        }
    }

    /// Gives up lines that a device has taken, before the next instruction finds them.
    fn take_probes<M: MemoryPort>(&mut self, memory: &mut M) {
        memory.take_probes(self.id, |line, keep| self.probe(line, keep));
    }
}

/// Says why an access did not happen.
#[derive(Debug)]
pub(super) enum AccessEnd {
    /// It is not allowed.
    Trap(Exception<u64>),
    /// An interrupt came in this cycle while it waited to be tried again.
    Interrupted(Cycle),
}

/// Gives the number of the word that an address lies in.
pub(super) fn place(address: u64) -> u64 {
    address / WORD_BYTES
}

/// Gives the bytes of its word that an access touches, a bit each.
pub(super) fn mask(address: u64, bytes: u8) -> u8 {
    (((1u16 << bytes) - 1) << (address % WORD_BYTES)) as u8
}

fn fault(access: &Access<u64>) -> Exception<u64> {
    let cause = if access.kind.writes() { Cause::StoreAccessFault } else { Cause::LoadAccessFault };
    Exception::new(cause, access.address)
}
