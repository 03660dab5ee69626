//! The way of several masters' bursts through AXI multiplexers to memories.
//!
//! In: requests to read, of masters that each have one id, and requests to write with the cycles in
//! which their data come. Out: the cycle in which each burst's last beat came back or was written.
//! Holds what waits and what is under way, and goes on cycle by cycle as it is told. A multiplexer lets
//! the readers' requests in by turns; two remappers of ids follow, and a demultiplexer to the memories'
//! ports, all without registers. Everybody shares this way, so who waits keeps others waiting: a
//! remapper that holds a request to read which nobody takes lets none to write pass, and the other way
//! round (`gate`); a master's burst to another memory than its last waits until that has answered; a
//! request to write is taken together with its first data only; and of all that the memories read, one
//! beat comes back in a cycle. (RTL: axi_mux, axi_id_remap, axi_demux, axi_to_mem_interleaved.)

use std::collections::VecDeque;

use crate::arbiter::{Requests, RoundRobin};
use gate::{Admission, Gate, Offer};
use memory_port::MemoryPort;

mod gate;
mod memory_port;
#[cfg(test)]
mod tests;

/// Bursts of one id that may be on their way behind the second remapper, reads and writes each (RTL:
/// cluster_noc, AxiMaxTxnsPerId).
const MOST_OPEN: u8 = 2;

/// A request of a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Cycle from which it is there.
    pub from: u64,
    /// Index of the memory.
    pub memory: u32,
    /// Beats, at least one.
    pub beats: u64,
    /// The line of the first of them in the memory; each is a line on from the one before.
    pub line: u64,
    /// What its owner calls it.
    pub token: u32,
}

/// Says which way a burst goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is read, for a master.
    Read(usize),
    /// It is written.
    Write,
}

/// Says that a burst has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What its owner calls it.
    pub token: u32,
    /// Which way it went.
    pub way: Way,
    /// Cycle in which its last beat came back, or was written.
    pub cycle: u64,
}

/// A request to write, in front of the way.
#[derive(Clone, Copy, Debug)]
struct Write {
    burst: Burst,
    /// Cycle in which its first data come; a beat follows in each.
    data_from: u64,
    /// When it was seen first: its data pass from the next cycle on.
    seen: Option<u64>,
    /// Whether the demultiplexer counts it.
    is_counted: bool,
}

/// A burst whose data are being written.
#[derive(Clone, Copy, Debug)]
struct Writing {
    memory: u32,
    left: u64,
    /// The line of the first of them.
    line: u64,
    data_from: u64,
    token: u32,
}

/// What the demultiplexer knows of an id: how many bursts are under way, and where to.
#[derive(Clone, Copy, Debug, Default)]
struct Bound {
    count: u8,
    memory: u32,
    /// Cycle of the last one's end.
    ended: u64,
}

impl Bound {
    /// Says whether a burst may pass: not to another memory before those under way have ended and
    /// `switch` cycles are over.
    fn lets(self, memory: u32, now: u64, switch: u64) -> bool {
        let is_free = self.count == 0 && now >= self.ended + switch;
        self.memory == memory || switch == 0 || is_free
    }

    fn add(&mut self, memory: u32) {
        self.count += 1;
        self.memory = memory;
    }

    fn remove(&mut self, now: u64) {
        self.count -= 1;
        self.ended = now;
    }
}

/// Holds the bursts of some masters.
#[derive(Clone, Debug)]
pub struct AxiPath {
    /// The first cycle that it has not gone through.
    now: u64,
    /// Cycles from the end of a master's bursts to the first of one to another memory.
    switch_cycles: u64,
    /// By master.
    reads: Vec<VecDeque<Burst>>,
    writes: VecDeque<Write>,
    /// The reader that the multiplexer has chosen and whose request was not taken.
    chosen: Option<usize>,
    readers: Requests,
    reader_turns: RoundRobin,
    /// The remappers, the outer one first.
    gates: [Gate; 2],
    /// Bursts behind the second: by master, and writes.
    open_reads: Vec<u8>,
    open_writes: u8,
    bound_reads: Vec<Bound>,
    bound_writes: Bound,
    ports: Vec<MemoryPort>,
    /// Memories that are in the middle of a burst to read.
    reading: Requests,
    /// Memories that have something to give back.
    responding: Requests,
    return_turns: RoundRobin,
    writing: Option<Writing>,
    /// Cycle of the last write's answer.
    answer_at: Option<u64>,
    ended: VecDeque<Ended>,
}

impl AxiPath {
    /// Makes an idle way of so many readers to so many memories, with the cycles from the end of a
    /// master's bursts to the first of one to another memory.
    pub fn new(readers: usize, memories: u32, switch_cycles: u64) -> Self {
        Self {
            now: 0,
            switch_cycles,
            reads: vec![VecDeque::new(); readers],
            writes: VecDeque::new(),
            chosen: None,
            readers: Requests::new(readers as u32),
            reader_turns: RoundRobin::default(),
            gates: [Gate::default(); 2],
            open_reads: vec![0; readers],
            open_writes: 0,
            bound_reads: vec![Bound::default(); readers],
            bound_writes: Bound::default(),
            ports: vec![MemoryPort::default(); memories as usize],
            reading: Requests::new(memories),
            responding: Requests::new(memories),
            return_turns: RoundRobin::default(),
            writing: None,
            answer_at: None,
            ended: VecDeque::new(),
        }
    }

    /// Lets a master ask to read, behind what it has asked for.
    pub fn read(&mut self, master: usize, burst: Burst) {
        self.reads[master].push_back(burst);
    }

    /// Takes a burst to write whose first data come in cycle `data_from`.
    pub fn write(&mut self, burst: Burst, data_from: u64) {
        self.writes.push_back(Write { burst, data_from, seen: None, is_counted: false });
    }

    /// Says whether a master has asked for something that has not come back.
    pub fn has_reads(&self, master: usize) -> bool {
        !self.reads[master].is_empty() || self.bound_reads[master].count > 0
    }

    /// Says whether something is to be written or was not answered.
    pub fn has_writes(&self) -> bool {
        !self.writes.is_empty() || self.bound_writes.count > 0
    }

    /// Goes through the cycles before `cycle`. Others may ask for the memories' lines too: `gives` says whether a memory
    /// gives this way a line in a cycle, and is asked in the order of cycles.
    #[inline]
    pub fn advance(&mut self, cycle: u64, mut gives: impl FnMut(u32, u64, u64) -> bool) {
        while self.now < cycle {
            if self.is_idle() {
                let next = self.next_request().unwrap_or(cycle).min(cycle);
                if next > self.now {
                    self.now = next;
                    continue;
                }
            }
            self.step(&mut gives);
        }
    }

    /// Says whether a burst has ended that was not taken.
    pub fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Takes the next burst that has ended.
    pub fn take_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    /// Gives the first cycle in which a burst can end, plus what `later` says for its way; `None`: there
    /// is none.
    pub fn next_end(&self, later: impl Fn(Way) -> u64) -> Option<u64> {
        let mut next = u64::MAX;
        for port in &self.ports {
            if let Some((master, cycles)) = port.next_end() {
                next = next.min(self.now + cycles + later(Way::Read(master)));
            }
        }
        for (master, reads) in self.reads.iter().enumerate() {
            if let Some(burst) = reads.front() {
                next = next.min(burst.from.max(self.now) + burst.beats + later(Way::Read(master)));
            }
        }
        let first = self.writes.front().map(|write| (write.data_from, write.burst.beats));
        let under_way = self.writing.map(|writing| (writing.data_from, writing.left));
        if let Some((data_from, left)) = under_way.or(first) {
            next = next.min(data_from.max(self.now) + left - 1 + later(Way::Write));
        }
        (next < u64::MAX).then_some(next)
    }

    /// Says whether nothing is under way but requests that have not come.
    fn is_idle(&self) -> bool {
        self.responding.is_empty()
            && self.reading.is_empty()
            && self.writing.is_none()
            && self.answer_at.is_none()
    }

    /// Gives the cycle of the first request.
    fn next_request(&self) -> Option<u64> {
        let reads = self.reads.iter().filter_map(VecDeque::front).map(|burst| burst.from);
        reads.chain(self.writes.front().map(|write| write.burst.from)).min()
    }

    /// Goes through a cycle.
    fn step(&mut self, gives: &mut impl FnMut(u32, u64, u64) -> bool) {
        let now = self.now;
        let returned = self.give_back(now);
        let is_answered = self.answer_at.take_if(|at| *at == now).is_some();

        let reader = self.choose_reader(now);
        let read = reader.and_then(|master| self.reads[master].front().copied());
        let at_gates = reader.zip(read).map(|(master, burst)| {
            let is_bound = self.bound_reads[master].lets(burst.memory, now, self.switch_cycles);
            Admission::new(self.gates, Gate::READ, self.open_reads[master], is_bound)
        });
        let write = self.see_write(now);
        let write_at_gates = write.map(|write| {
            let lets = self.bound_writes.lets(write.burst.memory, now, self.switch_cycles);
            let is_bound = write.is_counted || lets;
            Admission::new(self.gates, Gate::WRITE, self.open_writes, is_bound)
        });

        let asking = read.filter(|_| at_gates.is_some_and(|it| it.reaches_memory));
        let arrived = write.filter(|_| write_at_gates.is_some_and(|it| it.reaches_memory));
        let data = self.data_for(now, arrived);
        let popped = returned.map(|(memory, _)| memory);
        let (read_taken, written) = self.access(reader.zip(asking), data, popped, gives);
        let write_taken = written && self.writing.is_none();

        if let (Some(master), Some(at_gates)) = (reader, at_gates) {
            self.open_reads[master] += u8::from(at_gates.is_new_behind_second);
            self.chosen = (!read_taken).then_some(master);
            if read_taken && let Some(burst) = self.reads[master].pop_front() {
                self.bound_reads[master].add(burst.memory);
            }
        }
        if let (Some(at_gates), Some(first)) = (write_at_gates, self.writes.front_mut()) {
            self.open_writes += u8::from(at_gates.is_new_behind_second);
            if at_gates.reaches_memory && !std::mem::replace(&mut first.is_counted, true) {
                self.bound_writes.add(first.burst.memory);
            }
        }
        if written {
            self.write_beat(now);
        }
        let offers = at_gates.map_or([Offer::None; 2], |it| it.offers(read_taken));
        let write_offers = write_at_gates.map_or([Offer::None; 2], |it| it.offers(write_taken));
        for (gate, (read, write)) in self.gates.iter_mut().zip(offers.into_iter().zip(write_offers))
        {
            *gate = Gate::after(read, write);
        }

        if let Some((_, Some(master))) = returned {
            self.open_reads[master] -= 1;
            self.bound_reads[master].remove(now);
        }
        if is_answered {
            self.open_writes -= 1;
            self.bound_writes.remove(now);
        }
        self.now = now + 1;
    }

    /// Lets one memory give a beat back; gives it, and the master whose burst that ends.
    fn give_back(&mut self, now: u64) -> Option<(u32, Option<usize>)> {
        let memory = self.return_turns.grant(&self.responding)?;
        let last = self.ports[memory as usize].give_back();
        if let Some((master, token)) = last {
            self.ended.push_back(Ended { token, way: Way::Read(master), cycle: now });
        }
        Some((memory, last.map(|(master, _)| master)))
    }

    /// Chooses whose request to read is offered; it stays so until it is taken.
    fn choose_reader(&mut self, now: u64) -> Option<usize> {
        if self.chosen.is_some() {
            return self.chosen;
        }
        for (master, reads) in self.reads.iter().enumerate() {
            let asks = reads.front().is_some_and(|burst| burst.from <= now);
            self.readers.set(master as u32, asks);
        }
        self.reader_turns.grant(&self.readers).map(|master| master as usize)
    }

    /// Gives the first request to write, if it is there.
    fn see_write(&mut self, now: u64) -> Option<Write> {
        let first = self.writes.front_mut().filter(|write| write.burst.from <= now)?;
        first.seen.get_or_insert(now);
        Some(*first)
    }

    /// Gives the memory for which there are data: those of the burst that is being written, or the first
    /// of one whose request has arrived there.
    fn data_for(&self, now: u64, arrived: Option<Write>) -> Option<(u32, u64)> {
        if let Some(writing) = self.writing {
            return (writing.data_from <= now).then_some((writing.memory, writing.line));
        }
        let passes =
            |write: &Write| write.data_from <= now && write.seen.is_some_and(|at| at < now);
        arrived.filter(passes).map(|write| (write.burst.memory, write.burst.line))
    }

    /// Lets every memory serve a beat; says whether it took the request to read, and the data.
    fn access(
        &mut self,
        asking: Option<(usize, Burst)>,
        data: Option<(u32, u64)>,
        popped: Option<u32>,
        gives: &mut impl FnMut(u32, u64, u64) -> bool,
    ) -> (bool, bool) {
        let now = self.now;
        let (mut read_taken, mut written) = (false, false);
        let asked = asking.map(|(_, burst)| burst.memory);
        if let Some((memory, line)) = data.filter(|&(memory, _)| Some(memory) != asked) {
            let port = &mut self.ports[memory as usize];
            let reads = port.asks();
            let (read, write) = port.serve(reads, Some(line), |line| gives(memory, line, now));
            written = write;
            self.note_access(memory, read);
        }
        if let Some((master, burst)) = asking {
            let memory = burst.memory;
            let port = &mut self.ports[memory as usize];
            let is_free = !port.is_reading();
            let reads = if is_free { port.has_room().then_some(burst.line) } else { port.asks() };
            let writes = data.filter(|&(to, _)| to == memory).map(|(_, line)| line);
            let (read, write) = port.serve(reads, writes, |line| gives(memory, line, now));
            written |= write;
            read_taken = read && is_free;
            if read_taken {
                port.take(master, burst);
            }
            self.note_access(memory, read);
        }
        let mut from = 0;
        while let Some(memory) = self.reading.first_from(from) {
            from = memory + 1;
            if Some(memory) != data.map(|(memory, _)| memory) && Some(memory) != asked {
                let port = &mut self.ports[memory as usize];
                let reads = port.asks();
                let (read, _) = port.serve(reads, None, |line| gives(memory, line, now));
                self.note_access(memory, read);
            }
        }
        if let Some(memory) = popped {
            self.responding.set(memory, self.ports[memory as usize].responds());
        }
        (read_taken, written)
    }

    /// Notes what a memory did in a cycle.
    fn note_access(&mut self, memory: u32, read: bool) {
        let port = &mut self.ports[memory as usize];
        if read {
            port.read_beat();
        }
        self.reading.set(memory, port.is_reading());
        self.responding.set(memory, port.responds());
    }

    /// Writes a beat.
    fn write_beat(&mut self, now: u64) {
        let under_way = self.writing.take().or_else(|| {
            let Write { burst, data_from, .. } = self.writes.pop_front()?;
            let Burst { memory, beats: left, line, token, .. } = burst;
            Some(Writing { memory, left, line, data_from, token })
        });
        let Some(mut writing) = under_way else { return };
        writing.left -= 1;
        writing.line += 1;
        writing.data_from += 1;
        if writing.left > 0 {
            self.writing = Some(writing);
            return;
        }
        self.ended.push_back(Ended { token: writing.token, way: Way::Write, cycle: now });
        self.answer_at = Some(now + 1);
    }
}
