//! The allocator of the L2 packet buffer.
//!
//! In: packets by number, and their sizes. Out: addresses. Makes the inbound engine wait when there is
//! no room: a ring as PsPIN's NIC inbound engine has it, or FPsPIN's two lists of slots.

mod ring;
mod slots;

use pinion_spin_machine::{AllocatorKind, Machine};

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

    /// Gives room for the packet of a number, which is one more than the last one's, or `None` if there
    /// is none now.
    pub fn allocate(&mut self, number: u64, bytes: u32) -> Option<u32> {
        match self {
            Self::Ring(ring) => ring.allocate(number, bytes),
            Self::Slots(slots) => slots.allocate(bytes),
        }
    }

    /// Frees the packet of a number, which lies at `address`.
    ///
    /// # Panics
    /// If it is not there: then the machine freed one twice.
    #[inline(always)]
    pub fn free(&mut self, number: u64, address: u32) {
        match self {
            Self::Ring(ring) => ring.free(number),
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
