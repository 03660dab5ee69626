//! The program as the pipeline wants it: one slot per half word, decoded once.
//!
//! In: a program's image, later the bits that a pipeline fetches. Out: slots. Nodes that run the same
//! program share its slots, so that a thousand of them keep one copy in the host's caches; a node whose
//! program changes itself gets its own. Each node knows which slots its pipeline has met: what the
//! frontend predicts ahead of it depends on that.

use std::sync::Arc;

use pinion_isa::elf::Image;
use pinion_isa::{Class, Extensions, Instruction, Op, decode, is_compressed};

use super::network::csr;

/// Number of the register whose reads pop the receive queue.
pub const NET_RX: u8 = 30;
/// Number of the register whose writes feed the transmit queue.
pub const NET_TX: u8 = 31;

/// Says what the lean loop does with an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Operation on integer registers.
    Plain,
    /// Conditional branch.
    Branch,
    /// Jump to an address that stands in the instruction.
    Jump,
    /// Jump to an address in a register.
    JumpRegister,
    /// Load of integer registers.
    Load,
    /// Store of integer registers.
    Store,
    /// Read of `lnicrdy` and nothing else.
    Ready,
    /// Read of `lmsgsrdy` and nothing else.
    Poll,
    /// The idle command and nothing else.
    Idle,
    /// Anything else, and what touches the network: left to the reference.
    Other,
}

/// One instruction with what its pipeline wants to know at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The instruction; its length is 0 in an empty slot.
    pub instruction: Instruction,
    /// What the lean loop does with it.
    pub kind: Kind,
    /// It reads [`NET_RX`].
    pub reads_net: bool,
    /// It writes [`NET_TX`].
    pub writes_net: bool,
}

/// The half words that a store may reach into, a bit each, and the one in front of them.
const STORED: u64 = (1 << 6) - 1;
/// Slots that a word of [`Code::known`] tells of.
const KNOWN_BITS: usize = u64::BITS as usize;

const EMPTY: Slot = Slot {
    instruction: Instruction::illegal(0, 0),
    kind: Kind::Other,
    reads_net: false,
    writes_net: false,
};

impl Slot {
    fn new(word: u32, extensions: Extensions) -> Self {
        let instruction = decode(word, extensions);
        let reads_net = instruction.rs1 == NET_RX || instruction.rs2 == NET_RX;
        let writes_net = instruction.rd == NET_TX;
        let kind = match instruction.class {
            _ if reads_net || writes_net => Kind::Other,
            Class::Alu => Kind::Plain,
            Class::Branch => Kind::Branch,
            Class::Jump => Kind::Jump,
            Class::JumpRegister => Kind::JumpRegister,
            Class::Load => Kind::Load,
            Class::Store => Kind::Store,
            Class::Csr if reads_only(&instruction, csr::NIC_READY) => Kind::Ready,
            Class::Csr if reads_only(&instruction, csr::MESSAGES_READY) => Kind::Poll,
            Class::Csr if is_idle(&instruction) => Kind::Idle,
            _ => Kind::Other,
        };
        Self { instruction, kind, reads_net, writes_net }
    }
}

/// Tells whether an instruction reads a CSR and does nothing else.
fn reads_only(i: &Instruction, number: u16) -> bool {
    i.op == Op::Csrrs && i.rs1 == 0 && i.rd != 0 && i.csr() == number
}

/// Tells whether an instruction gives the idle command and does nothing else.
fn is_idle(i: &Instruction) -> bool {
    let command = immediate(i) == csr::IDLE_COMMAND;
    i.op == Op::Csrrwi && i.rd == 0 && command && i.csr() == csr::USER_COMMAND
}

/// Where a decoded CSR instruction keeps its five-bit immediate: above the CSR's number.
const IMMEDIATE_SHIFT: u32 = 16;
const IMMEDIATE_BITS: i32 = 31;

/// Gives the immediate of a CSR instruction that has one.
pub(super) fn immediate(i: &Instruction) -> u64 {
    (i.imm >> IMMEDIATE_SHIFT & IMMEDIATE_BITS) as u64
}

/// Holds the decoded slots of the address range that the program's code lies in.
#[derive(Clone, Debug)]
pub struct Code {
    base: u64,
    slots: Arc<[Slot]>,
    /// By slot: whether the pipeline has met it, in words of 64 bits.
    known: Vec<u64>,
    /// Times that what the pipeline has met was changed or forgotten.
    changes: u64,
    extensions: Extensions,
}

impl Code {
    /// Makes an empty table for `bytes` bytes from `base`, which is even.
    pub fn new(base: u64, bytes: u64, extensions: Extensions) -> Self {
        let slots = bytes.div_ceil(2) as usize;
        Self {
            base,
            slots: vec![EMPTY; slots].into(),
            known: vec![0; slots.div_ceil(KNOWN_BITS)],
            changes: 0,
            extensions,
        }
    }

    /// Decodes a program for memory of `most_bytes` from `base` on, from there to the end of its last
    /// segment that holds code. No pipeline has met any of it.
    pub fn of(image: &Image, base: u64, most_bytes: u64, extensions: Extensions) -> Self {
        let segments = || image.segments.iter().filter(|segment| segment.flags.execute);
        let ends =
            segments().map(|segment| segment.load_address.saturating_add(segment.memory_bytes));
        let bytes = ends.max().unwrap_or(base).saturating_sub(base).min(most_bytes);
        let mut code = Self::new(base, bytes, extensions);
        let slots = Arc::make_mut(&mut code.slots);
        for segment in segments() {
            let first = segment.load_address.wrapping_sub(base) / 2;
            let halves = segment.data.as_chunks::<2>().0;
            let half = |index: usize| halves.get(index).map(|half| u16::from_le_bytes(*half));
            for index in 0..halves.len() {
                let (Some(low), high) = (half(index), half(index + 1)) else { break };
                let low = u32::from(low);
                let word =
                    if is_compressed(low) { low } else { low | u32::from(high.unwrap_or(0)) << 16 };
                if let Some(slot) = slots.get_mut(first as usize + index) {
                    *slot = Slot::new(word, extensions);
                }
            }
        }
        code
    }

    /// Gives the slot of an address, if the pipeline has met it.
    #[inline(always)]
    pub fn get(&self, pc: u64) -> Option<&Slot> {
        let index = (pc.wrapping_sub(self.base) >> 1) as usize;
        let known = self.known.get(index / KNOWN_BITS)? >> (index % KNOWN_BITS) & 1;
        if known == 0 { None } else { self.slots.get(index) }
    }

    /// Gives the slot of an address, met or not, as the frontend sees it that fetches ahead. Where
    /// the program has changed itself since, it may be what was there before.
    pub fn peek(&self, pc: u64) -> Option<&Slot> {
        let index = (pc.wrapping_sub(self.base) >> 1) as usize;
        self.slots.get(index).filter(|slot| slot.instruction.length != 0)
    }

    /// Decodes the bits at an address that the pipeline meets, and keeps the result if the address is
    /// in the range.
    pub fn fill(&mut self, pc: u64, word: u32) -> Slot {
        let slot = Slot::new(word, self.extensions);
        let index = (pc.wrapping_sub(self.base) >> 1) as usize;
        if let Some(decoded) = self.slots.get(index)
            && slot.instruction.length != 0
        {
            if *decoded != slot {
                Arc::make_mut(&mut self.slots)[index] = slot;
                self.changes += 1;
            }
            self.known[index / KNOWN_BITS] |= 1 << (index % KNOWN_BITS);
        }
        slot
    }

    /// Gives the first address and the size of the range.
    pub fn range(&self) -> (u64, u64) {
        (self.base, self.slots.len() as u64 * 2)
    }

    /// Forgets the slots that a store of up to eight bytes at an address may change: those of the bytes
    /// themselves, and of an instruction in front of them that reaches into them.
    #[inline(always)]
    pub fn forget(&mut self, address: u64) {
        let first = (address.wrapping_sub(self.base) as i64 >> 1) - 1;
        let (index, bit) = (first.div_euclid(KNOWN_BITS as i64), first as u64 % KNOWN_BITS as u64);
        let stored = u128::from(STORED) << bit;
        for (index, stored) in [(index, stored as u64), (index + 1, (stored >> KNOWN_BITS) as u64)]
        {
            if let Some(known) = self.known.get_mut(index as usize) {
                self.changes += u64::from(*known & stored != 0);
                *known &= !stored;
            }
        }
    }

    /// Forgets all that the pipeline has met: what `fence.i` does.
    pub fn clear(&mut self) {
        self.known.fill(0);
        self.changes += 1;
    }

    /// Counts the times that code which the pipeline has met was changed or forgotten.
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOP: u32 = 0x13;

    #[test]
    fn nodes_share_slots_until_one_changes_its_program() {
        let mut one = Code::new(0x8000_0000, 64, Extensions::RV64GC);
        one.fill(0x8000_0004, NOP);
        one.clear();
        let mut two = one.clone();
        assert!(two.get(0x8000_0004).is_none(), "not met yet");
        two.fill(0x8000_0004, NOP);
        assert!(Arc::ptr_eq(&one.slots, &two.slots));
        assert_eq!(two.get(0x8000_0004).map(|slot| slot.instruction.length), Some(4));
        assert!(one.get(0x8000_0004).is_none());
        two.fill(0x8000_0004, 0x0010_0f93);
        assert!(two.get(0x8000_0004).unwrap().writes_net && !Arc::ptr_eq(&one.slots, &two.slots));
        assert!(!one.fill(0x8000_0004, NOP).writes_net);
    }

    #[test]
    fn a_store_forgets_what_it_may_change() {
        for address in 0x7fff_fff0..0x8000_0210u64 {
            let mut code = Code::new(0x8000_0000, 512, Extensions::RV64GC);
            for half in 0..256 {
                code.fill(0x8000_0000 + 2 * half, NOP);
            }
            code.forget(address);
            for half in 0..256 {
                let pc = 0x8000_0000 + 2 * half;
                let is_touched = pc + 4 > address && pc < address + 8;
                let is_near = pc + 6 > address && pc < address + 10;
                let is_known = code.get(pc).is_some();
                assert!(!(is_touched && is_known), "{pc:#x} by a store to {address:#x}");
                assert!(is_near || is_known, "{pc:#x} by a store to {address:#x}");
            }
        }
    }

    #[test]
    fn addresses_outside_are_decoded_and_not_kept() {
        let mut code = Code::new(0x8000_0000, 64, Extensions::RV64GC);
        for pc in [0x7fff_fffe, 0x8000_0040, 0] {
            assert_eq!(code.fill(pc, NOP).instruction.length, 4);
            assert!(code.get(pc).is_none());
        }
    }
}
