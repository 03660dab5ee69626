//! How the cores reach this memory: their port.

use pinion_cores::port::{Acquired, MemoryPort};

use super::Memory;
use crate::Cycle;

impl MemoryPort for Memory {
    #[inline(always)]
    fn offset(&self, address: u64, bytes: u8) -> Option<usize> {
        Self::offset(self, address, bytes)
    }

    #[inline(always)]
    fn read(&self, offset: usize) -> u64 {
        Self::read(self, offset)
    }

    #[inline(always)]
    fn write(&mut self, offset: usize, bytes: u8, value: u64) {
        Self::write(self, offset, bytes, value);
    }

    #[inline(always)]
    fn stored(&mut self, address: u64, value: u64) {
        if self.host.is_to_host(address) {
            self.host.store_to_host(value);
            self.serve_host();
        }
    }

    #[inline(always)]
    fn means_something(&self, address: u64) -> bool {
        self.host.is_to_host(address)
    }

    fn fetch_line(&mut self, core: u32, line: u64) -> Cycle {
        let grant = self.l2.acquire(line, core, false);
        if grant.probe != 0 {
            self.probes.push((grant.probe, line, true));
        }
        if let Some((evicted, holders)) = grant.evicted {
            self.probes.push((holders, evicted, false));
        }
        if grant.hit { 0 } else { self.outer_fetch(line) }
    }

    fn acquire(&mut self, core: u32, line: u64, write: bool) -> Acquired {
        let grant = self.l2.acquire(line, core, write);
        let mut cycles = if grant.hit { 0 } else { self.outer_fetch(line) };
        if grant.probe != 0 {
            cycles += self.costs.probe_cycles;
            self.probes.push((grant.probe, line, !write));
        }
        let evicted = grant.evicted.map(|(evicted, holders)| {
            self.probes.push((holders & !(1 << core), evicted, false));
            evicted
        });
        Acquired { cycles, exclusive: grant.exclusive, evicted }
    }

    fn release(&mut self, core: u32, line: u64, dirty: bool) -> Cycle {
        self.l2.release(line, core);
        if dirty { self.costs.write_back_cycles } else { 0 }
    }

    fn take_probes(&mut self, core: u32, mut give_up: impl FnMut(u64, bool)) {
        let own = 1 << core;
        self.probes.retain_mut(|(harts, line, keep)| {
            if *harts & own != 0 {
                give_up(*line, *keep);
            }
            *harts &= !own;
            *harts != 0
        });
    }

    fn has_device(&self, address: u64) -> bool {
        Self::has_device(self, address)
    }

    fn device_cycles(&self) -> Cycle {
        self.costs.device_cycles
    }

    fn read_device(&mut self, address: u64, now: Cycle) -> u64 {
        Self::read_device(self, address, now)
    }

    fn write_device(&mut self, address: u64, bytes: u8, value: u64, now: Cycle) {
        Self::write_device(self, address, bytes, value, now);
    }

    #[inline(always)]
    fn timer_at(&self, core: u32) -> Cycle {
        self.devices.timer_at(core)
    }

    #[inline(always)]
    fn software_interrupt(&self, core: u32) -> bool {
        self.devices.software(core)
    }

    #[inline(always)]
    fn has_ended(&self) -> bool {
        self.host.exit.is_some()
    }
}
