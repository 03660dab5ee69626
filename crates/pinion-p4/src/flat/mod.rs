//! A program made executable: a flat row of operations on registers of 64 bits, compiled once and run for
//! each packet without allocating. In: a checked program, and which of its places somebody reads when
//! it has run. Out: operations for parser, control and deparser.
//!
//! What nobody reads is left out, a place that only repeats another is that place's register, and fields
//! that are always the same stand in the headers' bytes already. Values of more than 64 bits take two
//! registers and a slower way.

mod analysis;
mod compile;
mod headers;
mod run;
mod value;
mod wide;

pub use run::{Packet, Rejected, Units};

use crate::source::Span;

/// Number of a register.
pub type Register = u16;

/// An operation. Operands are registers; constants stand in registers that nothing writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Move {
        to: Register,
        from: Register,
    },
    Add {
        to: Register,
        one: Register,
        other: Register,
        mask: Register,
    },
    Subtract {
        to: Register,
        one: Register,
        other: Register,
        mask: Register,
    },
    And {
        to: Register,
        one: Register,
        other: Register,
    },
    Or {
        to: Register,
        one: Register,
        other: Register,
    },
    Xor {
        to: Register,
        one: Register,
        other: Register,
    },
    ShiftLeft {
        to: Register,
        one: Register,
        other: Register,
        mask: Register,
    },
    ShiftRight {
        to: Register,
        one: Register,
        other: Register,
    },
    Equal {
        to: Register,
        one: Register,
        other: Register,
    },
    Unequal {
        to: Register,
        one: Register,
        other: Register,
    },
    Less {
        to: Register,
        one: Register,
        other: Register,
    },
    LessEqual {
        to: Register,
        one: Register,
        other: Register,
    },
    /// Bits from `low` on.
    Slice {
        to: Register,
        from: Register,
        low: u16,
        mask: Register,
    },
    /// `one` shifted left, and `other` in the bits below.
    Join {
        to: Register,
        one: Register,
        other: Register,
        by: u16,
    },
    Choose {
        to: Register,
        condition: Register,
        one: Register,
        other: Register,
    },
    /// Replaces bits from `low` on.
    SetBits {
        to: Register,
        from: Register,
        low: u16,
        mask: Register,
    },
    /// Goes on elsewhere.
    Jump {
        to: u16,
    },
    JumpIfZero {
        condition: Register,
        to: u16,
    },
    JumpIfSet {
        condition: Register,
        to: u16,
    },
    /// Goes on elsewhere if bits differ from a key.
    JumpUnlessKey {
        value: Register,
        mask: Register,
        key: Register,
        to: u16,
    },
    /// Goes on elsewhere if a value is not within a range.
    JumpUnlessWithin {
        value: Register,
        first: Register,
        last: Register,
        to: u16,
    },
    /// Counts a read of what is not there if a register is zero.
    Watch {
        flag: Register,
        site: u16,
    },
    /// Takes bytes of the packet for a header.
    Take {
        bytes: u16,
    },
    Load8 {
        to: Register,
        at: u16,
    },
    Load16 {
        to: Register,
        at: u16,
    },
    Load32 {
        to: Register,
        at: u16,
    },
    Load48 {
        to: Register,
        at: u16,
    },
    /// Loads bits of eight bytes: so many from the right are dropped, then the mask.
    LoadBits {
        to: Register,
        at: u16,
        drop: u16,
        mask: Register,
    },
    /// Adds a header's bytes.
    Begin {
        header: u16,
    },
    Put8 {
        from: Register,
        at: u16,
    },
    Put16 {
        from: Register,
        at: u16,
    },
    Put32 {
        from: Register,
        at: u16,
    },
    Put48 {
        from: Register,
        at: u16,
    },
    /// Puts bits anywhere, one after the other.
    PutBits {
        from: Register,
        at: u16,
        width: u16,
    },
    /// Asks an extern.
    Ask {
        site: u16,
    },
    /// An operation on values of which one is wide.
    Wide {
        number: u16,
    },
    Accept,
    Reject,
}

/// A place of the program that asks an extern.
#[derive(Clone, Debug)]
pub struct Site {
    /// Number of the extern.
    pub external: usize,
    /// Registers of the request's fields, in order.
    pub request: Vec<Register>,
    /// Registers of the answer's fields.
    pub response: Vec<Register>,
}

/// A read that may find nothing, by the packet.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What is read, and why it may not be there.
    pub what: String,
    /// Where it stands.
    pub span: Span,
}

/// An executable program.
#[derive(Clone, Debug, Default)]
pub struct Flat {
    parser: Vec<Op>,
    control: Vec<Op>,
    deparser: Vec<Op>,
    wide: Vec<wide::WideOp>,
    /// What registers hold before the first packet: constants, and zeros.
    initial: Vec<u64>,
    /// Registers that are zero when a packet comes.
    reset: Vec<Register>,
    /// By header that is sent: its bytes, as far as they are always the same.
    templates: Vec<Vec<u8>>,
    /// By place of the program: its register, if it has one.
    registers: Vec<Option<Register>>,
    /// Places that ask externs.
    pub sites: Vec<Site>,
    /// Reads that are watched.
    pub watched: Vec<Watched>,
}

impl Flat {
    /// Gives the register of a place; none if nobody reads it.
    pub fn register(&self, slot: crate::program::Slot) -> Option<Register> {
        self.registers.get(slot as usize).copied().flatten()
    }

    /// Counts the operations of parser, control and deparser.
    pub fn operations(&self) -> [usize; 3] {
        [self.parser.len(), self.control.len(), self.deparser.len()]
    }
}
