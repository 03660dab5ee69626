//! One decoded instruction: twelve bytes, made once per program word.

use crate::xpulp::Fields;
use crate::{Class, Op};

/// Number of the first floating-point register: f0 to f31 are 32 to 63, so that one number names a
/// register of either file.
pub const FIRST_FLOAT_REGISTER: u8 = 32;

/// Holds one decoded instruction.
///
/// Registers are numbered 0 to 31 (x0 to x31) and 32 to 63 (f0 to f31); fields that an
/// instruction does not use are 0, so a pipeline detects a hazard by comparing numbers only.
/// The immediate holds, by operation: the sign-extended immediate or byte offset; for `lui`/`auipc` the value already shifted; for CSR instructions the CSR's number
/// in bits 11:0 and a 5-bit immediate in bits 20:16; for `fence` its predecessor, successor and
/// mode bits; for AMOs the `aq`/`rl` bits (1: rl, 2: aq); for an illegal instruction and for
/// floating-point operations other than loads and stores its bits; for Xpulp the operation and its
/// immediates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What it does.
    pub op: Op,
    /// Destination register; 0 when none.
    pub rd: u8,
    /// First source register; 0 when none.
    pub rs1: u8,
    /// Second source register; 0 when none.
    pub rs2: u8,
    /// Third source register, of fused multiply-adds and Xpulp; 0 when none.
    pub rs3: u8,
    /// Its length in bytes: 2 or 4.
    pub length: u8,
    /// Its timing class.
    pub class: Class,
    /// Its immediate; see above.
    pub imm: i32,
}

const _: () = assert!(size_of::<Instruction>() == 12);

impl Instruction {
    /// Makes a four-byte instruction.
    pub const fn new(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i32) -> Self {
        Self { op, rd, rs1, rs2, rs3: 0, length: 4, class: op.class(), imm }
    }

    /// Makes the instruction that stands for bits that are not an instruction.
    pub const fn illegal(bits: u32, length: u8) -> Self {
        let mut illegal = Self::new(Op::Illegal, 0, 0, 0, bits as i32);
        illegal.length = length;
        illegal
    }

    /// Says whether it reads the integer register (x0 counts as never read).
    #[inline(always)]
    pub const fn reads(&self, register: u8) -> bool {
        register != 0 && (self.rs1 == register || self.rs2 == register)
    }

    /// Says whether it writes the integer register without going through the memory port or jumping;
    /// x0 counts.
    #[inline(always)]
    pub const fn computes(&self, register: u8) -> bool {
        let computes = matches!(
            self.class,
            Class::Alu | Class::Mul | Class::MulHigh | Class::Div | Class::Csr
        );
        self.rd == register && computes
    }

    /// Gives its source registers of either file, 0 where there is none.
    #[inline(always)]
    pub const fn sources(&self) -> [u8; 3] {
        [self.rs1, self.rs2, self.rs3]
    }

    /// Gives the rounding mode field of a floating-point operation: 0 to 4, or 7 for `frm`'s.
    #[inline(always)]
    pub const fn rounding_mode(&self) -> u8 {
        (self.imm >> 12 & 7) as u8
    }

    /// Gives the CSR number of a CSR instruction.
    #[inline(always)]
    pub const fn csr(&self) -> u16 {
        self.imm as u16 & 0xfff
    }

    /// Says whether it goes through the memory port.
    #[inline(always)]
    pub const fn is_memory(&self) -> bool {
        self.class.is_memory()
    }

    /// Gives the bytes that it reads or writes in memory, 0 if it does not go there.
    pub fn access_bytes(&self) -> u8 {
        match self.op {
            Op::Lb | Op::Lbu | Op::Sb => 1,
            Op::Lh | Op::Lhu | Op::Sh => 2,
            Op::Ld | Op::Sd | Op::Fld | Op::Fsd => 8,
            Op::Xpulp if self.is_memory() => Fields::of(self).op.access_bytes(),
            _ if !self.is_memory() => 0,
            _ if self.op.mnemonic().ends_with(".d") => 8,
            _ => 4,
        }
    }
}
