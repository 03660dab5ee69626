//! Which bits of a result nobody has ever written: the instruction, the values of its sources and
//! their undefined bits come in, the result's undefined bits go out. A bit is undefined only if the
//! undefined bits of the sources can change it.

use pinion_isa::{Class, Instruction, Op};

/// Every bit.
pub const ALL: u64 = u64::MAX;

/// Names how wide a hart's registers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits, of which the upper half of a `u64` is left at 0.
    Rv32,
    /// 64 bits.
    Rv64,
}

impl Width {
    const fn bits(self) -> u32 {
        match self {
            Self::Rv32 => 32,
            Self::Rv64 => 64,
        }
    }

    /// Every bit of a register.
    pub const fn all(self) -> u64 {
        ALL >> (64 - self.bits())
    }

    /// Copies a register's highest bit upwards.
    const fn signed(self, value: u64) -> i64 {
        let unused = 64 - self.bits();
        (value << unused) as i64 >> unused
    }
}

/// A source register: its value, and its bits that nobody has written.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The value.
    pub value: u64,
    /// The undefined bits.
    pub undefined: u64,
}

impl Source {
    const fn constant(width: Width, value: i32) -> Self {
        Self { value: value as i64 as u64 & width.all(), undefined: 0 }
    }

    /// The smallest value it may have, and the largest.
    const fn bounds(self) -> (u64, u64) {
        (self.value & !self.undefined, self.value | self.undefined)
    }

    /// The same with the sign turned over, so that signed order is that of the bounds.
    const fn signed(self, width: Width) -> Self {
        let sign = 1 << (width.bits() - 1);
        Self { value: self.value ^ sign, undefined: self.undefined }
    }

    /// Its lower half.
    const fn word(self) -> Self {
        Self { value: self.value as u32 as u64, undefined: self.undefined as u32 as u64 }
    }
}

/// Gives the undefined bits of an integer operation's result.
pub fn of_result(width: Width, instruction: &Instruction, a: Source, b: Source, c: Source) -> u64 {
    if let Some(op) = of_word(instruction.op) {
        let instruction = Instruction { op, ..*instruction };
        let low = of_result(Width::Rv32, &instruction, a.word(), b.word(), c.word());
        return low as i32 as i64 as u64;
    }
    let imm = Source::constant(width, instruction.imm);
    let places = u64::from(width.bits() - 1);
    let shift = imm.value & places;
    let unsure = (a.undefined | b.undefined | c.undefined) != 0;
    let result = match instruction.op {
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
        Op::Srai => (width.signed(a.undefined) >> shift) as u64,
        Op::Sll if b.undefined & places == 0 => a.undefined << (b.value & places),
        Op::Srl if b.undefined & places == 0 => a.undefined >> (b.value & places),
        Op::Sra if b.undefined & places == 0 => {
            (width.signed(a.undefined) >> (b.value & places)) as u64
        }
        Op::Slt => u64::from(!order_is_known(a.signed(width), b.signed(width))),
        Op::Sltu => u64::from(!order_is_known(a, b)),
        Op::Slti => u64::from(!order_is_known(a.signed(width), imm.signed(width))),
        Op::Sltiu => u64::from(!order_is_known(a, imm)),
        // Of packed and bit operations a bit is not followed; what is undefined as a whole stays so.
        Op::Xpulp => {
            let all = [a, b, c].iter().any(|source| source.undefined == width.all());
            if all { ALL } else { 0 }
        }
        _ if unsure => ALL,
        _ => 0,
    };
    result & width.all()
}

/// Gives the operation that an operation of RV64 does on the lower halves.
const fn of_word(op: Op) -> Option<Op> {
    Some(match op {
        Op::Addiw => Op::Addi,
        Op::Addw => Op::Add,
        Op::Subw => Op::Sub,
        Op::Mulw => Op::Mul,
        Op::Slliw => Op::Slli,
        Op::Srliw => Op::Srli,
        Op::Sraiw => Op::Srai,
        Op::Sllw => Op::Sll,
        Op::Srlw => Op::Srl,
        Op::Sraw => Op::Sra,
        _ => return None,
    })
}

/// Tells whether a conditional branch goes the same way whatever the undefined bits are.
pub fn branch_is_known(width: Width, instruction: &Instruction, a: Source, b: Source) -> bool {
    match instruction.op {
        Op::Beq | Op::Bne => {
            let undefined = a.undefined | b.undefined;
            undefined == 0 || (a.value ^ b.value) & !undefined != 0
        }
        Op::Blt | Op::Bge => order_is_known(a.signed(width), b.signed(width)),
        Op::Bltu | Op::Bgeu => order_is_known(a, b),
        _ => a.undefined != width.all() && b.undefined != width.all(),
    }
}

/// Gives the undefined bits of a loaded value.
pub const fn of_load(width: Width, op: Op, undefined: u64) -> u64 {
    let extended = match op {
        Op::Lb => undefined as u8 as i8 as i64 as u64,
        Op::Lh => undefined as u16 as i16 as i64 as u64,
        Op::Lw => undefined as u32 as i32 as i64 as u64,
        _ => undefined,
    };
    extended & width.all()
}

/// Gives the undefined bits of what an atomic leaves in memory, where these were undefined before; `failed`:
/// it was a store that did not happen.
pub const fn of_atomic(instruction: &Instruction, before: u64, operand: u64, failed: bool) -> u64 {
    match (instruction.class, instruction.op) {
        (Class::LoadReserved, _) => before,
        (Class::StoreConditional, _) if failed => before,
        (Class::StoreConditional, _) | (_, Op::AmoSwapW | Op::AmoSwapD) => operand,
        _ => upwards(before | operand),
    }
}

/// All bits from the lowest undefined one on: a carry may reach them.
const fn upwards(undefined: u64) -> u64 {
    undefined | undefined.wrapping_neg()
}

const fn of_and(a: Source, b: Source) -> u64 {
    a.undefined & b.undefined | a.undefined & b.value | b.undefined & a.value
}

const fn of_or(a: Source, b: Source) -> u64 {
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

    fn source(value: u64, undefined: u64) -> Source {
        Source { value, undefined }
    }

    /// Tries every value of the undefined bits of 4-bit operands: a bit that changes must be said to
    /// be undefined, and for bitwise operations no other may.
    #[test]
    fn what_can_change_is_undefined() {
        type Apply = fn(u64, u64) -> u64;
        let operations: [(Op, Apply, bool); 8] = [
            (Op::Add, u64::wrapping_add, false),
            (Op::Sub, u64::wrapping_sub, false),
            (Op::Mul, u64::wrapping_mul, false),
            (Op::And, |a, b| a & b, true),
            (Op::Or, |a, b| a | b, true),
            (Op::Xor, |a, b| a ^ b, true),
            (Op::Sltu, |a, b| u64::from(a < b), true),
            (Op::Slt, |a, b| u64::from((a as i64) < b as i64), true),
        ];
        let none = source(0, 0);
        for (op, apply, is_exact) in operations {
            let instruction = Instruction::new(op, 1, 2, 3, 0);
            for all in 0..1u64 << 16 {
                let part = |shift: u32| all >> shift & 15;
                let (a, b) = (source(part(0), part(4)), source(part(8), part(12)));
                let said = of_result(Width::Rv64, &instruction, a, b, none);
                let result = apply(a.value, b.value);
                let subsets = |mask: u64| (0..16u64).filter(move |bits| bits & !mask == 0);
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
        assert!(
            branch_is_known(Width::Rv32, &equal, source(0x101, 0xf0), source(0x100, 0)),
            "bit 0 differs"
        );
        assert!(!branch_is_known(Width::Rv32, &equal, source(0x100, 0xf0), source(0x100, 0)));
        let below = Instruction::new(Op::Blt, 0, 1, 2, 8);
        assert!(
            branch_is_known(Width::Rv32, &below, source(0x8000_0000, 0xff), source(0, 0)),
            "negative"
        );
        assert!(!branch_is_known(Width::Rv32, &below, source(0, Width::Rv32.all()), source(0, 0)));
    }

    #[test]
    fn signs_are_copied() {
        assert_eq!(of_load(Width::Rv32, Op::Lb, 0x80), 0xffff_ff80);
        assert_eq!(of_load(Width::Rv64, Op::Lb, 0x80), 0xffff_ffff_ffff_ff80);
        assert_eq!(of_load(Width::Rv32, Op::Lbu, 0x80), 0x80);
        assert_eq!(of_load(Width::Rv32, Op::Lh, 0x7f00), 0x7f00);
        assert_eq!(of_load(Width::Rv64, Op::Lw, 0x8000_0000), 0xffff_ffff_8000_0000);
        let shift = Instruction::new(Op::Srai, 1, 2, 0, 4);
        let top = |width: Width, bit: u64| {
            of_result(width, &shift, source(0, bit), source(0, 0), source(0, 0))
        };
        assert_eq!(top(Width::Rv32, 1 << 31), 0xf800_0000);
        assert_eq!(top(Width::Rv64, 1 << 63), 0xf800_0000_0000_0000);
    }

    #[test]
    fn operations_on_words_leave_the_upper_half_to_the_sign() {
        let add = Instruction::new(Op::Addw, 1, 2, 3, 0);
        let of = |undefined| {
            of_result(Width::Rv64, &add, source(0, undefined), source(0, 0), source(0, 0))
        };
        assert_eq!(of(ALL << 32), 0, "nobody asks for it");
        assert_eq!(of(1 << 8), ALL << 8);
    }
}
