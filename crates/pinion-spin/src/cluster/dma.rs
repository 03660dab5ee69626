//! A cluster's DMA engine: packet copies from L2 and the transfers that cores ask for.
//!
//! In: transfers, in order. Out: their completion cycles. Holds the queue of one engine; reads of L2 go
//! through [`ReadMux`] to the port that all clusters share. Makes nobody wait but later transfers. (Paper §III-B2; RTL: cluster DMA, dma_noc; latency 11 + beats.)

use std::collections::VecDeque;

use super::Clusters;
use super::dma_beside as beside;
use super::tcdm_interconnect;
use crate::listener::Listener;
use crate::machine::DmaReach;
use crate::memory::Place;
use crate::shared::{Shared, unit};
use crate::wake::{Due, Wake};
use crate::{Machine, UnitEventKind};
use pinion_l2_port::mux::ReadMux;
use pinion_l2_port::reads::{ReadId, ReadPort};
use pinion_sim::superbanks::{Beats, Superbanks};
use transfer::reaches;
pub use transfer::{Requester, Route, Transfer};

mod superbanks;
pub(super) mod transfer;

/// What the error slave answers that stands where an engine does not reach (measured).
pub const ERROR_WORD: u32 = 0xbadc_ab1e;
/// Cycles from the end of a read of L2 to that of the next one: the engine's two sides take turns
/// (calibration row `empty-burst_64`).
const SHORTEST_CYCLES: u64 = 2;
/// AXI bursts do not cross pages.
const PAGE_BYTES: u32 = 4096;

/// Grants the port between the clusters and L2, one direction each.
#[derive(Clone, Debug)]
pub struct SharedPorts {
    /// Where the engines' reads of L2 come together.
    pub mux: ReadMux,
    /// When that looks again.
    pub mux_wake: Wake,
    /// Reads of L2: the engines' bursts, and between them the cores' loads from packet memory.
    pub reads: ReadPort,
    write_free_at: u64,
}

impl SharedPorts {
    /// Makes idle ports.
    pub fn new(machine: &Machine) -> Self {
        let mux = ReadMux::new(machine.cluster.count);
        Self { mux, mux_wake: Wake::default(), reads: ReadPort::new(machine), write_free_at: 0 }
    }
}

/// Holds what an engine issues at a time.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What it moves.
    pub transfer: Transfer,
    /// The address at which the whole transfer begins.
    pub begins: u32,
    /// Whether the whole transfer is done with it.
    pub last: bool,
}

/// Holds a part that was issued.
#[derive(Clone, Copy, Debug)]
struct Running {
    part: Part,
    done: u64,
    /// Its read of L2, the cycles from that's end to its own, and those from the one before it.
    read: Option<(ReadId, u64, u64)>,
    /// Its beats in the own L1, if it goes there.
    beats: Option<Beats>,
}

impl Running {
    /// Gives when it is done, as things stand; the read before it of L2 is so at cycle `before`.
    #[inline]
    fn done(&self, before: u64, ports: &SharedPorts) -> u64 {
        let late = self.beats.map_or(0, |beats| beats.late);
        let Some((burst, after, behind)) = self.read else { return self.done + late };
        // Its read may have been moved meanwhile.
        let end = ports.reads.burst_end(burst).map_or(self.done, |end| end + after);
        end.max(before + behind) + late
    }
}

/// Holds one cluster's engine.
#[derive(Clone, Debug)]
pub struct ClusterDma {
    waiting: VecDeque<Part>,
    running: VecDeque<Running>,
    /// Half cycles from which the engine can issue the next transfer.
    issue_from_halves: u64,
    last_done: u64,
    /// When the last of its reads of L2 was done: to be so, and really.
    last_read: [u64; 2],
    /// Who had the superbanks of L1 last.
    superbanks: Superbanks,
    /// Its reads of L2 that may be on their way, and cycles from a read's last beat to its end there.
    most_reads: usize,
    read_end_cycles: u64,
    index: u32,
    port_bytes: u32,
    latency_cycles: u64,
    burst_overhead_halves: u64,
    core_latency_cycles: u64,
    local_beat_cycles: u64,
    handler_memory_cycles: u64,
    source_switch_cycles: u64,
    /// When it issues the next transfer.
    pub issues: Wake,
}

/// Says when a transfer that was issued moves its data and when it is done.
#[derive(Clone, Copy, Debug)]
pub struct Issued {
    /// The part.
    pub part: Part,
    /// Cycle of its first beat.
    pub first_beat: u64,
    /// Its beats.
    pub beats: u64,
    /// Cycle of its completion.
    pub done: u64,
}

impl ClusterDma {
    /// Makes the idle engine of cluster `index`.
    pub fn new(machine: &Machine, index: u32) -> Self {
        Self {
            waiting: VecDeque::with_capacity(64),
            running: VecDeque::with_capacity(64),
            issue_from_halves: 0,
            last_done: 0,
            last_read: [0; 2],
            superbanks: Superbanks::new(tcdm_interconnect::superbanks(machine)),
            most_reads: machine.dma.engine_reads as usize,
            read_end_cycles: machine.dma.port_return_cycles + 1,
            index,
            port_bytes: machine.dma.port_bytes,
            latency_cycles: machine.dma.latency_cycles,
            burst_overhead_halves: machine.dma.burst_overhead_halves,
            core_latency_cycles: machine.dma.core_latency_cycles,
            local_beat_cycles: machine.dma.local_beat_cycles,
            handler_memory_cycles: machine.dma.handler_memory_cycles,
            source_switch_cycles: machine.dma.source_switch_cycles,
            issues: Wake::default(),
        }
    }

    /// Queues a transfer; says whether no other waits.
    #[inline(always)]
    pub fn request(&mut self, mut transfer: Transfer) -> bool {
        let waits = !self.waiting.is_empty();
        let begins = transfer.from;
        // Reads of L2 are bursts of their own to either side of a page's end.
        while self.read_cycles(&transfer, 1).is_some()
            && let first = PAGE_BYTES - transfer.from % PAGE_BYTES
            && first < transfer.bytes
        {
            let part = Transfer { bytes: first, ..transfer };
            self.waiting.push_back(Part { transfer: part, begins, last: false });
            transfer.from += first;
            transfer.to += first;
            transfer.bytes -= first;
        }
        self.waiting.push_back(Part { transfer, begins, last: true });
        !waits
    }

    /// Says from when on the next transfer can be issued, and whether it reads L2.
    pub fn next(&self) -> Option<(u64, bool)> {
        let part = self.waiting.front()?;
        let reads = self.read_cycles(&part.transfer, 1).is_some();
        Some((self.issue_from_halves.div_ceil(2), reads))
    }

    /// Issues the next transfer.
    pub fn issue(&mut self, now: u64, ports: &mut SharedPorts) -> Option<Issued> {
        let part = self.waiting.pop_front()?;
        let transfer = part.transfer;
        let beat = |address: u32| {
            let span = u64::from(address % self.port_bytes) + u64::from(transfer.bytes);
            span.div_ceil(u64::from(self.port_bytes))
        };
        let mut beats = beat(transfer.from).max(beat(transfer.to)).max(1);
        let mut start = now;
        match transfer.route {
            Route::ToL2 | Route::WithinL2 => start = start.max(ports.write_free_at),
            Route::Local => beats *= self.local_beat_cycles,
            Route::FromL2 | Route::FromHandlerMemory | Route::Remote => {}
        }
        let extra = match transfer.requester {
            Requester::Scheduler => 0,
            Requester::Core(_) => self.core_latency_cycles,
        };
        let (read, issue_from_halves) = match self.read_cycles(&transfer, beats) {
            Some(cycles) => {
                let place = (transfer.route == Route::FromL2).then_some(transfer.from);
                let (burst, end) = ports.reads.book_burst(now, self.index, (start, cycles), place);
                start = end - cycles;
                let behind = beats.max(SHORTEST_CYCLES);
                (Some((burst, end, behind)), 2 * (now + 1))
            }
            None => {
                // It goes through behind what is read of L2, and reads L1 when that has come back.
                let switch = match transfer.route {
                    Route::Local | Route::ToL2 => self.source_switch_cycles,
                    _ => 0,
                };
                start = start.max(self.reads_end(ports) + switch);
                (None, 2 * start + self.service_halves(&transfer, beats))
            }
        };
        if matches!(transfer.route, Route::ToL2 | Route::WithinL2) {
            ports.write_free_at = start + beats;
        }
        self.issue_from_halves = self.issue_from_halves.max(issue_from_halves);
        let mut done = start + self.latency_cycles + beats + extra;
        let read = read.map(|(burst, end, behind)| {
            let after = done - end;
            done = done.max(self.last_read[0] + behind);
            self.last_read[0] = done;
            (burst, after, behind)
        });
        done = done.max(self.last_done);
        self.last_done = done;
        self.running.push_back(Running { part, done, read, beats: None });
        Some(Issued { part, first_beat: done - beats - 1, beats, done })
    }

    /// Gives the cycles of L2's port that a transfer of some beats takes, if it reads L2.
    fn read_cycles(&self, transfer: &Transfer, beats: u64) -> Option<u64> {
        match transfer.route {
            Route::FromL2 | Route::WithinL2 => Some(beats),
            Route::FromHandlerMemory => Some(beats + self.handler_memory_cycles),
            Route::ToL2 | Route::Local | Route::Remote => None,
        }
    }

    /// Gives the cycle before which no other read of L2 may be on its way, as things stand.
    #[inline(always)]
    pub fn reads_from(&self, now: u64, ports: &SharedPorts) -> u64 {
        if self.running.len() < self.most_reads {
            return now; // nearly always
        }
        // They end one after the other.
        let ends = self.running.iter().rev().filter_map(|running| {
            Some(ports.reads.burst_end(running.read?.0)? + self.read_end_cycles)
        });
        let ends = ends.take_while(|&end| end > now);
        let (count, first) =
            ends.fold((0, u64::MAX), |(count, first), end| (count + 1, first.min(end)));
        if count < self.most_reads { now } else { first }
    }

    /// Gives the cycle its last read of L2 has gone through, as things stand; 0 if none is under way.
    fn reads_end(&self, ports: &SharedPorts) -> u64 {
        let mut reads = self.running.iter().rev().filter_map(|running| running.read);
        reads.next().and_then(|(burst, ..)| ports.reads.burst_end(burst)).unwrap_or(0)
    }

    /// Gives the half cycles for which a transfer keeps the engine: each of its bursts, which end at
    /// page boundaries, takes its beats, but short ones more: the engine's two sides take turns.
    fn service_halves(&self, transfer: &Transfer, beats: u64) -> u64 {
        let to_page = u64::from((PAGE_BYTES - transfer.from % PAGE_BYTES) / self.port_bytes);
        let first = beats.min(to_page.max(1));
        let burst = |beats: u64| (2 * beats).max(beats + self.burst_overhead_halves);
        let rest = beats - first;
        burst(first) + if rest > 0 { burst(rest) } else { 0 }
    }

    /// Describes what it has to do.
    pub fn describe(&self) -> String {
        format!("{} transfers wait, {} under way", self.waiting.len(), self.running.len())
    }

    /// Takes the part that completes at cycle `now`: they do so in the order they were issued.
    ///
    /// # Errors
    /// The cycle at which the next one completes, if that is later: others went before it.
    pub fn complete(&mut self, now: u64, ports: &mut SharedPorts) -> Result<Option<Part>, u64> {
        let Some(first) = self.running.front() else { return Ok(None) };
        let done = first.done(self.last_read[1], ports);
        if done > now {
            return Err(done);
        }
        if let Some(beats) = first.beats {
            self.superbanks.engine_had(&beats, done, beats.count);
        }
        if let Some((burst, ..)) = first.read {
            self.last_read[1] = now;
            ports.reads.forget_burst(burst);
        }
        Ok(self.running.pop_front().map(|running| running.part))
    }
}

impl Clusters {
    /// Queues a transfer in a cluster's DMA engine.
    #[inline(always)]
    pub fn request_dma(&mut self, shared: &mut Shared, now: u64, cluster: u32, transfer: Transfer) {
        beside::show(shared, now, cluster, &transfer);
        if self.each[cluster as usize].dma.request(transfer) {
            self.offer_transfer(shared, now, cluster);
        }
    }

    /// Lets a cluster's DMA engine ask for its next transfer, from cycle `from` on.
    #[inline(always)]
    fn offer_transfer(&mut self, shared: &mut Shared, from: u64, cluster: u32) {
        let engine = &mut self.each[cluster as usize].dma;
        match engine.next() {
            None => {}
            Some((at, true)) => {
                let at = at.max(from);
                self.dma_ports.mux.ask(at, cluster);
                self.wake_dma_read(shared, at + 1);
            }
            Some((at, false)) => {
                shared.wake(&mut engine.issues, at.max(from), Due::DmaIssue(cluster));
            }
        }
    }

    fn wake_dma_read(&mut self, shared: &mut Shared, cycle: u64) {
        shared.wake(&mut self.dma_ports.mux_wake, cycle, Due::DmaRead);
    }

    /// Lets a read of L2 go of those that the DMA engines asked for up to the cycle before: all of that cycle
    /// are there now.
    pub fn dma_read(&mut self, shared: &mut Shared, now: u64, listener: &mut dyn Listener) {
        let asked = now - 1;
        let Some(cluster) = self.dma_ports.mux.choose(asked) else { return };
        let from = self.each[cluster as usize].dma.reads_from(asked, &self.dma_ports);
        if from > asked {
            return self.wake_dma_read(shared, from + 1);
        }
        self.issue_transfer(shared, asked, cluster, listener);
        if let Some(next) = self.dma_ports.mux.pass(asked) {
            self.wake_dma_read(shared, next + 1);
        }
    }

    /// Lets a cluster's DMA engine issue its next transfer, and ask for the one behind it.
    #[inline]
    pub fn issue_transfer(
        &mut self,
        shared: &mut Shared,
        now: u64,
        cluster: u32,
        listener: &mut dyn Listener,
    ) {
        let units = &mut self.each[cluster as usize];
        if let Some(issued) = units.dma.issue(now, &mut self.dma_ports) {
            let base = shared.machine.l1.base + cluster * shared.machine.l1.stride;
            for address in [issued.part.transfer.to, issued.part.transfer.from] {
                let offset = address.wrapping_sub(base);
                if offset < shared.machine.l1.bytes {
                    units.banks.dma(now, issued.first_beat, issued.beats, offset);
                    units.dma.goes_to_l1(issued.beats, offset);
                    beside::show_beats(shared, cluster, &issued, offset);
                }
            }
            shared.wheel.push(issued.done, Due::DmaDone(cluster));
            self.tell_transfer(shared, now, cluster, &issued, listener);
        }
        self.offer_transfer(shared, now + 1, cluster);
    }

    /// Completes a transfer: the bytes are there now.
    #[inline]
    pub fn dma_done(
        &mut self,
        shared: &mut Shared,
        now: u64,
        cluster: u32,
        listener: &mut dyn Listener,
    ) {
        let engine = &mut self.each[cluster as usize].dma;
        let Part { transfer, begins, last } = match engine.complete(now, &mut self.dma_ports) {
            Ok(Some(part)) => part,
            Ok(None) => return,
            Err(later) => return shared.wheel.push(later, Due::DmaDone(cluster)),
        };
        beside::show_made(shared, now, cluster, &transfer, last);
        let places = (
            shared.memories.place(transfer.from, cluster),
            shared.memories.place(transfer.to, cluster),
        );
        if let (Some(from), Some(to)) = places {
            self.move_bytes(shared, cluster, &transfer, from, to);
        }
        if !last {
            return;
        }
        match transfer.requester {
            Requester::Scheduler => {
                shared.tell(listener, || {
                    unit(UnitEventKind::DmaResponse, now, cluster, 0, 0, begins)
                });
                self.copied(shared, now, cluster);
            }
            Requester::Core(core) => self.core_transfer_done(shared, now, core as usize),
        }
    }

    /// Moves a transfer's bytes, whose ranges were checked when it was launched.
    #[inline]
    fn move_bytes(
        &mut self,
        shared: &mut Shared,
        cluster: u32,
        transfer: &Transfer,
        from: Place,
        to: Place,
    ) {
        let reach = match transfer.requester {
            Requester::Scheduler => DmaReach::All,
            Requester::Core(_) => shared.machine.dma.core_reach,
        };
        let reached = (reaches(reach, from, cluster), reaches(reach, to, cluster));
        shared.totals.unreached_transfers += u64::from(reached != (true, true));
        match reached {
            (_, false) => return,
            (true, true) => {
                let _ = shared.memories.copy(from, to, transfer.bytes, &mut shared.scratch);
            }
            (false, true) => {
                let answer = ERROR_WORD.to_le_bytes().into_iter().cycle();
                let answer = answer.skip((transfer.from % 4) as usize);
                if let Some(written) = shared.memories.slice_mut(to, transfer.bytes) {
                    written.iter_mut().zip(answer).for_each(|(byte, value)| *byte = value);
                }
            }
        }
        if let Place::Program(_) = to {
            self.program.invalidate(transfer.to, u64::from(transfer.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    fn copy(bytes: u32) -> Transfer {
        let (from, to) = (0x1c40_0000, 0x1000_4400);
        Transfer { requester: Requester::Scheduler, from, to, bytes, route: Route::FromL2 }
    }

    #[test]
    fn takes_eleven_cycles_and_one_per_beat() {
        let (mut dma, mut ports) = (ClusterDma::new(&machine(), 0), SharedPorts::new(&machine()));
        for (at, bytes, cycles) in [(100, 64, 12), (200, 1024, 27), (300, 1025, 28)] {
            dma.request(copy(bytes));
            let issued = dma.issue(at, &mut ports).expect("idle");
            assert_eq!(issued.done - at, cycles, "{bytes} bytes");
            assert!(matches!(dma.complete(issued.done, &mut ports), Ok(Some(_))));
        }
    }

    #[test]
    fn shares_the_port_between_clusters() {
        let machine = machine();
        let mut engines = [ClusterDma::new(&machine, 0), ClusterDma::new(&machine, 1)];
        let mut ports = SharedPorts::new(&machine);
        let mut done = Vec::new();
        for engine in &mut engines {
            engine.request(copy(1024));
            done.extend(engine.issue(0, &mut ports).map(|issued| issued.done));
        }
        assert_eq!(done, [27, 43]);
    }
}
