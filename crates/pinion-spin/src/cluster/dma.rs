//! A cluster's DMA engine: packet copies from L2 and the transfers that cores ask for.
//!
//! In: transfers, in order. Out: their completion cycles. Holds the queue of one engine; the port to
//! L2 that all clusters' engines share grants transfers in the order they reach it. Makes nobody
//! wait but later transfers. (Paper §III-B2; RTL: cluster DMA, dma_noc; latency 11 + beats.)

use std::collections::VecDeque;

use crate::Machine;
use crate::machine::DmaReach;
use crate::memory::Place;
use crate::turn_port::{BurstId, Side, TurnPort};

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

impl DmaReach {
    /// Tells whether the engine of cluster `own` gets to a place.
    pub const fn reaches(self, place: Place, own: u32) -> bool {
        match (self, place) {
            (Self::All, _) | (_, Place::L2Handler(_) | Place::L2Packet(_)) => true,
            (Self::L2, Place::L1 { cluster, .. }) => cluster == own,
            (Self::L2, _) => false,
        }
    }
}

/// Grants the port between the clusters and L2, one direction each.
#[derive(Clone, Debug, Default)]
pub struct SharedPorts {
    /// Reads of L2: the engines' bursts, and between them the cores' loads from packet memory.
    pub reads: TurnPort,
    write_free_at: u64,
}

/// Holds a transfer that was issued.
#[derive(Clone, Copy, Debug)]
struct Running {
    transfer: Transfer,
    done: u64,
    /// Its read of L2, and when that was to start.
    read: Option<(BurstId, u64)>,
}

/// Holds one cluster's engine.
#[derive(Clone, Debug)]
pub struct ClusterDma {
    waiting: VecDeque<Transfer>,
    running: VecDeque<Running>,
    /// Half cycles from which the engine can issue the next transfer.
    issue_from_halves: u64,
    last_done: u64,
    port_bytes: u32,
    latency_cycles: u64,
    burst_overhead_halves: u64,
    core_latency_cycles: u64,
    local_beat_cycles: u64,
    handler_memory_cycles: u64,
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
    /// Makes an idle engine.
    pub fn new(machine: &Machine) -> Self {
        Self {
            waiting: VecDeque::with_capacity(64),
            running: VecDeque::with_capacity(64),
            issue_from_halves: 0,
            last_done: 0,
            port_bytes: machine.dma.port_bytes,
            latency_cycles: machine.dma.latency_cycles,
            burst_overhead_halves: machine.dma.burst_overhead_halves,
            core_latency_cycles: machine.dma.core_latency_cycles,
            local_beat_cycles: machine.dma.local_beat_cycles,
            handler_memory_cycles: machine.dma.handler_memory_cycles,
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
        let transfer = self.waiting.pop_front()?;
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
        let mut read = None;
        if let Some(cycles) = read_cycles {
            let burst;
            (burst, start) = ports.reads.book(now, Side::Stream, start, cycles);
            read = Some((burst, start));
        }
        if matches!(transfer.route, Route::ToL2 | Route::WithinL2) {
            ports.write_free_at = start + beats;
        }
        self.issue_from_halves =
            self.issue_from_halves.max(2 * start) + self.service_halves(&transfer, beats);
        let extra = match transfer.requester {
            Requester::Scheduler => 0,
            Requester::Core(_) => self.core_latency_cycles,
        };
        let done = (start + self.latency_cycles + beats + extra).max(self.last_done);
        self.last_done = done;
        self.running.push_back(Running { transfer, done, read });
        Some(Issued { transfer, first_beat: done - beats - 1, beats, done })
    }

    fn next_cycle(&self) -> u64 {
        self.issue_from_halves.div_ceil(2)
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
        if let Some((burst, start)) = first.read {
            let moved = ports.reads.start(Side::Stream, burst).map_or(0, |at| at - start);
            if first.done + moved > now {
                return Err(first.done + moved);
            }
            ports.reads.forget(now, Side::Stream, burst);
        } else if first.done > now {
            return Err(first.done);
        }
        Ok(self.running.pop_front().map(|running| running.transfer))
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
        let (mut dma, mut ports) = (ClusterDma::new(&machine()), SharedPorts::default());
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
        let mut engines = [ClusterDma::new(&machine), ClusterDma::new(&machine)];
        let mut ports = SharedPorts::default();
        let mut done = Vec::new();
        for engine in &mut engines {
            engine.request(0, copy(1024));
            done.extend(engine.issue(0, &mut ports).map(|issued| issued.done));
        }
        assert_eq!(done, [27, 43]);
    }
}
