//! A packet's life as the units tell it.

use pinion_sim::Time;
use pinion_spin::{HandlerRecord, PacketRecord};

/// What is known of a packet.
#[derive(Clone, Debug)]
pub struct Life {
    /// What its record says: until it is done, no more than when it was taken.
    pub record: PacketRecord,
    /// Whether its completion is back.
    pub is_done: bool,
    /// Its tasks, one after the other.
    pub tasks: Vec<Task>,
}

impl Life {
    /// Gives its handlers that have ended, one after the other.
    pub fn handlers(&self) -> impl Iterator<Item = &HandlerRecord> {
        self.tasks.iter().filter_map(|task| task.handler.as_ref())
    }
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
    pub handler: Option<HandlerRecord>,
    /// When its completion left the HPU.
    pub pushed: Option<Time>,
    /// Commands that its handler issued.
    pub commands: Vec<Command>,
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
