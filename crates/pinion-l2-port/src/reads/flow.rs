//! The port cycle by cycle: requests come in, wait in queues, and are read beat by beat.

use std::collections::VecDeque;
use std::mem;

use pinion_sim::turn_port::Side;

use super::{Booked, ReadId};

/// Places of the register in front of the memory. (RTL: spill_register of axi_demux.)
const GATE_PLACES: usize = 2;
/// Ids that requests on their way can have. (RTL: l2_xbar, AxiSlvPortMaxUniqIds.)
const IDS: usize = 8;

/// Names who reads: one reader's requests on their way have one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Engine(u32),
    Core(u32),
}

/// Describes a request that came in.
#[derive(Clone, Copy, Debug)]
struct Request {
    side: Side,
    read: ReadId,
    id: u8,
    beats: u64,
    came: u64,
}

/// Says what was read in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    /// A load.
    pub load: Option<ReadId>,
    /// The first beat of a burst.
    pub began: Option<ReadId>,
    /// The last beat of a burst.
    pub ended: Option<ReadId>,
}

/// Holds the port at the beginning of a cycle.
#[derive(Debug)]
pub struct Flow {
    /// The next cycle.
    pub cycle: u64,
    /// The next load to be read.
    pub loads_read: ReadId,
    /// The next burst to begin.
    pub bursts_begun: ReadId,
    /// By side: the next to come in.
    next: [ReadId; 2],
    /// Who came in last.
    last: Side,
    /// Who was chosen and could not come in.
    chosen: Option<Side>,
    gate: VecDeque<Request>,
    bursts: VecDeque<Request>,
    loads: VecDeque<Request>,
    /// The burst that is being read, and its beats that are left.
    reading: Option<(Request, u64)>,
    /// Whether its next beat waits in front of its bank: no load goes before it then.
    stands: bool,
    /// Cycles that the load read last still takes.
    loading: u64,
    /// By id: whose it is, and how many requests have it.
    ids: [Option<(Reader, u32)>; IDS],
    /// By the parity of their ids: requests on their way.
    on_way: [u32; 2],
    /// When what was read leaves, in order, and its id.
    leaving: VecDeque<(u64, u8)>,
    most_on_way: u32,
    return_cycles: u64,
}

impl Clone for Flow {
    fn clone(&self) -> Self {
        let [gate, bursts, loads] = [&self.gate, &self.bursts, &self.loads].map(Clone::clone);
        Self { gate, bursts, loads, leaving: self.leaving.clone(), ..*self }
    }

    /// Copies without allocating: this is done for each load.
    fn clone_from(&mut self, other: &Self) {
        let [mut gate, mut bursts, mut loads] =
            [&mut self.gate, &mut self.bursts, &mut self.loads].map(mem::take);
        let mut leaving = mem::take(&mut self.leaving);
        gate.clone_from(&other.gate);
        bursts.clone_from(&other.bursts);
        loads.clone_from(&other.loads);
        leaving.clone_from(&other.leaving);
        *self = Self { gate, bursts, loads, leaving, ..*other };
    }
}

impl Flow {
    /// Makes an idle port, which lets requests in while fewer than `most_on_way` of each parity are on
    /// their way; what was read is so for `return_cycles` more.
    pub fn new(most_on_way: u32, return_cycles: u64) -> Self {
        Self {
            cycle: 0,
            loads_read: 0,
            bursts_begun: 0,
            next: [0; 2],
            last: Side::Stream,
            chosen: None,
            gate: VecDeque::with_capacity(GATE_PLACES),
            bursts: VecDeque::new(),
            loads: VecDeque::new(),
            reading: None,
            stands: false,
            loading: 0,
            ids: [None; IDS],
            on_way: [0; 2],
            leaving: VecDeque::new(),
            most_on_way,
            return_cycles,
        }
    }

    /// Begins anew at a cycle, with the first burst that has not been read and the next load; bursts
    /// that could come in have done so.
    pub fn restart(&mut self, cycle: u64, booked: &Booked, burst: ReadId, load: ReadId) {
        self.cycle = cycle;
        (self.bursts_begun, self.loads_read, self.next) = (burst, load, [burst, load]);
        (self.last, self.chosen, self.reading, self.loading) = (Side::Stream, None, None, 0);
        self.stands = false;
        for queue in [&mut self.gate, &mut self.bursts, &mut self.loads] {
            queue.clear();
        }
        (self.ids, self.on_way) = ([None; IDS], [0; 2]);
        self.leaving.clear();
        while let Some(next) = booked.burst(self.next[Side::Stream as usize])
            && next.ready <= cycle
            && self.enter(Side::Stream, Reader::Engine(next.engine), next.beats, cycle - 1)
        {
            self.pass_gate(cycle);
        }
        if let Some(first) = booked.burst(burst).filter(|first| first.start < cycle) {
            let left = booked.beats_left(first, cycle);
            self.reading = self.bursts.pop_front().map(|request| (request, left));
            self.bursts_begun = burst + 1;
        }
    }

    /// Gives the burst that is being read, and its beats that are left.
    pub fn reading(&self) -> (Option<ReadId>, u64) {
        self.reading.map_or((None, 0), |(request, left)| (Some(request.read), left))
    }

    /// Gives the first of a side that has not been read to its end.
    pub fn unread(&self, side: Side) -> ReadId {
        match side {
            Side::Stream => self.bursts_begun - u64::from(self.reading.is_some()),
            Side::Guest => self.loads_read,
        }
    }

    /// Goes through a cycle.
    pub fn step(&mut self, booked: &Booked) -> Step {
        let now = self.cycle;
        self.cycle += 1;
        self.let_out(now);
        self.let_in(booked, now);
        self.pass_gate(now);
        self.read(booked, now)
    }

    /// Lets the first request behind the register, unless too many are on their way.
    fn pass_gate(&mut self, now: u64) {
        if let Some(&request) = self.gate.front()
            && request.came < now
            && self.on_way.iter().all(|&count| count < self.most_on_way)
        {
            self.gate.pop_front();
            self.on_way[usize::from(request.id & 1)] += 1;
            match request.side {
                Side::Stream => self.bursts.push_back(request),
                Side::Guest => self.loads.push_back(request),
            }
        }
    }

    /// Counts what has left no more; its id is free a cycle later.
    fn let_out(&mut self, now: u64) {
        while let Some(&(_, id)) = self.leaving.front().filter(|(at, _)| *at < now) {
            self.leaving.pop_front();
            let slot = &mut self.ids[usize::from(id)];
            *slot = match *slot {
                Some((reader, count)) if count > 1 => Some((reader, count - 1)),
                _ => None,
            };
        }
        for &(_, id) in self.leaving.iter().take_while(|(at, _)| *at == now) {
            self.on_way[usize::from(id & 1)] -= 1;
        }
    }

    /// Lets a request in: it comes in a cycle before it can be read.
    fn let_in(&mut self, booked: &Booked, now: u64) {
        let [burst, load] = self.next;
        let burst = booked.burst(burst).filter(|burst| burst.ready <= now + 1);
        let load = booked.load(load).filter(|load| load.ready <= now + 1);
        let side = match (self.chosen, burst, load) {
            (_, None, None) => return,
            (Some(side), ..) => side,
            (None, Some(_), Some(_)) if self.last == Side::Stream => Side::Guest,
            (None, None, Some(_)) => Side::Guest,
            (None, Some(_), _) => Side::Stream,
        };
        let (reader, beats) = match (side, burst, load) {
            (Side::Stream, Some(burst), _) => (Reader::Engine(burst.engine), burst.beats),
            (Side::Guest, _, Some(load)) => (Reader::Core(load.core), load.beats),
            _ => return,
        };
        self.chosen = match self.enter(side, reader, beats, now) {
            true => None,
            false => Some(side),
        };
    }

    /// Gives a request an id and a place in the register; `false`: there is none.
    fn enter(&mut self, side: Side, reader: Reader, beats: u64, now: u64) -> bool {
        let same = |id: &Option<(Reader, u32)>| id.is_some_and(|(whose, _)| whose == reader);
        let id = self.ids.iter().position(same).or(self.ids.iter().position(Option::is_none));
        let Some(id) = id.filter(|_| self.gate.len() < GATE_PLACES) else { return false };
        let count = self.ids[id].map_or(0, |(_, count)| count);
        self.ids[id] = Some((reader, count + 1));
        let read = self.next[side as usize];
        self.gate.push_back(Request { side, read, id: id as u8, beats, came: now });
        self.next[side as usize] += 1;
        self.last = side;
        true
    }

    /// Reads a load or, where none can go before it, a beat of a burst. Whose bank the NIC's side has waits, and with it all
    /// behind it. (RTL: axi_to_mem, whose requests stand in a register.)
    fn read(&mut self, booked: &Booked, now: u64) -> Step {
        let mut step = Step::default();
        let leaves = now + self.return_cycles;
        if self.loading > 0 {
            self.loading -= 1;
            return step;
        }
        let busy = self.reading.map(|(request, _)| request.id);
        let goes = |load: &&Request| busy != Some(load.id) && !self.stands;
        if let Some(&load) = self.loads.front().filter(goes) {
            if booked.load(load.read).is_some_and(|load| booked.nic_has(load.bank, now)) {
                return step;
            }
            self.loads.pop_front();
            self.loads_read = load.read + 1;
            self.leaving.push_back((leaves, load.id));
            step.load = Some(load.read);
            self.loading = load.beats.saturating_sub(1);
            return step;
        }
        if self.reading.is_none() {
            self.reading = self.bursts.pop_front().map(|request| (request, request.beats));
            if let Some((request, _)) = self.reading {
                self.bursts_begun = request.read + 1;
                step.began = Some(request.read);
            }
        }
        if let Some((request, left)) = &mut self.reading {
            let bank = booked.burst(request.read).and_then(|it| it.bank_of(it.beats - *left));
            self.stands = bank.is_some_and(|bank| booked.nic_has(bank, now));
            if self.stands {
                return step;
            }
            *left -= 1;
            if *left == 0 {
                step.ended = Some(request.read);
                self.leaving.push_back((leaves, request.id));
                self.reading = None;
            }
        }
        step
    }
}
