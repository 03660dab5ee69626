//! A table of decoded instructions for a range of addresses: decode once, execute many.
//!
//! In: the bytes of program memory. Out: the instruction at an address, in one table access.
//! Holds one slot per half word; a slot is empty until its bytes are given, and again after
//! `invalidate`, whereupon `get` returns `None` and the caller refills it with `fill`.

use crate::decode::{decode, is_compressed};
use crate::{Extensions, Instruction, Xlen};

/// Holds the decoded instructions of one address range.
#[derive(Clone, Debug)]
pub struct DecodedProgram<X> {
    base: X,
    slots: Vec<Instruction>,
    extensions: Extensions,
}

/// Stands for a slot whose bytes are not known: an instruction of length 0.
const EMPTY: Instruction = Instruction::illegal(0, 0);

impl<X: Xlen> DecodedProgram<X> {
    /// Makes an empty table for `bytes` bytes from `base` (which is aligned down to 2).
    pub fn new(base: X, bytes: usize, extensions: Extensions) -> Self {
        let base = base & !X::ONE;
        Self { base, slots: vec![EMPTY; bytes.div_ceil(2)], extensions }
    }

    /// Makes a table of the program in `bytes`, all of it decoded.
    pub fn from_bytes(base: X, bytes: &[u8], extensions: Extensions) -> Self {
        let mut program = Self::new(base, bytes.len(), extensions);
        program.load(base, bytes);
        program
    }

    /// Gives the first address.
    pub fn base(&self) -> X {
        self.base
    }

    /// Gives the length of the range in bytes.
    pub fn bytes(&self) -> usize {
        self.slots.len() * 2
    }

    /// Gives the extensions that instructions are decoded with.
    pub fn extensions(&self) -> Extensions {
        self.extensions
    }

    /// Gives the slot of an address, which may lie beyond the table.
    #[inline(always)]
    fn slot(&self, pc: X) -> u64 {
        pc.minus(self.base).shift_right(1).to_u64()
    }

    /// Gives the instruction at an address, or `None` outside the range and in an empty slot.
    #[inline(always)]
    pub fn get(&self, pc: X) -> Option<&Instruction> {
        self.slots.get(self.slot(pc) as usize).filter(|instruction| instruction.length != 0)
    }

    /// Gives the place of the instruction at `pc`, for [`Self::at`].
    #[inline(always)]
    pub fn place(&self, pc: X) -> u32 {
        self.slot(pc) as u32
    }

    /// Gives the instruction at a place that [`Self::place`] gave.
    #[inline(always)]
    pub fn at(&self, place: u32) -> Option<&Instruction> {
        self.slots.get(place as usize).filter(|instruction| instruction.length != 0)
    }

    /// Decodes the bits found at `pc` and remembers the result if it lies in the range.
    ///
    /// The upper half of `word` only counts when the lower half begins a 32-bit instruction.
    pub fn fill(&mut self, pc: X, word: u32) -> Instruction {
        let instruction = decode(word, self.extensions);
        let slot = self.slot(pc) as usize;
        if let Some(entry) = self.slots.get_mut(slot) {
            *entry = instruction;
        }
        instruction
    }

    /// Decodes the bytes at `address`, as far as they lie in the range.
    ///
    /// A 32-bit instruction whose second half is not among the bytes stays empty.
    pub fn load(&mut self, address: X, bytes: &[u8]) {
        self.invalidate(address, bytes.len() as u64);
        let skip = (address & X::ONE).to_u64() as usize;
        let mut pc = address.plus(X::from_u64(skip as u64));
        let mut rest = bytes.get(skip..).unwrap_or(&[]);
        while let [low, high, following @ ..] = rest {
            let next = match following {
                [third, fourth, ..] => [*third, *fourth],
                _ => [0, 0],
            };
            let word = u32::from_le_bytes([*low, *high, next[0], next[1]]);
            if is_compressed(word) || following.len() >= 2 {
                self.fill(pc, word);
            }
            pc = pc.plus(X::from_u32(2));
            rest = following;
        }
    }

    /// Forgets the instructions that a store of `bytes` bytes at `address` may have changed.
    pub fn invalidate(&mut self, address: X, bytes: u64) {
        // A 32-bit instruction that begins two bytes earlier reaches into the first byte too.
        let offset = address.minus(self.base).to_u64();
        let (first, end) = if offset < self.bytes() as u64 {
            ((offset / 2).saturating_sub(1), offset.saturating_add(bytes).div_ceil(2))
        } else {
            // The range begins before the table: count what reaches into it.
            let before = self.base.minus(address).to_u64();
            (0, bytes.saturating_sub(before).div_ceil(2))
        };
        let end = (end as usize).min(self.slots.len());
        if let Some(slots) = self.slots.get_mut(first as usize..end) {
            slots.fill(EMPTY);
        }
    }

    /// Forgets everything: what `fence.i` may do.
    pub fn clear(&mut self) {
        self.slots.fill(EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    // c.nop; addi x1, x1, -1; c.ebreak
    const BYTES: [u8; 8] = [0x01, 0x00, 0x93, 0x80, 0xf0, 0xff, 0x02, 0x90];

    fn ops(program: &DecodedProgram<u32>) -> Vec<Option<Op>> {
        (0..5).map(|half| program.get(0x1000 + 2 * half).map(|i| i.op)).collect()
    }

    #[test]
    fn finds_instructions_at_every_half_word() {
        let program = DecodedProgram::from_bytes(0x1000u32, &BYTES, Extensions::PSPIN);
        let found = ops(&program);
        assert_eq!(found[0], Some(Op::Addi));
        assert_eq!(found[1], Some(Op::Addi));
        assert_eq!(found[3], Some(Op::Ebreak));
        assert_eq!(found[4], None);
        assert_eq!(program.get(0xfff), None);
        assert_eq!(program.get(0), None);
    }

    #[test]
    fn invalidates_what_a_store_touches() {
        let mut program = DecodedProgram::from_bytes(0x1000u32, &BYTES, Extensions::PSPIN);
        program.invalidate(0x1004, 1);
        let left: Vec<bool> = ops(&program).iter().map(Option::is_some).collect();
        assert_eq!(left, [true, false, false, true, false]);
        assert_eq!(program.fill(0x1002, 0x9002).op, Op::Ebreak);
        assert_eq!(program.get(0x1002).map(|i| i.op), Some(Op::Ebreak));
        program.invalidate(0xfff, 2);
        assert_eq!(program.get(0x1000), None);
        program.invalidate(0xf00, 2);
        program.invalidate(u32::MAX, 4);
        assert!(program.get(0x1006).is_some());
        program.invalidate(0, u64::from(u32::MAX));
        assert_eq!(program.get(0x1006), None);
    }

    #[test]
    fn leaves_a_cut_instruction_empty() {
        let program = DecodedProgram::from_bytes(0x1000u32, &BYTES[..4], Extensions::PSPIN);
        assert!(program.get(0x1000).is_some());
        assert_eq!(program.get(0x1002), None);
    }
}
