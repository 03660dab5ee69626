//! Micro-operations: instructions, ready to be executed by the [lean loop](super::lean).

use std::hint::select_unpredictable;

use pinion_isa::AmoOp;

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
    Add,
    Slti,
    Sltiu,
    Xori,
    Ori,
    Andi,
    Slli,
    Srli,
    Srai,
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

    /// Whether it puts the sum of its registers and its immediate into a register: so for three kinds, without a choice
    /// among them.
    #[inline(always)]
    pub const fn adds(self) -> bool {
        (self as u8).wrapping_sub(Self::Set as u8) <= Self::Add as u8 - Self::Set as u8
    }

    /// Whether it accesses memory.
    #[inline(always)]
    pub const fn accesses(self) -> bool {
        self as u8 <= Self::AmoMaxu as u8
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
    /// Bits of an address that must be 0, lest the access lies in two words; of what [adds](Kind::adds) four times its
    /// length, see [`Self::skip`].
    pub alignment: u8,
    /// The destination register if it is loaded, else [`NO_REGISTER`].
    pub loaded: u8,
    /// What else is to be known of an access.
    pub flags: Flags,
    /// Number of the translated block that begins with it; 0: none does.
    pub block: u16,
}

const _: () = assert!(size_of::<MicroOp>() <= 16);

impl MicroOp {
    /// Gives how far behind it an access is looked for that may come directly or behind a sum: its length if it
    /// [adds](Kind::adds), 0 if it accesses memory itself. It is a number of its own, for a choice would be a jump.
    #[inline(always)]
    pub const fn skip(&self) -> u32 {
        (self.alignment >> 2) as u32
    }

    /// Gives the sum of what [adds](Kind::adds), of which of three kinds it may be: one addend or two are 0.
    #[inline(always)]
    pub fn sum(&self, x: &[u32; 32]) -> u32 {
        self.rs1.of(x).wrapping_add(self.rs2.of(x)).wrapping_add(self.imm)
    }

    /// Names the register of the sum, if it [adds](Kind::adds), else x0, into which nothing goes.
    #[inline(always)]
    pub fn added(&self) -> Register {
        select_unpredictable(self.skip() != 0, self.rd, Register::X0)
    }

    /// Puts the sum into its register, if it [adds](Kind::adds), without a choice; gives 1 then, else 0.
    #[inline(always)]
    pub fn add(&self, x: &mut [u32; 32]) -> u64 {
        self.added().set(x, self.sum(x));
        u64::from(self.skip() != 0)
    }

    /// Whether its access to an address lies in two words.
    #[inline]
    pub const fn lies_in_two(&self, address: u32) -> bool {
        address % 4 + self.alignment as u32 > 3
    }
}

/// Says in bits what an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(pub(super) u8);

impl Flags {
    pub(super) const USED_NEXT: u8 = 1;
    pub(super) const WRITES: u8 = 2;
    pub(super) const KEEPS: u8 = 4;
    pub(super) const ATOMIC: u8 = 8;
    pub(super) const JUMPED_TO: u8 = 16;
    pub(super) const LEADS: u8 = 32;

    /// Whether another access is behind it, directly or behind a sum.
    #[inline(always)]
    pub const fn leads_to_access(self) -> bool {
        self.0 & Self::LEADS != 0
    }

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

    /// Whether one of the two instructions behind it jumps to what it loads, and so may have to
    /// [wait](super::Core::executed).
    #[inline(always)]
    pub const fn is_jumped_to(self) -> bool {
        self.0 & Self::JUMPED_TO != 0
    }

    /// Whether it is an atomic.
    #[inline(always)]
    pub const fn is_atomic(self) -> bool {
        self.0 & Self::ATOMIC != 0
    }
}

/// Stands for an instruction that is not known.
pub(super) const UNKNOWN: MicroOp = MicroOp {
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
    block: 0,
};

/// Says whether what is next goes otherwise behind what has held the decode stage, or may, as it is not known: a
/// jump goes meanwhile, and an access remembers it.
#[cold]
pub(super) fn asks_whether_it_waits(next: Option<&MicroOp>) -> bool {
    let asks = |kind: Kind| kind.accesses() || matches!(kind, Kind::Jal | Kind::Jalr | Kind::Other);
    next.is_none_or(|one| asks(one.kind))
}
