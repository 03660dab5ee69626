//! A PsPIN-like NIC at cycle level: a packet's way from the wire through matching, the packet
//! buffer, the MPQ engine, the task dispatcher, a cluster's scheduler, an HPU, and out again.
//!
//! [`Nic`] is the node: build it from a [`Machine`], a program image and the
//! [`ExecutionContext`]s, give it [`Traffic`], and a [`Listener`] hears what happens.
//!
//! | unit | file | paper |
//! |---|---|---|
//! | matching engine | `matching/` | §III-A1; FPsPIN §4.1 |
//! | NIC inbound engine, packet buffer | `nic/ingress.rs`, `packet_buffer.rs` | §III-A |
//! | MPQ engine | `mpq.rs` | §III-B1 |
//! | task dispatcher | `task_dispatcher.rs` | §III-B1 |
//! | cluster: scheduler, L1, DMA, instruction cache | `cluster/` | §III-B2 |
//! | HPU: driver, protection, core | `hpu/`, `nic/execute.rs` | §III-B2, §III-B3 |
//! | commands: HostDirect, NIC outbound, host DMA | `command.rs`, `nic/commands.rs` | §III-A |
//! | several units behind one scheduling level | `units/` | §V |
//! | memories and interconnects | `memory.rs`, `nic/memory_access.rs` | §III-A |

mod arbiter;
mod cluster;
mod command;
pub mod context;
mod hpu;
pub mod listener;
pub mod machine;
pub mod matching;
mod memory;
mod mpq;
pub mod nic;
mod packet_buffer;
pub mod scene;
mod task;
mod task_dispatcher;
#[cfg(test)]
mod testing;
pub mod traffic;
mod turn_port;
pub mod units;

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
