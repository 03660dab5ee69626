//! The clusters' port to read L2 packet memory.
//!
//! In: bursts of the DMA engines and single reads, the cores' loads. Out: when each is read. A load goes
//! before a burst's next beat. The port takes one request in a cycle, in turns where both sides wait,
//! and none while too many are on their way: requests are counted by the parity of their ids, which
//! are given from the lowest on, one to each engine and each core. A request that is booked later may
//! move those that wait, so owners look again when theirs has come. (RTL: l2_xbar, axi_id_remap,
//! axi_demux and axi_to_mem; a load's quality of service is above a burst's.)

use std::collections::VecDeque;

use pinion_sim::turn_port::Side;

use pinion_spin_machine::Machine;

mod flow;

use flow::{Flow, Step};

/// Names a burst or a load: each kind counts up.
pub type ReadId = u64;

/// Holds a burst; cycles are the port's, in which it comes later than its engine says.
#[derive(Clone, Copy, Debug)]
struct Burst {
    engine: u32,
    ready: u64,
    beats: u64,
    start: u64,
    end: u64,
    /// The bank of its first beat, if it reads the packet buffer.
    bank: Option<u64>,
}

/// Holds a packet that is written to the packet buffer: from this cycle of the port on, a beat a cycle.
#[derive(Clone, Copy, Debug)]
struct Write {
    from: u64,
    beats: u64,
    bank: u64,
}

/// Cycles from the one in which a read's first beat could go to that in which a packet's beat is written to the same
/// bank, as the inbound engine counts (RTL: axi_buf, axi_to_mem_banked_2p; rows empty-burst_64, to_host_l1-burst_64).
const WRITE_LEAD_CYCLES: u64 = 6;
/// Cycles for which a write is remembered after its last beat: a burst is placed anew from its start.
const LATE_CYCLES: u64 = 64;

/// Holds a load.
#[derive(Clone, Copy, Debug)]
struct Load {
    core: u32,
    ready: u64,
    beats: u64,
    start: u64,
}

/// Holds what was booked and has not been forgotten: names count on from the first.
#[derive(Clone, Debug, Default)]
struct Booked {
    bursts: VecDeque<Burst>,
    first_burst: ReadId,
    loads: VecDeque<Load>,
    first_load: ReadId,
}

impl Booked {
    fn burst(&self, id: ReadId) -> Option<&Burst> {
        self.bursts.get(id.checked_sub(self.first_burst)? as usize)
    }

    fn load(&self, id: ReadId) -> Option<&Load> {
        self.loads.get(id.checked_sub(self.first_load)? as usize)
    }

    fn burst_mut(&mut self, id: Option<ReadId>) -> Option<&mut Burst> {
        self.bursts.get_mut(id?.checked_sub(self.first_burst)? as usize)
    }

    /// Notes what a cycle has brought.
    fn note(&mut self, cycle: u64, step: &Step) {
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
    /// What is being written, of late and in the order of its begin: much of it may come later.
    writes: VecDeque<Write>,
    banks: u64,
    bank_bytes: u32,
    lead_cycles: u64,
    return_cycles: u64,
}

impl ReadPort {
    /// Makes an idle port.
    pub fn new(machine: &Machine) -> Self {
        let flow = Flow::new(machine.dma.port_reads, machine.dma.port_return_cycles);
        Self {
            booked: Booked::default(),
            ahead: flow.clone(),
            flow,
            flows_until: 0,
            loads_free_at: 0,
            free_at: 0,
            seen: 0,
            done: [0; 2],
            writes: VecDeque::new(),
            banks: u64::from(machine.l2_packet.banks),
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

    fn bank(&self, address: u32) -> u64 {
        u64::from(address / self.bank_bytes) % self.banks
    }

    /// Says when a burst is read, where the port is free from a cycle on: a beat waits while its bank is
    /// written.
    fn place(&self, burst: &mut Burst, free_at: u64) {
        let mut cycle = burst.ready.max(free_at);
        (burst.start, burst.end) = (cycle, cycle + burst.beats);
        let Some(bank) = burst.bank else { return };
        let begun = self.writes.range(..self.writes.partition_point(|one| one.from < burst.end));
        let mut lately = begun.rev().take_while(|write| write.from + write.beats > cycle);
        if !lately.any(|write| self.meets(burst, bank, write)) {
            return; // nearly always
        }
        for beat in 0..burst.beats {
            while self.is_written((bank + beat) % self.banks, cycle) {
                cycle += 1;
            }
            if beat == 0 {
                burst.start = cycle;
            }
            cycle += 1;
        }
        burst.end = cycle;
    }

    /// Tells whether a burst may read a bank while a packet is written to it. Both go on by a bank a cycle.
    fn meets(&self, burst: &Burst, bank: u64, write: &Write) -> bool {
        let first = burst.start.max(write.from);
        let waited = burst.end - burst.start > burst.beats;
        let (read, written) = (bank + first - burst.start, write.bank + first - write.from);
        first < burst.end.min(write.from + write.beats)
            && (waited || read % self.banks == written % self.banks)
    }

    fn is_written(&self, bank: u64, cycle: u64) -> bool {
        self.writes.iter().any(|write| {
            let beat = cycle.wrapping_sub(write.from);
            beat < write.beats && (write.bank + beat) % self.banks == bank
        })
    }

    /// Notes that a packet is written to an address of the packet buffer in the inbound engine's cycles from
    /// `start` on: bursts that would read its banks meanwhile wait. While cores load from there, that is
    /// left out.
    pub fn note_write(&mut self, now: u64, start: u64, beats: u64, address: u32) {
        let from = (start + self.lead_cycles).saturating_sub(WRITE_LEAD_CYCLES);
        while self.writes.front().is_some_and(|write| write.from + write.beats + LATE_CYCLES < now)
        {
            self.writes.pop_front();
        }
        let write = Write { from, beats, bank: self.bank(address) };
        self.writes.push_back(write);
        if self.seen.max(now) <= self.flows_until {
            return;
        }
        let bursts = self.booked.bursts.iter().enumerate().rev();
        let later = bursts.take_while(|(_, burst)| burst.end > from);
        let met = later.filter(|(_, it)| it.bank.is_some_and(|bank| self.meets(it, bank, &write)));
        let Some((first, _)) = met.last() else { return };
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

    /// Books a load of `beats` cycles that core `core` could make at cycle `now`; gives its name and the cycle it is
    /// read, as things stand.
    pub fn book_load(&mut self, now: u64, core: u32, beats: u64) -> (ReadId, u64) {
        self.seen = self.seen.max(now);
        let id = self.booked.first_load + self.booked.loads.len() as u64;
        if self.free_at <= now && self.flows_until < now {
            // No burst is there: loads are read one after the other.
            let start = now.max(self.loads_free_at);
            self.loads_free_at = start + beats;
            self.booked.loads.push_back(Load { core, ready: now, beats, start });
            return (id, start);
        }
        self.booked.loads.push_back(Load { core, ready: now, beats, start: u64::MAX });
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
        for (index, burst) in self.booked.bursts.iter_mut().enumerate() {
            let id = first + index as u64;
            if reading == Some(id) {
                burst.end = free_at + left;
            } else if id >= self.ahead.bursts_begun {
                burst.start = burst.ready.max(free_at);
                burst.end = burst.start + burst.beats;
            } else {
                continue;
            }
            free_at = burst.end;
        }
        self.free_at = self.booked.bursts.back().map_or(self.free_at, |burst| burst.end);
    }

    /// Gives the cycle a burst has gone through, as things stand; `None`: it was forgotten.
    pub fn burst_end(&self, id: ReadId) -> Option<u64> {
        self.booked.burst(id).map(|burst| burst.end - self.lead_cycles)
    }

    /// Gives the cycle a load is read, as things stand; `None`: it was forgotten.
    pub fn load_start(&self, id: ReadId) -> Option<u64> {
        self.booked.load(id).map(|load| load.start)
    }

    /// Forgets a burst that has gone through, and those before it.
    pub fn forget_burst(&mut self, id: ReadId) {
        self.done[Side::Stream as usize] = id + 1;
        self.drop_done();
    }

    /// Forgets a load that was read, and those before it.
    pub fn forget_load(&mut self, id: ReadId) {
        self.done[Side::Guest as usize] = id + 1;
        self.drop_done();
    }

    /// Drops what its owners have forgotten and `flow` does not want any more.
    fn drop_done(&mut self) {
        let live = self.seen <= self.flows_until;
        let [bursts, loads] =
            [Side::Stream, Side::Guest].map(|side| match (live, self.done[side as usize]) {
                (true, done) => done.min(self.flow.next(side)),
                (false, done) => done,
            });
        let booked = &mut self.booked;
        while booked.first_burst < bursts && booked.bursts.pop_front().is_some() {
            booked.first_burst += 1;
        }
        while booked.first_load < loads && booked.loads.pop_front().is_some() {
            booked.first_load += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pinion_sim::random::SplitMix64;

    fn port() -> ReadPort {
        let text = include_str!("../../../../machines/pspin.toml");
        let read = pinion_sim::config::load("pspin.toml", text, &[]).expect("a valid machine");
        let mut machine: Machine = read.value;
        machine.dma.port_lead_cycles = 0;
        ReadPort::new(&machine)
    }

    #[test]
    fn bursts_alone_stream() {
        let mut port = port();
        let ends: Vec<u64> =
            (0..4).map(|engine| port.book_burst(10, engine, (10, 8), None).1).collect();
        assert_eq!(ends, [18, 26, 34, 42]);
    }

    #[test]
    fn loads_alone_are_read_one_in_a_cycle() {
        let mut port = port();
        let starts: Vec<u64> = (0..4).map(|core| port.book_load(10, core, 1).1).collect();
        assert_eq!(starts, [10, 11, 12, 13]);
    }

    /// A packet's beat that is written to a burst's bank in its cycle goes first, and what waits behind the
    /// burst comes later; other banks are no matter.
    #[test]
    fn a_beat_waits_while_its_bank_is_written() {
        let ends = |offset: u32| {
            let mut port = port();
            let read = [0, 1].map(|engine| {
                port.book_burst(100, engine, (100, 4), Some(0x1c40_0000 + 256 * engine)).0
            });
            // The inbound engine's cycle 108 is the port's 102.
            port.note_write(101, 108, 1, 0x1c40_0000 + 32 * 64 + offset);
            read.map(|burst| port.burst_end(burst).expect("booked"))
        };
        assert_eq!(ends(128), [105, 109], "the third beat of the first");
        assert_eq!(ends(192), [104, 108], "the fourth one's bank, a cycle too soon");
    }

    /// A load takes a beat's place, and the burst ends a cycle later.
    #[test]
    fn a_load_goes_before_the_next_beat() {
        let mut port = port();
        let (burst, end) = port.book_burst(10, 0, (10, 8), None);
        assert_eq!(end, 18);
        assert_eq!(port.book_load(13, 5, 1).1, 13);
        assert_eq!(port.burst_end(burst), Some(19));
    }

    /// Where three bursts of even ids, or of odd ones, are on their way, a load waits until one of them
    /// has been read; then loads and bursts come in in turns (rows swap_l2-burst_512 and
    /// swap_l2-spread_512).
    #[test]
    fn a_load_waits_while_too_many_are_on_their_way() {
        let loads = |engines: &[u32]| {
            let mut port = port();
            for &engine in engines {
                port.book_burst(10, engine, (10, 8), None);
            }
            let ids = [5, 6, 7].map(|core| port.book_load(12, core, 1).0);
            ids.map(|id| port.load_start(id).expect("booked"))
        };
        // Bursts 0 and 2 and the second load have even ids: the third waits until a load has left.
        assert_eq!(loads(&[0, 1, 2]), [12, 13, 15]);
        let starts = loads(&[0, 1, 2, 3, 0, 1, 2, 3]);
        assert!(starts[0] > 18 + 8, "behind two bursts at the gate: {starts:?}");
        assert!(starts[1] > starts[0] + 8, "in turns: {starts:?}");
    }

    /// In each cycle one thing at most is read; bursts take their beats and the loads within them.
    #[test]
    fn random_reads_keep_the_rules() {
        for seed in 0..200 {
            let mut stream = SplitMix64::new(seed);
            let mut random = |below: u64| stream.draw() % below;
            let (mut port, mut now) = (port(), 0);
            let (mut bursts, mut loads) = (Vec::new(), Vec::new());
            // What is on its way: when owners look again.
            for _ in 0..300 {
                now += random(9);
                if random(3) == 0 {
                    let beats = 1 + random(16);
                    let (id, _) = port.book_burst(now, random(4) as u32, (now, beats), None);
                    bursts.push((id, now, beats));
                } else {
                    loads.push((port.book_load(now, random(32) as u32, 1).0, now));
                }
            }
            let starts: Vec<u64> =
                loads.iter().map(|&(id, _)| port.load_start(id).expect("kept")).collect();
            assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}: {starts:?}");
            assert!(starts.iter().zip(&loads).all(|(start, load)| *start >= load.1), "seed {seed}");
            let mut free_at = 0;
            for &(id, ready, beats) in &bursts {
                let end = port.burst_end(id).expect("kept");
                let begin = free_at.max(ready);
                let within = starts.iter().filter(|at| (begin..end).contains(*at)).count() as u64;
                assert!(end <= begin + beats + within + 12, "seed {seed}: {begin} {end} {beats}");
                assert!(end >= begin + beats, "seed {seed}: {begin} {end} {beats}");
                free_at = end;
            }
        }
    }

    /// Owners that forget what was read change nothing for the others.
    #[test]
    fn forgetting_changes_nothing() {
        for seed in 0..100 {
            let mut stream = SplitMix64::new(seed);
            let mut random = |below: u64| stream.draw() % below;
            let (mut keeps, mut forgets, mut now) = (port(), port(), 0);
            let mut loads: VecDeque<ReadId> = VecDeque::new();
            for step in 0..400 {
                now += random(4);
                while let Some(&id) = loads.front()
                    && forgets.load_start(id).is_some_and(|start| start < now)
                {
                    assert_eq!(keeps.load_start(id), forgets.load_start(id), "{seed}, {step}");
                    forgets.forget_load(id);
                    loads.pop_front();
                }
                if random(4) == 0 {
                    let (engine, beats) = (random(4) as u32, 1 + random(8));
                    let (kept, other) = (
                        keeps.book_burst(now, engine, (now, beats), None),
                        forgets.book_burst(now, engine, (now, beats), None),
                    );
                    assert_eq!(kept, other, "{seed}, {step}");
                } else {
                    let core = random(32) as u32;
                    let (kept, other) =
                        (keeps.book_load(now, core, 1), forgets.book_load(now, core, 1));
                    assert_eq!(kept, other, "{seed}, {step}");
                    loads.push_back(other.0);
                }
            }
        }
    }
}
