//! The clusters' port to read L2 packet memory.
//!
//! In: bursts of the DMA engines and single reads, the cores' loads. Out: when each is read. A load goes
//! before a burst's next beat. The port takes one request in a cycle, in turns where both sides wait,
//! and none while too many are on their way: requests are counted by the parity of their ids, which
//! are given from the lowest on, one to each engine and each core. A request that is booked later may
//! move those that wait, so owners look again when theirs has come. (RTL: l2_xbar, axi_id_remap,
//! axi_demux and axi_to_mem; a load's quality of service is above a burst's.)

use pinion_sim::turn_port::Side;

use pinion_spin_machine::Machine;

mod booked;
mod flow;
#[cfg(test)]
mod tests;

pub use booked::NicSide;
use booked::{Banks, Booked, Burst, Load, Window};
use flow::Flow;

/// Names a burst or a load: each kind counts up.
pub type ReadId = u64;

/// Cycles from the one in which a read's first beat could go to that in which a packet's beat is written to the same
/// bank, as the inbound engine counts (RTL: axi_buf, axi_to_mem_banked_2p; rows empty-burst_64, to_host_l1-burst_64).
const WRITE_LEAD_CYCLES: u64 = 6;
/// The same to that in which a send or a copy to the host asks to read it, as the outbound engine and the off-cluster DMA
/// count: a request passes one register, a packet's first beat a buffer and a register, behind the four cycles that the
/// inbound engine counts before. No row isolates it. (RTL: l2_mem's axi_buf; axi_demux, SpillAr and SpillW.)
const NIC_READ_LEAD_CYCLES: u64 = 3;

/// Orders bursts and loads.
#[derive(Clone, Debug)]
pub struct ReadPort {
    booked: Booked,
    /// The port as it is at the last cycle that is sure, while there are loads.
    flow: Flow,
    /// What [`ReadPort::plan`] works with.
    ahead: Flow,
    /// Cycle up to which `flow` counts; behind it, there are no loads for bursts to meet.
    flows_until: u64,
    /// Cycle from which the port is free of all loads, as things stand.
    loads_free_at: u64,
    /// Cycle from which the port is free of all bursts, as things stand.
    free_at: u64,
    /// Cycle before which nothing changes any more.
    seen: u64,
    /// By side: the first that its owner has not forgotten.
    done: [ReadId; 2],
    bank_bytes: u32,
    lead_cycles: u64,
    return_cycles: u64,
}

impl ReadPort {
    /// Makes an idle port.
    pub fn new(machine: &Machine) -> Self {
        let flow = Flow::new(machine.dma.port_reads, machine.dma.port_return_cycles);
        Self {
            booked: Booked::new(Banks::new(machine.l2_packet.banks)),
            ahead: flow.clone(),
            flow,
            flows_until: 0,
            loads_free_at: 0,
            free_at: 0,
            seen: 0,
            done: [0; 2],
            bank_bytes: machine.l2_packet.bank_bytes,
            lead_cycles: machine.dma.port_lead_cycles,
            return_cycles: machine.dma.port_return_cycles,
        }
    }

    /// Books a burst that an engine could read from cycle `ready` on, in `beats` cycles, of some address of
    /// the packet buffer or of elsewhere; gives its name, and the cycle it has gone through as things stand.
    pub fn book_burst(
        &mut self,
        now: u64,
        engine: u32,
        (ready, beats): (u64, u64),
        address: Option<u32>,
    ) -> (ReadId, u64) {
        self.seen = self.seen.max(now);
        let meets = self.meets_loads();
        let ready = ready + self.lead_cycles;
        let bank = address.map(|address| self.bank(address));
        let mut burst = Burst { engine, ready, beats, start: 0, end: 0, bank };
        self.place(&mut burst, self.free_at);
        self.free_at = burst.end;
        let id = self.booked.first_burst + self.booked.bursts.len() as u64;
        self.booked.bursts.push_back(burst);
        if meets {
            self.plan();
        }
        let last = self.booked.bursts.len() - 1;
        (id, self.booked.bursts[last].end - self.lead_cycles)
    }

    #[inline]
    fn bank(&self, address: u32) -> u64 {
        self.booked.banks.wrap(u64::from(address / self.bank_bytes))
    }

    /// Says when a burst is read, where the port is free from a cycle on: a beat waits while the NIC's side has its bank.
    #[inline(always)]
    fn place(&self, burst: &mut Burst, free_at: u64) {
        let mut cycle = burst.ready.max(free_at);
        (burst.start, burst.end) = (cycle, cycle + burst.beats);
        let Some(bank) = burst.bank else { return };
        let meets = |window: &Window| self.meets(burst, bank, window);
        if !self.booked.any_lately(cycle, burst.end, meets) {
            return; // nearly always
        }
        for beat in 0..burst.beats {
            cycle = self.booked.free(burst.bank_of(beat), cycle);
            if beat == 0 {
                burst.start = cycle;
            }
            cycle += 1;
        }
        burst.end = cycle;
    }

    /// Tells whether a burst may read a bank while the NIC's side has it. Both go on by a bank a cycle.
    fn meets(&self, burst: &Burst, bank: u64, window: &Window) -> bool {
        let first = burst.start.max(window.from);
        let waited = burst.end - burst.start > burst.beats;
        let (read, had) = (bank + first - burst.start, window.bank + first - window.from);
        let banks = self.booked.banks;
        first < burst.end.min(window.from + window.beats)
            && (waited || banks.wrap(read) == banks.wrap(had))
    }

    /// Notes that a packet is written to an address of the packet buffer in the inbound engine's cycles from
    /// `start` on: bursts and loads that would read its banks meanwhile wait.
    pub fn note_write(&mut self, now: u64, start: u64, beats: u64, address: u32) {
        let from = (start + self.lead_cycles).saturating_sub(WRITE_LEAD_CYCLES);
        let window = Window { from, beats, bank: self.bank(address) };
        self.note(now, NicSide::Inbound, window);
    }

    /// Notes that a send or a copy to the host reads an address of the packet buffer, from cycle `start` on as those
    /// engines count; gives the cycles for which others keep it waiting.
    pub fn note_nic_read(
        &mut self,
        now: u64,
        side: NicSide,
        (start, beats): (u64, u64),
        address: u32,
    ) -> u64 {
        let begin = (start + self.lead_cycles).saturating_sub(NIC_READ_LEAD_CYCLES);
        let bank = self.bank(address);
        let mut window = Window { from: begin, beats: 0, bank };
        for beat in 0..beats {
            let cycle = window.from + window.beats;
            let goes = self.booked.nic_reads_from(bank + beat, cycle);
            if goes > cycle {
                if window.beats > 0 {
                    self.note(now, side, window);
                }
                window = Window { from: goes, beats: 0, bank: bank + beat };
            }
            window.beats += 1;
        }
        self.note(now, side, window);
        window.from + window.beats - begin - beats
    }

    /// Notes when one of the NIC's side has banks.
    #[inline(always)]
    fn note(&mut self, now: u64, side: NicSide, window: Window) {
        let from = window.from;
        self.booked.note_nic(now, side, window);
        if self.seen.max(now) <= self.flows_until {
            return self.plan_around(now, &window);
        }
        let mut met = None;
        let mut index = self.booked.bursts.len();
        for burst in self.booked.bursts.iter().rev() {
            if burst.end <= from {
                break;
            }
            index -= 1;
            if burst.bank.is_some_and(|bank| self.meets(burst, bank, &window)) {
                met = Some(index);
            }
        }
        if let Some(first) = met {
            self.place_again(first);
        }
    }

    /// Says anew when bursts and loads are read that may meet the NIC's side.
    fn plan_around(&mut self, now: u64, window: &Window) {
        let is_met = |load: &Load| self.booked.banks.has(window, load.bank, load.start);
        let mut bursts = self.booked.bursts.iter().filter_map(|burst| Some((burst, burst.bank?)));
        if self.booked.loads.iter().any(is_met)
            || bursts.any(|(burst, bank)| self.meets(burst, bank, window))
        {
            self.seen = self.seen.max(now);
            self.settle();
            self.plan();
        }
    }

    /// Says anew when bursts are read, from one of those that are there on.
    #[cold]
    fn place_again(&mut self, first: usize) {
        let mut free_at = first.checked_sub(1).map_or(0, |before| self.booked.bursts[before].end);
        for index in first..self.booked.bursts.len() {
            let mut burst = self.booked.bursts[index];
            let not_before = free_at.max(burst.start);
            self.place(&mut burst, not_before);
            free_at = burst.end;
            self.booked.bursts[index] = burst;
        }
        self.free_at = free_at;
    }

    /// Books a load of `beats` cycles that core `core` could make at cycle `now` from an address; gives its name and the
    /// cycle it is read, as things stand.
    pub fn book_load(&mut self, now: u64, core: u32, beats: u64, address: u32) -> (ReadId, u64) {
        self.seen = self.seen.max(now);
        let bank = self.bank(address);
        let id = self.booked.first_load + self.booked.loads.len() as u64;
        if self.free_at <= now && self.flows_until < now {
            // No burst is there: loads are read one after the other.
            let start = self.booked.free(Some(bank), now.max(self.loads_free_at));
            self.loads_free_at = start + beats;
            self.booked.loads.push_back(Load { core, ready: now, beats, bank, start });
            return (id, start);
        }
        self.booked.loads.push_back(Load { core, ready: now, beats, bank, start: u64::MAX });
        self.meets_loads();
        self.plan();
        let last = self.booked.loads.len() - 1;
        (id, self.booked.loads[last].start)
    }

    /// Brings `flow` to the last cycle that is sure, if there are loads for bursts to meet.
    fn meets_loads(&mut self) -> bool {
        if self.seen <= self.flows_until {
            self.settle();
            return true;
        }
        self.drop_done();
        let read = self.booked.loads.iter().take_while(|load| load.start < self.seen).count();
        if read == self.booked.loads.len() {
            return false;
        }
        // A load comes in a cycle before it can be read.
        let cycle = self.seen.saturating_sub(1);
        let through = self.booked.bursts.iter().take_while(|burst| burst.end <= cycle).count();
        let (burst, load) =
            (self.booked.first_burst + through as u64, self.booked.first_load + read as u64);
        self.flow.restart(cycle, &self.booked, burst, load);
        self.settle();
        true
    }

    /// Goes through the cycles that are sure.
    fn settle(&mut self) {
        while self.flow.cycle < self.seen {
            self.flow.step(&self.booked);
        }
        self.drop_done();
    }

    /// Works out when everything that was booked is read, if nothing more comes.
    fn plan(&mut self) {
        self.ahead.clone_from(&self.flow);
        let loads = self.booked.first_load + self.booked.loads.len() as u64;
        while self.ahead.loads_read < loads {
            let step = self.ahead.step(&self.booked);
            self.booked.note(self.ahead.cycle - 1, &step);
        }
        self.loads_free_at = self.ahead.cycle;
        self.flows_until = self.ahead.cycle + self.return_cycles + 1;
        // Bursts alone follow each other.
        let mut free_at = self.ahead.cycle;
        let (reading, left) = self.ahead.reading();
        let first = self.booked.first_burst;
        for index in 0..self.booked.bursts.len() {
            let (id, mut burst) = (first + index as u64, self.booked.bursts[index]);
            if reading == Some(id) {
                burst.end = self.booked.end_of(&burst, left, free_at);
            } else if id >= self.ahead.bursts_begun {
                self.place(&mut burst, free_at);
            } else {
                continue;
            }
            free_at = burst.end;
            self.booked.bursts[index] = burst;
        }
        self.free_at = self.booked.bursts.back().map_or(self.free_at, |burst| burst.end);
    }

    /// Gives the cycle a burst has gone through, as things stand; `None`: it was forgotten.
    #[inline]
    pub fn burst_end(&self, id: ReadId) -> Option<u64> {
        self.booked.burst(id).map(|burst| burst.end - self.lead_cycles)
    }

    /// Gives the cycle a load is read, as things stand; `None`: it was forgotten.
    pub fn load_start(&self, id: ReadId) -> Option<u64> {
        self.booked.load(id).map(|load| load.start)
    }

    /// Forgets a burst that has gone through, and those before it.
    #[inline]
    pub fn forget_burst(&mut self, id: ReadId) {
        self.done[Side::Stream as usize] = id + 1;
        self.drop_done();
    }

    /// Forgets a load that was read, and those before it.
    pub fn forget_load(&mut self, id: ReadId) {
        self.done[Side::Guest as usize] = id + 1;
        self.drop_done();
    }

    /// Drops what its owners have forgotten and `flow` has read.
    #[inline(always)]
    fn drop_done(&mut self) {
        let live = self.seen <= self.flows_until;
        let [bursts, loads] =
            [Side::Stream, Side::Guest].map(|side| match (live, self.done[side as usize]) {
                (true, done) => done.min(self.flow.unread(side)),
                (false, done) => done,
            });
        let booked = &mut self.booked;
        while booked.first_burst < bursts
            && let Some(burst) = booked.bursts.pop_front()
        {
            booked.first_burst += 1;
            if let Some(bank) = burst.bank {
                booked.note_read(bank, burst.end - burst.beats, burst.beats);
            }
        }
        while booked.first_load < loads
            && let Some(load) = booked.loads.pop_front()
        {
            booked.first_load += 1;
            booked.note_read(load.bank, load.start, 1);
        }
    }
}
