//! What travels between the units: packets by number, tasks, and the slab that holds packets.

pub use pinion_spin_hardware::words::Task;

use crate::{ContextId, PacketRecord};

/// Stands for no packet.
pub const NO_PACKET: u32 = u32::MAX;

/// Holds a packet while it is inside.
#[derive(Clone, Debug)]
pub struct Packet {
    /// What is known of its way so far.
    pub record: PacketRecord,
    /// Its address in the L2 packet buffer.
    pub address: u32,
    /// Its bytes that are copied to L1.
    pub l1_bytes: u32,
    /// Next packet of the same queue, or the next free slot.
    pub next: u32,
    /// Whether it holds its queue's own cell.
    pub static_cell: bool,
}

/// Holds the packets that are inside, by slot.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    free: Option<u32>,
    live: u32,
    /// Packets inside by context.
    by_context: Vec<u32>,
}

impl Packets {
    /// Puts a packet into a slot.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        self.live += 1;
        let context = packet.record.context.0 as usize;
        if self.by_context.len() <= context {
            self.by_context.resize(context + 1, 0);
        }
        self.by_context[context] += 1;
        match self.free {
            Some(slot) => {
                let entry = &mut self.slots[slot as usize];
                self.free = (entry.next != NO_PACKET).then_some(entry.next);
                *entry = packet;
                slot
            }
            None => {
                self.slots.push(packet);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Empties a slot; its content stays readable until the next `insert`.
    pub fn remove(&mut self, slot: u32) {
        self.live -= 1;
        let context = self.slots[slot as usize].record.context.0;
        self.by_context[context as usize] -= 1;
        self.slots[slot as usize].next = self.free.unwrap_or(NO_PACKET);
        self.free = Some(slot);
    }

    /// Gives the packets inside.
    pub fn inside(&self) -> impl Iterator<Item = &Packet> {
        let mut is_free = vec![false; self.slots.len()];
        let mut free = self.free;
        while let Some(slot) = free {
            is_free[slot as usize] = true;
            free = Some(self.slots[slot as usize].next).filter(|&next| next != NO_PACKET);
        }
        self.slots.iter().zip(is_free).filter(|(_, free)| !free).map(|(packet, _)| packet)
    }

    /// Gives the number of a context's packets inside.
    pub fn live_of(&self, context: ContextId) -> u32 {
        self.by_context.get(context.0 as usize).copied().unwrap_or(0)
    }

    /// Gives the number of packets inside.
    pub fn live(&self) -> u32 {
        self.live
    }
}

impl std::ops::Index<u32> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for Packets {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Packet {
        &mut self.slots[slot as usize]
    }
}
