//! Blocks of hardware in the place of units, or beside them.
//!
//! In: what neighbours give a unit in a cycle. Out: what the block makes of it, which the NIC does
//! in the unit's place, or compares with what the unit did. A block sees every cycle, the NIC's queue
//! only those in which something happens: when time goes on, `nic/hardware.rs` lets the blocks take the
//! cycles between, and has their neighbours work where a block offers something.

pub mod cluster_dma;
pub mod cluster_scheduler;
pub mod command_unit;
pub mod core_accesses;
pub mod dispatcher;
pub mod hpu_driver;
mod lines;
pub mod matching_engine;
pub mod mpq_engine;
pub mod off_cluster_dma;
pub mod outbound;
pub mod packet_allocator;
mod reader;
pub mod tcdm_interconnect;
mod timeline;
pub mod words;

use std::fmt;

use pinion_sim::block::{Block, Needs, power_of_two};

use pinion_spin_machine::Machine;

pub use cluster_dma::ClusterDmaSeat;
pub use cluster_scheduler::SchedulerSeat;
pub use command_unit::CommandSeat;
pub use core_accesses::AccessesSeat;
pub use dispatcher::DispatcherSeat;
pub use hpu_driver::DriverSeat;
pub use matching_engine::MatchingSeat;
pub use mpq_engine::MpqSeat;
pub use off_cluster_dma::OffClusterSeat;
pub use outbound::OutboundSeat;
pub use packet_allocator::AllocatorSeat;
pub use pinion_sim::block::PATIENCE_CYCLES;
pub use tcdm_interconnect::InterconnectSeat;

/// Names a unit that hardware can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Finds packets' contexts and messages.
    MatchingEngine,
    /// Gives packets room in L2.
    PacketAllocator,
    /// One queue per message in flight.
    MpqEngine,
    /// Chooses the cluster of each task.
    Dispatcher,
    /// Each cluster's scheduler (CSCHED).
    ClusterScheduler,
    /// Whose command goes to an interface.
    CommandUnit,
    /// Each HPU's driver.
    HpuDriver,
    /// Packets that handlers send.
    Outbound,
    /// Copies to and from the host, and words for it.
    OffClusterDma,
    /// The cores' accesses to L2.
    CoreAccesses,
    /// Each cluster's DMA engine.
    ClusterDma,
    /// Who gets a bank of each cluster's L1.
    TcdmInterconnect,
}

impl Unit {
    /// All units that hardware can stand for.
    pub const ALL: [Self; 12] = [
        Self::MatchingEngine,
        Self::PacketAllocator,
        Self::MpqEngine,
        Self::Dispatcher,
        Self::ClusterScheduler,
        Self::CommandUnit,
        Self::HpuDriver,
        Self::Outbound,
        Self::OffClusterDma,
        Self::CoreAccesses,
        Self::ClusterDma,
        Self::TcdmInterconnect,
    ];

    /// Gives its name, which is its module's, too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MatchingEngine => "matching_engine",
            Self::PacketAllocator => "packet_allocator",
            Self::MpqEngine => "mpq_engine",
            Self::Dispatcher => "dispatcher",
            Self::ClusterScheduler => "cluster_scheduler",
            Self::CommandUnit => "command_unit",
            Self::HpuDriver => "hpu_driver",
            Self::Outbound => "outbound",
            Self::OffClusterDma => "off_cluster_dma",
            Self::CoreAccesses => "core_accesses",
            Self::ClusterDma => "cluster_dma",
            Self::TcdmInterconnect => "tcdm_interconnect",
        }
    }

    /// Gives how many of it a machine has.
    pub const fn count(self, machine: &Machine) -> u32 {
        match self {
            Self::ClusterScheduler | Self::ClusterDma | Self::TcdmInterconnect => {
                machine.cluster.count
            }
            Self::HpuDriver => machine.hpus(),
            _ => 1,
        }
    }

    /// Says whether a block can only run beside the model: what it answers in a later cycle the model needs at
    /// once, or the model knows only behind it what was read when.
    pub const fn only_compares(self) -> bool {
        matches!(
            self,
            Self::HpuDriver
                | Self::Outbound
                | Self::OffClusterDma
                | Self::CoreAccesses
                | Self::ClusterDma
                | Self::TcdmInterconnect
        )
    }

    /// Says what a block needs to stand for it in a machine.
    ///
    /// # Errors
    /// With what of the machine no block can do.
    pub fn needs(self, machine: &Machine) -> Result<Needs, String> {
        match self {
            Self::MatchingEngine => matching_engine::needs(machine),
            Self::PacketAllocator => packet_allocator::needs(machine),
            Self::MpqEngine => mpq_engine::needs(machine),
            Self::Dispatcher => dispatcher::needs(machine),
            Self::ClusterScheduler => cluster_scheduler::needs(machine),
            Self::CommandUnit => command_unit::needs(machine),
            Self::HpuDriver => hpu_driver::needs(machine),
            Self::Outbound => outbound::needs(machine),
            Self::OffClusterDma => off_cluster_dma::needs(machine),
            Self::CoreAccesses => core_accesses::needs(machine),
            Self::ClusterDma => cluster_dma::needs(machine),
            Self::TcdmInterconnect => tcdm_interconnect::needs(machine),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Is a block at a unit's place, with what its adapter remembers.
#[derive(Debug)]
pub struct Seat<T> {
    /// The block.
    pub block: Box<dyn Block>,
    /// Whether it runs beside the model.
    pub compares: bool,
    /// What is wrong with what it does.
    pub wrong: Option<String>,
    /// The packet that it was about last.
    pub packet: Option<u32>,
    /// What the adapter remembers.
    own: T,
}

/// Tells what ended a run: what the block said, the packet that it was about, and the model's state beside it.
pub type Ended = (String, Option<u32>, Option<String>);

impl<T> Seat<T> {
    fn at(block: Box<dyn Block>, compares: bool, own: T) -> Self {
        Self { block, compares, wrong: None, packet: None, own }
    }

    /// Ends the block's cycle; says what was wrong in it already, or what the block says. `state` describes
    /// the model's unit.
    pub fn end_cycle(&mut self, state: impl FnOnce() -> String) -> Option<Ended> {
        let ended = self.wrong.take().map_or_else(|| self.block.end_cycle(), Err);
        ended.err().map(|what| (what, self.packet, self.compares.then(state)))
    }
}

/// Holds the blocks of a NIC.
#[derive(Debug, Default)]
pub struct Blocks {
    /// The cycle that they are in.
    pub cycle: u64,
    /// Cycles in which nothing else was due.
    pub waited: u64,
    /// The matching engine's.
    pub matching: Option<MatchingSeat>,
    /// The packet allocator's.
    pub allocator: Option<AllocatorSeat>,
    /// The MPQ engine's.
    pub mpq: Option<MpqSeat>,
    /// The dispatcher's.
    pub dispatcher: Option<DispatcherSeat>,
    /// The clusters' schedulers', by cluster.
    pub schedulers: Vec<SchedulerSeat>,
    /// The command unit's.
    pub commands: Option<CommandSeat>,
    /// The HPUs' drivers', by HPU.
    pub drivers: Vec<DriverSeat>,
    /// The outbound engine's.
    pub outbound: Option<OutboundSeat>,
    /// The off-cluster DMA's.
    pub off_cluster: Option<OffClusterSeat>,
    /// What orders the cores' accesses to L2.
    pub accesses: Option<AccessesSeat>,
    /// The clusters' DMA engines', by cluster.
    pub cluster_dmas: Vec<ClusterDmaSeat>,
    /// The clusters' L1 interconnects', by cluster.
    pub interconnects: Vec<InterconnectSeat>,
    /// What has ended the run.
    pub failure: Option<String>,
}

impl Blocks {
    /// Puts a unit's blocks into their place, or beside it; there are as many as [`Unit::count`] says.
    pub fn seat(
        &mut self,
        unit: Unit,
        blocks: Vec<Box<dyn Block>>,
        compares: bool,
        machine: &Machine,
    ) {
        let mut blocks = blocks.into_iter();
        match unit {
            Unit::MatchingEngine => {
                self.matching =
                    blocks.next().map(|block| MatchingSeat::new(block, compares, machine));
            }
            Unit::PacketAllocator => {
                self.allocator =
                    blocks.next().map(|block| AllocatorSeat::new(block, compares, machine));
            }
            Unit::MpqEngine => {
                self.mpq = blocks.next().map(|block| MpqSeat::new(block, compares, machine))
            }
            Unit::Dispatcher => {
                self.dispatcher = blocks.next().map(|block| DispatcherSeat::new(block, compares));
            }
            Unit::ClusterScheduler => {
                self.schedulers =
                    blocks.map(|block| SchedulerSeat::new(block, compares, machine)).collect();
            }
            Unit::CommandUnit => {
                self.commands =
                    blocks.next().map(|block| CommandSeat::new(block, compares, machine));
            }
            Unit::HpuDriver => {
                self.drivers = blocks.map(|block| DriverSeat::new(block, compares)).collect();
            }
            Unit::Outbound => {
                self.outbound =
                    blocks.next().map(|block| OutboundSeat::new(block, compares, machine));
            }
            Unit::OffClusterDma => {
                self.off_cluster =
                    blocks.next().map(|block| OffClusterSeat::new(block, compares, machine));
            }
            Unit::CoreAccesses => {
                self.accesses =
                    blocks.next().map(|block| AccessesSeat::new(block, compares, machine));
            }
            Unit::ClusterDma => {
                self.cluster_dmas = (0..)
                    .zip(blocks)
                    .map(|(cluster, block)| ClusterDmaSeat::new(block, compares, machine, cluster))
                    .collect();
            }
            Unit::TcdmInterconnect => {
                self.interconnects =
                    blocks.map(|block| InterconnectSeat::new(block, compares, machine)).collect();
            }
        }
    }

    /// Says whether a block has cycles to go that the model knows already.
    pub fn is_behind(&self) -> bool {
        self.outbound.as_ref().is_some_and(OutboundSeat::is_behind)
            || self.off_cluster.as_ref().is_some_and(OffClusterSeat::is_behind)
            || self.accesses.as_ref().is_some_and(AccessesSeat::is_behind)
            || self.cluster_dmas.iter().any(ClusterDmaSeat::is_behind)
            || self.interconnects.iter().any(InterconnectSeat::is_behind)
    }

    /// Describes the blocks and what they have not answered.
    pub fn describe(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.matching.iter().map(|seat| seat.block.describe()));
        lines.extend(self.allocator.iter().map(|seat| seat.block.describe()));
        lines.extend(self.mpq.iter().map(|seat| seat.block.describe()));
        lines.extend(self.dispatcher.iter().map(|seat| seat.block.describe()));
        lines.extend(self.schedulers.iter().map(|seat| seat.block.describe()));
        lines.extend(self.commands.iter().map(|seat| seat.block.describe()));
        lines.extend(self.drivers.iter().map(|seat| seat.block.describe()));
        lines.extend(self.outbound.iter().map(|seat| seat.block.describe()));
        lines.extend(self.off_cluster.iter().map(|seat| seat.block.describe()));
        lines.extend(self.accesses.iter().map(|seat| seat.block.describe()));
        lines.extend(self.cluster_dmas.iter().map(|seat| seat.block.describe()));
        lines.extend(self.interconnects.iter().map(|seat| seat.block.describe()));
        lines
    }
}

/// Says whether there is a block, and it stands in its unit's place.
#[inline]
fn stands<T>(seat: Option<&Seat<T>>) -> bool {
    seat.is_some_and(|seat| !seat.compares)
}

/// Holds a NIC's blocks, if it has some. A clone has none: hardware is not copied.
#[derive(Debug, Default)]
pub struct InLoop(pub Option<Box<Blocks>>);

impl Clone for InLoop {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl InLoop {
    /// Says whether there are blocks.
    #[inline]
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Gives the matching engine's block.
    #[inline]
    pub fn matching(&mut self) -> Option<&mut MatchingSeat> {
        self.0.as_deref_mut()?.matching.as_mut()
    }

    /// Gives the matching engine's block if it stands in its place.
    #[inline]
    pub fn matches(&mut self) -> Option<&mut MatchingSeat> {
        self.matching().filter(|seat| !seat.compares)
    }

    /// Gives the packet allocator's.
    #[inline]
    pub fn allocator(&mut self) -> Option<&mut AllocatorSeat> {
        self.0.as_deref_mut()?.allocator.as_mut()
    }

    /// Gives the bytes that have room in the packet buffer, if a block stands in the allocator's place.
    pub fn allocated_bytes(&self) -> Option<u32> {
        let seat = self.0.as_deref()?.allocator.as_ref().filter(|seat| !seat.compares)?;
        Some(seat.held_bytes())
    }

    /// Gives the MPQ engine's block.
    #[inline]
    pub fn mpq(&mut self) -> Option<&mut MpqSeat> {
        self.0.as_deref_mut()?.mpq.as_mut()
    }

    /// Gives the dispatcher's.
    #[inline]
    pub fn dispatcher(&mut self) -> Option<&mut DispatcherSeat> {
        self.0.as_deref_mut()?.dispatcher.as_mut()
    }

    /// Gives that of a cluster's scheduler.
    #[inline]
    pub fn scheduler(&mut self, cluster: u32) -> Option<&mut SchedulerSeat> {
        self.0.as_deref_mut()?.schedulers.get_mut(cluster as usize)
    }

    /// Gives that of the command unit.
    #[inline]
    pub fn commands(&mut self) -> Option<&mut CommandSeat> {
        self.0.as_deref_mut()?.commands.as_mut()
    }

    /// Gives that of an HPU's driver.
    #[inline]
    pub fn driver(&mut self, hpu: usize) -> Option<&mut DriverSeat> {
        self.0.as_deref_mut()?.drivers.get_mut(hpu)
    }

    /// Gives that of the outbound engine.
    #[inline]
    pub fn outbound(&mut self) -> Option<&mut OutboundSeat> {
        self.0.as_deref_mut()?.outbound.as_mut()
    }

    /// Gives that of the off-cluster DMA.
    #[inline]
    pub fn off_cluster(&mut self) -> Option<&mut OffClusterSeat> {
        self.0.as_deref_mut()?.off_cluster.as_mut()
    }

    /// Gives that of the cores' accesses to L2.
    #[inline]
    pub fn accesses(&mut self) -> Option<&mut AccessesSeat> {
        self.0.as_deref_mut()?.accesses.as_mut()
    }

    /// Gives that of a cluster's DMA engine.
    #[inline]
    pub fn cluster_dma(&mut self, cluster: u32) -> Option<&mut ClusterDmaSeat> {
        self.0.as_deref_mut()?.cluster_dmas.get_mut(cluster as usize)
    }

    /// Gives that of a cluster's L1 interconnect.
    #[inline]
    pub fn interconnect(&mut self, cluster: u32) -> Option<&mut InterconnectSeat> {
        self.0.as_deref_mut()?.interconnects.get_mut(cluster as usize)
    }

    /// Says whether there are blocks of L1 interconnects.
    #[inline]
    pub fn has_interconnects(&self) -> bool {
        self.0.as_deref().is_some_and(|blocks| !blocks.interconnects.is_empty())
    }

    /// Says whether there are blocks of HPUs' drivers, which see each access to a register in its cycle.
    #[inline]
    pub fn has_drivers(&self) -> bool {
        self.0.as_deref().is_some_and(|all| !all.drivers.is_empty())
    }

    /// Says whether a block stands in the place of the MPQ engine.
    #[inline]
    pub fn replaces_mpq(&self) -> bool {
        self.0.as_deref().is_some_and(|all| stands(all.mpq.as_ref()))
    }

    /// Says whether blocks stand in the place of the clusters' schedulers.
    #[inline]
    pub fn schedules(&self) -> bool {
        self.0.as_deref().is_some_and(|all| stands(all.schedulers.first()))
    }

    /// Says whether a block stands in a unit's place.
    #[inline]
    pub fn acts(&self) -> bool {
        self.0.as_deref().is_some_and(|all| {
            stands(all.matching.as_ref())
                || stands(all.allocator.as_ref())
                || stands(all.mpq.as_ref())
                || stands(all.dispatcher.as_ref())
                || stands(all.schedulers.first())
                || stands(all.commands.as_ref())
        })
    }

    /// Says whether blocks may do something although nothing is due.
    #[inline]
    pub fn may_act(&self) -> bool {
        self.0.as_deref().is_some_and(|all| all.waited < PATIENCE_CYCLES && all.failure.is_none())
    }

    /// Says whether a block has ended the run.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.0.as_deref().is_some_and(|all| all.failure.is_some())
    }
}
