//! Expands 16-bit instructions (C extension) into their full forms.

use super::float::{float, has_double};
use crate::{Extensions, Instruction, Op};

/// Says whether the bits begin a 16-bit instruction.
#[inline(always)]
pub const fn is_compressed(bits: u32) -> bool {
    bits & 3 != 3
}

pub(super) const fn decode(parcel: u16, extensions: Extensions) -> Instruction {
    let word = parcel as u32;
    let rv64 = extensions.has(Extensions::RV64);
    let expanded = match word & 3 {
        0 => quadrant_0(word, rv64, extensions),
        1 => quadrant_1(word, rv64),
        _ => quadrant_2(word, rv64, extensions),
    };
    match expanded {
        Some(mut instruction) => {
            instruction.length = 2;
            instruction
        }
        None => Instruction::illegal(word, 2),
    }
}

/// Takes bits `from..from + count` of the parcel and puts them at bit `to`.
const fn bits(word: u32, from: u32, count: u32, to: u32) -> u32 {
    (word >> from & ((1 << count) - 1)) << to
}

/// Sign-extends the low `count` bits.
const fn signed(value: u32, count: u32) -> i32 {
    (value << (32 - count)) as i32 >> (32 - count)
}

/// The full register field at bits 11:7.
const fn full(word: u32) -> u8 {
    bits(word, 7, 5, 0) as u8
}

/// The full second register field at bits 6:2.
const fn full_2(word: u32) -> u8 {
    bits(word, 2, 5, 0) as u8
}

/// The three-bit register field at bits 9:7: x8 to x15.
const fn short(word: u32) -> u8 {
    8 + bits(word, 7, 3, 0) as u8
}

/// The three-bit register field at bits 4:2: x8 to x15.
const fn short_2(word: u32) -> u8 {
    8 + bits(word, 2, 3, 0) as u8
}

/// The six-bit signed immediate of the CI format.
const fn ci_immediate(word: u32) -> i32 {
    signed(bits(word, 2, 5, 0) | bits(word, 12, 1, 5), 6)
}

/// The shift amount, `None` where RV32 has no sixth bit.
const fn shift_amount(word: u32, rv64: bool) -> Option<i32> {
    let amount = bits(word, 2, 5, 0) | bits(word, 12, 1, 5);
    if amount >= 32 && !rv64 { None } else { Some(amount as i32) }
}

/// The offset of a word access: c.lw, c.sw.
const fn word_offset(word: u32) -> i32 {
    (bits(word, 6, 1, 2) | bits(word, 10, 3, 3) | bits(word, 5, 1, 6)) as i32
}

/// The offset of a doubleword access: c.ld, c.sd.
const fn double_offset(word: u32) -> i32 {
    (bits(word, 10, 3, 3) | bits(word, 5, 2, 6)) as i32
}

const fn quadrant_0(word: u32, rv64: bool, extensions: Extensions) -> Option<Instruction> {
    let (base, data) = (short(word), short_2(word));
    let (single, double) = (extensions.has(Extensions::F), has_double(extensions));
    Some(match word >> 13 {
        0 => {
            let immediate = bits(word, 6, 1, 2)
                | bits(word, 5, 1, 3)
                | bits(word, 11, 2, 4)
                | bits(word, 7, 4, 6);
            if immediate == 0 {
                return None;
            }
            Instruction::new(Op::Addi, data, 2, 0, immediate as i32)
        }
        1 if double => Instruction::new(Op::Fld, float(data), base, 0, double_offset(word)),
        2 => Instruction::new(Op::Lw, data, base, 0, word_offset(word)),
        3 if rv64 => Instruction::new(Op::Ld, data, base, 0, double_offset(word)),
        3 if single => Instruction::new(Op::Flw, float(data), base, 0, word_offset(word)),
        5 if double => Instruction::new(Op::Fsd, 0, base, float(data), double_offset(word)),
        6 => Instruction::new(Op::Sw, 0, base, data, word_offset(word)),
        7 if rv64 => Instruction::new(Op::Sd, 0, base, data, double_offset(word)),
        7 if single => Instruction::new(Op::Fsw, 0, base, float(data), word_offset(word)),
        _ => return None,
    })
}

const fn quadrant_1(word: u32, rv64: bool) -> Option<Instruction> {
    let register = full(word);
    let immediate = ci_immediate(word);
    Some(match word >> 13 {
        0 => Instruction::new(Op::Addi, register, register, 0, immediate),
        1 if rv64 && register == 0 => return None,
        1 if rv64 => Instruction::new(Op::Addiw, register, register, 0, immediate),
        1 => Instruction::new(Op::Jal, 1, 0, 0, jump_offset(word)),
        2 => Instruction::new(Op::Addi, register, 0, 0, immediate),
        3 if immediate == 0 => return None,
        3 if register == 2 => Instruction::new(Op::Addi, 2, 2, 0, stack_adjustment(word)),
        3 => Instruction::new(Op::Lui, register, 0, 0, immediate << 12),
        4 => return arithmetic(word, rv64),
        5 => Instruction::new(Op::Jal, 0, 0, 0, jump_offset(word)),
        6 => Instruction::new(Op::Beq, 0, short(word), 0, branch_offset(word)),
        _ => Instruction::new(Op::Bne, 0, short(word), 0, branch_offset(word)),
    })
}

/// The immediate of c.addi16sp.
const fn stack_adjustment(word: u32) -> i32 {
    let immediate = bits(word, 6, 1, 4)
        | bits(word, 2, 1, 5)
        | bits(word, 5, 1, 6)
        | bits(word, 3, 2, 7)
        | bits(word, 12, 1, 9);
    signed(immediate, 10)
}

/// The offset of c.j and c.jal.
const fn jump_offset(word: u32) -> i32 {
    let offset = bits(word, 3, 3, 1)
        | bits(word, 11, 1, 4)
        | bits(word, 2, 1, 5)
        | bits(word, 7, 1, 6)
        | bits(word, 6, 1, 7)
        | bits(word, 9, 2, 8)
        | bits(word, 8, 1, 10)
        | bits(word, 12, 1, 11);
    signed(offset, 12)
}

/// The offset of c.beqz and c.bnez.
const fn branch_offset(word: u32) -> i32 {
    let offset = bits(word, 3, 2, 1)
        | bits(word, 10, 2, 3)
        | bits(word, 2, 1, 5)
        | bits(word, 5, 2, 6)
        | bits(word, 12, 1, 8);
    signed(offset, 9)
}

const fn arithmetic(word: u32, rv64: bool) -> Option<Instruction> {
    let register = short(word);
    let op = match bits(word, 10, 2, 0) {
        0 | 1 => {
            let Some(amount) = shift_amount(word, rv64) else { return None };
            let op = if bits(word, 10, 1, 0) == 0 { Op::Srli } else { Op::Srai };
            return Some(Instruction::new(op, register, register, 0, amount));
        }
        2 => return Some(Instruction::new(Op::Andi, register, register, 0, ci_immediate(word))),
        _ => match (bits(word, 12, 1, 0), bits(word, 5, 2, 0)) {
            (0, 0) => Op::Sub,
            (0, 1) => Op::Xor,
            (0, 2) => Op::Or,
            (0, _) => Op::And,
            (_, 0) if rv64 => Op::Subw,
            (_, 1) if rv64 => Op::Addw,
            _ => return None,
        },
    };
    Some(Instruction::new(op, register, register, short_2(word), 0))
}

const fn quadrant_2(word: u32, rv64: bool, extensions: Extensions) -> Option<Instruction> {
    let (register, source) = (full(word), full_2(word));
    let (single, double) = (extensions.has(Extensions::F), has_double(extensions));
    Some(match word >> 13 {
        0 => {
            let Some(amount) = shift_amount(word, rv64) else { return None };
            Instruction::new(Op::Slli, register, register, 0, amount)
        }
        1 if double => Instruction::new(Op::Fld, float(register), 2, 0, double_from_stack(word)),
        2 if register != 0 => Instruction::new(Op::Lw, register, 2, 0, word_from_stack(word)),
        3 if rv64 && register != 0 => {
            Instruction::new(Op::Ld, register, 2, 0, double_from_stack(word))
        }
        3 if !rv64 && single => {
            Instruction::new(Op::Flw, float(register), 2, 0, word_from_stack(word))
        }
        4 => return jump_or_move(word),
        5 if double => Instruction::new(Op::Fsd, 0, 2, float(source), double_to_stack(word)),
        6 => Instruction::new(Op::Sw, 0, 2, source, word_to_stack(word)),
        7 if rv64 => Instruction::new(Op::Sd, 0, 2, source, double_to_stack(word)),
        7 if single => Instruction::new(Op::Fsw, 0, 2, float(source), word_to_stack(word)),
        _ => return None,
    })
}

/// The offset of c.lwsp and c.flwsp.
const fn word_from_stack(word: u32) -> i32 {
    (bits(word, 4, 3, 2) | bits(word, 12, 1, 5) | bits(word, 2, 2, 6)) as i32
}

/// The offset of c.ldsp and c.fldsp.
const fn double_from_stack(word: u32) -> i32 {
    (bits(word, 5, 2, 3) | bits(word, 12, 1, 5) | bits(word, 2, 3, 6)) as i32
}

/// The offset of c.swsp and c.fswsp.
const fn word_to_stack(word: u32) -> i32 {
    (bits(word, 9, 4, 2) | bits(word, 7, 2, 6)) as i32
}

/// The offset of c.sdsp and c.fsdsp.
const fn double_to_stack(word: u32) -> i32 {
    (bits(word, 10, 3, 3) | bits(word, 7, 3, 6)) as i32
}

const fn jump_or_move(word: u32) -> Option<Instruction> {
    let (register, source) = (full(word), full_2(word));
    Some(match (bits(word, 12, 1, 0), register, source) {
        (0, 0, 0) => return None,
        (0, _, 0) => Instruction::new(Op::Jalr, 0, register, 0, 0),
        (0, ..) => Instruction::new(Op::Add, register, 0, source, 0),
        (_, 0, 0) => Instruction::new(Op::Ebreak, 0, 0, 0, 0),
        (_, _, 0) => Instruction::new(Op::Jalr, 1, register, 0, 0),
        _ => Instruction::new(Op::Add, register, register, source, 0),
    })
}
