//! The packets inside a NIC, by number and by address: addresses name them in the fine trace, in
//! each unit's own L2 packet buffer.

use std::collections::VecDeque;

use pinion_sim::Time;
use pinion_spin::{ContextId, Machine, PacketRecord};
use rustc_hash::FxHashMap;

/// Holds what is known of a packet inside.
#[derive(Debug, Clone, Copy)]
pub struct Inside {
    /// Its number.
    pub packet: u64,
    /// Its message id.
    pub message: u32,
    /// Its context.
    pub context: ContextId,
    /// Its bytes.
    pub bytes: u32,
    /// When the inbound engine took it.
    pub inbound: Time,
}

/// Names a packet: its unit and its address in that unit's packet buffer.
type Place = (u32, u32);

/// Holds the packets inside.
#[derive(Debug)]
pub struct Packets {
    units: u32,
    clusters: u32,
    by_place: FxHashMap<Place, Inside>,
    places: FxHashMap<u64, Place>,
    /// By unit: packets whose HERs have yet to come; they do so in this order.
    before_her: Vec<VecDeque<(u32, Inside)>>,
}

impl Packets {
    /// Makes an empty machine's.
    pub fn new(machine: &Machine) -> Self {
        Self {
            units: machine.units.count.max(1),
            clusters: machine.cluster.count.max(1),
            by_place: FxHashMap::default(),
            places: FxHashMap::default(),
            before_her: vec![VecDeque::new(); machine.units.count.max(1) as usize],
        }
    }

    /// Gives the unit that a cluster belongs to.
    pub fn unit_of(&self, cluster: u32) -> u32 {
        (cluster / self.clusters).min(self.units - 1)
    }

    /// Notes a packet that was taken.
    pub fn insert(&mut self, record: &PacketRecord, address: u32) -> Inside {
        let inside = Inside {
            packet: record.packet,
            message: record.message,
            context: record.context,
            bytes: record.bytes,
            inbound: record.inbound,
        };
        // Units deal packet numbers out in turn.
        let unit = (record.packet % u64::from(self.units)) as u32;
        self.by_place.insert((unit, address), inside);
        self.places.insert(record.packet, (unit, address));
        self.before_her[unit as usize].push_back((address, inside));
        inside
    }

    /// Finds the packet at an address of the unit that a cluster belongs to.
    pub fn at(&self, cluster: u32, address: u32) -> Option<Inside> {
        self.by_place.get(&(self.unit_of(cluster), address)).copied()
    }

    /// Finds a packet by its number.
    pub fn number(&self, packet: u64) -> Option<Inside> {
        self.by_place.get(self.places.get(&packet)?).copied()
    }

    /// Takes the packets up to the one whose HER comes: those before it were dropped.
    pub fn take_up_to(&mut self, cluster: u32, address: u32) -> Vec<Inside> {
        let unit = self.unit_of(cluster) as usize;
        let waiting = &mut self.before_her[unit];
        let found = waiting.iter().position(|(at, _)| *at == address);
        let count = found.map_or(0, |index| index + 1);
        waiting.drain(..count).map(|(_, inside)| inside).collect()
    }

    /// Takes the packet whose HER would come next, where there is one unit only.
    pub fn take_next(&mut self) -> Option<Inside> {
        match &mut self.before_her[..] {
            [waiting] => waiting.pop_front().map(|(_, inside)| inside),
            _ => None,
        }
    }

    /// Forgets a packet.
    pub fn remove(&mut self, packet: u64) -> Option<Inside> {
        let place = self.places.remove(&packet)?;
        match self.by_place.get(&place) {
            Some(inside) if inside.packet == packet => self.by_place.remove(&place),
            _ => None, // another packet has its place already
        }
    }

    /// Lists the packets that are inside, by number.
    pub fn all(&self) -> Vec<Inside> {
        let mut all: Vec<Inside> = self.by_place.values().copied().collect();
        all.sort_by_key(|inside| inside.packet);
        all
    }
}
