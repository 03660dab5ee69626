//! The program as the pipeline wants it: one slot per half word, decoded once.

use pinion_isa::{Extensions, Instruction, decode};

/// Number of the register whose reads pop the receive queue.
pub const NET_RX: u8 = 30;
/// Number of the register whose writes feed the transmit queue.
pub const NET_TX: u8 = 31;

/// One instruction with what its pipeline wants to know at once.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The instruction; its length is 0 in an empty slot.
    pub instruction: Instruction,
    /// It reads [`NET_RX`].
    pub reads_net: bool,
    /// It writes [`NET_TX`].
    pub writes_net: bool,
}

const EMPTY: Slot =
    Slot { instruction: Instruction::illegal(0, 0), reads_net: false, writes_net: false };

impl Slot {
    fn new(word: u32, extensions: Extensions) -> Self {
        let instruction = decode(word, extensions);
        Self {
            instruction,
            reads_net: instruction.rs1 == NET_RX || instruction.rs2 == NET_RX,
            writes_net: instruction.rd == NET_TX,
        }
    }
}

/// Holds the decoded slots of the address range that the program's code lies in.
#[derive(Clone, Debug)]
pub struct Code {
    base: u64,
    slots: Vec<Slot>,
    extensions: Extensions,
}

impl Code {
    /// Makes an empty table for `bytes` bytes from `base`, which is even.
    pub fn new(base: u64, bytes: u64, extensions: Extensions) -> Self {
        Self { base, slots: vec![EMPTY; bytes.div_ceil(2) as usize], extensions }
    }

    /// Gives the slot of an address, if its instruction is decoded.
    #[inline(always)]
    pub fn get(&self, pc: u64) -> Option<&Slot> {
        let slot = self.slots.get((pc.wrapping_sub(self.base) >> 1) as usize)?;
        (slot.instruction.length != 0).then_some(slot)
    }

    /// Decodes the bits at an address and keeps the result if the address is in the range.
    pub fn fill(&mut self, pc: u64, word: u32) -> Slot {
        let slot = Slot::new(word, self.extensions);
        if let Some(place) = self.slots.get_mut((pc.wrapping_sub(self.base) >> 1) as usize) {
            *place = slot;
        }
        slot
    }

    /// Gives the first address and the size of the range.
    pub fn range(&self) -> (u64, u64) {
        (self.base, self.slots.len() as u64 * 2)
    }

    /// Forgets everything: what `fence.i` does.
    pub fn clear(&mut self) {
        self.slots.fill(EMPTY);
    }
}
