//! Which bits of a result nobody has ever written: the instruction, the values of its sources and
//! their undefined bits come in, the result's undefined bits go out. A bit is undefined only if the
//! undefined bits of the sources can change it.

use pinion_isa::{Instruction, Op};

/// Every bit.
pub const ALL: u32 = u32::MAX;

/// A source register: its value, and its bits that nobody has written.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The value.
    pub value: u32,
    /// The undefined bits.
    pub undefined: u32,
}

impl Source {
    const fn constant(value: i32) -> Self {
        Self { value: value as u32, undefined: 0 }
    }

    /// The smallest value it may have, and the largest.
    const fn bounds(self) -> (u32, u32) {
        (self.value & !self.undefined, self.value | self.undefined)
    }

    /// The same with the sign turned over, so that signed order is that of the bounds.
    const fn signed(self) -> Self {
        Self { value: self.value ^ 1 << 31, undefined: self.undefined }
    }
}

/// Gives the undefined bits of an integer operation's result.
pub fn of_result(instruction: &Instruction, a: Source, b: Source, c: Source) -> u32 {
    let imm = Source::constant(instruction.imm);
    let shift = instruction.imm as u32 & 31;
    match instruction.op {
        Op::Addi => upwards(a.undefined),
        Op::Add | Op::Mul => upwards(a.undefined | b.undefined),
        Op::Sub if instruction.rs1 == instruction.rs2 => 0,
        Op::Sub => upwards(a.undefined | b.undefined),
        Op::Xor if instruction.rs1 == instruction.rs2 => 0,
        Op::Xor | Op::Xori => a.undefined | b.undefined,
        Op::And => of_and(a, b),
        Op::Andi => of_and(a, imm),
        Op::Or => of_or(a, b),
        Op::Ori => of_or(a, imm),
        Op::Slli => a.undefined << shift,
        Op::Srli => a.undefined >> shift,
        Op::Srai => (a.undefined as i32 >> shift) as u32,
        Op::Sll if b.undefined & 31 == 0 => a.undefined << (b.value & 31),
        Op::Srl if b.undefined & 31 == 0 => a.undefined >> (b.value & 31),
        Op::Sra if b.undefined & 31 == 0 => (a.undefined as i32 >> (b.value & 31)) as u32,
        Op::Slt => u32::from(!order_is_known(a.signed(), b.signed())),
        Op::Sltu => u32::from(!order_is_known(a, b)),
        Op::Slti => u32::from(!order_is_known(a.signed(), imm.signed())),
        Op::Sltiu => u32::from(!order_is_known(a, imm)),
        // Of packed and bit operations a bit is not followed; what is undefined as a whole stays so.
        Op::Xpulp => {
            let all = [a, b, c].iter().any(|source| source.undefined == ALL);
            if all { ALL } else { 0 }
        }
        _ if (a.undefined | b.undefined | c.undefined) != 0 => ALL,
        _ => 0,
    }
}

/// Tells whether a conditional branch goes the same way whatever the undefined bits are.
pub fn branch_is_known(instruction: &Instruction, a: Source, b: Source) -> bool {
    match instruction.op {
        Op::Beq | Op::Bne => {
            let undefined = a.undefined | b.undefined;
            undefined == 0 || (a.value ^ b.value) & !undefined != 0
        }
        Op::Blt | Op::Bge => order_is_known(a.signed(), b.signed()),
        Op::Bltu | Op::Bgeu => order_is_known(a, b),
        _ => a.undefined != ALL && b.undefined != ALL,
    }
}

/// Gives the undefined bits of a loaded value of so many bytes.
pub const fn of_load(op: Op, bytes: u32, undefined: u32) -> u32 {
    match (op, bytes) {
        (Op::Lb, _) => undefined as u8 as i8 as i32 as u32,
        (Op::Lh, _) => undefined as u16 as i16 as i32 as u32,
        _ => undefined,
    }
}

/// All bits from the lowest undefined one on: a carry may reach them.
const fn upwards(undefined: u32) -> u32 {
    undefined | undefined.wrapping_neg()
}

const fn of_and(a: Source, b: Source) -> u32 {
    a.undefined & b.undefined | a.undefined & b.value | b.undefined & a.value
}

const fn of_or(a: Source, b: Source) -> u32 {
    a.undefined & b.undefined | a.undefined & !b.value | b.undefined & !a.value
}

/// Tells whether `a < b` is the same whatever the undefined bits are.
const fn order_is_known(a: Source, b: Source) -> bool {
    let ((least_a, most_a), (least_b, most_b)) = (a.bounds(), b.bounds());
    most_a < least_b || least_a >= most_b || (a.undefined | b.undefined) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(value: u32, undefined: u32) -> Source {
        Source { value, undefined }
    }

    /// Tries every value of the undefined bits of 4-bit operands: a bit that changes must be said to
    /// be undefined, and for bitwise operations no other may.
    #[test]
    fn what_can_change_is_undefined() {
        type Apply = fn(u32, u32) -> u32;
        let operations: [(Op, Apply, bool); 8] = [
            (Op::Add, u32::wrapping_add, false),
            (Op::Sub, u32::wrapping_sub, false),
            (Op::Mul, u32::wrapping_mul, false),
            (Op::And, |a, b| a & b, true),
            (Op::Or, |a, b| a | b, true),
            (Op::Xor, |a, b| a ^ b, true),
            (Op::Sltu, |a, b| u32::from(a < b), true),
            (Op::Slt, |a, b| u32::from((a as i32) < b as i32), true),
        ];
        let none = source(0, 0);
        for (op, apply, is_exact) in operations {
            let instruction = Instruction::new(op, 1, 2, 3, 0);
            for all in 0..1u32 << 16 {
                let part = |shift: u32| all >> shift & 15;
                let (a, b) = (source(part(0), part(4)), source(part(8), part(12)));
                let said = of_result(&instruction, a, b, none);
                let result = apply(a.value, b.value);
                let subsets = |mask: u32| (0..16u32).filter(move |bits| bits & !mask == 0);
                let changes = subsets(a.undefined)
                    .flat_map(|x| subsets(b.undefined).map(move |y| (x, y)))
                    .fold(0, |sum, (x, y)| sum | apply(a.value ^ x, b.value ^ y) ^ result);
                assert_eq!(changes & !said, 0, "{op:?} {a:?} {b:?}");
                assert!(!is_exact || said == changes, "{op:?} {a:?} {b:?}: {said:x} {changes:x}");
            }
        }
    }

    #[test]
    fn branches_on_defined_bits_are_known() {
        let equal = Instruction::new(Op::Beq, 0, 1, 2, 8);
        assert!(branch_is_known(&equal, source(0x101, 0xf0), source(0x100, 0)), "bit 0 differs");
        assert!(!branch_is_known(&equal, source(0x100, 0xf0), source(0x100, 0)));
        let below = Instruction::new(Op::Blt, 0, 1, 2, 8);
        assert!(branch_is_known(&below, source(0x8000_0000, 0xff), source(0, 0)), "negative");
        assert!(!branch_is_known(&below, source(0, ALL), source(0, 0)));
    }

    #[test]
    fn signs_are_copied() {
        assert_eq!(of_load(Op::Lb, 1, 0x80), 0xffff_ff80);
        assert_eq!(of_load(Op::Lbu, 1, 0x80), 0x80);
        assert_eq!(of_load(Op::Lh, 2, 0x7f00), 0x7f00);
    }
}
