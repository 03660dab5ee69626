//! Where packets lay: places in the packet buffers, those that were given back too.

use std::collections::VecDeque;

use pinion_spin::ContextId;

/// Places that are remembered.
const REMEMBERED: usize = 1024;

/// A packet's place in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    first: u32,
    bytes: u32,
    /// The packet.
    pub packet: u64,
    /// Its context.
    pub context: ContextId,
    /// Whether it was given back.
    pub is_free: bool,
}

/// Holds the last places.
#[derive(Default)]
pub struct Places {
    list: VecDeque<Place>,
}

impl Places {
    /// Adds a place that a packet was given.
    pub fn take(&mut self, packet: u64, context: ContextId, (first, bytes): (u32, u32)) {
        if self.list.len() == REMEMBERED {
            self.list.pop_front();
        }
        self.list.push_back(Place { first, bytes, packet, context, is_free: false });
    }

    /// Notes that a packet gave a place back.
    pub fn give_back(&mut self, packet: u64, is_place: impl Fn(u32) -> bool) {
        let mut list = self.list.iter_mut().rev();
        let own = |place: &&mut Place| place.packet == packet && is_place(place.first);
        if let Some(place) = list.find(own) {
            place.is_free = true;
        }
    }

    /// Finds whose an address is or was last.
    pub fn at(&self, address: u32) -> Option<Place> {
        let holds = |place: &&Place| address.wrapping_sub(place.first) < place.bytes;
        self.list.iter().rev().find(holds).copied()
    }
}
