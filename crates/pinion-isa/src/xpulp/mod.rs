//! Xpulp v2, PULP's instructions beyond RISC-V, as RI5CY (pulp-platform riscv v2) encodes them:
//! loads and stores that move their base register, hardware loops, multiply-accumulate, saturation,
//! bit fields, branches on immediates, and operations on packed bytes and half words.
//!
//! In: 32 bits that RV32 leaves to custom extensions. Out: an [`Instruction`](crate::Instruction)
//! of [`Op::Xpulp`](crate::Op::Xpulp) whose immediate holds the [`XpulpOp`] and the encoded
//! immediates; what it does is in `scalar` and `simd` (values) and `hart::xpulp` (memory, branches,
//! loops).
//!
//! Encodings: the decoder of PsPIN's RI5CY (RTL `riscv_decoder`), checked against the tables of
//! riscv-opcodes (`opcodes-xpulp*`). Results: RTL `riscv_alu` and `riscv_mult`.

mod decode;
mod disassemble;
mod op;
mod scalar;
mod simd;

pub(crate) use op::Operands;
pub use op::XpulpOp;

pub(crate) use decode::decode;
pub(crate) use disassemble::write;
pub(crate) use scalar::value;

use crate::{Instruction, Op};

/// Writes the bits of an Xpulp instruction in assembler syntax, `None` if they are none; for cores
/// that do not have them.
pub fn disassemble_xpulp(word: u32, pc: u64) -> Option<String> {
    decode(word).map(|instruction| write(&instruction, pc))
}

/// Holds what the immediate of an [`Op::Xpulp`] instruction says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub op: XpulpOp,
    /// The larger immediate: offset, increment, count, shift, bits less one, second operand.
    pub primary: i32,
    /// The smaller one: lowest bit, compared value, form of a packed operation; for loops the
    /// loop's number in bit 5 above the end's offset.
    pub secondary: u32,
}

impl Fields {
    /// Unpacks the immediate of an instruction.
    #[inline(always)]
    pub fn of(instruction: &Instruction) -> Self {
        let bits = instruction.imm as u32;
        let op = XpulpOp::ALL.get((bits >> 24) as usize).copied().unwrap_or(XpulpOp::Abs);
        Self { op, primary: i32::from(bits as i16), secondary: bits >> 16 & 0xff }
    }

    /// Says how many bits the lanes of a packed operation have.
    pub const fn lane_bits(self) -> u32 {
        if self.secondary & 1 == 1 { 8 } else { 16 }
    }
}

/// Makes an instruction of an operation and its immediates.
const fn instruction(op: XpulpOp, registers: [u8; 4], immediates: (i32, u32)) -> Instruction {
    let [rd, rs1, rs2, rs3] = registers;
    let (primary, secondary) = immediates;
    let packed = (op as u32) << 24 | (secondary & 0xff) << 16 | (primary as u32 & 0xffff);
    let mut instruction = Instruction::new(Op::Xpulp, rd, rs1, rs2, packed as i32);
    instruction.rs3 = rs3;
    instruction.class = op.class();
    instruction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extensions;

    #[test]
    fn only_cores_with_the_extension_have_them() {
        let word = 0x0049_a78b; // p.lw a5,4(s3!)
        assert_eq!(crate::decode(word, Extensions::PSPIN).op, Op::Illegal);
        let with = crate::decode(word, Extensions::PSPIN.with(Extensions::XPULP));
        assert_eq!((with.op, with.length), (Op::Xpulp, 4));
        let wide = Extensions::RV64IMAC.with(Extensions::XPULP);
        assert_eq!(crate::decode(word, wide).op, Op::Illegal, "Xpulp is for RV32");
        assert_eq!(disassemble_xpulp(word, 0).as_deref(), Some("p.lw a5,4(s3!)"));
        assert_eq!(disassemble_xpulp(0xffff_ffff, 0), None);
        assert_eq!(disassemble_xpulp(0x0000_0013, 0), None, "addi is no Xpulp instruction");
    }
}
