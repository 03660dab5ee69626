//! The packet allocator's ports. In: the length of a packet that asks for room, slots whose packets are done.
//! Out: where the packet lies.

use std::collections::BTreeMap;

use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::{AllocatorKind, Machine};

use super::{Needs, Seat};

const PACKET_VALID: usize = 0;
const PACKET_BYTES: usize = 1;
const FREE_VALID: usize = 2;
const FREE_ADDRESS: usize = 3;
const PACKET_READY: usize = 4;
const PACKET_DROP: usize = 5;
const PACKET_ADDRESS: usize = 6;
const DROPS: usize = 7;

/// Bits of a packet's length.
const LENGTH_BITS: u32 = 16;
/// Bits of the count of packets that fit no slot.
const DROPS_BITS: u32 = 32;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let slots = &machine.allocator;
    if slots.kind != AllocatorKind::Slots {
        return Err("the L2 packet buffer is a ring; the block gives slots: --set \
                    allocator.kind=slots"
            .into());
    }
    for (key, count) in
        [("allocator.small_slots", slots.small_slots), ("allocator.large_slots", slots.large_slots)]
    {
        if count < 2 {
            return Err(format!("{key} is {count}; the block takes two at least: --set {key}=2"));
        }
    }
    if slots.large_bytes >> LENGTH_BITS != 0 {
        return Err(format!(
            "allocator.large_bytes is {}; the block tells {LENGTH_BITS} bits of a length: --set \
             allocator.large_bytes={}",
            slots.large_bytes,
            (1 << LENGTH_BITS) - 1
        ));
    }
    let address = bits_for(bytes(machine));
    let ports = vec![
        Port::input("packet_valid", 1),
        Port::input("packet_bytes", LENGTH_BITS),
        Port::input("free_valid", 1),
        Port::input("free_address", address),
        Port::output("packet_ready", 1),
        Port::output("packet_drop", 1),
        Port::output("packet_address", address),
        Port::output("drops", DROPS_BITS),
    ];
    let parameters = vec![
        ("SMALL_SLOTS", u64::from(slots.small_slots)),
        ("SMALL_BYTES", u64::from(slots.small_bytes)),
        ("LARGE_SLOTS", u64::from(slots.large_slots)),
        ("LARGE_BYTES", u64::from(slots.large_bytes)),
        ("LENGTH_BITS", u64::from(LENGTH_BITS)),
    ];
    Ok(Needs { ports, parameters })
}

/// Counts the bytes of all slots.
fn bytes(machine: &Machine) -> u64 {
    let slots = &machine.allocator;
    u64::from(slots.small_slots) * u64::from(slots.small_bytes)
        + u64::from(slots.large_slots) * u64::from(slots.large_bytes)
}

/// Is the packet allocator's block at its place.
pub type AllocatorSeat = Seat<Room>;

/// Remembers what waits for room, and what has some.
#[derive(Debug)]
pub struct Room {
    /// Bytes of the packet that waits.
    waits: Option<u32>,
    /// Packets that the block has refused.
    refused: u64,
    /// By their offset in the packet buffer: bytes of packets that lie there, as a block in the model's place
    /// says.
    held: BTreeMap<u32, u32>,
    base: u32,
    bytes: u64,
}

/// Says what a block answers a packet that asks for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It lies at this address.
    At(u32),
    /// There is no room now.
    Waits,
    /// It fits no slot.
    TooLarge,
}

impl AllocatorSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let (base, bytes) = (machine.l2_packet.base, bytes(machine));
        let own = Room { waits: None, refused: 0, held: BTreeMap::new(), base, bytes };
        Self::at(block, compares, own)
    }

    /// Begins a cycle; says whether there is room for the packet that waits.
    pub fn begin(&mut self) -> bool {
        self.block.put(FREE_VALID, 0);
        self.block.put(PACKET_VALID, u64::from(self.own.waits.is_some()));
        if self.compares {
            self.block.expect(DROPS, self.own.refused);
            if self.own.waits.is_some() {
                self.block.expect(PACKET_READY, 0);
            }
            return false;
        }
        self.own.waits.is_some() && self.block.get(PACKET_READY) == 1
    }

    fn put(&mut self, bytes: u32) {
        self.block.put(PACKET_VALID, 1);
        self.block.put(PACKET_BYTES, u64::from(bytes));
    }

    /// Asks for a packet's room; it goes on asking in later cycles if it `may_wait` for it.
    pub fn allocate(&mut self, bytes: u32, may_wait: bool) -> Answer {
        self.put(bytes);
        self.own.waits = None;
        if self.block.get(PACKET_READY) == 0 {
            self.own.waits = may_wait.then_some(bytes);
            return Answer::Waits;
        }
        if self.block.get(PACKET_DROP) == 1 {
            self.own.refused += 1;
            return Answer::TooLarge;
        }
        let offset = self.block.get(PACKET_ADDRESS) as u32;
        let end = u64::from(offset) + u64::from(bytes);
        let before = self.own.held.range(..end as u32).next_back();
        let meets = before.filter(|(start, held)| **start + (**held).max(1) > offset);
        if end > self.own.bytes {
            self.wrong = Some(format!(
                "packet_address is {offset:#x}: {bytes} bytes do not end within {:#x}",
                self.own.bytes
            ));
        } else if let Some((start, held)) = meets {
            self.wrong = Some(format!(
                "packet_address is {offset:#x}: {bytes} bytes there meet the packet at {start:#x}, which has \
                 {held}"
            ));
        } else {
            self.own.held.insert(offset, bytes);
        }
        Answer::At(self.own.base + offset)
    }

    /// Shows it a packet that asks, and the address that the model gave it; without one it `waits`, or is
    /// dropped.
    pub fn follow(&mut self, bytes: u32, address: Option<u32>, waits: bool) {
        self.put(bytes);
        self.block.expect(PACKET_READY, u64::from(address.is_some()));
        if let Some(address) = address {
            self.block.expect(PACKET_DROP, 0);
            self.block.expect(PACKET_ADDRESS, u64::from(address - self.own.base));
        }
        self.own.waits = (address.is_none() && waits).then_some(bytes);
    }

    /// Gives it a slot back.
    pub fn free(&mut self, address: u32) {
        let offset = address - self.own.base;
        self.own.held.remove(&offset);
        self.block.put(FREE_VALID, 1);
        self.block.put(FREE_ADDRESS, u64::from(offset));
    }

    /// Gives the bytes of packets that have room, as a block in the model's place says.
    pub fn held_bytes(&self) -> u32 {
        self.own.held.values().sum()
    }
}
