//! Why a packet was dropped: what was full, and of what.

use pinion_spin::{DropReason, Machine};

use super::census::DroppedTarget;
use super::witness::Witness;
use pinion_observe::words::{bytes, count};

/// What was inside when a packet was dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inside {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages they belong to.
    pub messages: u64,
    /// Packets for which handlers ran or had run.
    pub handled: u64,
}

/// Counts what a witness saw inside.
pub fn inside(witness: &Witness) -> Inside {
    let lives = || witness.lives.values().filter(|life| !life.is_done);
    let mut messages: Vec<(u32, u32)> =
        lives().map(|life| (life.record.context.0, life.record.message)).collect();
    messages.sort_unstable();
    messages.dedup();
    Inside {
        packets: lives().count() as u64,
        bytes: lives().map(|life| u64::from(life.record.bytes)).sum(),
        messages: messages.len() as u64,
        handled: lives().filter(|life| life.handlers().next().is_some()).count() as u64,
    }
}

/// Says in one sentence why a packet was dropped.
pub fn sentence(machine: &Machine, dropped: &DroppedTarget, inside: &Inside) -> String {
    let within = format!(
        "{} packets of {} messages were inside, {}",
        count(inside.packets),
        count(inside.messages),
        bytes(inside.bytes)
    );
    match dropped.reason {
        DropReason::TooLarge => format!(
            "It has {}, and {} takes packets of up to {} (inbound.max_packet_bytes).",
            bytes(dropped.bytes as u64),
            machine.name,
            bytes(u64::from(machine.inbound.max_packet_bytes))
        ),
        DropReason::BufferFull => format!(
            "The L2 packet buffer of {} had no room for it: {within}; handlers free it more slowly \
             than packets come.",
            bytes(u64::from(machine.l2_packet.bytes))
        ),
        DropReason::NoQueue => format!(
            "It begins a message, and each of the {} MPQs has one (mpq.count): {within}.",
            machine.mpq.count
        ),
        DropReason::FifoFull => format!(
            "The FIFO in front of the matching engine was full ({}, inbound.fifo_bytes): {within}.",
            bytes(u64::from(machine.inbound.fifo_bytes))
        ),
        DropReason::Reset => "The NIC was reset while it was inside.".to_owned(),
    }
}
