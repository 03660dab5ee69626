//! Decodes Xpulp's instructions (RTL `riscv_decoder`: OPCODE_LOAD_POST, OPCODE_STORE_POST,
//! OPCODE_PULP_OP, OPCODE_VECOP, OPCODE_HWLOOP and what it adds to the standard opcodes).
//!
//! The RTL does not look at every bit; here the bits that assemblers always write as zero must be
//! zero.

use super::op::Operands;
use super::{XpulpOp as P, instruction};
use crate::Instruction;
use crate::fields::{b_immediate, funct3, funct7, i_immediate, rd, rs1, rs2, s_immediate};

/// The five bits above the second source register, which shifts and bit fields use.
const fn high5(word: u32) -> i32 {
    (word >> 25 & 31) as i32
}

/// Decodes a 32-bit instruction of Xpulp; those of RV32 are not its business.
pub(crate) const fn decode(word: u32) -> Option<Instruction> {
    match word & 0x7f {
        0x03 if funct3(word) == 7 => load_register(word, LOADS_INDEXED),
        0x0b if funct3(word) == 7 => load_register(word, LOADS_INCREMENT_REGISTER),
        0x0b => load_increment(word),
        0x23 | 0x2b => store(word),
        0x33 => register(word),
        0x57 => lanes(word),
        0x5b => shifted(word),
        0x63 => branch(word),
        0x7b => hardware_loop(word),
        _ => None,
    }
}

/// Signed byte, half word, word; unsigned byte, half word.
const LOADS_INDEXED: [P; 5] =
    [P::LbIndexed, P::LhIndexed, P::LwIndexed, P::LbuIndexed, P::LhuIndexed];
const LOADS_INCREMENT_REGISTER: [P; 5] = [
    P::LbIncrementRegister,
    P::LhIncrementRegister,
    P::LwIncrementRegister,
    P::LbuIncrementRegister,
    P::LhuIncrementRegister,
];

const fn load_register(word: u32, ops: [P; 5]) -> Option<Instruction> {
    let op = match funct7(word) {
        0x00 => ops[0],
        0x08 => ops[1],
        0x10 => ops[2],
        0x20 => ops[3],
        0x28 => ops[4],
        _ => return None,
    };
    Some(instruction(op, [rd(word), rs1(word), rs2(word), 0], (0, 0)))
}

const fn load_increment(word: u32) -> Option<Instruction> {
    let op = match funct3(word) {
        0 => P::LbIncrement,
        1 => P::LhIncrement,
        2 => P::LwIncrement,
        4 => P::LbuIncrement,
        5 => P::LhuIncrement,
        _ => return None,
    };
    Some(instruction(op, [rd(word), rs1(word), 0, 0], (i_immediate(word), 0)))
}

/// Stores: with a register as offset or increment it stands where others have their destination.
const fn store(word: u32) -> Option<Instruction> {
    let increments = word & 0x7f == 0x2b;
    let op = match (increments, funct3(word)) {
        (true, 0) => P::SbIncrement,
        (true, 1) => P::ShIncrement,
        (true, 2) => P::SwIncrement,
        (true, 4) => P::SbIncrementRegister,
        (true, 5) => P::ShIncrementRegister,
        (true, 6) => P::SwIncrementRegister,
        (false, 4) => P::SbIndexed,
        (false, 5) => P::ShIndexed,
        (false, 6) => P::SwIndexed,
        _ => return None,
    };
    if funct3(word) < 4 {
        return Some(instruction(op, [0, rs1(word), rs2(word), 0], (s_immediate(word), 0)));
    }
    if funct7(word) != 0 {
        return None;
    }
    Some(instruction(op, [0, rs1(word), rs2(word), rd(word)], (0, 0)))
}

/// What Xpulp adds to the register-register operations.
const fn register(word: u32) -> Option<Instruction> {
    if word >> 30 == 3 {
        return field(word);
    }
    let op = match (funct7(word), funct3(word)) {
        (0x02, 0) => P::Abs,
        (0x02, 2) => P::Slet,
        (0x02, 3) => P::Sletu,
        (0x02, 4) => P::Min,
        (0x02, 5) => P::Minu,
        (0x02, 6) => P::Max,
        (0x02, 7) => P::Maxu,
        (0x04, 5) => P::Ror,
        (0x08, 0) => P::Ff1,
        (0x08, 1) => P::Fl1,
        (0x08, 2) => P::Clb,
        (0x08, 3) => P::Cnt,
        (0x08, 4) => P::Exths,
        (0x08, 5) => P::Exthz,
        (0x08, 6) => P::Extbs,
        (0x08, 7) => P::Extbz,
        (0x0a, 1) => P::Clip,
        (0x0a, 2) => P::Clipu,
        (0x0a, 5) => P::Clipr,
        (0x0a, 6) => P::Clipur,
        (0x21, 0) => P::Mac,
        (0x21, 1) => P::Msu,
        (0x40, 0) => P::Extractr,
        (0x40, 1) => P::Extractur,
        (0x40, 2) => P::Insertr,
        (0x40, 3) => P::Bclrr,
        (0x40, 4) => P::Bsetr,
        _ => return None,
    };
    let (second, immediate) = match op.operands() {
        Operands::One if rs2(word) != 0 => return None,
        Operands::Immediate => (0, rs2(word) as i32),
        _ => (rs2(word), 0),
    };
    let third = if op.operands().reads_destination() { rd(word) } else { 0 };
    Some(instruction(op, [rd(word), rs1(word), second, third], (immediate, 0)))
}

/// Bit fields by immediates: bits less one, lowest bit.
const fn field(word: u32) -> Option<Instruction> {
    let op = match funct3(word) {
        0 => P::Extract,
        1 => P::Extractu,
        2 => P::Insert,
        3 => P::Bclr,
        4 => P::Bset,
        _ => return None,
    };
    let third = if op.operands().reads_destination() { rd(word) } else { 0 };
    let immediates = (high5(word), rs2(word) as u32);
    Some(instruction(op, [rd(word), rs1(word), 0, third], immediates))
}

/// Additions and products that are shifted, by the uppermost two bits and funct3.
const SHIFTED: [[P; 8]; 4] = [
    [P::MuluN, P::MacuN, P::AddN, P::SubN, P::MuluRN, P::MacuRN, P::AddRN, P::SubRN],
    [P::MulhhuN, P::MachhuN, P::AddNr, P::SubNr, P::MulhhuRN, P::MachhuRN, P::AddRNr, P::SubRNr],
    [P::MulsN, P::MacsN, P::AdduN, P::SubuN, P::MulsRN, P::MacsRN, P::AdduRN, P::SubuRN],
    [
        P::MulhhsN,
        P::MachhsN,
        P::AdduNr,
        P::SubuNr,
        P::MulhhsRN,
        P::MachhsRN,
        P::AdduRNr,
        P::SubuRNr,
    ],
];

const fn shifted(word: u32) -> Option<Instruction> {
    let op = SHIFTED[(word >> 30) as usize][funct3(word) as usize];
    let third = if op.operands().reads_destination() { rd(word) } else { 0 };
    if matches!(op.operands(), Operands::Three) && high5(word) != 0 {
        return None;
    }
    Some(instruction(op, [rd(word), rs1(word), rs2(word), third], (high5(word), 0)))
}

const fn branch(word: u32) -> Option<Instruction> {
    let op = match funct3(word) {
        2 => P::Beqimm,
        3 => P::Bneimm,
        _ => return None,
    };
    Some(instruction(op, [0, rs1(word), 0, 0], (b_immediate(word), rs2(word) as u32)))
}

/// Hardware loops: bit 7 says which one; addresses count half words from the instruction.
const fn hardware_loop(word: u32) -> Option<Instruction> {
    let immediate = (word >> 20) as i32;
    let number = (word >> 7 & 1) << 5;
    let (op, source, secondary) = match funct3(word) {
        0 => (P::LoopStarti, 0, number),
        1 => (P::LoopEndi, 0, number),
        2 if immediate == 0 => (P::LoopCount, rs1(word), number),
        3 => (P::LoopCounti, 0, number),
        4 => (P::LoopSetup, rs1(word), number),
        5 => (P::LoopSetupi, 0, number | rs1(word) as u32),
        _ => return None,
    };
    let has_rs1 = matches!(op, P::LoopCount | P::LoopSetup | P::LoopSetupi);
    if rd(word) > 1 || !has_rs1 && rs1(word) != 0 {
        return None;
    }
    Some(instruction(op, [0, source, 0, 0], (immediate, secondary)))
}

/// Packed operations by bits 31:26.
const fn lanes_op(word: u32) -> Option<P> {
    let immediate_bytes = funct3(word) == 7;
    Some(match word >> 26 {
        0x00 => P::PvAdd,
        0x01 => P::PvCmpeq,
        0x02 => P::PvSub,
        0x03 => P::PvCmpne,
        0x04 => P::PvAvg,
        0x05 => P::PvCmpgt,
        0x06 => P::PvAvgu,
        0x07 => P::PvCmpge,
        0x08 => P::PvMin,
        0x09 => P::PvCmplt,
        0x0a => P::PvMinu,
        0x0b => P::PvCmple,
        0x0c => P::PvMax,
        0x0d => P::PvCmpgtu,
        0x0e => P::PvMaxu,
        0x0f => P::PvCmpgeu,
        0x10 => P::PvSrl,
        0x11 => P::PvCmpltu,
        0x12 => P::PvSra,
        0x13 => P::PvCmpleu,
        0x14 => P::PvSll,
        0x16 => P::PvOr,
        0x18 => P::PvXor,
        0x1a => P::PvAnd,
        0x1c => P::PvAbs,
        0x1e => P::PvExtract,
        0x20 => P::PvDotup,
        0x22 => P::PvDotusp,
        0x24 => P::PvExtractu,
        0x26 => P::PvDotsp,
        0x28 => P::PvSdotup,
        0x2a => P::PvSdotusp,
        0x2c => P::PvInsert,
        0x2e => P::PvSdotsp,
        0x30 if immediate_bytes => P::PvShuffleI0,
        0x30 => P::PvShuffle,
        0x32 => P::PvShuffle2,
        0x34 if word >> 25 & 1 == 1 => P::PvPackHigh,
        0x34 => P::PvPack,
        0x36 => P::PvPackhi,
        0x38 => P::PvPacklo,
        0x3a => P::PvShuffleI1,
        0x3c => P::PvShuffleI2,
        0x3e => P::PvShuffleI3,
        _ => return None,
    })
}

/// Says whether a packed operation has a form: funct3, 0 and 1 for registers, 4 and 5 for a scalar
/// register, 6 and 7 for a scalar immediate; odd ones work on bytes.
const fn has_form(op: P, form: u32) -> bool {
    match op {
        P::PvAbs | P::PvShuffle2 => form < 2,
        P::PvPack | P::PvPackHigh => form == 0,
        P::PvPackhi | P::PvPacklo => form == 1,
        P::PvExtract | P::PvExtractu | P::PvInsert => form >= 6,
        P::PvShuffle => form < 2 || form == 6,
        P::PvShuffleI0 | P::PvShuffleI1 | P::PvShuffleI2 | P::PvShuffleI3 => form == 7,
        _ => form != 2 && form != 3,
    }
}

const fn lanes(word: u32) -> Option<Instruction> {
    let Some(op) = lanes_op(word) else { return None };
    let form = funct3(word);
    if !has_form(op, form) {
        return None;
    }
    let third = if op.operands().reads_destination() { rd(word) } else { 0 };
    if form >= 6 {
        // Six bits, the lowest of them on top.
        let sign = if op.operands().is_unsigned() { 0 } else { (word as i32) << 7 >> 31 << 6 };
        let unsigned = (rs2(word) as i32) << 1 | (word >> 25 & 1) as i32;
        let lane = matches!(op.operands(), Operands::Lane | Operands::LaneInto);
        let lanes = if form == 6 { 2 } else { 4 };
        if lane && unsigned >= lanes {
            return None;
        }
        let immediate = if lane { unsigned } else { unsigned | sign };
        return Some(instruction(op, [rd(word), rs1(word), 0, third], (immediate, form)));
    }
    let extra = word >> 25 & 1 == 1 && !matches!(op, P::PvPackHigh);
    if extra || matches!(op, P::PvAbs) && rs2(word) != 0 {
        return None;
    }
    Some(instruction(op, [rd(word), rs1(word), rs2(word), third], (0, form)))
}
