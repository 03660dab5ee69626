//! A cluster's DMA engine: packet copies from L2 and the transfers that cores ask for.
//!
//! In: transfers, in order. Out: their completion cycles. Holds the queue of one engine; the port to
//! L2 that all clusters' engines share grants transfers in the order they reach it. Makes nobody
//! wait but later transfers. (Paper §III-B2; RTL: cluster DMA, dma_noc; latency 11 + beats.)

use std::collections::VecDeque;

use super::Clusters;
use super::read_port::{ReadId, ReadPort};
use crate::listener::Listener;
use crate::machine::DmaReach;
use crate::memory::Place;
use crate::shared::{Shared, unit};
use crate::wake::{Due, Wake};
use crate::{Machine, UnitEventKind};

/// What the error slave answers that stands where an engine does not reach (measured).
pub const ERROR_WORD: u32 = 0xbadc_ab1e;
/// AXI bursts do not cross pages.
const PAGE_BYTES: u32 = 4096;

/// Says who asked for a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// The cluster's scheduler: a packet's copy to L1.
    Scheduler,
    /// A core, or the cluster's public port behind the last core.
    Core(u32),
}

/// Describes a transfer.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Who asked.
    pub requester: Requester,
    /// Source address.
    pub from: u32,
    /// Destination address.
    pub to: u32,
    /// Bytes.
    pub bytes: u32,
    /// Which ports it needs.
    pub route: Route,
}

/// Names the ways a transfer can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Reads L2 packet or program memory.
    FromL2,
    /// Reads L2 handler memory.
    FromHandlerMemory,
    /// Writes L2.
    ToL2,
    /// Reads and writes L2.
    WithinL2,
    /// Stays within the cluster's L1.
    Local,
    /// Goes to or comes from another cluster's L1.
    Remote,
}

/// Tells whether the engine of cluster `own` gets to a place.
const fn reaches(reach: DmaReach, place: Place, own: u32) -> bool {
    match (reach, place) {
        (DmaReach::All, _) | (_, Place::L2Handler(_) | Place::L2Packet(_)) => true,
        (DmaReach::L2, Place::L1 { cluster, .. }) => cluster == own,
        (DmaReach::L2, _) => false,
    }
}

/// Grants the port between the clusters and L2, one direction each.
#[derive(Clone, Debug)]
pub struct SharedPorts {
    /// Reads of L2: the engines' bursts, and between them the cores' loads from packet memory.
    pub reads: ReadPort,
    write_free_at: u64,
}

impl SharedPorts {
    /// Makes idle ports.
    pub fn new(machine: &Machine) -> Self {
        Self { reads: ReadPort::new(machine), write_free_at: 0 }
    }
}

/// Holds a transfer that was issued.
#[derive(Clone, Copy, Debug)]
struct Running {
    transfer: Transfer,
    done: u64,
    /// Its read of L2, and when that was to have gone through.
    read: Option<(ReadId, u64)>,
}

/// Holds one cluster's engine.
#[derive(Clone, Debug)]
pub struct ClusterDma {
    waiting: VecDeque<Transfer>,
    running: VecDeque<Running>,
    /// Half cycles from which the engine can issue the next transfer.
    issue_from_halves: u64,
    last_done: u64,
    /// Its reads of L2 that may be on their way, and cycles from a read's last beat to its end there.
    most_reads: usize,
    read_end_cycles: u64,
    /// Cycle before which that many are.
    reads_from: u64,
    index: u32,
    port_bytes: u32,
    latency_cycles: u64,
    burst_overhead_halves: u64,
    core_latency_cycles: u64,
    local_beat_cycles: u64,
    handler_memory_cycles: u64,
    /// When it issues the next transfer.
    pub issues: Wake,
}

/// Says when a transfer that was issued moves its data and when it is done.
#[derive(Clone, Copy, Debug)]
pub struct Issued {
    /// The transfer.
    pub transfer: Transfer,
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
            most_reads: machine.dma.engine_reads as usize,
            read_end_cycles: machine.dma.port_return_cycles + 1,
            reads_from: 0,
            index,
            port_bytes: machine.dma.port_bytes,
            latency_cycles: machine.dma.latency_cycles,
            burst_overhead_halves: machine.dma.burst_overhead_halves,
            core_latency_cycles: machine.dma.core_latency_cycles,
            local_beat_cycles: machine.dma.local_beat_cycles,
            handler_memory_cycles: machine.dma.handler_memory_cycles,
            issues: Wake::default(),
        }
    }

    /// Queues a transfer; gives the cycle at which `issue` should be called.
    pub fn request(&mut self, now: u64, transfer: Transfer) -> u64 {
        self.waiting.push_back(transfer);
        self.next_cycle().max(now)
    }

    /// Issues the next transfer if it is time.
    pub fn issue(&mut self, now: u64, ports: &mut SharedPorts) -> Option<Issued> {
        if now < self.next_cycle() {
            return None;
        }
        let transfer = *self.waiting.front()?;
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
        let read_cycles = match transfer.route {
            Route::FromL2 | Route::WithinL2 => Some(beats),
            Route::FromHandlerMemory => Some(beats + self.handler_memory_cycles),
            Route::ToL2 | Route::Local | Route::Remote => None,
        };
        if read_cycles.is_some() && !self.can_read(now, ports) {
            return None;
        }
        self.waiting.pop_front();
        let (read, issued) = match read_cycles {
            Some(cycles) => {
                let (burst, end) = ports.reads.book_burst(now, self.index, start, cycles);
                start = end - cycles;
                (Some((burst, end)), now)
            }
            None => {
                // It goes through behind what is read of L2.
                start = start.max(self.reads_end(ports));
                (None, start)
            }
        };
        if matches!(transfer.route, Route::ToL2 | Route::WithinL2) {
            ports.write_free_at = start + beats;
        }
        self.issue_from_halves =
            self.issue_from_halves.max(2 * issued) + self.service_halves(&transfer, beats);
        let extra = match transfer.requester {
            Requester::Scheduler => 0,
            Requester::Core(_) => self.core_latency_cycles,
        };
        let done = (start + self.latency_cycles + beats + extra).max(self.last_done);
        self.last_done = done;
        self.running.push_back(Running { transfer, done, read });
        Some(Issued { transfer, first_beat: done - beats - 1, beats, done })
    }

    /// Tells whether another read of L2 may be on its way.
    fn can_read(&mut self, now: u64, ports: &SharedPorts) -> bool {
        if self.running.len() < self.most_reads {
            return true; // nearly always
        }
        let ends = self.running.iter().filter_map(|running| {
            let end = ports.reads.burst_end(running.read?.0)? + self.read_end_cycles;
            (end > now).then_some(end)
        });
        let (count, first) =
            ends.fold((0, u64::MAX), |(count, first), end| (count + 1, first.min(end)));
        if count >= self.most_reads {
            self.reads_from = first;
        }
        count < self.most_reads
    }

    /// Gives the cycle its last read of L2 has gone through, as things stand; 0 if none is under way.
    fn reads_end(&self, ports: &SharedPorts) -> u64 {
        let mut reads = self.running.iter().rev().filter_map(|running| running.read);
        reads.next().and_then(|(burst, _)| ports.reads.burst_end(burst)).unwrap_or(0)
    }

    fn next_cycle(&self) -> u64 {
        self.issue_from_halves.div_ceil(2).max(self.reads_from)
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

    /// Gives the cycle of the next issue, if transfers wait.
    pub fn next_issue(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(self.next_cycle())
    }

    /// Takes the transfer that completes at cycle `now`: they do so in the order they were issued.
    ///
    /// # Errors
    /// The cycle at which the next one completes, if that is later: others went before it.
    pub fn complete(&mut self, now: u64, ports: &mut SharedPorts) -> Result<Option<Transfer>, u64> {
        let Some(first) = self.running.front() else { return Ok(None) };
        if let Some((burst, end)) = first.read {
            let moved = ports.reads.burst_end(burst).map_or(0, |at| at.saturating_sub(end));
            if first.done + moved > now {
                return Err(first.done + moved);
            }
            ports.reads.forget_burst(burst);
        } else if first.done > now {
            return Err(first.done);
        }
        Ok(self.running.pop_front().map(|running| running.transfer))
    }
}

impl Clusters {
    /// Queues a transfer in a cluster's DMA engine.
    #[inline]
    pub fn request_dma(&mut self, shared: &mut Shared, now: u64, cluster: u32, transfer: Transfer) {
        let at = self.each[cluster as usize].dma.request(now, transfer);
        self.wake_dma_issue(shared, at, cluster);
    }

    /// Lets a cluster's DMA engine issue a transfer at `cycle`.
    #[inline]
    pub fn wake_dma_issue(&mut self, shared: &mut Shared, cycle: u64, cluster: u32) {
        shared.wake(&mut self.each[cluster as usize].dma.issues, cycle, Due::DmaIssue(cluster));
    }

    /// Lets a cluster's DMA engine issue its next transfer.
    #[inline]
    pub fn dma_issue(
        &mut self,
        shared: &mut Shared,
        now: u64,
        cluster: u32,
        listener: &mut dyn Listener,
    ) {
        let units = &mut self.each[cluster as usize];
        if let Some(issued) = units.dma.issue(now, &mut self.dma_ports) {
            let base = shared.machine.l1.base + cluster * shared.machine.l1.stride;
            for address in [issued.transfer.to, issued.transfer.from] {
                let offset = address.wrapping_sub(base);
                if offset < shared.machine.l1.bytes {
                    units.banks.dma(issued.first_beat, issued.beats, offset);
                }
            }
            shared.wheel.push(issued.done, Due::DmaDone(cluster));
            self.tell_transfer(shared, now, cluster, &issued, listener);
        }
        if let Some(at) = self.each[cluster as usize].dma.next_issue() {
            self.wake_dma_issue(shared, at.max(now + 1), cluster);
        }
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
        let transfer = match engine.complete(now, &mut self.dma_ports) {
            Ok(Some(transfer)) => transfer,
            Ok(None) => return,
            Err(later) => return shared.wheel.push(later, Due::DmaDone(cluster)),
        };
        let places = (
            shared.memories.place(transfer.from, cluster),
            shared.memories.place(transfer.to, cluster),
        );
        if let (Some(from), Some(to)) = places {
            self.move_bytes(shared, cluster, &transfer, from, to);
        }
        match transfer.requester {
            Requester::Scheduler => {
                shared.tell(listener, || {
                    unit(UnitEventKind::DmaResponse, now, cluster, 0, 0, transfer.from)
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
            dma.request(at, copy(bytes));
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
            engine.request(0, copy(1024));
            done.extend(engine.issue(0, &mut ports).map(|issued| issued.done));
        }
        assert_eq!(done, [27, 43]);
    }
}
