//! A packet's life as the units tell it.

use pinion_sim::Time;
use pinion_spin::{ContextId, HandlerKind, Stalls};

/// What is known of a packet.
#[derive(Clone, Debug)]
pub struct Life {
    /// Its message id.
    pub message: u32,
    /// Its context.
    pub context: ContextId,
    /// Its bytes.
    pub bytes: u32,
    /// When the inbound engine took it.
    pub inbound: Time,
    /// When the whole of it was in the L2 packet buffer; zero until its completion is back.
    pub written: Time,
    /// When its HER was handed to the packet scheduler; zero until then.
    pub her: Time,
    /// When its completion came back.
    pub completion: Option<Time>,
    /// Its tasks, one after the other.
    pub tasks: Vec<Task>,
}

/// What is known of a task: one handler of a packet.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// Its cluster.
    pub cluster: u32,
    /// When the dispatcher sent it there.
    pub out: Time,
    /// When the cluster's scheduler took it.
    pub accepted: Option<Time>,
    /// When the DMA engine began to copy its packet, and when that was there.
    pub copied: Option<(Time, Time)>,
    /// When an HPU got it, and which.
    pub assigned: Option<(Time, u32)>,
    /// What its handler did.
    pub handler: Option<Ran>,
    /// When its completion left the HPU.
    pub pushed: Option<Time>,
    /// Commands that its handler issued.
    pub commands: Vec<Command>,
}

/// What a handler did.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// Its kind.
    pub kind: HandlerKind,
    /// When the HPU took it.
    pub start: Time,
    /// When it rang the doorbell.
    pub end: Time,
    /// Instructions.
    pub instructions: u64,
    /// Cycles lost, by reason.
    pub stalls: Stalls,
    /// Whether it went wrong.
    pub failed: bool,
}

/// What is known of a command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its number in its HPU.
    pub id: u32,
    /// Its interface, by number.
    pub interface: u32,
    /// When it was issued.
    pub issued: Time,
    /// When it left its cluster.
    pub out: Option<Time>,
    /// When its interface took it.
    pub taken: Option<Time>,
    /// When its interface was done.
    pub done: Option<Time>,
}
