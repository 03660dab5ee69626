//! What was booked at the clusters' port to read packet memory, and who has a bank of that when.
//!
//! A bank serves one side in a cycle: what the clusters read, what comes in from the network, or what sends and copies
//! to the host read. Where two ask, it is his turn who had it last, and then the other's. Who is known already when
//! another comes stays where he is, and packets are written as if nobody read. (RTL: tcdm_interconnect of l2_mem, an
//! rr_arb_tree for each bank.)

use std::collections::VecDeque;

use super::ReadId;
use super::flow::Step;

/// Cycles for which is remembered what the NIC's side had: a burst is placed anew from its start.
const LATE_CYCLES: u64 = 64;

/// Index of the clusters among those who had a bank, behind the NIC's side.
const CLUSTERS: usize = 3;

/// Holds a burst; cycles are the port's, in which it comes later than its engine says.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    pub engine: u32,
    pub ready: u64,
    pub beats: u64,
    pub start: u64,
    pub end: u64,
    /// The bank of its first beat, if it reads the packet buffer.
    pub bank: Option<u64>,
}

impl Burst {
    /// Gives the bank of its beat `beat` if it reads the packet buffer; the numbers go on behind the last.
    pub fn bank_of(&self, beat: u64) -> Option<u64> {
        self.bank.map(|bank| bank + beat)
    }
}

/// Holds a load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub core: u32,
    pub ready: u64,
    pub beats: u64,
    pub bank: u64,
    pub start: u64,
}

/// Names who comes to packet memory by the NIC's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicSide {
    /// What comes in is written.
    Inbound = 0,
    /// Sends read.
    Sends = 1,
    /// Copies to the host read.
    ToHost = 2,
}

/// All of them.
const NIC_SIDES: [NicSide; 3] = [NicSide::Inbound, NicSide::Sends, NicSide::ToHost];

/// Says which banks somebody has: from a cycle of the port on, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub from: u64,
    pub beats: u64,
    /// The first.
    pub bank: u64,
}

/// Numbers banks over which addresses go on and begin again.
#[derive(Clone, Copy, Debug)]
pub struct Banks {
    count: u64,
    /// One less than their number if that is a power of two: no division is needed then.
    mask: Option<u64>,
}

impl Banks {
    /// Numbers so many banks.
    pub fn new(count: u32) -> Self {
        let mask = count.is_power_of_two().then(|| u64::from(count) - 1);
        Self { count: count.into(), mask }
    }

    /// Gives the bank to which so many lead.
    #[inline]
    pub fn wrap(self, banks: u64) -> u64 {
        match self.mask {
            Some(mask) => banks & mask,
            None => banks % self.count,
        }
    }

    /// Says whether somebody has a bank in a cycle.
    #[inline]
    pub fn has(self, window: &Window, bank: u64, cycle: u64) -> bool {
        let beat = cycle.wrapping_sub(window.from);
        beat < window.beats && self.wrap(window.bank + beat) == bank
    }

    /// Gives the cycle behind the last one before `cycle` in which somebody had a bank.
    fn had(self, window: &Window, bank: u64, cycle: u64) -> Option<u64> {
        let over = cycle.saturating_sub(window.from).min(window.beats);
        let back = self.wrap(self.wrap(window.bank + over) + self.count - self.wrap(bank + 1));
        (back < over).then(|| window.from + over - back)
    }
}

/// Holds what was booked and has not been forgotten: names count on from the first.
#[derive(Clone, Debug)]
pub struct Booked {
    pub bursts: VecDeque<Burst>,
    pub first_burst: ReadId,
    pub loads: VecDeque<Load>,
    pub first_load: ReadId,
    pub banks: Banks,
    /// By [`NicSide`]: when that has banks, of late and one after the other: much of it may come later.
    nic: [VecDeque<Window>; 3],
    /// By bank: the cycles behind the last in which each of the NIC's side and the clusters had it, of what is not held
    /// any more.
    had: Vec<[u64; 4]>,
}

impl Booked {
    /// Holds nothing yet.
    pub fn new(banks: Banks) -> Self {
        Self {
            bursts: VecDeque::new(),
            first_burst: 0,
            loads: VecDeque::new(),
            first_load: 0,
            banks,
            nic: Default::default(),
            had: vec![[0; 4]; banks.count as usize],
        }
    }

    /// Notes when one of the NIC's side has banks, behind what it had before; forgets what is over at `now`.
    #[inline(always)]
    pub fn note_nic(&mut self, now: u64, side: NicSide, window: Window) {
        self.nic[side as usize].push_back(window);
        while let Some(&over) = self.nic[side as usize].front()
            && over.from + over.beats + LATE_CYCLES < now
        {
            self.nic[side as usize].pop_front();
            self.note_had(side as usize, over.bank, over.from, over.beats);
        }
    }

    /// Notes that the clusters have read banks, from the first on from a cycle on.
    pub fn note_read(&mut self, first: u64, start: u64, beats: u64) {
        self.note_had(CLUSTERS, first, start, beats);
    }

    fn note_had(&mut self, side: usize, first: u64, start: u64, beats: u64) {
        for beat in beats.saturating_sub(self.banks.count)..beats {
            self.had[self.banks.wrap(first + beat) as usize][side] = start + beat + 1;
        }
    }

    /// Says whether some of what the NIC's side has within some cycles is met.
    #[inline(always)]
    pub fn any_lately(&self, from: u64, until: u64, meets: impl Fn(&Window) -> bool) -> bool {
        self.nic.iter().any(|windows| {
            if windows.is_empty() {
                return false;
            }
            // Of what is known most may come later.
            let begun = windows.partition_point(|it| it.from < until);
            let lately = windows.range(..begun).rev();
            lately.take_while(|it| it.from + it.beats > from).any(&meets)
        })
    }

    /// Says whether one of the NIC's side asks for a bank in a cycle.
    #[inline]
    fn asks(&self, side: NicSide, bank: u64, cycle: u64) -> bool {
        let windows = &self.nic[side as usize];
        let begun = windows.partition_point(|it| it.from <= cycle);
        let last = begun.checked_sub(1).and_then(|last| windows.get(last));
        last.is_some_and(|it| self.banks.has(it, bank, cycle))
    }

    /// Tells whether the NIC's side has a bank in a cycle in which the clusters ask for it.
    pub fn nic_has(&self, bank: u64, cycle: u64) -> bool {
        let bank = self.banks.wrap(bank);
        NIC_SIDES.into_iter().any(|side| self.asks(side, bank, cycle))
            && self.clusters_until(bank, cycle) <= self.nic_until(&NIC_SIDES, bank, cycle)
    }

    /// Gives the cycle from one on in which the clusters read a bank, if it is one.
    #[inline]
    pub fn free(&self, bank: Option<u64>, mut cycle: u64) -> u64 {
        while bank.is_some_and(|bank| self.nic_has(bank, cycle)) {
            cycle += 1;
        }
        cycle
    }

    /// Gives the beats that are left from a cycle on of a burst that is being read and will meet no more loads.
    pub fn beats_left(&self, burst: &Burst, cycle: u64) -> u64 {
        let most = burst.beats.min(burst.end - cycle);
        let fits = |&left: &u64| self.end_of(burst, left, cycle) <= burst.end;
        (1..=most).rev().find(fits).unwrap_or(1)
    }

    /// Gives the cycle in which a burst is over whose last `left` beats are read from a cycle on.
    pub fn end_of(&self, burst: &Burst, left: u64, cycle: u64) -> u64 {
        let beats = burst.beats - left..burst.beats;
        beats.fold(cycle, |at, beat| self.free(burst.bank_of(beat), at) + 1)
    }

    /// Gives the cycle from one on in which a send or a copy to the host reads a bank, as far as others are known.
    pub fn nic_reads_from(&self, bank: u64, mut cycle: u64) -> u64 {
        let bank = self.banks.wrap(bank);
        while self.keeps_nic_waiting(bank, cycle) {
            cycle += 1;
        }
        cycle
    }

    fn keeps_nic_waiting(&self, bank: u64, cycle: u64) -> bool {
        let [inbound, sends, to_host] = NIC_SIDES;
        let is_written = self.asks(inbound, bank, cycle);
        let is_read = self.clusters_ask(bank, cycle);
        if !is_written && !is_read {
            return false;
        }
        let written = self.nic_until(&[inbound], bank, cycle);
        let read = self.nic_until(&[sends, to_host], bank, cycle);
        let clusters = self.clusters_until(bank, cycle);
        is_written && written > read.max(clusters) || is_read && clusters > read.max(written)
    }

    fn burst_windows(&self) -> impl Iterator<Item = Window> {
        self.bursts.iter().filter_map(|it| {
            Some(Window { from: it.end - it.beats, beats: it.beats, bank: it.bank? })
        })
    }

    fn clusters_ask(&self, bank: u64, cycle: u64) -> bool {
        self.burst_windows().any(|it| self.banks.has(&it, bank, cycle))
            || self.loads.iter().any(|it| it.start == cycle && it.bank == bank)
    }

    /// Gives the cycle behind the last one before `cycle` in which the clusters had a bank.
    fn clusters_until(&self, bank: u64, cycle: u64) -> u64 {
        let loads = self.loads.iter().map(|it| Window { from: it.start, beats: 1, bank: it.bank });
        let windows = self.burst_windows().chain(loads);
        let had = windows.filter_map(|it| self.banks.had(&it, bank, cycle));
        had.fold(self.had[bank as usize][CLUSTERS], u64::max)
    }

    /// The same of some of the NIC's side.
    fn nic_until(&self, sides: &[NicSide], bank: u64, cycle: u64) -> u64 {
        let until = |&side: &NicSide| {
            let had = self.nic[side as usize].iter();
            let had = had.filter_map(|it| self.banks.had(it, bank, cycle));
            had.fold(self.had[bank as usize][side as usize], u64::max)
        };
        sides.iter().map(until).max().unwrap_or(0)
    }

    #[inline]
    pub fn burst(&self, id: ReadId) -> Option<&Burst> {
        self.bursts.get(id.checked_sub(self.first_burst)? as usize)
    }

    pub fn load(&self, id: ReadId) -> Option<&Load> {
        self.loads.get(id.checked_sub(self.first_load)? as usize)
    }

    fn burst_mut(&mut self, id: Option<ReadId>) -> Option<&mut Burst> {
        self.bursts.get_mut(id?.checked_sub(self.first_burst)? as usize)
    }

    /// Notes what a cycle has brought.
    pub fn note(&mut self, cycle: u64, step: &Step) {
        if let Some(burst) = self.burst_mut(step.began) {
            burst.start = cycle;
        }
        if let Some(burst) = self.burst_mut(step.ended) {
            burst.end = cycle + 1;
        }
        let load = step.load.and_then(|id| id.checked_sub(self.first_load));
        if let Some(load) = load.and_then(|index| self.loads.get_mut(index as usize)) {
            load.start = cycle;
        }
    }
}
