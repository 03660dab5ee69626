//! A cluster's L1 TCDM interconnect: who gets a bank of L1 in which cycle.
//!
//! In: accesses of the cores, of other clusters and of the DMA engine with the cycle they ask.
//! Out: the cycle they are served. A bank serves one word per cycle, its cores in turn; an
//! atomic operation holds it longer; a DMA beat holds the banks it covers for its cycle. (Paper
//! §III-B2; RTL: logarithmic interconnect, AMO shim, superbanks.)

use pinion_isa::{Access, MemoryKind};

use crate::Machine;

/// Decides when banks serve accesses.
#[derive(Clone, Debug)]
pub struct L1Banks {
    banks: Vec<Bank>,
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
    served: u64,
}

impl Bank {
    /// Gives a core's place among those who wait for it: the arbitration tree takes at each level the
    /// side that its counter's bit names (RTL: logarithmic interconnect).
    #[inline(always)]
    pub fn order(&self, core: usize) -> u64 {
        (core as u64 ^ self.served) % 16
    }
}

/// Says which banks DMA beats use: beat i, in cycle `start + i`, the superbank `first + i`.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    start: u64,
    beats: u64,
    first: u32,
}

impl L1Banks {
    /// Makes idle banks.
    pub fn new(machine: &Machine) -> Self {
        Self {
            banks: vec![Bank::default(); machine.l1.banks as usize],
            mask: machine.l1.banks - 1,
            hold_cycles: [1, machine.l1.amo_cycles],
            beat_bytes: machine.dma.port_bytes,
            windows: [Window::default(); 2],
            next_window: 0,
            quiet_from: 0,
        }
    }

    #[inline(always)]
    fn index(&self, address: u32) -> usize {
        (address >> 2 & self.mask) as usize
    }

    /// Gives the bank of an address.
    #[inline(always)]
    pub fn bank(&self, address: u32) -> &Bank {
        &self.banks[self.index(address)]
    }

    /// Gives the cycle at which an access that asks in cycle `now` is served.
    #[inline]
    fn access(&mut self, now: u64, offset: u32, atomic: bool) -> u64 {
        self.serve_word(now.max(self.bank(offset).free_at), offset, atomic)
    }

    /// Gives the cycle at which an access to one word is served, whose bank is free in cycle `now`.
    #[inline(always)]
    pub fn serve_word(&mut self, now: u64, offset: u32, atomic: bool) -> u64 {
        let grant = if now < self.quiet_from { self.behind_dma(now, offset) } else { now };
        let index = self.index(offset);
        let bank = &mut self.banks[index];
        bank.free_at = grant + self.hold_cycles[usize::from(atomic)];
        bank.served += 1;
        grant
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

    /// Reserves the banks for a DMA transfer of `beats` beats from cycle `start`.
    pub fn dma(&mut self, start: u64, beats: u64, offset: u32) {
        let first = offset / self.beat_bytes;
        self.windows[self.next_window] = Window { start, beats, first };
        self.quiet_from = self.quiet_from.max(start + beats);
        self.next_window = (self.next_window + 1) % self.windows.len();
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
