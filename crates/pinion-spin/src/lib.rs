//! A PsPIN-like NIC at cycle level: a packet's way from the wire through matching, the packet
//! buffer, the MPQ engine, the task dispatcher, a cluster's scheduler, an HPU, and out again.
//!
//! [`Nic`] is the node: build it from a [`Machine`], a program image and the
//! [`ExecutionContext`]s, give it [`Traffic`], and a [`Listener`] hears what happens.
//!
//! | unit | file | paper |
//! |---|---|---|
//! | matching engine | `matching/` | §III-A1; FPsPIN §4.1 |
//! | NIC inbound engine, packet buffer | `inbound.rs`, `packet_buffer.rs` | §III-A |
//! | MPQ engine | `mpq_engine.rs` | §III-B1 |
//! | task dispatcher | `dispatcher.rs` | §III-B1 |
//! | cluster: scheduler, L1, DMA, instruction cache | `cluster/` | §III-B2 |
//! | HPU: driver, protection, core | `hpu/`, `hpu/execute.rs` | §III-B2, §III-B3 |
//! | commands: HostDirect, NIC outbound, host DMA | `command_unit.rs`, `outbound.rs`, `host_interface.rs` | §III-A |
//! | several units behind one scheduling level | `units/` | §V |
//! | memories and interconnects | `memory.rs`, `cluster/pe_interconnect.rs` | §III-A |

mod arbiter;
mod cluster;
mod command_unit;
pub mod context;
mod crossing;
mod dispatcher;
mod host_interface;
mod hpu;
mod inbound;
pub mod listener;
pub mod machine;
pub mod matching;
mod memory;
mod mpq_engine;
pub mod nic;
mod off_cluster_dma;
mod outbound;
pub mod scene;
mod shared;
mod task;
#[cfg(test)]
mod testing;
pub mod traffic;
mod turn_port;
pub mod units;
mod wake;

pub use context::{ContextId, ExecutionContext, Handler};
pub use listener::{
    DropReason, Event, Fault, HandlerKind, HandlerRecord, InstructionRecord, Interest, Listener,
    PacketRecord, RunningTask, Stalls, TransferRecord, UnitEvent, UnitEventKind,
};
pub use machine::Machine;
pub use nic::{ControlError, Nic, Outcome, SetupError, Totals};
pub use scene::{Refused, Registers, Scene};
pub use traffic::{Classification, Frame, Offer, Traffic};
pub use units::Units;
