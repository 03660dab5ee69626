//! A PsPIN-like NIC at cycle level: a packet's way from the wire through matching, the packet
//! buffer, the MPQ engine, the task dispatcher, a cluster's scheduler, an HPU, and out again.
//!
//! [`Nic`] is the node: build it from a [`Machine`], a program image and the
//! [`ExecutionContext`]s, give it [`Traffic`], and a [`Listener`] hears what happens. [`NicNode`] puts it
//! at the end of a cable.
//!
//! | unit | file | paper | RTL |
//! |---|---|---|---|
//! | matching engine | `pinion-matching` | §III-A1; FPsPIN §4.1 | FPsPIN's |
//! | NIC inbound engine | `inbound/` | §III-A | the published model of the NIC |
//! | L2 packet buffer | `inbound/packet_buffer.rs` | §III-A | the same; `pspin_pkt_alloc` |
//! | MPQ engine | `mpq_engine.rs`, `message_state.rs` | §III-B1 | `mpq_engine`, `fifo_engine` |
//! | dispatcher | `dispatcher.rs` | §III-B1 | `scheduler` |
//! | cluster scheduler (CSCHED) | `cluster/scheduler.rs`, `cluster/packet_ring.rs` | §III-B2 | cluster scheduler |
//! | cluster DMA | `cluster/dma.rs` | §III-B2 | cluster DMA, `dma_noc` |
//! | L1 TCDM interconnect | `cluster/tcdm_interconnect.rs`, `cluster/lane.rs` | §III-B2 | `tcdm_interconnect`, `amo_shim` |
//! | instruction cache | `pinion-instruction-cache`, `prefetch_buffer.rs` of `pinion-cores` | §III-B2 | `icache_top_mp_128_PF`, `riscv_prefetch_L0_buffer` |
//! | HPU driver | `cluster/hpu/driver/` | §III-B2, §III-B3 | `hpu_driver` |
//! | protection | `cluster/hpu/permissions.rs` | §III-B3 | the cores' PMP, set by `hpu_driver` |
//! | core | `cluster/hpu/core.rs`, `cluster/hpu/execute.rs`, `pulp` of `pinion-cores` | §III-B2 | RI5CY |
//! | event unit, peripherals | `cluster/event_unit.rs`, `cluster/peripherals.rs` | §III-B2 | `event_unit_flex`, `core_demux`, `periph_demux` |
//! | PE interconnect, L2 | `cluster/pe_interconnect.rs`, `pinion-l2-port`, `memory.rs` | §III-A | `per2axi`, `l2_xbar`, AXI multiplexers |
//! | command unit | `cluster/commands.rs`, `command_unit.rs`, `command/` | §III-B2 | command frontend |
//! | NIC-host interconnect (NHI) | `command/cluster_path.rs`, `axi_path` of `pinion-sim` | §III-A | `nhi_xbar`, `cluster_noc` |
//! | off-cluster DMA | `off_cluster_dma.rs` | §III-A | off-cluster DMA |
//! | NIC outbound engine | `outbound.rs` | §III-A | NIC outbound |
//! | host interface | `host_interface.rs` | §III-A | HostDirect |
//! | blocks of hardware in units' places | `pinion-spin-hardware`, `nic/hardware.rs` | none | ours, `hardware/rtl` |
//! | the way back | `cluster/completions.rs` | §III-B2 | `scheduler` |
//! | several units behind one scheduling level | `units/` | §V | none |
//!
//! Every unit owns its state and its wake-ups; [`nic`] only says who stands next to whom.

mod cluster;
mod command;
mod command_unit;
pub mod context;
mod crossing;
mod dispatcher;
mod host_interface;
mod inbound;
pub mod listener;
mod memory;
mod message_state;
mod mpq_engine;
pub mod nic;
mod node;
mod off_cluster_dma;
mod outbound;
pub mod scene;
mod shared;
mod task;
#[cfg(test)]
mod testing;
mod totals;
pub mod traffic;
pub mod units;
mod wake;

pub use cluster::hpu::driver::register as driver_register;
pub use cluster::lanes::AHEAD_CYCLES;
pub use context::{ContextId, ExecutionContext, Handler};
pub use listener::{
    DropReason, Event, Fault, HandlerKind, HandlerRecord, InstructionRecord, Interest, Listener,
    PacketPlace, PacketRecord, RunningTask, Spin, Stalls, TransferRecord, UnitEvent, UnitEventKind,
};
pub use message_state::MessageState;
pub use nic::{ControlError, EngineCore, Nic, Outcome, SetupError};
pub use node::{Cabling, NicNode};
pub use pinion_matching as matching;
pub use pinion_sim::probe::Hears;
pub use pinion_spin_hardware as hardware;
pub use pinion_spin_machine as machine;
pub use pinion_spin_machine::Machine;
pub use scene::{Refused, Registers, Scene};
pub use totals::Totals;
pub use traffic::{Classification, Frame, Inbox, Offer, Traffic};
pub use units::Units;
