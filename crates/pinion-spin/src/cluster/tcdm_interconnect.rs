//! A cluster's L1 TCDM interconnect: who gets a bank of L1 in which cycle.
//!
//! In: accesses of the cores, of other clusters and of the DMA engine with the cycle they ask.
//! Out: the cycle they are served. A bank serves one word per cycle, its cores in turn; an
//! atomic operation holds it longer; a DMA beat holds the banks it covers for its cycle. (Paper
//! §III-B2; RTL: logarithmic interconnect, AMO shim, superbanks.)

use pinion_isa::{Access, MemoryKind};
use pinion_sim::calendar::PLACES;

use crate::Machine;

/// Most banks of a cluster.
pub const MOST_BANKS: usize = 1024;

/// Decides when banks serve accesses.
#[derive(Clone, Debug)]
pub struct L1Banks {
    /// The banks, of which those that there are come first.
    pub banks: [Bank; MOST_BANKS],
    /// What they have in common.
    pub rules: BankRules,
}

/// Holds what a cluster's banks have in common: their numbers, and who goes before the cores.
#[derive(Clone, Debug)]
pub struct BankRules {
    mask: u32,
    /// Cycles that an access holds its bank, and that an atomic does.
    hold_cycles: [u64; 2],
    beat_bytes: u32,
    windows: [Window; 2],
    next_window: usize,
    /// Cycle from which no DMA beat comes.
    quiet_from: u64,
}

/// A bank: it serves one word per cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bank {
    /// Cycle from which it is free.
    pub free_at: u64,
    /// Number of what it served; its bits choose at each level of the arbitration tree.
    pub served: u64,
}

impl Bank {
    /// Gives a core's place among those who wait for it: the arbitration tree takes at each level the
    /// side that its counter's bit names (RTL: logarithmic interconnect).
    #[inline(always)]
    pub fn order(&self, core: usize) -> u64 {
        Self::order_after(self.served, core)
    }

    /// Gives [`Self::order`] of a bank that has served so many.
    #[inline(always)]
    pub fn order_after(served: u64, core: usize) -> u64 {
        (core as u64 ^ served) % PLACES
    }
}

/// Says which banks DMA beats use: beat i, in cycle `start + i`, the superbank `first + i`.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    start: u64,
    beats: u64,
    first: u32,
}

impl BankRules {
    /// Gives the number of an address's bank.
    #[inline(always)]
    pub fn index(&self, address: u32) -> usize {
        (address >> 2 & self.mask) as usize % MOST_BANKS
    }

    /// Gives the cycle at which an access to one word is served, whose bank is free in cycle `now`.
    #[inline(always)]
    pub fn serve_word(&self, bank: &mut Bank, now: u64, offset: u32, atomic: bool) -> u64 {
        let grant = if now < self.quiet_from { self.behind_dma(now, offset) } else { now };
        self.serve_first(bank, grant, atomic);
        grant
    }

    /// Says whether an access that asks in cycle `now` goes before all DMA beats.
    #[inline(always)]
    pub fn goes_first(&self, now: u64, offset: u32) -> bool {
        let is_within = |window: &Window| now.wrapping_sub(window.start) < window.beats;
        now >= self.quiet_from
            || !self.windows.iter().any(is_within)
            || self.behind_dma(now, offset) == now
    }

    /// Serves an access to one word in cycle `now`, whose bank is free and in whose way nobody is.
    #[inline(always)]
    pub fn serve_first(&self, bank: &mut Bank, now: u64, atomic: bool) {
        bank.free_at = now + self.hold_cycles[usize::from(atomic)];
        bank.served += 1;
    }

    #[cold]
    #[inline(never)]
    fn behind_dma(&self, mut grant: u64, offset: u32) -> u64 {
        for window in &self.windows {
            if grant < window.start + window.beats && grant >= window.start {
                grant += u64::from(self.beat_hits(window, grant, offset));
            }
        }
        grant
    }

    fn beat_hits(&self, window: &Window, cycle: u64, offset: u32) -> bool {
        let superbanks = ((self.mask + 1) * 4 / self.beat_bytes).max(1);
        let beat = (cycle - window.start) as u32;
        (window.first + beat) % superbanks == offset / self.beat_bytes % superbanks
    }
}

impl L1Banks {
    /// Makes idle banks.
    pub fn new(machine: &Machine) -> Box<Self> {
        let rules = BankRules {
            mask: machine.l1.banks - 1,
            hold_cycles: [1, machine.l1.amo_cycles],
            beat_bytes: machine.dma.port_bytes,
            windows: [Window::default(); 2],
            next_window: 0,
            quiet_from: 0,
        };
        Box::new(Self { banks: [Bank::default(); MOST_BANKS], rules })
    }

    /// Gives the cycle at which an access that asks in cycle `now` is served.
    #[inline]
    pub fn access(&mut self, now: u64, offset: u32, atomic: bool) -> u64 {
        let bank = &mut self.banks[self.rules.index(offset)];
        let now = now.max(bank.free_at);
        self.rules.serve_word(bank, now, offset, atomic)
    }

    /// Gives the cycle at which the last word of an access is served: one that crosses a word takes
    /// two.
    #[inline]
    pub fn serve(&mut self, now: u64, offset: u32, access: &Access<u32>) -> u64 {
        let grant = self.access(now, offset, matches!(access.kind, MemoryKind::Amo(_)));
        if access.split(4).is_none() {
            return grant;
        }
        self.access(grant + 1, offset.wrapping_add(4), false)
    }

    /// Reserves the banks for a DMA transfer of `beats` beats from cycle `start`.
    pub fn dma(&mut self, start: u64, beats: u64, offset: u32) {
        let rules = &mut self.rules;
        let first = offset / rules.beat_bytes;
        rules.windows[rules.next_window] = Window { start, beats, first };
        rules.quiet_from = rules.quiet_from.max(start + beats);
        rules.next_window = (rules.next_window + 1) % rules.windows.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn serves_one_word_per_bank_and_cycle() {
        let mut banks = L1Banks::new(&machine());
        assert_eq!([banks.access(5, 0, false), banks.access(5, 4, false)], [5, 5]);
        assert_eq!(banks.access(5, 0, false), 6);
        assert_eq!(banks.access(5, 256, true), 7, "64 banks of 4 bytes: the same bank");
        assert_eq!(banks.access(5, 0, false), 9, "an atomic holds it two cycles");
    }

    #[test]
    fn yields_to_dma_beats() {
        let mut banks = L1Banks::new(&machine());
        banks.dma(10, 4, 0);
        assert_eq!(banks.access(10, 0, false), 11);
        assert_eq!(banks.access(10, 64, false), 10);
        assert_eq!(banks.access(12, 128, false), 13);
        assert_eq!(banks.access(14, 0, false), 14);
    }
}
