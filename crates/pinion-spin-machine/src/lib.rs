//! Every number of a machine, as its file in `machines/` gives it with its source.
//!
//! The fields say unit and meaning; where a number comes from stands beside it in the file.

mod check;
mod core;
mod core_ports;
mod limits;
mod matching;

use std::collections::BTreeMap;

use pinion_isa::Extensions;
use pinion_sim::machine::Kind;
use serde::Deserialize;

pub use self::core::{Core, CoreModel, Division, Pipeline, RemoteAmo};
pub use self::core_ports::CorePorts;

/// Address of the own cluster's peripherals.
pub const PERIPHERALS: u32 = 0x1b20_0000;
/// Bytes of them.
pub const PERIPHERALS_BYTES: u32 = 0x1_0000;

/// Describes a PsPIN-like machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The machine's name.
    pub name: String,
    /// The kind of machine that the file says it describes.
    pub kind: Kind,
    /// The clock of everything behind the Ethernet side.
    pub clock: ClockSection,
    /// How packets come in.
    pub inbound: Inbound,
    /// How the L2 packet buffer is given out.
    pub allocator: Allocator,
    /// The clock of the Ethernet side, where it is another one.
    pub ethernet: Ethernet,
    /// The matching engine.
    pub matching: Matching,
    /// The message processing queues.
    pub mpq: Mpq,
    /// How many PsPIN units there are, and the level that deals packets out to them.
    pub units: UnitsSection,
    /// The clusters of a unit.
    pub cluster: Cluster,
    /// The cores' pipeline.
    pub core: Core,
    /// The shared instruction cache of a cluster.
    pub instruction_cache: InstructionCache,
    /// Each cluster's L1 memory.
    pub l1: L1,
    /// The L2 memory for handlers' data.
    pub l2_handler: Memory,
    /// The L2 packet buffer.
    pub l2_packet: Memory,
    /// The cores' way to L2.
    pub core_ports: CorePorts,
    /// The program memory.
    pub program: Program,
    /// The clusters' DMA engines.
    pub dma: Dma,
    /// Commands that handlers issue.
    pub command: Command,
    /// The network side of the outbound engine.
    pub network: Network,
    /// The host's side of host DMA.
    pub pcie: Pcie,
    /// What stops handlers that misbehave.
    pub protection: Protection,
    /// Overrides that make the machine follow the published RTL where that lacks or breaks
    /// something the paper describes; what `pinion calibrate` and `--faithful` apply.
    #[serde(default)]
    pub faithful: BTreeMap<String, String>,
}

/// Gives the clock.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockSection {
    /// Frequency in MHz.
    pub frequency_mhz: u64,
}

/// Says what happens when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// The source waits.
    BackPressure,
    /// The packet is dropped and counted.
    Drop,
}

/// Describes the NIC inbound engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inbound {
    /// Largest packet in bytes.
    pub max_packet_bytes: u32,
    /// Bytes written to the packet buffer per cycle.
    pub port_bytes: u32,
    /// Cycles from taking a packet to its HER, beside the cycles of its data.
    pub latency_cycles: u64,
    /// Cycles that each port's width of data takes, in sixteenths.
    pub beat_sixteenths: u64,
    /// Bytes of frames that wait in front of the matching engine, where the wire cannot; frames that
    /// find no room are lost. 0: the source waits.
    pub fifo_bytes: u32,
    /// Alignment of packets in the buffer.
    pub align_bytes: u32,
    /// What happens when the packet buffer or the MPQs are full.
    pub when_full: WhenFull,
    /// Write bursts that wait in order for the port to the packet buffer, at most 16.
    pub queue_bursts: u32,
}

/// Names the allocators of the L2 packet buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AllocatorKind {
    /// A ring, filled in order and freed out of order (PsPIN's NIC inbound engine).
    Ring,
    /// Two lists of free slots, small and large ones (FPsPIN §IV, `pspin_pkt_alloc`).
    Slots,
}

/// Describes the allocator of the L2 packet buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocator {
    /// Which one it is; the numbers below are of `slots`.
    pub kind: AllocatorKind,
    /// Number of small slots.
    pub small_slots: u32,
    /// Bytes of a small slot.
    pub small_bytes: u32,
    /// Number of large slots.
    pub large_slots: u32,
    /// Bytes of a large slot; larger packets are dropped.
    pub large_bytes: u32,
}

/// Describes the clock domain of the Ethernet side.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ethernet {
    /// Frequency in MHz; 0: the NIC's own clock, and nothing to cross.
    pub frequency_mhz: u64,
    /// Cycles of the clock that is crossed to, for each crossing.
    pub crossing_cycles: u64,
}

/// Describes the matching engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matching {
    /// Rulesets, one per execution context.
    pub rulesets: u32,
    /// Rules per ruleset, without the end-of-message rule.
    pub rules: u32,
    /// Bytes of a packet it can see.
    pub reach_bytes: u32,
    /// Cycles it takes.
    pub latency_cycles: u64,
    /// Compares words as the artifact's hardware does: bytes swapped.
    pub swapped_compare: bool,
    /// Reads a message's id as the artifact's hardware does: the field's first byte is its lowest.
    pub swapped_id: bool,
}

/// Describes the MPQ engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mpq {
    /// Number of queues: messages in flight. A power of two.
    pub count: u32,
    /// HER cells shared by all queues.
    pub shared_cells: u32,
    /// HER cells of each queue's own.
    pub static_cells: u32,
    /// Lets message ids that differ in their upper bits share a queue, as the RTL does.
    pub alias: bool,
    /// Lowest bits of a message's id that are kept; 32: all.
    pub id_bits: u32,
    /// Frees the queue of a message that has payload handlers only once no packet of it is inside:
    /// such messages need no end. Without effect where ids alias.
    pub forgets: bool,
}

/// Describes the scheduling level in front of several PsPIN units (paper §V).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitsSection {
    /// Number of PsPIN units; everything else in the file describes one of them.
    pub count: u32,
    /// Packets that wait in front of a unit.
    pub queue_packets: u32,
    /// Cycles from a packet's arrival until its unit sees it.
    pub latency_cycles: u64,
}

/// Describes clusters and their schedulers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Number of clusters.
    pub count: u32,
    /// HPUs per cluster.
    pub cores: u32,
    /// HERs a cluster can buffer beside those running.
    pub buffered_hers: u32,
}

/// Describes a cluster's shared instruction cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionCache {
    /// Size in bytes.
    pub bytes: u32,
    /// Ways.
    pub ways: u32,
    /// Bytes per line.
    pub line_bytes: u32,
    /// Cycles a core waits for a line that a jump leads to and that is not there.
    pub miss_cycles: u64,
    /// Cycles of program memory port that a refill's beats take.
    pub refill_port_cycles: u64,
}

/// Describes a cluster's L1 memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1 {
    /// Address of cluster 0's.
    pub base: u32,
    /// Distance between clusters' addresses.
    pub stride: u32,
    /// Address at which a cluster sees its own.
    pub alias: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Number of 32-bit banks.
    pub banks: u32,
    /// Reserved bytes at the start.
    pub reserved_bytes: u32,
    /// Bytes for the runtime: stacks first.
    pub runtime_bytes: u32,
    /// Stack bytes per core.
    pub stack_bytes: u32,
    /// Bytes of packet buffer.
    pub packet_buffer_bytes: u32,
    /// Rings the packet buffer is cut into.
    pub packet_buffer_rings: u32,
    /// Allocation unit of the packet buffer.
    pub packet_slot_bytes: u32,
    /// Cycles an atomic operation holds its bank.
    pub amo_cycles: u64,
    /// Cycles of a load from another cluster's L1.
    pub remote_load_cycles: u64,
    /// Cycles of a store to another cluster's L1.
    pub remote_store_cycles: u64,
    /// Cycles of an atomic on another cluster's L1.
    pub remote_amo_cycles: u64,
    /// Cycles an access from outside holds the cluster's port.
    pub remote_port_cycles: u64,
}

/// Describes an L2 memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Address.
    pub base: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Banks.
    pub banks: u32,
    /// Bytes per bank and cycle.
    pub bank_bytes: u32,
    /// Cycles of a core's load.
    pub load_cycles: u64,
    /// Cycles of a core's store.
    pub store_cycles: u64,
    /// Cycles of a core's atomic; 0: it knows none.
    pub amo_cycles: u64,
    /// Cycles a load holds the cores' port; of handler memory half of them when it goes, and half when its answer
    /// comes.
    pub load_port_cycles: u64,
    /// Cycles a store holds the cores' port.
    pub store_port_cycles: u64,
    /// Cycles for which an atomic keeps others waiting, behind the cores' port that it holds as a store does.
    pub amo_port_cycles: u64,
    /// Cycles for which an atomic keeps loads waiting.
    pub amo_read_port_cycles: u64,
}

/// Describes the program memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Address.
    pub base: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Offset of the first instruction behind the interrupt vectors.
    pub reset_offset: u32,
    /// Cycles of a core's data access.
    pub access_cycles: u64,
}

/// Says what cores' transfers reach beside L2 and the own cluster's L1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DmaReach {
    /// Other clusters' L1 and program memory.
    #[default]
    All,
    /// Nothing (RTL `dma_noc`: an error slave answers there, and nobody hears of the error).
    L2,
}

/// Describes the clusters' DMA engines and the port to L2 they share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dma {
    /// Bytes per cycle.
    pub port_bytes: u32,
    /// Cycles from request to completion, beside the cycles of its data.
    pub latency_cycles: u64,
    /// Half cycles that a burst keeps an engine beside one per beat; long bursts take a cycle per
    /// beat in any case.
    pub burst_overhead_halves: u64,
    /// Transfers a core may have in flight.
    pub core_transfers: u32,
    /// Cycles that a core's own transfers take beside those of the packet copies.
    pub core_latency_cycles: u64,
    /// Extra cycles of the shared port per transfer that reads L2 handler memory.
    pub handler_memory_cycles: u64,
    /// Cycles per beat of a transfer within one L1: it is read, then written.
    pub local_beat_cycles: u64,
    /// Cycles from the end of an engine's read of L2 to its first read of L1.
    pub source_switch_cycles: u64,
    /// Reads of L2 that an engine may have on their way.
    pub engine_reads: u32,
    /// Reads of L2 packet memory of each parity of their ids that may be on their way.
    pub port_reads: u32,
    /// Cycles from a read's last beat to where it is counted no more.
    pub port_return_cycles: u64,
    /// Cycles by which a burst takes longer than a load to where their ways meet.
    pub port_lead_cycles: u64,
    /// What cores' transfers reach.
    #[serde(default)]
    pub core_reach: DmaReach,
}

/// Describes commands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Commands an HPU may have in flight.
    pub per_hpu: u32,
    /// Commands an interface may have in flight.
    pub per_interface: u32,
    /// Cycles from a slot's response until it takes the next command.
    pub slot_turnaround_cycles: u64,
    /// Cycles from an interface's response until the HPU sees it.
    pub response_cycles: u64,
    /// HostDirect: cycles in the interface.
    pub host_direct_cycles: u64,
    /// NIC send: cycles in the interface beside those of its data.
    pub send_cycles: u64,
    /// Host DMA: cycles in the interface beside those of its data.
    pub host_dma_cycles: u64,
    /// Host DMA from L2: cycles until it asks to read.
    pub read_request_cycles: u64,
    /// Host DMA from the host: cycles until it asks for the NIC memory's port, ahead of its data.
    pub write_request_cycles: u64,
    /// Extra cycles when the data come from L2.
    pub from_l2_cycles: u64,
    /// Extra cycles of a host DMA that reads host memory.
    pub from_host_cycles: u64,
    /// Extra cycles of port when the source changes.
    pub source_switch_cycles: u64,
    /// Bytes per cycle of the NIC-host interconnect.
    pub port_bytes: u32,
}

/// Describes the link behind the outbound engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Rate of the link in Mbit/s; 0: it does not throttle.
    pub rate_mbit_s: u64,
    /// Packets that may wait for the link; the outbound engine waits beyond.
    #[serde(default = "published_network_queue")]
    pub queue_packets: u32,
}

/// Gives the packets that may wait for the link in the published driver (`max_network_queue_len`).
const fn published_network_queue() -> u32 {
    32
}

/// Describes the host side of PCIe.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pcie {
    /// Latency of a crossing in ps.
    pub latency_ps: u64,
    /// Crossings of a read: 2 for the request and the data, 1 where the latency is a whole access's.
    pub read_crossings: u32,
    /// Rate in Mbit/s; 0: it does not throttle.
    pub rate_mbit_s: u64,
    /// Checks that commands stay within their context's host memory.
    pub iommu: bool,
}

/// Says what the cores' physical memory protection lets a handler touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PmpPolicy {
    /// Exactly its context's regions, its stack and its packet (paper §III-B2).
    Context,
    /// What the RTL's driver grants: among others every cluster's L1.
    Rtl,
}

/// Describes what stops handlers that misbehave.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protection {
    /// What a handler may touch.
    pub pmp: PmpPolicy,
    /// Whether the HPU drivers have a watchdog.
    pub watchdog: bool,
    /// Cycles the watchdog allows where a context says nothing.
    pub watchdog_cycles: u64,
    /// Cycles without a packet after which a message may be evicted, where a context says nothing;
    /// 0: never.
    pub message_timeout_cycles: u64,
    /// Checks commands against the context's memory.
    pub check_commands: bool,
    /// Stops a run in which no packet has moved for this many cycles; 0: never.
    pub no_progress_cycles: u64,
}

impl Inbound {
    /// Gives the cycles for which a packet's bytes keep the packet buffer's port.
    #[inline]
    pub fn port_cycles(&self, bytes: u32) -> u64 {
        let beats = u64::from(bytes.div_ceil(self.port_bytes)).max(1);
        (beats * self.beat_sixteenths).div_ceil(16)
    }
}

impl Machine {
    /// Gives the number of HPUs in all units.
    pub const fn hpus_of_all_units(&self) -> u32 {
        self.units.count * self.hpus()
    }

    /// Gives the number of HPUs of a unit.
    pub const fn hpus(&self) -> u32 {
        self.cluster.count * self.cluster.cores
    }

    /// Gives the HERs a cluster takes: buffered and running.
    pub const fn hers_per_cluster(&self) -> u32 {
        self.cluster.buffered_hers + self.cluster.cores
    }

    /// Gives the offset of a cluster's packet buffer in its L1.
    pub const fn packet_buffer_offset(&self) -> u32 {
        self.l1.reserved_bytes + self.l1.runtime_bytes
    }

    /// Gives the offset of the scratchpads in a cluster's L1.
    pub const fn scratchpad_offset(&self) -> u32 {
        self.packet_buffer_offset() + self.l1.packet_buffer_bytes
    }

    /// Gives the bytes of a cluster's L1 that contexts' scratchpads share.
    pub const fn scratchpad_bytes(&self) -> u32 {
        self.l1.bytes.saturating_sub(self.scratchpad_offset())
    }

    /// Gives the instructions and registers that the cores have.
    pub const fn extensions(&self) -> Extensions {
        if self.core.xpulp { Extensions::PSPIN.with(Extensions::XPULP) } else { Extensions::PSPIN }
    }

    /// Gives the reset address.
    pub const fn reset_address(&self) -> u32 {
        self.program.base + self.program.reset_offset
    }
}
