//! Program memory as cores execute it: decoded instructions, and the same as micro-operations.
//!
//! A micro-operation is what [`lean`](super::lean) executes: what does not depend on registers is
//! worked out once, when the instruction is decoded: targets of branches as places, the sum of
//! `auipc`, whether what follows waits for a load's result. Instructions that are seldom seen have the
//! kind [`Kind::Other`] and go through the interpreter. A store to program memory forgets both.

use std::ops::Deref;

use pinion_isa::{AmoOp, Class, DecodedProgram, Extensions, Instruction, Op};

use super::NO_REGISTER;

/// Names what a micro-operation does: one for each way through the lean loop, so that its table of
/// jumps has no gaps. Loads come first, then stores, then atomics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[expect(missing_docs, reason = "the instructions' own names")]
pub enum Kind {
    Lw,
    Lbu,
    Lhu,
    Lb,
    Lh,
    Sw,
    Sb,
    Sh,
    AmoAdd,
    /// Another atomic: its immediate is the place of its operation in [`AMO_OPS`].
    Amo,
    Beq,
    Bne,
    Blt,
    Bge,
    Bltu,
    Bgeu,
    Jal,
    Jalr,
    /// Puts its immediate into the register: `lui`, and `auipc`.
    Set,
    Addi,
    Slti,
    Sltiu,
    Xori,
    Ori,
    Andi,
    Slli,
    Srli,
    Srai,
    Add,
    Sub,
    Sll,
    Slt,
    Sltu,
    Xor,
    Srl,
    Sra,
    Or,
    And,
    Mul,
    /// A multiplication's upper half or a division.
    Long,
    /// What the interpreter executes, and what is no instruction.
    Other,
}

/// The atomics that [`Kind::Amo`] stands for.
pub const AMO_OPS: [AmoOp; 8] = [
    AmoOp::Swap,
    AmoOp::Xor,
    AmoOp::And,
    AmoOp::Or,
    AmoOp::Min,
    AmoOp::Max,
    AmoOp::Minu,
    AmoOp::Maxu,
];

/// Holds an instruction, ready to be executed.
#[derive(Clone, Copy, Debug)]
pub struct MicroOp {
    /// Immediate; of `jal` and branches the place they go to.
    pub imm: u32,
    /// What it does.
    pub kind: Kind,
    /// Destination register; 0 when none.
    pub rd: u8,
    /// The same if it loads it, else [`NO_REGISTER`].
    pub loads: u8,
    /// First source register.
    pub rs1: u8,
    /// Second source register.
    pub rs2: u8,
    /// Its length in half words.
    pub step: u8,
    /// Bits of an address that must be 0, lest the access lies in two words.
    pub alignment: u8,
    /// Whether it writes memory.
    pub writes: bool,
    /// Whether it is an atomic.
    pub is_atomic: bool,
    /// Whether memory gets the sum of what it held, if it `keeps` that, and of its operand, if it
    /// `writes`: so for a load, a store and an atomic addition of a word, without a choice among them.
    pub is_sum: bool,
    /// Whether what memory held is part of what it holds then.
    pub keeps: bool,
    /// Whether the instruction behind it waits for the register that it loads.
    pub is_used_next: bool,
}

const _: () = assert!(size_of::<MicroOp>() == 16);

/// Stands for an instruction that is not known.
const UNKNOWN: MicroOp = MicroOp {
    imm: 0,
    kind: Kind::Other,
    rd: 0,
    loads: NO_REGISTER,
    rs1: 0,
    rs2: 0,
    step: 0,
    alignment: 0,
    writes: false,
    is_atomic: false,
    is_sum: false,
    keeps: true,
    is_used_next: false,
};

/// Half words of the longest instruction: so far back does a change reach.
const LONGEST: usize = 2;

/// Tells whether an instruction stalls behind one that loads a register.
#[inline(always)]
pub fn waits_for(instruction: &Instruction, loaded: u8) -> bool {
    instruction.reads(loaded) || instruction.computes(loaded)
}

/// Holds a program.
#[derive(Clone, Debug)]
pub struct Code {
    program: DecodedProgram<u32>,
    micro: Vec<MicroOp>,
}

impl Deref for Code {
    type Target = DecodedProgram<u32>;

    fn deref(&self) -> &Self::Target {
        &self.program
    }
}

impl Code {
    /// Makes an empty program of `bytes` bytes from `base` on.
    pub fn new(base: u32, bytes: usize, extensions: Extensions) -> Self {
        let program = DecodedProgram::new(base, bytes, extensions);
        let micro = vec![UNKNOWN; program.bytes() / 2];
        Self { program, micro }
    }

    /// Gives the micro-operations by [place](DecodedProgram::place).
    #[inline(always)]
    pub fn micro(&self) -> &[MicroOp] {
        &self.micro
    }

    /// Decodes the bits found at `pc`; see [`DecodedProgram::fill`].
    pub fn fill(&mut self, pc: u32, word: u32) -> Instruction {
        let instruction = self.program.fill(pc, word);
        self.translate(pc, 2);
        instruction
    }

    /// Decodes the bytes at an address; see [`DecodedProgram::load`].
    pub fn load(&mut self, address: u32, bytes: &[u8]) {
        self.program.load(address, bytes);
        self.translate(address, bytes.len() as u64);
    }

    /// Forgets what a store may have changed; see [`DecodedProgram::invalidate`].
    pub fn invalidate(&mut self, address: u32, bytes: u64) {
        self.program.invalidate(address, bytes);
        self.translate(address, bytes);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.program.clear();
        self.micro.fill(UNKNOWN);
    }

    /// Makes the micro-operations anew that a change of `bytes` bytes at `address` may concern: those
    /// that begin before it may reach into it, or look at what follows them.
    fn translate(&mut self, address: u32, bytes: u64) {
        let offset = i64::from(address) - i64::from(self.program.base());
        let end = offset.saturating_add(bytes.min(1 << 40) as i64).max(0) as usize;
        let first = (offset.max(0) as usize / 2).saturating_sub(2 * LONGEST);
        for place in first..end.div_ceil(2).min(self.micro.len()) {
            self.micro[place] = self.micro_op(place as u32).unwrap_or(UNKNOWN);
        }
    }

    /// Gives the micro-operation of a place, if an instruction is known there.
    fn micro_op(&self, place: u32) -> Option<MicroOp> {
        let instruction = self.program.at(place)?;
        let pc = self.program.base().wrapping_add(place << 1);
        let step = instruction.length >> 1;
        let next = self.program.at(place + u32::from(step));
        let (kind, imm) = self.kind(instruction, pc);
        let (rd, rs1, rs2) = (instruction.rd & 31, instruction.rs1 & 31, instruction.rs2 & 31);
        let is_used_next = next.is_some_and(|next| waits_for(next, rd));
        let alignment = match kind {
            Kind::Lb | Kind::Lbu | Kind::Sb => 0,
            Kind::Lh | Kind::Lhu | Kind::Sh => 1,
            _ => 3,
        };
        let is_atomic = matches!(kind, Kind::AmoAdd | Kind::Amo);
        let is_store = matches!(kind, Kind::Sw | Kind::Sb | Kind::Sh);
        let loads = if is_atomic || kind <= Kind::Lh { rd } else { NO_REGISTER };
        let writes = is_store || is_atomic;
        let micro = MicroOp { imm, kind, rd, loads, rs1, rs2, step, ..UNKNOWN };
        let is_sum = matches!(kind, Kind::Lw | Kind::Sw | Kind::AmoAdd);
        let keeps = kind != Kind::Sw;
        Some(MicroOp { alignment, writes, is_atomic, is_sum, keeps, is_used_next, ..micro })
    }

    fn kind(&self, instruction: &Instruction, pc: u32) -> (Kind, u32) {
        let imm = instruction.imm as u32;
        let target = || self.program.place(pc.wrapping_add(imm));
        match instruction.op {
            Op::Lb => (Kind::Lb, imm),
            Op::Lh => (Kind::Lh, imm),
            Op::Lw => (Kind::Lw, imm),
            Op::Lbu => (Kind::Lbu, imm),
            Op::Lhu => (Kind::Lhu, imm),
            Op::Sb => (Kind::Sb, imm),
            Op::Sh => (Kind::Sh, imm),
            Op::Sw => (Kind::Sw, imm),
            Op::AmoAddW => (Kind::AmoAdd, 0),
            Op::AmoSwapW => (Kind::Amo, 0),
            Op::AmoXorW => (Kind::Amo, 1),
            Op::AmoAndW => (Kind::Amo, 2),
            Op::AmoOrW => (Kind::Amo, 3),
            Op::AmoMinW => (Kind::Amo, 4),
            Op::AmoMaxW => (Kind::Amo, 5),
            Op::AmoMinuW => (Kind::Amo, 6),
            Op::AmoMaxuW => (Kind::Amo, 7),
            Op::Beq => (Kind::Beq, target()),
            Op::Bne => (Kind::Bne, target()),
            Op::Blt => (Kind::Blt, target()),
            Op::Bge => (Kind::Bge, target()),
            Op::Bltu => (Kind::Bltu, target()),
            Op::Bgeu => (Kind::Bgeu, target()),
            Op::Jal => (Kind::Jal, target()),
            Op::Jalr => (Kind::Jalr, imm),
            Op::Lui => (Kind::Set, imm),
            Op::Auipc => (Kind::Set, pc.wrapping_add(imm)),
            Op::Addi => (Kind::Addi, imm),
            Op::Slti => (Kind::Slti, imm),
            Op::Sltiu => (Kind::Sltiu, imm),
            Op::Xori => (Kind::Xori, imm),
            Op::Ori => (Kind::Ori, imm),
            Op::Andi => (Kind::Andi, imm),
            Op::Slli => (Kind::Slli, imm),
            Op::Srli => (Kind::Srli, imm),
            Op::Srai => (Kind::Srai, imm),
            Op::Add => (Kind::Add, 0),
            Op::Sub => (Kind::Sub, 0),
            Op::Sll => (Kind::Sll, 0),
            Op::Slt => (Kind::Slt, 0),
            Op::Sltu => (Kind::Sltu, 0),
            Op::Xor => (Kind::Xor, 0),
            Op::Srl => (Kind::Srl, 0),
            Op::Sra => (Kind::Sra, 0),
            Op::Or => (Kind::Or, 0),
            Op::And => (Kind::And, 0),
            Op::Mul => (Kind::Mul, 0),
            _ if matches!(instruction.class, Class::MulHigh | Class::Div) => (Kind::Long, 0),
            _ => (Kind::Other, 0),
        }
    }
}
