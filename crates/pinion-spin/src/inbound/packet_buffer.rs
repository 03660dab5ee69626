//! The allocator of the L2 packet buffer.
//!
//! In: packet sizes. Out: addresses. Makes the inbound engine wait when there is no room: a ring as
//! PsPIN's NIC inbound engine has it, or FPsPIN's two lists of slots.

mod ring;
mod slots;

use crate::Machine;
use crate::machine::AllocatorKind;

use ring::Ring;
use slots::Slots;

/// Allocates packets.
#[derive(Clone, Debug)]
pub enum PacketBuffer {
    /// In a ring.
    Ring(Ring),
    /// In slots of two sizes.
    Slots(Slots),
}

impl PacketBuffer {
    /// Makes the empty packet buffer of a machine.
    pub fn new(machine: &Machine) -> Self {
        let (base, bytes) = (machine.l2_packet.base, machine.l2_packet.bytes);
        match machine.allocator.kind {
            AllocatorKind::Ring => Self::Ring(Ring::new(base, bytes, machine.inbound.align_bytes)),
            AllocatorKind::Slots => Self::Slots(Slots::new(base, &machine.allocator)),
        }
    }

    /// Gives room for a packet, or `None` if there is none now.
    pub fn allocate(&mut self, bytes: u32) -> Option<u32> {
        match self {
            Self::Ring(ring) => ring.allocate(bytes),
            Self::Slots(slots) => slots.allocate(bytes),
        }
    }

    /// Frees the packet at `address`.
    ///
    /// # Panics
    /// If no packet lies there: then the machine freed one twice.
    pub fn free(&mut self, address: u32) {
        match self {
            Self::Ring(ring) => ring.free(address),
            Self::Slots(slots) => slots.free(address),
        }
    }

    /// Gives the bytes held, with what alignment and order keep from others.
    pub fn occupied_bytes(&self) -> u32 {
        match self {
            Self::Ring(ring) => ring.occupied_bytes(),
            Self::Slots(slots) => slots.occupied_bytes(),
        }
    }
}
