//! A cluster's L1 TCDM interconnect: who gets a bank of L1 in which cycle.
//!
//! In: accesses of the cores, of other clusters and of the DMA engine with the cycle they ask.
//! Out: the cycle they are served. A bank serves one word per cycle, its cores in turn; an
//! atomic operation holds it longer; a DMA beat goes before all others at the banks it covers, and
//! puts the writing of an atomic off there. (Paper §III-B2; RTL: tcdm_interconnect with an rr_arb_tree for each bank,
//! amo_shim, tcdm_superbank_mux.)

use pinion_isa::{Access, MemoryKind};
use pinion_sim::arbiter::RoundRobin;
use pinion_sim::beat_windows::{BeatWindows, STAY};
use pinion_sim::calendar::bit;

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
    /// The DMA beats that are to come.
    beats: BeatWindows,
}

/// A bank: it serves one word per cycle.
#[derive(Clone, Debug, Default)]
pub struct Bank {
    /// Cycle from which it is free.
    pub free_at: u64,
    /// Whose turn it is where several ask.
    pub order: RoundRobin,
    /// Bit per core whose next access is to it.
    pub asking: u32,
}

impl Bank {
    /// Says whether who comes up at `now` has it for itself, DMA beats aside; `others` are those who are due as well.
    #[inline(always)]
    pub const fn is_free(&self, others: u32, now: u64) -> bool {
        self.asking & others == 0 && self.free_at <= now
    }
}

impl BankRules {
    /// Gives the number of an address's bank.
    #[inline(always)]
    pub fn index(&self, address: u32) -> usize {
        (address >> 2 & self.mask) as usize % MOST_BANKS
    }

    /// Comes to a cycle; gives where its bit stands, for [`Self::beats_from`].
    #[inline(always)]
    pub fn come_to(&mut self, now: u64) -> u64 {
        self.beats.come_to(now)
    }

    /// Gives a bit for each cycle from the one come to on, which stands at `bit`: a DMA beat goes before an access.
    #[inline(always)]
    pub fn beats_from(&self, bit: u64, offset: u32) -> u64 {
        self.beats.from(bit, offset)
    }

    /// Says whether no DMA beat goes before an access in cycle `now`.
    #[inline(always)]
    pub fn goes_first(&self, now: u64, offset: u32) -> bool {
        !self.beats.take(now, offset)
    }

    /// Serves an access of a core to one word in cycle `now`, whose bank is free and in whose way nobody is, and for
    /// which nobody else asks. `beats` are those from that cycle on.
    #[inline(always)]
    pub fn serve_alone(
        &self,
        bank: &mut Bank,
        core: usize,
        now: u64,
        (offset, atomic): (u32, bool),
        beats: u64,
    ) {
        bank.order.serve_alone(core as u32);
        bank.asking &= !bit(core);
        let hold = self.hold_cycles[usize::from(atomic)];
        bank.free_at = now + hold;
        // None is in the only cycle of what is no atomic: no choice that nobody could foresee.
        if hold > STAY || beats << 1 >> hold & 1 != 0 {
            self.put_off_writing(bank, offset);
        }
    }

    /// Serves an access to one word in cycle `now`, whose bank is free and in whose way nobody is.
    #[inline(always)]
    pub fn serve(&self, bank: &mut Bank, now: u64, offset: u32, atomic: bool) {
        bank.free_at = now + self.hold_cycles[usize::from(atomic)];
        if atomic && self.beats.take(bank.free_at - 1, offset) {
            self.put_off_writing(bank, offset);
        }
    }

    /// Lets DMA beats go before what an atomic writes, in the last cycle for which it holds its bank. (RTL: amo_shim,
    /// state ProlongAMO.)
    #[cold]
    #[inline(never)]
    fn put_off_writing(&self, bank: &mut Bank, offset: u32) {
        while self.beats.take(bank.free_at - 1, offset) {
            bank.free_at += 1;
        }
    }
}

/// Gives the number of groups of banks that a DMA beat covers together.
pub fn superbanks(machine: &Machine) -> u32 {
    (machine.l1.banks * 4 / machine.dma.port_bytes).max(1)
}

impl L1Banks {
    /// Makes idle banks.
    pub fn new(machine: &Machine) -> Box<Self> {
        let rules = BankRules {
            mask: machine.l1.banks - 1,
            hold_cycles: [1, machine.l1.amo_cycles],
            beats: BeatWindows::new(machine.dma.port_bytes, superbanks(machine)),
        };
        Box::new(Self { banks: std::array::from_fn(|_| Bank::default()), rules })
    }

    /// Gives the cycle at which an access that asks in cycle `now` is served, past those that cores wait with.
    #[inline]
    pub fn access(&mut self, now: u64, offset: u32, atomic: bool) -> u64 {
        let bank = &mut self.banks[self.rules.index(offset)];
        let mut now = now.max(bank.free_at);
        while !self.rules.goes_first(now, offset) {
            now += 1;
        }
        self.rules.serve(bank, now, offset, atomic);
        now
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

    /// Takes the banks for the `beats` beats of a DMA transfer from cycle `start` on; nobody asks for a cycle before
    /// `now` any more.
    #[inline(always)]
    pub fn dma(&mut self, now: u64, start: u64, beats: u64, offset: u32) {
        self.rules.beats.add(now, start, beats, offset);
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
        banks.dma(0, 10, 4, 0);
        assert_eq!(banks.access(10, 0, false), 11);
        assert_eq!(banks.access(10, 64, false), 10);
        assert_eq!(banks.access(12, 128, false), 13);
        assert_eq!(banks.access(14, 0, false), 14);
    }

    #[test]
    fn beats_may_be_of_any_length() {
        let mut machine = machine();
        machine.dma.port_bytes = 48; // five superbanks, and some banks that count as of the first
        let mut banks = L1Banks::new(&machine);
        banks.dma(0, 10, 2, 0);
        assert_eq!([0, 48, 240].map(|offset| banks.access(10, offset, false)), [11, 10, 11]);
        assert_eq!(banks.access(11, 52, false), 12);
    }

    #[test]
    fn knows_of_all_transfers_under_way() {
        let mut banks = L1Banks::new(&machine());
        (10..20).for_each(|cycle| banks.dma(cycle - 10, cycle, 1, 0));
        assert_eq!(banks.access(9, 0, false), 9);
        assert_eq!(banks.access(10, 0, false), 20);
    }

    #[test]
    fn a_beat_goes_before_what_an_atomic_writes() {
        let mut banks = L1Banks::new(&machine());
        banks.dma(0, 11, 1, 0);
        assert_eq!(banks.access(10, 0, true), 10);
        assert_eq!(banks.access(11, 0, false), 13, "read in 10, a beat in 11, written in 12");
    }
}
