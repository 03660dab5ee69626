//! Packets inside: each has a slot of the L2 packet buffer and a record of what became of it. All
//! slots are as large as the largest packet, so that taking one is taking a number off a stack.

use std::ops::Range;

use pinion_spin::Machine;

/// Says that there is no packet.
pub const NONE: u32 = u32::MAX;
/// Aligns slots: a cache line.
const ALIGN_BYTES: u32 = 64;

/// Holds what is known of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Number of matched packets in order of arrival.
    pub number: u64,
    /// The tag its source gave.
    pub tag: u64,
    /// Its context.
    pub context: u32,
    /// Its message.
    pub message: u32,
    /// Number of its bytes.
    pub bytes: u32,
    /// Whether it is its message's last.
    pub end_of_message: bool,
    /// The slot of the next packet of its message.
    pub next: u32,
    /// When it arrived, in nanoseconds since the engine began, like the times below.
    pub arrival_ns: u64,
    /// When its first handler began.
    pub start_ns: Option<u64>,
    /// When its last handler ended.
    pub end_ns: Option<u64>,
    /// When its first packet was sent.
    pub sent_ns: Option<u64>,
    /// The worker that ran its last handler.
    pub worker: Option<u32>,
    /// Number of the instructions of its handlers, where they are counted.
    pub instructions: u64,
    /// Whether a handler of it failed.
    pub failed: bool,
}

/// Holds the packets.
#[derive(Debug)]
pub struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
    base: u32,
    slot_bytes: u32,
}

impl Packets {
    /// Divides a machine's packet buffer.
    pub fn new(machine: &Machine) -> Self {
        let slot_bytes = machine.inbound.max_packet_bytes.next_multiple_of(ALIGN_BYTES);
        let count = (machine.l2_packet.bytes / slot_bytes).max(2);
        Self::of(count, slot_bytes, machine.l2_packet.base)
    }

    /// Makes so many free slots of so many bytes.
    pub fn of(count: u32, slot_bytes: u32, base: u32) -> Self {
        let slots = vec![Packet::default(); count as usize];
        Self { slots, free: (0..count).rev().collect(), base, slot_bytes }
    }

    /// Takes a slot, if one is free.
    #[inline]
    pub fn take(&mut self, packet: Packet) -> Option<u32> {
        let slot = self.free.pop()?;
        self.slots[slot as usize] = packet;
        Some(slot)
    }

    /// Tells whether no slot is free.
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Gives a slot back.
    #[inline]
    pub fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Gives where a slot lies.
    #[inline]
    pub fn address(&self, slot: u32) -> u32 {
        self.base + slot * self.slot_bytes
    }

    /// Takes up to so many slots for good, at most half of them; gives the addresses where they lie.
    pub fn reserve(&mut self, count: u32) -> Range<u32> {
        let end = self.slots.len() as u32;
        let first = end - count.min(end / 2).max(1);
        self.slots.truncate(first as usize);
        self.free.retain(|free| *free < first);
        self.address(first)..self.address(end)
    }

    /// Counts packets inside.
    pub fn inside(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }
}

impl std::ops::Index<u32> for Packets {
    type Output = Packet;

    fn index(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for Packets {
    fn index_mut(&mut self, slot: u32) -> &mut Packet {
        &mut self.slots[slot as usize]
    }
}
