//! Turns instruction bits into [`Instruction`]s: 32-bit encodings here, those of floating point in
//! `float`, 16-bit ones in `compressed`.
//!
//! In: up to 32 bits at the program counter and the core's extensions. Out: an instruction, which
//! is [`Op::Illegal`] with the bits in its immediate where the core has none. Every bit pattern
//! decodes to something; nothing panics.

mod compressed;
mod float;

use crate::fields::{
    b_immediate, funct3, funct7, i_immediate, j_immediate, rd, rs1, rs2, s_immediate,
};
use crate::{Extensions, Instruction, Op};

pub use compressed::is_compressed;

/// Decodes the instruction in `word`; a 16-bit instruction is taken from its low half.
///
/// Without the C extension a 16-bit pattern is an illegal instruction of four bytes.
pub const fn decode(word: u32, extensions: Extensions) -> Instruction {
    if is_compressed(word) && extensions.has(Extensions::C) {
        compressed::decode(word as u16, extensions)
    } else {
        decode_word(word, extensions)
    }
}

const fn decode_word(word: u32, extensions: Extensions) -> Instruction {
    let decoded = match word & 0x7f {
        0x03 => load(word, extensions),
        0x07 => float::load(word, extensions),
        0x0f => fence(word, extensions),
        0x13 => immediate(word, extensions),
        0x17 => Some(upper(Op::Auipc, word)),
        0x1b if is_rv64(extensions) => immediate_word(word),
        0x23 => store(word, extensions),
        0x27 => float::store(word, extensions),
        0x2f if extensions.has(Extensions::A) => atomic(word, extensions),
        0x33 => register(word, extensions),
        0x37 => Some(upper(Op::Lui, word)),
        0x3b if is_rv64(extensions) => register_word(word, extensions),
        0x43 | 0x47 | 0x4b | 0x4f => float::fused(word, extensions),
        0x53 => float::operation(word, extensions),
        0x63 => branch(word),
        0x67 if funct3(word) == 0 => Some(i_type(Op::Jalr, word)),
        0x6f => Some(Instruction::new(Op::Jal, rd(word), 0, 0, j_immediate(word))),
        0x73 => system(word, extensions),
        _ => None,
    };
    let decoded = match decoded {
        None if extensions.has(Extensions::XPULP) && !is_rv64(extensions) => {
            crate::xpulp::decode(word)
        }
        decoded => decoded,
    };
    match decoded {
        Some(instruction) => instruction,
        None => Instruction::illegal(word, 4),
    }
}

const fn is_rv64(extensions: Extensions) -> bool {
    extensions.has(Extensions::RV64)
}

const fn i_type(op: Op, word: u32) -> Instruction {
    Instruction::new(op, rd(word), rs1(word), 0, i_immediate(word))
}

const fn r_type(op: Op, word: u32) -> Instruction {
    Instruction::new(op, rd(word), rs1(word), rs2(word), 0)
}

const fn upper(op: Op, word: u32) -> Instruction {
    Instruction::new(op, rd(word), 0, 0, (word & 0xffff_f000) as i32)
}

const fn load(word: u32, extensions: Extensions) -> Option<Instruction> {
    let op = match funct3(word) {
        0 => Op::Lb,
        1 => Op::Lh,
        2 => Op::Lw,
        3 if is_rv64(extensions) => Op::Ld,
        4 => Op::Lbu,
        5 => Op::Lhu,
        6 if is_rv64(extensions) => Op::Lwu,
        6 if extensions.has(Extensions::PULP_EVENT_LOAD) => Op::EventLoad,
        _ => return None,
    };
    Some(i_type(op, word))
}

const fn store(word: u32, extensions: Extensions) -> Option<Instruction> {
    let op = match funct3(word) {
        0 => Op::Sb,
        1 => Op::Sh,
        2 => Op::Sw,
        3 if is_rv64(extensions) => Op::Sd,
        _ => return None,
    };
    Some(Instruction::new(op, 0, rs1(word), rs2(word), s_immediate(word)))
}

const fn branch(word: u32) -> Option<Instruction> {
    let op = match funct3(word) {
        0 => Op::Beq,
        1 => Op::Bne,
        4 => Op::Blt,
        5 => Op::Bge,
        6 => Op::Bltu,
        7 => Op::Bgeu,
        _ => return None,
    };
    Some(Instruction::new(op, 0, rs1(word), rs2(word), b_immediate(word)))
}

const fn fence(word: u32, extensions: Extensions) -> Option<Instruction> {
    match funct3(word) {
        // Reserved fields are ignored, as the specification asks of fences.
        0 => Some(Instruction::new(Op::Fence, 0, 0, 0, (word >> 20) as i32)),
        1 if extensions.has(Extensions::ZIFENCEI) => Some(Instruction::new(Op::FenceI, 0, 0, 0, 0)),
        _ => None,
    }
}

const fn immediate(word: u32, extensions: Extensions) -> Option<Instruction> {
    let op = match funct3(word) {
        0 => Op::Addi,
        1 | 5 => return shift(word, is_rv64(extensions), [Op::Slli, Op::Srli, Op::Srai]),
        2 => Op::Slti,
        3 => Op::Sltiu,
        4 => Op::Xori,
        6 => Op::Ori,
        _ => Op::Andi,
    };
    Some(i_type(op, word))
}

const fn immediate_word(word: u32) -> Option<Instruction> {
    match funct3(word) {
        0 => Some(i_type(Op::Addiw, word)),
        1 | 5 => shift(word, false, [Op::Slliw, Op::Srliw, Op::Sraiw]),
        _ => None,
    }
}

/// Decodes a shift by an immediate, of five bits or (`six_bits`) six.
const fn shift(word: u32, six_bits: bool, ops: [Op; 3]) -> Option<Instruction> {
    let amount_bits = if six_bits { 6 } else { 5 };
    let amount = word >> 20 & ((1 << amount_bits) - 1);
    let op = match (funct3(word), word >> (20 + amount_bits) << amount_bits) {
        (1, 0) => ops[0],
        (5, 0) => ops[1],
        (5, 0x400) => ops[2],
        _ => return None,
    };
    Some(Instruction::new(op, rd(word), rs1(word), 0, amount as i32))
}

const fn register(word: u32, extensions: Extensions) -> Option<Instruction> {
    let multiplies = extensions.has(Extensions::M);
    let op = match (funct7(word), funct3(word)) {
        (0x00, 0) => Op::Add,
        (0x20, 0) => Op::Sub,
        (0x00, 1) => Op::Sll,
        (0x00, 2) => Op::Slt,
        (0x00, 3) => Op::Sltu,
        (0x00, 4) => Op::Xor,
        (0x00, 5) => Op::Srl,
        (0x20, 5) => Op::Sra,
        (0x00, 6) => Op::Or,
        (0x00, 7) => Op::And,
        (0x01, 0) if multiplies => Op::Mul,
        (0x01, 1) if multiplies => Op::Mulh,
        (0x01, 2) if multiplies => Op::Mulhsu,
        (0x01, 3) if multiplies => Op::Mulhu,
        (0x01, 4) if multiplies => Op::Div,
        (0x01, 5) if multiplies => Op::Divu,
        (0x01, 6) if multiplies => Op::Rem,
        (0x01, 7) if multiplies => Op::Remu,
        _ => return None,
    };
    Some(r_type(op, word))
}

const fn register_word(word: u32, extensions: Extensions) -> Option<Instruction> {
    let multiplies = extensions.has(Extensions::M);
    let op = match (funct7(word), funct3(word)) {
        (0x00, 0) => Op::Addw,
        (0x20, 0) => Op::Subw,
        (0x00, 1) => Op::Sllw,
        (0x00, 5) => Op::Srlw,
        (0x20, 5) => Op::Sraw,
        (0x01, 0) if multiplies => Op::Mulw,
        (0x01, 4) if multiplies => Op::Divw,
        (0x01, 5) if multiplies => Op::Divuw,
        (0x01, 6) if multiplies => Op::Remw,
        (0x01, 7) if multiplies => Op::Remuw,
        _ => return None,
    };
    Some(r_type(op, word))
}

const fn atomic(word: u32, extensions: Extensions) -> Option<Instruction> {
    let wide = match funct3(word) {
        2 => false,
        3 if is_rv64(extensions) => true,
        _ => return None,
    };
    let (narrow_op, wide_op) = match word >> 27 {
        0x02 if rs2(word) == 0 => (Op::LrW, Op::LrD),
        0x03 => (Op::ScW, Op::ScD),
        0x01 => (Op::AmoSwapW, Op::AmoSwapD),
        0x00 => (Op::AmoAddW, Op::AmoAddD),
        0x04 => (Op::AmoXorW, Op::AmoXorD),
        0x0c => (Op::AmoAndW, Op::AmoAndD),
        0x08 => (Op::AmoOrW, Op::AmoOrD),
        0x10 => (Op::AmoMinW, Op::AmoMinD),
        0x14 => (Op::AmoMaxW, Op::AmoMaxD),
        0x18 => (Op::AmoMinuW, Op::AmoMinuD),
        0x1c => (Op::AmoMaxuW, Op::AmoMaxuD),
        _ => return None,
    };
    let ordering = (word >> 25 & 3) as i32;
    let op = if wide { wide_op } else { narrow_op };
    Some(Instruction::new(op, rd(word), rs1(word), rs2(word), ordering))
}

const fn system(word: u32, extensions: Extensions) -> Option<Instruction> {
    let op = match funct3(word) {
        0 => match word {
            0x0000_0073 => Op::Ecall,
            0x0010_0073 => Op::Ebreak,
            0x3020_0073 => Op::Mret,
            0x1050_0073 => Op::Wfi,
            _ => return None,
        },
        1 => Op::Csrrw,
        2 => Op::Csrrs,
        3 => Op::Csrrc,
        5 => Op::Csrrwi,
        6 => Op::Csrrsi,
        7 => Op::Csrrci,
        _ => return None,
    };
    if funct3(word) == 0 {
        return Some(Instruction::new(op, 0, 0, 0, 0));
    }
    if !extensions.has(Extensions::ZICSR) {
        return None;
    }
    let csr = (word >> 20) as i32;
    Some(if funct3(word) >= 4 {
        Instruction::new(op, rd(word), 0, 0, csr | (rs1(word) as i32) << 16)
    } else {
        Instruction::new(op, rd(word), rs1(word), 0, csr)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(word: u32) -> (Op, u8, u8, u8, i32) {
        let i = decode(word, Extensions::PSPIN);
        (i.op, i.rd, i.rs1, i.rs2, i.imm)
    }

    #[test]
    fn decodes_immediates_of_every_format() {
        assert_eq!(fields(0xfff0_8093), (Op::Addi, 1, 1, 0, -1));
        assert_eq!(fields(0xfe11_2e23), (Op::Sw, 0, 2, 1, -4));
        assert_eq!(fields(0xfe00_8ee3), (Op::Beq, 0, 1, 0, -4));
        assert_eq!(fields(0xffdf_f0ef), (Op::Jal, 1, 0, 0, -4));
        assert_eq!(fields(0xffff_f0b7), (Op::Lui, 1, 0, 0, -4096));
        assert_eq!(fields(0x41f0_d093), (Op::Srai, 1, 1, 0, 31));
    }

    #[test]
    fn event_load_exists_only_where_enabled() {
        // .insn i 0x03, 0x6, t6, t5, 0x80
        assert_eq!(fields(0x080f_6f83), (Op::EventLoad, 31, 30, 0, 0x80));
        assert_eq!(decode(0x080f_6f83, Extensions::RV32IMAC).op, Op::Illegal);
        assert_eq!(decode(0x080f_6f83, Extensions::RV64IMAC).op, Op::Lwu);
    }

    #[test]
    fn extensions_gate_their_instructions() {
        for (word, extension) in [
            (0x0220_8033, Extensions::M),
            (0x0820_a02f, Extensions::A),
            (0x3000_1073, Extensions::ZICSR),
            (0x0000_100f, Extensions::ZIFENCEI),
        ] {
            assert_ne!(decode(word, Extensions::RV32IMAC).op, Op::Illegal);
            assert_eq!(decode(word, Extensions::RV32IMAC.without(extension)).op, Op::Illegal);
        }
        let without_c = decode(0x0001, Extensions::RV32IMAC.without(Extensions::C));
        assert_eq!((without_c.op, without_c.length), (Op::Illegal, 4));
    }

    #[test]
    fn wide_shifts_belong_to_rv64() {
        let slli_32 = 0x0200_9093;
        assert_eq!(decode(slli_32, Extensions::RV32IMAC).op, Op::Illegal);
        assert_eq!(decode(slli_32, Extensions::RV64IMAC).imm, 32);
    }
}
