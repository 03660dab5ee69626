//! Decodes the 32-bit encodings of the F and D extensions.
//!
//! Reserved rounding modes (5 and 6) make an illegal instruction here; whether `frm` holds a valid
//! one is known only when the instruction executes.

use super::{funct3, funct7, i_immediate, is_rv64, rd, rs1, rs2, s_immediate};
use crate::{Extensions, FIRST_FLOAT_REGISTER, Instruction, Op};

/// Gives the number of a floating-point register.
pub(super) const fn float(register: u8) -> u8 {
    FIRST_FLOAT_REGISTER + register
}

/// Says whether there are double-precision registers.
pub(super) const fn has_double(extensions: Extensions) -> bool {
    extensions.has(Extensions::F.with(Extensions::D))
}

/// Picks the operation of the format that funct7 or an access's width names.
const fn pick(double: bool, extensions: Extensions, ops: (Op, Op)) -> Option<Op> {
    match double {
        true if has_double(extensions) => Some(ops.1),
        false if extensions.has(Extensions::F) => Some(ops.0),
        _ => None,
    }
}

/// Decodes `flw` and `fld`.
pub(super) const fn load(word: u32, extensions: Extensions) -> Option<Instruction> {
    let op = match funct3(word) {
        2 => pick(false, extensions, (Op::Flw, Op::Fld)),
        3 => pick(true, extensions, (Op::Flw, Op::Fld)),
        _ => None,
    };
    let Some(op) = op else { return None };
    Some(Instruction::new(op, float(rd(word)), rs1(word), 0, i_immediate(word)))
}

/// Decodes `fsw` and `fsd`.
pub(super) const fn store(word: u32, extensions: Extensions) -> Option<Instruction> {
    let op = match funct3(word) {
        2 => pick(false, extensions, (Op::Fsw, Op::Fsd)),
        3 => pick(true, extensions, (Op::Fsw, Op::Fsd)),
        _ => None,
    };
    let Some(op) = op else { return None };
    Some(Instruction::new(op, 0, rs1(word), float(rs2(word)), s_immediate(word)))
}

/// Says whether the rounding mode field is not a reserved one.
const fn rounding_exists(word: u32) -> bool {
    !matches!(funct3(word), 5 | 6)
}

/// Decodes the fused multiply-adds.
pub(super) const fn fused(word: u32, extensions: Extensions) -> Option<Instruction> {
    let ops = match word & 0x7f {
        0x43 => (Op::FmaddS, Op::FmaddD),
        0x47 => (Op::FmsubS, Op::FmsubD),
        0x4b => (Op::FnmsubS, Op::FnmsubD),
        _ => (Op::FnmaddS, Op::FnmaddD),
    };
    let format = word >> 25 & 3;
    if format > 1 || !rounding_exists(word) {
        return None;
    }
    let Some(op) = pick(format == 1, extensions, ops) else { return None };
    let (rd, rs1, rs2) = (float(rd(word)), float(rs1(word)), float(rs2(word)));
    let mut instruction = Instruction::new(op, rd, rs1, rs2, word as i32);
    instruction.rs3 = float((word >> 27) as u8);
    Some(instruction)
}

/// Decodes everything of opcode OP-FP.
pub(super) const fn operation(word: u32, extensions: Extensions) -> Option<Instruction> {
    let ops = match two_operands(word) {
        Some(ops) => ops,
        None => match one_operand(word, extensions) {
            Some(ops) => ops,
            None => return None,
        },
    };
    let Some(op) = pick(funct7(word) & 3 == 1, extensions, ops) else { return None };
    if op.rounds() && !rounding_exists(word) || funct7(word) & 3 > 1 {
        return None;
    }
    let (to_int, from_int) = match op.class() {
        crate::Class::FloatToInt => (true, false),
        crate::Class::IntToFloat => (false, true),
        _ => (false, false),
    };
    let rd = if to_int { rd(word) } else { float(rd(word)) };
    let rs1 = if from_int { rs1(word) } else { float(rs1(word)) };
    let rs2 = if two_operands(word).is_some() { float(rs2(word)) } else { 0 };
    Some(Instruction::new(op, rd, rs1, rs2, word as i32))
}

/// The operations with two sources, in single and double precision.
const fn two_operands(word: u32) -> Option<(Op, Op)> {
    Some(match (funct7(word) >> 2, funct3(word)) {
        (0x00, _) => (Op::FaddS, Op::FaddD),
        (0x01, _) => (Op::FsubS, Op::FsubD),
        (0x02, _) => (Op::FmulS, Op::FmulD),
        (0x03, _) => (Op::FdivS, Op::FdivD),
        (0x04, 0) => (Op::FsgnjS, Op::FsgnjD),
        (0x04, 1) => (Op::FsgnjnS, Op::FsgnjnD),
        (0x04, 2) => (Op::FsgnjxS, Op::FsgnjxD),
        (0x05, 0) => (Op::FminS, Op::FminD),
        (0x05, 1) => (Op::FmaxS, Op::FmaxD),
        (0x14, 0) => (Op::FleS, Op::FleD),
        (0x14, 1) => (Op::FltS, Op::FltD),
        (0x14, 2) => (Op::FeqS, Op::FeqD),
        _ => return None,
    })
}

/// The operations with one source, whose second source field says more.
const fn one_operand(word: u32, extensions: Extensions) -> Option<(Op, Op)> {
    let rv64 = is_rv64(extensions);
    let doubles = has_double(extensions);
    Some(match (funct7(word) >> 2, rs2(word), funct3(word)) {
        (0x0b, 0, _) => (Op::FsqrtS, Op::FsqrtD),
        (0x08, 1, _) if funct7(word) & 3 == 0 && doubles => (Op::FcvtSD, Op::Illegal),
        (0x08, 0, _) if funct7(word) & 3 == 1 => (Op::Illegal, Op::FcvtDS),
        (0x18, 0, _) => (Op::FcvtWS, Op::FcvtWD),
        (0x18, 1, _) => (Op::FcvtWuS, Op::FcvtWuD),
        (0x18, 2, _) if rv64 => (Op::FcvtLS, Op::FcvtLD),
        (0x18, 3, _) if rv64 => (Op::FcvtLuS, Op::FcvtLuD),
        (0x1a, 0, _) => (Op::FcvtSW, Op::FcvtDW),
        (0x1a, 1, _) => (Op::FcvtSWu, Op::FcvtDWu),
        (0x1a, 2, _) if rv64 => (Op::FcvtSL, Op::FcvtDL),
        (0x1a, 3, _) if rv64 => (Op::FcvtSLu, Op::FcvtDLu),
        (0x1c, 0, 1) => (Op::FclassS, Op::FclassD),
        (0x1c, 0, 0) if rv64 => (Op::FmvXW, Op::FmvXD),
        (0x1c, 0, 0) if funct7(word) & 3 == 0 => (Op::FmvXW, Op::Illegal),
        (0x1e, 0, 0) if rv64 => (Op::FmvWX, Op::FmvDX),
        (0x1e, 0, 0) if funct7(word) & 3 == 0 => (Op::FmvWX, Op::Illegal),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::{Class, Extensions, Op, decode};

    #[test]
    fn registers_of_both_files_have_numbers() {
        // fmadd.d fa0,fa1,fa2,fa3 with the dynamic rounding mode
        let i = decode(0x6ac5_f543, Extensions::RV64GC);
        assert_eq!((i.op, i.class), (Op::FmaddD, Class::FloatFused));
        assert_eq!((i.rd, i.sources(), i.rounding_mode()), (42, [43, 44, 45], 7));
        let convert = decode(0xd225_0053, Extensions::RV64GC); // fcvt.d.l ft0,a0,rne
        assert_eq!((convert.op, convert.rd, convert.rs1), (Op::FcvtDL, 32, 10));
        let move_back = decode(0xe20a_8553, Extensions::RV64GC); // fmv.x.d a0,fs5
        assert_eq!((move_back.op, move_back.rd, move_back.rs1), (Op::FmvXD, 10, 53));
    }

    #[test]
    fn the_extensions_gate_their_instructions() {
        let single = Extensions::RV64GC.without(Extensions::D);
        for (word, double) in [(0x00c5_f553, false), (0x02c5_f553, true), (0x4015_f553, true)] {
            assert_ne!(decode(word, Extensions::RV64GC).op, Op::Illegal, "{word:#x}");
            assert_eq!(decode(word, single).op == Op::Illegal, double, "{word:#x}");
            assert_eq!(decode(word, Extensions::RV64IMAC).op, Op::Illegal, "{word:#x}");
        }
        // fcvt.l.d and fmv.x.d belong to RV64.
        for word in [0xc225_7553, 0xe205_0553] {
            assert_ne!(decode(word, Extensions::RV64GC).op, Op::Illegal, "{word:#x}");
            assert_eq!(decode(word, Extensions::RV32GC).op, Op::Illegal, "{word:#x}");
        }
        // c.flw a0's neighbour: the same bits are c.ld on RV64.
        assert_eq!(decode(0x6108, Extensions::RV32GC).op, Op::Flw);
        assert_eq!(decode(0x6108, Extensions::RV64GC).op, Op::Ld);
        assert_eq!(decode(0x6108, Extensions::RV32IMAC).op, Op::Illegal);
        assert_eq!(decode(0x2108, Extensions::RV64GC).op, Op::Fld);
    }

    #[test]
    fn reserved_rounding_modes_are_illegal() {
        for mode in 0..8u32 {
            let legal = decode(0x00c5_8553 | mode << 12, Extensions::RV64GC).op != Op::Illegal;
            assert_eq!(legal, mode != 5 && mode != 6, "mode {mode}");
        }
    }
}
