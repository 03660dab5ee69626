//! A cluster's instruction cache, shared by its cores.
//!
//! In: the line a core goes to, when, and whether it jumped there. Out: the cycle from which the core
//! can execute it. Holds tags and the refills under way. A core that reaches a new line asks for the
//! next one ahead; a refill goes through the program memory's one port, which all clusters share;
//! cores that need the same line share its refill. Off at reset: every line is then read past the
//! cache. (RTL: icache_top_mp_128_PF; numbers from the first packets of the pipeline rows.)

use crate::Machine;

/// Counts the use of the program memory's port, in sixteenths of a cycle.
///
/// Refills that cores wait for go before those asked for ahead.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramPort {
    awaited_free_at: u64,
    free_at: u64,
}

impl ProgramPort {
    /// Takes the port for a refill that a core waits for; gives the cycles it has to wait more.
    fn take(&mut self, now: u64, sixteenths: u64) -> u64 {
        let start = self.awaited_free_at.max(now * 16);
        self.awaited_free_at = start + sixteenths;
        self.free_at = self.free_at.max(now * 16) + sixteenths;
        start.div_ceil(16) - now
    }

    /// Takes the port for a refill asked for ahead, which is sent at `sent`; gives the cycles it has
    /// to wait after that.
    fn take_ahead(&mut self, now: u64, sent: u64, sixteenths: u64) -> u64 {
        let start = self.free_at.max(now * 16);
        self.free_at = start + sixteenths;
        start.div_ceil(16).saturating_sub(sent)
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    line: u32,
    ready: u64,
    used: u64,
    ahead: bool,
}

const EMPTY: u32 = u32::MAX;

/// Decides when a core gets its instructions.
#[derive(Clone, Debug)]
pub struct InstructionCache {
    entries: Vec<Entry>,
    ways: usize,
    sets_mask: u32,
    miss_cycles: u64,
    ahead_after: u64,
    ahead_cycles: u64,
    port_sixteenths: u64,
    bypass_cycles: u64,
    /// Counts changes of what is held: what cores remember of an older state may be wrong.
    version: u32,
    on: bool,
    requested: bool,
    misses: u64,
}

impl InstructionCache {
    /// Makes a cache that is off.
    pub fn new(machine: &Machine) -> Self {
        let config = &machine.instruction_cache;
        let entries = (config.bytes / config.line_bytes) as usize;
        let ways = config.ways as usize;
        Self {
            entries: vec![Entry { line: EMPTY, ready: 0, used: 0, ahead: false }; entries],
            ways,
            sets_mask: (entries / ways) as u32 - 1,
            miss_cycles: config.miss_cycles,
            ahead_after: config.prefetch_after_cycles,
            ahead_cycles: config.miss_cycles + 2 * config.prefetch_after_cycles,
            port_sixteenths: config.refill_port_sixteenths,
            bypass_cycles: config.bypass_cycles,
            version: 0,
            on: false,
            requested: false,
            misses: 0,
        }
    }

    /// Asks for the cache to be turned on: it happens once no core of the cluster fetches.
    pub fn request_on(&mut self) {
        self.requested = true;
    }

    /// Gives the number of the current state: it changes whenever a line is replaced.
    #[inline]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Says whether it waits to be turned on.
    pub fn is_requested(&self) -> bool {
        self.requested && !self.on
    }

    /// Turns it on; the lines the waiting cores would execute next are read ahead into it.
    pub fn turn_on(&mut self, now: u64, waiting_lines: impl Iterator<Item = u32>) {
        self.on = true;
        for line in waiting_lines {
            if self.find(line + 1).is_none() {
                self.fill(line + 1, now, now, true);
            }
        }
    }

    /// Gives the number of lines that cores had to wait for.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    fn set(&self, line: u32) -> std::ops::Range<usize> {
        let first = (line & self.sets_mask) as usize * self.ways;
        first..first + self.ways
    }

    #[inline]
    fn find(&self, line: u32) -> Option<usize> {
        self.set(line).find(|&index| self.entries[index].line == line)
    }

    fn fill(&mut self, line: u32, now: u64, ready: u64, ahead: bool) {
        let victim = self.set(line).min_by_key(|&index| {
            let entry = &self.entries[index];
            if entry.line == EMPTY { 0 } else { entry.used + 1 }
        });
        if let Some(victim) = victim {
            self.version = self.version.wrapping_add(1);
            self.entries[victim] = Entry { line, ready, used: now, ahead };
        }
    }

    /// Says whether the line can be executed at cycle `now` without waiting or refilling.
    #[inline]
    pub fn hit(&mut self, line: u32, now: u64) -> bool {
        if !self.on {
            return false;
        }
        match self.find(line) {
            Some(index) if self.entries[index].ready <= now => {
                self.entries[index].used = now;
                // A line that was just read ahead has its successor read ahead when it is reached.
                self.find(line + 1).is_some()
            }
            _ => false,
        }
    }

    /// Gives the cycle from which a core that reaches `line` at `now` can execute it.
    pub fn fetch(&mut self, line: u32, now: u64, jumped: bool, port: &mut ProgramPort) -> u64 {
        if !self.on {
            return now + self.bypass_cycles + port.take(now, self.port_sixteenths);
        }
        let start = match self.find(line) {
            Some(index) => {
                let entry = &mut self.entries[index];
                entry.used = now;
                if entry.ready > now && jumped && entry.ahead {
                    // A jump drops what was asked for ahead and asks anew.
                    entry.ahead = false;
                    entry.ready = now + self.miss_cycles;
                }
                entry.ready.max(now)
            }
            None => {
                let ready = now + self.miss_cycles + port.take(now, self.port_sixteenths);
                self.fill(line, now, ready, false);
                ready
            }
        };
        self.misses += u64::from(start > now);
        if self.find(line + 1).is_none() {
            let ready = start
                + self.ahead_cycles
                + port.take_ahead(now, start + self.ahead_after, self.port_sixteenths);
            self.fill(line + 1, now, ready, true);
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    fn cache() -> (InstructionCache, ProgramPort) {
        let mut cache = InstructionCache::new(&machine());
        cache.turn_on(0, std::iter::empty());
        (cache, ProgramPort::default())
    }

    /// A cold straight line of single-cycle instructions takes 12 cycles per line of four.
    #[test]
    fn streams_a_line_in_twelve_cycles() {
        let (mut cache, mut port) = cache();
        let first = cache.fetch(100, 1000, true, &mut port);
        assert_eq!(first, 1008);
        let second = cache.fetch(101, first + 4, false, &mut port);
        assert_eq!(second, first + 12);
        assert_eq!(cache.fetch(102, second + 20, false, &mut port), second + 20, "hidden");
        assert_eq!(cache.fetch(100, 2000, true, &mut port), 2000);
    }

    #[test]
    fn drops_what_was_asked_ahead_at_a_jump() {
        let (mut cache, mut port) = cache();
        let first = cache.fetch(100, 1000, true, &mut port);
        assert_eq!(cache.fetch(101, first + 6, true, &mut port), first + 14);
    }

    #[test]
    fn shares_refills_between_cores() {
        let (mut cache, mut port) = cache();
        let first = cache.fetch(100, 1000, true, &mut port);
        assert_eq!(cache.fetch(100, 1003, true, &mut port), first);
    }
}
