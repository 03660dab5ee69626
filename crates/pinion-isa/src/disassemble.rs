//! Writes instructions as an assembler would read them, with the usual pseudo-instructions.

use crate::csr::csr_name;
use crate::registers::{FLOAT_REGISTER_NAMES, REGISTER_NAMES};
use crate::{Class, FIRST_FLOAT_REGISTER, Instruction, Op};

/// Names of the rounding modes; 7 is the dynamic one and is not written.
const ROUNDING_NAMES: [&str; 5] = ["rne", "rtz", "rdn", "rup", "rmm"];

/// Writes an instruction found at `pc` in assembler syntax; branch and jump targets are absolute.
pub fn disassemble(i: &Instruction, pc: u64) -> String {
    pseudo(i, pc).unwrap_or_else(|| disassemble_plain(i, pc))
}

/// Writes an instruction as [`disassemble`] does, without pseudo-instructions.
pub fn disassemble_plain(i: &Instruction, pc: u64) -> String {
    let (rd, rs1, rs2) = (register(i.rd), register(i.rs1), register(i.rs2));
    let (name, imm) = (i.op.mnemonic(), i.imm);
    if i.op == Op::Xpulp {
        return crate::xpulp::write(i, pc);
    }
    match i.class {
        Class::Illegal if i.length == 2 => format!(".2byte {:#x}", imm as u16),
        Class::Illegal => format!(".4byte {imm:#x}"),
        Class::Branch => format!("{name} {rs1},{rs2},{:#x}", target(i, pc)),
        Class::Jump => format!("{name} {rd},{:#x}", target(i, pc)),
        Class::JumpRegister | Class::Load | Class::EventLoad | Class::FloatLoad => {
            format!("{name} {rd},{imm}({rs1})")
        }
        Class::Store | Class::FloatStore => format!("{name} {rs2},{imm}({rs1})"),
        Class::LoadReserved => format!("{name}{} {rd},({rs1})", ordering(imm)),
        Class::StoreConditional | Class::Amo => {
            format!("{name}{} {rd},{rs2},({rs1})", ordering(imm))
        }
        Class::Csr => format!("{name} {rd},{},{}", csr(i), csr_source(i)),
        Class::Fence => fence(imm as u32),
        Class::FenceI | Class::System => name.into(),
        Class::Alu => arithmetic(i),
        Class::Mul | Class::MulHigh | Class::Div => format!("{name} {rd},{rs1},{rs2}"),
        Class::FloatAdd
        | Class::FloatMul
        | Class::FloatFused
        | Class::FloatDiv
        | Class::FloatSqrt
        | Class::FloatToInt
        | Class::IntToFloat
        | Class::FloatMove => float(i),
        Class::XpulpLoad | Class::XpulpStore => name.into(),
    }
}

/// Names a register of either file.
fn register(number: u8) -> &'static str {
    let names = if number < FIRST_FLOAT_REGISTER { REGISTER_NAMES } else { FLOAT_REGISTER_NAMES };
    names[usize::from(number & 31)]
}

/// Writes a floating-point operation: its registers, and the rounding mode unless it is dynamic.
fn float(i: &Instruction) -> String {
    let mut text = format!("{} {},{}", i.op.mnemonic(), register(i.rd), register(i.rs1));
    for source in [i.rs2, i.rs3].into_iter().filter(|source| *source != 0) {
        text.push(',');
        text.push_str(register(source));
    }
    // Where nothing can be lost assemblers write mode 0 and nobody mentions it.
    let exact = matches!(i.op, Op::FcvtDS | Op::FcvtDW | Op::FcvtDWu) && i.rounding_mode() == 0;
    let mode = ROUNDING_NAMES.get(usize::from(i.rounding_mode()));
    if let Some(mode) = mode.filter(|_| i.op.rounds() && !exact) {
        text.push(',');
        text.push_str(mode);
    }
    text
}

fn target(i: &Instruction, pc: u64) -> u64 {
    let target = pc.wrapping_add(i.imm as i64 as u64);
    // A 32-bit program counter wraps within its width.
    if pc <= u64::from(u32::MAX) { target & u64::from(u32::MAX) } else { target }
}

fn ordering(bits: i32) -> &'static str {
    ["", ".rl", ".aq", ".aqrl"][bits as usize & 3]
}

fn csr(i: &Instruction) -> String {
    csr_name(i.csr()).map_or_else(|| format!("{:#x}", i.csr()), str::to_owned)
}

fn csr_source(i: &Instruction) -> String {
    match i.op {
        Op::Csrrw | Op::Csrrs | Op::Csrrc => register(i.rs1).into(),
        _ => (i.imm >> 16 & 31).to_string(),
    }
}

fn fence(bits: u32) -> String {
    if bits == 0x833 {
        return "fence.tso".into();
    }
    let set = |bits: u32| {
        let set: String = [(8, 'i'), (4, 'o'), (2, 'r'), (1, 'w')]
            .iter()
            .filter(|(bit, _)| bits & bit != 0)
            .map(|(_, letter)| letter)
            .collect();
        if set.is_empty() { "unknown".into() } else { set }
    };
    match bits & 0xff {
        0xff => "fence".into(),
        _ => format!("fence {},{}", set(bits >> 4 & 15), set(bits & 15)),
    }
}

/// Says whether an operation takes an immediate as its second operand.
const fn takes_immediate(op: Op) -> bool {
    matches!(
        op,
        Op::Addi
            | Op::Slti
            | Op::Sltiu
            | Op::Xori
            | Op::Ori
            | Op::Andi
            | Op::Slli
            | Op::Srli
            | Op::Srai
            | Op::Addiw
            | Op::Slliw
            | Op::Srliw
            | Op::Sraiw
    )
}

fn arithmetic(i: &Instruction) -> String {
    let (rd, rs1, rs2) = (register(i.rd), register(i.rs1), register(i.rs2));
    let name = i.op.mnemonic();
    match i.op {
        Op::Lui | Op::Auipc => format!("{name} {rd},{:#x}", i.imm as u32 >> 12),
        Op::Slli | Op::Srli | Op::Srai | Op::Slliw | Op::Srliw | Op::Sraiw => {
            format!("{name} {rd},{rs1},{:#x}", i.imm)
        }
        op if takes_immediate(op) => format!("{name} {rd},{rs1},{}", i.imm),
        _ => format!("{name} {rd},{rs1},{rs2}"),
    }
}

/// Finds the shorter form that an assembler offers for an instruction.
fn pseudo(i: &Instruction, pc: u64) -> Option<String> {
    let (rd, rs1, rs2) = (register(i.rd), register(i.rs1), register(i.rs2));
    Some(match (i.op, i.rd, i.rs1, i.rs2, i.imm) {
        (Op::Addi, 0, 0, _, 0) => "nop".into(),
        (Op::Addi, _, 0, _, imm) => format!("li {rd},{imm}"),
        (Op::Addi, _, _, _, 0) => format!("mv {rd},{rs1}"),
        (Op::Add, _, 0, _, _) if i.length == 2 => format!("mv {rd},{rs2}"),
        (Op::Xori, _, _, _, -1) => format!("not {rd},{rs1}"),
        (Op::Andi, _, _, _, 255) => format!("zext.b {rd},{rs1}"),
        (Op::Addiw, _, _, _, 0) => format!("sext.w {rd},{rs1}"),
        (Op::Sub, _, 0, _, _) => format!("neg {rd},{rs2}"),
        (Op::Subw, _, 0, _, _) => format!("negw {rd},{rs2}"),
        (Op::Sltiu, _, _, _, 1) => format!("seqz {rd},{rs1}"),
        (Op::Sltu, _, 0, _, _) => format!("snez {rd},{rs2}"),
        (Op::Slt, _, _, 0, _) => format!("sltz {rd},{rs1}"),
        (Op::Slt, _, 0, _, _) => format!("sgtz {rd},{rs2}"),
        (Op::Beq | Op::Bne | Op::Bge | Op::Blt, _, _, 0, _) => {
            format!("{}z {rs1},{:#x}", i.op.mnemonic(), target(i, pc))
        }
        (Op::Bge, _, 0, _, _) => format!("blez {rs2},{:#x}", target(i, pc)),
        (Op::Blt, _, 0, _, _) => format!("bgtz {rs2},{:#x}", target(i, pc)),
        (Op::Jal, 0, ..) => format!("j {:#x}", target(i, pc)),
        (Op::Jal, 1, ..) => format!("jal {:#x}", target(i, pc)),
        (Op::Jalr, 0, 1, _, 0) => "ret".into(),
        (Op::Jalr, 0, _, _, 0) => format!("jr {rs1}"),
        (Op::Jalr, 0, _, _, imm) => format!("jr {imm}({rs1})"),
        (Op::Jalr, 1, _, _, 0) => format!("jalr {rs1}"),
        (Op::Jalr, 1, _, _, imm) => format!("jalr {imm}({rs1})"),
        (Op::Jalr, _, _, _, 0) => format!("jalr {rd},{rs1}"),
        (Op::FsgnjS | Op::FsgnjD, _, a, b, _) if a == b => format!("fmv.{} {rd},{rs1}", format(i)),
        (Op::FsgnjnS | Op::FsgnjnD, _, a, b, _) if a == b => {
            format!("fneg.{} {rd},{rs1}", format(i))
        }
        (Op::FsgnjxS | Op::FsgnjxD, _, a, b, _) if a == b => {
            format!("fabs.{} {rd},{rs1}", format(i))
        }
        (Op::Csrrs, _, 0, _, _) => format!("csrr {rd},{}", csr(i)),
        (Op::Csrrw | Op::Csrrs | Op::Csrrc, 0, ..) => {
            format!("{} {},{rs1}", short_csr_name(i.op), csr(i))
        }
        (Op::Csrrwi | Op::Csrrsi | Op::Csrrci, 0, ..) => {
            format!("{}i {},{}", short_csr_name(i.op), csr(i), csr_source(i))
        }
        _ => return None,
    })
}

/// The letter of a floating-point operation's format.
const fn format(i: &Instruction) -> char {
    if i.op.float_bytes() == 4 { 's' } else { 'd' }
}

const fn short_csr_name(op: Op) -> &'static str {
    match op {
        Op::Csrrw | Op::Csrrwi => "csrw",
        Op::Csrrs | Op::Csrrsi => "csrs",
        _ => "csrc",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extensions, decode};

    #[test]
    fn writes_standard_syntax() {
        for (word, text) in [
            (0x0010_0513u32, "li a0,1"),
            (0x8067, "ret"),
            (0x8082, "ret"),
            (0xff01_0113, "addi sp,sp,-16"),
            (0x0011_2623, "sw ra,12(sp)"),
            (0x00c1_2083, "lw ra,12(sp)"),
            (0xf140_22f3, "csrr t0,mhartid"),
            (0x3052_9073, "csrw mtvec,t0"),
            (0x3002_b073, "csrc mstatus,t0"),
            (0x0820_a52f, "amoswap.w a0,sp,(ra)"),
            (0x080f_6f83, "p.elw t6,128(t5)"),
            (0xfe00_8ee3, "beqz ra,0xffc"),
            (0x0ff0_000f, "fence"),
            (0x0000_0000, ".2byte 0x0"),
            (0xffff_ffff, ".4byte 0xffffffff"),
            (0x1234_52b7, "lui t0,0x12345"),
        ] {
            assert_eq!(disassemble(&decode(word, Extensions::PSPIN), 0x1000), text);
        }
    }
}
