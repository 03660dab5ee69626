//! A PsPIN-like NIC at cycle level: a packet's way from the wire through matching, the packet
//! buffer, the MPQ engine, the task dispatcher, a cluster's scheduler, an HPU, and out again.
//!
//! [`Nic`] is the node: build it from a [`Machine`], a program image and the
//! [`ExecutionContext`]s, give it [`Traffic`], and a [`Listener`] hears what happens.

pub mod context;
pub mod listener;
pub mod machine;
pub mod matching;
pub mod nic;
pub mod traffic;

pub use context::{ContextId, ExecutionContext, Handler};
pub use listener::{Event, HandlerKind, HandlerRecord, Interest, Listener, PacketRecord, Stalls};
pub use machine::Machine;
pub use nic::{Nic, Outcome, SetupError, Totals};
pub use traffic::{Classification, Frame, Offer, Traffic};
