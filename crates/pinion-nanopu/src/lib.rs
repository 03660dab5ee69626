//! A nanoPU node: RISC-V cores whose register file is the network interface, with transport, core
//! selection and thread scheduling in hardware (nanoPU paper, §2 and §3).
//!
//! A frame's way: [`nic::receive`] (pins, ingress pipeline, reassembly, global receive queues, core
//! selection) → [`hart_interface`] (local receive queue, thread scheduler) → a core, which reads x30
//! and writes x31 → [`nic::transmit`] (packetization, timers, packet generator, egress, pins).
//!
//! Every unit counts cycles of the node's one clock ([`Cycle`]); what they say happened is an
//! [`event::Event`].

mod address;
pub mod baseline;
pub mod event;
pub mod hart_interface;
pub mod machine;
pub mod memory;
pub mod nic;
pub mod node;
mod packets;
pub mod transport;

pub use pinion_cores::rocket as core;

/// Counts cycles of the node's clock since reset.
pub type Cycle = u64;
