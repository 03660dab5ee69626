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
/// jumps has no gaps. What accesses memory comes first, and of that the accesses that are sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[expect(missing_docs, reason = "the instructions' own names")]
pub enum Kind {
    Lw,
    Sw,
    AmoAdd,
    Lbu,
    Lhu,
    Lb,
    Lh,
    Sb,
    Sh,
    AmoSwap,
    AmoXor,
    AmoAnd,
    AmoOr,
    AmoMin,
    AmoMax,
    AmoMinu,
    AmoMaxu,
    Beq,
    Bne,
    Blt,
    Bge,
    Bltu,
    Bgeu,
    Jal,
    Jalr,
    Mul,
    /// A multiplication's upper half or a division.
    Long,
    /// What the interpreter executes, and what is no instruction.
    Other,
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
}

impl Kind {
    /// Whether it does nothing but compute a value, in one cycle.
    #[inline(always)]
    pub const fn computes(self) -> bool {
        self as u8 >= Self::Set as u8
    }

    /// Whether memory gets the sum of what it held, if the micro-operation keeps that, and of its
    /// operand, if it writes: so for a load, a store and an atomic addition of a word, without a
    /// choice among them.
    #[inline(always)]
    pub const fn is_sum(self) -> bool {
        self as u8 <= Self::AmoAdd as u8
    }

    /// Gives the operation of an atomic that is no addition.
    pub fn amo(self) -> Option<AmoOp> {
        Some(match self {
            Self::AmoSwap => AmoOp::Swap,
            Self::AmoXor => AmoOp::Xor,
            Self::AmoAnd => AmoOp::And,
            Self::AmoOr => AmoOp::Or,
            Self::AmoMin => AmoOp::Min,
            Self::AmoMax => AmoOp::Max,
            Self::AmoMinu => AmoOp::Minu,
            Self::AmoMaxu => AmoOp::Maxu,
            _ => return None,
        })
    }
}

/// Names an integer register: what the compiler knows to be below 32 needs no look at bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[rustfmt::skip]
#[expect(missing_docs, reason = "the registers' own names")]
pub enum Register {
    X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15,
    X16, X17, X18, X19, X20, X21, X22, X23, X24, X25, X26, X27, X28, X29, X30, X31,
}

impl Register {
    #[rustfmt::skip]
    const ALL: [Self; 32] = {
        use Register::*;
        [X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15,
         X16, X17, X18, X19, X20, X21, X22, X23, X24, X25, X26, X27, X28, X29, X30, X31]
    };

    /// Names the register of a number, of which the lower five bits count.
    pub const fn new(number: u8) -> Self {
        Self::ALL[(number & 31) as usize]
    }

    /// Reads it.
    #[inline(always)]
    pub fn of(self, x: &[u32; 32]) -> u32 {
        x[self as usize]
    }

    /// Writes it; x0 stays zero.
    #[inline(always)]
    pub fn set(self, x: &mut [u32; 32], value: u32) {
        x[self as usize] = value;
        x[0] = 0;
    }
}

/// Holds an instruction, ready to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroOp {
    /// Immediate; of `jal` and branches the place they go to.
    pub imm: u32,
    /// Instructions in a row, from this one on, that do nothing but compute: a run.
    pub run: u16,
    /// What it does.
    pub kind: Kind,
    /// Destination register; x0 when none.
    pub rd: Register,
    /// First source register.
    pub rs1: Register,
    /// Second source register.
    pub rs2: Register,
    /// Its length in half words.
    pub step: u8,
    /// Bits of an address that must be 0, lest the access lies in two words.
    pub alignment: u8,
    /// The destination register if it is loaded, else [`NO_REGISTER`].
    pub loaded: u8,
    /// What else is to be known of an access.
    pub flags: Flags,
}

const _: () = assert!(size_of::<MicroOp>() <= 16);

/// Says in bits what an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    const USED_NEXT: u8 = 1;
    const WRITES: u8 = 2;
    const KEEPS: u8 = 4;
    const ATOMIC: u8 = 8;

    /// How often the instruction behind it waits for the register that it loads: once or not at all.
    #[inline(always)]
    pub fn stalls_next(self) -> u64 {
        u64::from(self.0 & Self::USED_NEXT)
    }

    /// Whether what memory held is part of what it holds then.
    #[inline(always)]
    pub const fn keeps(self) -> bool {
        self.0 & Self::KEEPS != 0
    }

    /// Whether it writes memory.
    #[inline(always)]
    pub const fn writes(self) -> bool {
        self.0 & Self::WRITES != 0
    }

    /// Whether it is an atomic.
    #[inline(always)]
    pub const fn is_atomic(self) -> bool {
        self.0 & Self::ATOMIC != 0
    }
}

/// Stands for an instruction that is not known.
const UNKNOWN: MicroOp = MicroOp {
    imm: 0,
    run: 0,
    kind: Kind::Other,
    rd: Register::X0,
    rs1: Register::X0,
    rs2: Register::X0,
    step: 0,
    alignment: 0,
    loaded: NO_REGISTER,
    flags: Flags(0),
};

/// Half words of the longest instruction: so far back does a change reach.
const LONGEST: usize = 2;

/// Instructions from which on a run is not made longer.
const LONGEST_RUN: u16 = 1 << 15;

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
    /// that begin before it may reach into it, look at what follows them, or lead to it in a run.
    fn translate(&mut self, address: u32, bytes: u64) {
        let offset = i64::from(address) - i64::from(self.program.base());
        let end = offset.saturating_add(bytes.min(1 << 40) as i64).max(0) as usize;
        let first = (offset.max(0) as usize / 2).saturating_sub(2 * LONGEST);
        // From the end: a run goes on where the next one begins.
        for place in (first..end.div_ceil(2).min(self.micro.len())).rev() {
            self.micro[place] = self.micro_op(place as u32);
        }
        let mut same = 0;
        for place in (0..first.min(self.micro.len())).rev() {
            let micro = self.micro_op(place as u32);
            same = if self.micro[place] == micro { same + 1 } else { 0 };
            self.micro[place] = micro;
            if same == LONGEST {
                break; // nobody before them looks further
            }
        }
    }

    /// Gives the micro-operation of a place whose successors are known.
    fn micro_op(&self, place: u32) -> MicroOp {
        let Some(instruction) = self.program.at(place) else { return UNKNOWN };
        let pc = self.program.base().wrapping_add(place << 1);
        let step = instruction.length >> 1;
        let next = self.program.at(place + u32::from(step));
        let (kind, imm) = self.kind(instruction, pc);
        let rd = instruction.rd & 31;
        let is_atomic = kind == Kind::AmoAdd || kind.amo().is_some();
        let is_store = matches!(kind, Kind::Sw | Kind::Sb | Kind::Sh);
        let loads = is_atomic || kind <= Kind::Lh && !is_store;
        let is_used_next = loads && next.is_some_and(|next| waits_for(next, rd));
        let alignment = match kind {
            Kind::Lb | Kind::Lbu | Kind::Sb => 0,
            Kind::Lh | Kind::Lhu | Kind::Sh => 1,
            _ => 3,
        };
        let flag = |flag, is_set| if is_set { flag } else { 0 };
        let flags = flag(Flags::KEEPS, kind != Kind::Sw)
            | flag(Flags::WRITES, is_store || is_atomic)
            | flag(Flags::ATOMIC, is_atomic)
            | flag(Flags::USED_NEXT, is_used_next);
        let loaded = if loads { rd } else { NO_REGISTER };
        let [rd, rs1, rs2] = [rd, instruction.rs1, instruction.rs2].map(Register::new);
        let micro = MicroOp { imm, kind, rd, rs1, rs2, step, ..UNKNOWN };
        let mut micro = MicroOp { alignment, loaded, flags: Flags(flags), ..micro };
        if kind.computes() {
            let next = self.micro.get(place as usize + usize::from(step)).unwrap_or(&UNKNOWN);
            if next.run >= LONGEST_RUN {
                return UNKNOWN; // the interpreter executes it, and the run ends before it
            }
            micro.run = next.run + 1;
        }
        micro
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
            Op::AmoSwapW => (Kind::AmoSwap, 0),
            Op::AmoXorW => (Kind::AmoXor, 0),
            Op::AmoAndW => (Kind::AmoAnd, 0),
            Op::AmoOrW => (Kind::AmoOr, 0),
            Op::AmoMinW => (Kind::AmoMin, 0),
            Op::AmoMaxW => (Kind::AmoMax, 0),
            Op::AmoMinuW => (Kind::AmoMinu, 0),
            Op::AmoMaxuW => (Kind::AmoMaxu, 0),
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

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u32 = 0x1d00_0000;
    const ADDI: u32 = 0x0015_8593; // addi a1, a1, 1
    const C_ADDI: u32 = 0x0585; // c.addi a1, 1
    const LW: u32 = 0x0005_a603; // lw a2, 0(a1)
    const SW: u32 = 0x00c5_a023; // sw a2, 0(a1)
    const NOP: u32 = 0x0000_0013;
    const ADD: u32 = 0x00c6_0633; // add a2, a2, a2

    fn code(words: &[u32]) -> Code {
        let mut code = Code::new(BASE, 64, Extensions::PSPIN);
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        let lengths = words.iter().flat_map(|word| {
            let is_long = word & 3 == 3;
            [true, true, is_long, is_long]
        });
        let kept: Vec<u8> =
            bytes.zip(lengths).filter_map(|(byte, is_kept)| is_kept.then_some(byte)).collect();
        code.load(BASE, &kept);
        code
    }

    fn runs(code: &Code, places: [usize; 4]) -> [u16; 4] {
        places.map(|place| code.micro()[place].run)
    }

    #[test]
    fn a_run_ends_where_something_else_begins() {
        let mut code = code(&[C_ADDI, ADDI, ADDI, LW]);
        let whole = [3, 2, 1, 0];
        assert_eq!(runs(&code, [0, 1, 3, 5]), whole);
        code.invalidate(BASE + 6, 4);
        assert_eq!(runs(&code, [0, 1, 3, 5])[..3], [2, 1, 0], "the third went");
        code.load(BASE + 6, &SW.to_le_bytes());
        assert_eq!(code.micro()[3].kind, Kind::Sw);
        assert_eq!(runs(&code, [0, 1, 3, 5])[..3], [2, 1, 0]);
        code.load(BASE + 6, &[ADDI.to_le_bytes(), LW.to_le_bytes()].concat());
        assert_eq!(runs(&code, [0, 1, 3, 5]), whole, "as before");
    }

    #[test]
    fn a_change_far_behind_reaches_the_whole_run() {
        let mut code = code(&[ADDI; 15]);
        assert_eq!(code.micro()[0].run, 15);
        code.invalidate(BASE + 56, 1);
        assert_eq!(code.micro()[0].run, 14);
    }

    #[test]
    fn a_longest_run_is_cut() {
        let places = usize::from(LONGEST_RUN) + 64;
        let mut code = Code::new(BASE, places * 2, Extensions::PSPIN);
        code.load(BASE, &(C_ADDI as u16).to_le_bytes().repeat(places));
        let cuts = code.micro().iter().filter(|micro| micro.kind == Kind::Other).count();
        assert_eq!(cuts, 1, "one is left to the interpreter");
        assert!(code.micro().iter().all(|micro| micro.run <= LONGEST_RUN));
    }

    #[test]
    fn only_what_loads_is_waited_for() {
        let stalls = |words: &[u32]| code(words).micro()[0].flags.stalls_next();
        assert_eq!(stalls(&[LW, ADD]), 1);
        assert_eq!(stalls(&[LW, NOP]), 0);
        assert_eq!(stalls(&[SW, NOP]), 0, "a store loads nothing, not even x0");
    }
}
