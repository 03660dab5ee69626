//! The clusters: each with its scheduler, DMA engine, L1, instruction cache and event unit, and what they
//! share: the ports to L2, the program, the arbiter of their completions.
//!
//! In: tasks from the dispatcher. Out: completions, commands. Their HPUs are in [`crate::cluster::hpu`].

pub mod commands;
pub mod completions;
pub mod dma;
mod dma_beside;
mod dma_front_end;
pub mod event_unit;
pub mod hpu;
pub mod lane;
pub mod lanes;
mod own_l1;
pub mod packet_ring;
pub mod pe_interconnect;
pub mod peripherals;
pub mod scheduler;
pub mod tcdm_interconnect;

use std::collections::VecDeque;

use pinion_cores::pulp::Costs;
use pinion_cores::pulp::code::Code;
use pinion_instruction_cache::{InstructionCache, program_port};
use pinion_l2_port::accesses::CoreAccesses;
use pinion_sim::arbiter::LockedArbiter;
use pinion_sim::queued_port::QueuedPort;

use crate::Machine;
use crate::cluster::hpu::port::NearMemory;
use crate::cluster::hpu::{Core, HpuDriver, fault, trace};
use crate::shared::Shared;
use crate::task::Task;
use crate::wake::{Due, Wake};

use completions::CompletionArbiter;
use dma::SharedPorts;
use lane::Lane;

/// Registers between a cluster and what all clusters share hold this many entries (RTL:
/// spill_register, which breaks all paths and keeps full throughput).
pub const SPILL_ENTRIES: usize = 2;

/// Holds a way out of a cluster: an arbiter over its HPUs, and a spill register. (RTL: cluster_cmd, cluster_scheduler.)
#[derive(Clone, Debug)]
pub struct Outlet<T> {
    /// Chooses whose comes next.
    pub arbiter: LockedArbiter,
    /// What is on its way, with the cycle it came here.
    pub spill: VecDeque<(T, u64)>,
    /// When it takes the next one.
    pub wake: Wake,
}

impl<T> Outlet<T> {
    fn new(hpus: u32) -> Self {
        Self {
            arbiter: LockedArbiter::new(hpus),
            spill: VecDeque::with_capacity(SPILL_ENTRIES),
            wake: Wake::default(),
        }
    }

    /// Tells whether it takes another one.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.spill.len() < SPILL_ENTRIES
    }

    /// Chooses the HPU whose comes at cycle `now`, if there is room, and says when there may be
    /// another. Where it is full, whoever takes the next one of it wakes its cluster.
    #[inline]
    fn grant(&mut self, now: u64) -> (Option<u32>, Option<u64>) {
        if !self.has_room() {
            return (None, None);
        }
        let granted = self.arbiter.choose(now);
        if granted.is_some() {
            self.arbiter.take(now);
        }
        (granted, self.arbiter.next(now))
    }
}

/// Holds the units of one cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Takes tasks and gives them to HPUs.
    pub scheduler: scheduler::ClusterScheduler,
    /// Copies packets.
    pub dma: dma::ClusterDma,
    /// Lets cores and packets use that in turns.
    pub dma_turns: dma_front_end::DmaTurns,
    /// Serves the cores' accesses.
    pub banks: Box<tcdm_interconnect::L1Banks>,
    /// Serves the cores' fetches.
    pub cache: InstructionCache,
    /// Lets cores sleep.
    pub events: event_unit::EventUnit,
    /// Completions on their way to the MPQ engine.
    pub feedback: Outlet<Task>,
    /// HPUs, a bit each, that launched a transfer of the DMA engine while the completion of the task before
    /// waited.
    pub held_back: u32,
    /// Commands on their way to the command unit, by number.
    pub commands: Outlet<u32>,
    /// Cycle at which the port of other clusters' accesses to this L1 is free.
    pub remote_port_free: u64,
}

impl Cluster {
    /// Makes an idle cluster.
    pub fn new(machine: &Machine, index: u32) -> Self {
        let cores = machine.cluster.cores;
        Self {
            scheduler: scheduler::ClusterScheduler::new(machine, index),
            dma: dma::ClusterDma::new(machine, index),
            dma_turns: dma_front_end::DmaTurns::new(machine),
            banks: tcdm_interconnect::L1Banks::new(machine),
            cache: InstructionCache::new(machine, index),
            events: event_unit::EventUnit::new(cores),
            feedback: Outlet::new(cores),
            held_back: 0,
            commands: Outlet::new(cores),
            remote_port_free: 0,
        }
    }
}

/// Makes an empty program memory, decoded; what is executed often is translated.
fn program(machine: &Machine) -> Code {
    let (base, bytes) = (machine.program.base, machine.program.bytes as usize);
    let mut program = Code::new(base, bytes, machine.extensions());
    program.set_translated(true);
    program
}

/// Holds all clusters, their HPUs, and what they share.
#[derive(Clone, Debug)]
pub struct Clusters {
    /// The clusters.
    pub each: Vec<Cluster>,
    /// HPUs in a cluster.
    pub cores_each: u32,
    /// By HPU: its driver.
    pub drivers: Vec<HpuDriver>,
    /// By HPU: its core.
    pub cores: Vec<Core>,
    /// Cores whose next access goes to their own L1, by cluster, and when each cluster's is due.
    lanes: Vec<Lane>,
    lane_next: Vec<u64>,
    /// What instructions cost.
    pub costs: Costs,
    /// Where cores find their own L1.
    near: NearMemory,
    /// Program memory, decoded.
    pub program: Code,
    /// Port of the instruction caches to program memory.
    pub program_port: QueuedPort,
    /// Ports of the DMA engines to L2.
    pub dma_ports: SharedPorts,
    /// The cores' accesses to L2.
    l2: CoreAccesses,
    /// When somebody looks which of them have been served.
    pub l2_wake: Wake,
    /// Chooses whose completion comes next.
    pub completions: CompletionArbiter,
    /// Whether some core holds a reservation.
    reservations: bool,
    /// Instructions that have yet to be told to a listener that wants them.
    pub executed: Vec<trace::Executed>,
    /// What the access being performed found in memory, for them.
    found: u64,
    /// Registers of cores that trapped, by core.
    pub trapped: Vec<fault::Trapped>,
    /// Whether a core has ended the run.
    pub ended: bool,
}

impl Clusters {
    /// Makes idle clusters with cores as reset leaves them.
    pub fn new(machine: &Machine) -> Self {
        let (clusters, cores) = (machine.cluster.count, machine.cluster.cores);
        Self {
            each: (0..clusters).map(|index| Cluster::new(machine, index)).collect(),
            cores_each: cores,
            drivers: (0..machine.hpus()).map(|_| HpuDriver::new(machine)).collect(),
            cores: (0..machine.hpus())
                .map(|core| Core::new(machine, core / cores, core % cores))
                .collect(),
            lanes: (0..clusters).map(|_| Lane::default()).collect(),
            lane_next: vec![u64::MAX; clusters as usize],
            costs: Costs::new(
                machine.core.pipeline(),
                machine.instruction_cache.line_bytes,
                machine.core.xpulp,
            ),
            near: NearMemory::new(machine),
            program: program(machine),
            program_port: program_port(machine),
            dma_ports: SharedPorts::new(machine),
            l2: CoreAccesses::new(machine),
            l2_wake: Wake::default(),
            completions: CompletionArbiter::new(clusters),
            reservations: false,
            executed: Vec::new(),
            found: 0,
            trapped: Vec::new(),
            ended: false,
        }
    }

    /// Puts clusters and cores into the state after reset; the program is kept.
    pub fn reset(&mut self, machine: &Machine) {
        let (clusters, cores) = (machine.cluster.count, machine.cluster.cores);
        self.ended = false;
        self.each = (0..clusters).map(|index| Cluster::new(machine, index)).collect();
        self.drivers = (0..machine.hpus()).map(|_| HpuDriver::new(machine)).collect();
        for (index, core) in self.cores.iter_mut().enumerate() {
            let generation = core.generation.wrapping_add(1);
            *core = Core::new(machine, index as u32 / cores, index as u32 % cores);
            core.generation = generation;
        }
        self.lanes = (0..clusters).map(|_| Lane::default()).collect();
        self.lane_next = vec![u64::MAX; clusters as usize];
        self.dma_ports = SharedPorts::new(machine);
        (self.l2, self.l2_wake) = (CoreAccesses::new(machine), Wake::default());
        self.completions = CompletionArbiter::new(clusters);
        self.reservations = false;
        self.executed.clear();
    }

    /// Gives the number of a cluster's HPU among all.
    #[inline]
    pub fn core_id(&self, cluster: u32, hpu: u32) -> usize {
        (cluster * self.cores_each + hpu) as usize
    }

    /// Gives the instructions that the cores have retired since reset.
    pub fn instructions(&self) -> u64 {
        self.cores.iter().map(|core| core.model.hart.instret).sum()
    }

    /// Lets a core go on at `cycle`.
    #[inline]
    pub fn resume(&mut self, shared: &mut Shared, core: usize, cycle: u64) {
        let generation = {
            let core = &mut self.cores[core];
            core.generation = core.generation.wrapping_add(1);
            core.waiting = crate::cluster::hpu::Waiting::Nothing;
            core.generation
        };
        shared.wheel.push(cycle, Due::Core { core: core as u16, generation });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_there_is_no_room_does_not_count() {
        let mut outlet = Outlet::new(8);
        outlet.arbiter.ask(10, 3);
        assert_eq!(outlet.grant(10), (Some(3), None));
        outlet.spill.extend([(0, 10), (0, 10)]);
        for (from, hpu) in [(12, 5), (13, 0), (14, 4)] {
            outlet.arbiter.ask(from, hpu);
        }
        assert_eq!(outlet.grant(13), (None, None), "there is no room");
        outlet.spill.clear();
        // It asked alone in cycle 12; the others are chosen from in the cycle behind.
        assert_eq!(outlet.grant(20), (Some(5), Some(21)));
        assert_eq!([outlet.grant(21).0, outlet.grant(22).0], [Some(4), Some(0)]);
    }
}
