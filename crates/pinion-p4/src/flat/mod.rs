//! A program made executable: a flat row of operations on registers of 64 bits, compiled once and run for
//! each packet without allocating. In: a checked program, and which of its places somebody reads when
//! it has run. Out: operations for parser, control and deparser.
//!
//! Each way through the program is compiled for itself, with what is known on it: values are computed where
//! they are wanted, and conditions decided once. Fields are loaded from where they stand in the packet, and
//! headers that are sent are bytes with fields put between them. Values of more than 64 bits take two
//! registers and a slower way.

mod branch;
mod compile;
mod headers;
mod line;
mod parser;
mod place;
mod reads;
mod run;
mod send;
mod translated;
mod ways;
mod wide;

pub use run::{Packet, Rejected, Units, Words, index, ones};
pub use translated::{Call, Code, Control, Entry, FORMS, Left};

use std::sync::OnceLock;

use crate::program::{Program, Slot};
use crate::source::Span;

/// Number of a register.
pub type Register = u16;

/// Registers of 64 bits that there are, a power of two.
pub const REGISTERS: usize = 1024;

/// The first register that no program has: code of a control puts requests there, and finds answers.
pub const EXCHANGE: usize = REGISTERS - 32;

/// An operation, in eight bytes: what does not fit stands in a list beside it. Operands are registers; constants
/// stand in registers that nothing writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the operations' own names")]
pub enum Op {
    Move {
        to: Register,
        from: Register,
    },
    Add {
        to: Register,
        one: Register,
        other: Register,
        width: u8,
    },
    Subtract {
        to: Register,
        one: Register,
        other: Register,
        width: u8,
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
        width: u8,
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
        low: u8,
        width: u8,
    },
    /// `one` shifted left, and `other` in the bits below.
    Join {
        to: Register,
        one: Register,
        other: Register,
        by: u8,
    },
    /// One of a [pair](Control::pair).
    Choose {
        to: Register,
        condition: Register,
        pair: u16,
    },
    /// Replaces [bits](SomeBits).
    SetBits {
        to: Register,
        from: Register,
        bits: u16,
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
    /// Goes on elsewhere if no bit of a mask is set.
    JumpIfClear {
        value: Register,
        mask: Register,
        to: u16,
    },
    /// Goes on elsewhere if any bit of a mask is set.
    JumpIfAny {
        value: Register,
        mask: Register,
        to: u16,
    },
    JumpIfEqual {
        one: Register,
        other: Register,
        to: u16,
    },
    JumpUnlessEqual {
        one: Register,
        other: Register,
        to: u16,
    },
    JumpIfLess {
        one: Register,
        other: Register,
        to: u16,
    },
    JumpIfLessEqual {
        one: Register,
        other: Register,
        to: u16,
    },
    /// Goes on elsewhere if no bit of a mask is set in eight bytes of the packet.
    JumpIfFrameClear {
        at: u16,
        mask: Register,
        to: u16,
    },
    /// Goes on elsewhere if no bit of a mask is set in a byte of the packet.
    JumpIfByteClear {
        at: u16,
        mask: u8,
        to: u16,
    },
    /// Goes on elsewhere if any bit of a mask is set in a byte of the packet.
    JumpIfByteAny {
        at: u16,
        mask: u8,
        to: u16,
    },
    /// Goes on elsewhere if bits of eight bytes of the packet differ from a key.
    JumpUnlessFrame {
        at: u16,
        key: u16,
        to: u16,
    },
    /// Goes on where a [table](Control::switch) says for a byte of the packet.
    Switch {
        at: u16,
        table: u16,
    },
    /// Counts a read of what is not there if a register is zero.
    Watch {
        flag: Register,
        site: u16,
    },
    /// Rejects a packet that has not as many bytes.
    Need {
        bytes: u16,
    },
    /// Takes bytes off the packet.
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
        drop: u8,
        width: u8,
    },
    /// Sends headers.
    Send {
        plan: u16,
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
    /// Accepts the packet, with a number in a register.
    AcceptWith {
        to: Register,
        value: u16,
    },
    Reject,
}

/// Bits of a value that are replaced: from `low` on, under a mask.
#[derive(Clone, Copy, Debug)]
pub struct SomeBits {
    /// The value.
    pub old: Register,
    /// The lowest of them.
    pub low: u8,
    /// All of them.
    pub mask: u64,
}

/// A parser that takes one way only: what is not as its states want is rejected.
#[derive(Clone, Debug, Default)]
struct Line {
    /// Bits that eight bytes have: where, which, and how.
    checks: Vec<(u16, u64, u64)>,
    loads: Vec<LineLoad>,
    /// Bytes of the headers.
    taken: usize,
}

/// Bits of eight bytes, without so many from the right, and the mask.
#[derive(Clone, Copy, Debug)]
struct LineLoad {
    to: Register,
    at: u16,
    drop: u16,
    mask: u64,
}

/// Says what others than the program have to do with its places.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interface<'a> {
    /// Places that are set before each packet. All others, headers included, begin as 0.
    pub inputs: &'a [Slot],
    /// Places that are read when the packet is parsed.
    pub parsed: &'a [Slot],
    /// Places that are read when the control has decided.
    pub decided: &'a [Slot],
    /// By extern and field of its request: the place, as the parser leaves it, that the unit knows itself.
    pub known: &'a [(usize, usize, Slot)],
    /// By extern and field of its request: what the unit does not look at.
    pub unread: &'a [(usize, usize)],
    /// Places whose values stand in a record that is given with each packet, with the bit of each; the
    /// record has seven bytes more than anybody names.
    pub fields: &'a [(Slot, u32)],
    /// Bytes of the record.
    pub record_bytes: u32,
    /// What the record says where headers have it that are usual: a program whose headers say it there, too, sends
    /// these bytes as they are.
    pub said: &'a [Said],
    /// Headers that are valid when the control begins.
    pub valid: &'a [u32],
    /// The deparser's headers are sent.
    pub deparses: bool,
}

/// A value that stands in the record.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// Its first bit there.
    pub bit: u32,
    /// Its bits.
    pub width: u32,
    /// What it is.
    pub value: SaidValue,
    /// The bit of the record that has to be set for it, or not to be.
    pub when: Option<(u32, bool)>,
}

/// What a value in the record is.
#[derive(Clone, Copy, Debug)]
pub enum SaidValue {
    /// A number.
    Number(u128),
    /// The field at another bit.
    Field(u32),
    /// The sum of the field at another bit and a number.
    Sum(u32, u128),
}

/// A place of the program that asks an extern.
#[derive(Clone, Debug)]
pub struct Site {
    /// Number of the extern.
    pub external: usize,
    /// Registers of the request's fields, in order; none of what the unit knows itself.
    pub request: Vec<Option<Register>>,
    /// Registers of the answer's fields; none of what nobody reads.
    pub response: Vec<Option<Register>>,
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
    /// The parser, if it is that simple.
    line: Option<Line>,
    /// The control, and the deparser behind it.
    control: Vec<Op>,
    wide: Vec<wide::WideOp>,
    /// Registers of which one is chosen.
    pairs: Vec<[Register; 2]>,
    bits: Vec<SomeBits>,
    /// Masks of eight bytes, and what they have under them.
    keys: Vec<[u64; 2]>,
    /// By byte: the operation that comes next.
    switches: Vec<[u16; 256]>,
    plans: Vec<send::Plan>,
    /// Control and deparser as code of this computer, if somebody has made that.
    code: OnceLock<Code>,
    /// Control and deparser, if they are that simple.
    sending: Option<send::Sending>,
    /// What registers hold before the first packet, of those that are not 0.
    initial: Vec<(Register, u64)>,
    /// Bytes of the shortest packet that is looked at.
    fewest_bytes: usize,
    /// By place: the register in which it is when a block begins, if anybody looks.
    registers: Vec<Option<Register>>,
    /// Places that are read when the control has decided; they are 0 before.
    decided: Vec<(Slot, Register)>,
    /// A register that is always 0.
    pub zero: Register,
    /// Places that ask externs.
    pub sites: Vec<Site>,
    /// Reads that are watched.
    pub watched: Vec<Watched>,
}

/// Adds to a list beside the operations; gives the number of what was added.
fn beside<T>(list: &mut Vec<T>, new: T) -> u16 {
    list.push(new);
    // Too many are refused at the end.
    (list.len() - 1).min(usize::from(u16::MAX)) as u16
}

impl Flat {
    fn new(program: &Program) -> Self {
        Self { registers: vec![None; program.slots.len()], ..Self::default() }
    }

    fn note(&mut self, slot: Slot, register: Register) {
        if let Some(known) = self.registers.get_mut(slot as usize) {
            *known = Some(register);
        }
    }

    /// Gives the register of a place that is set before a packet or read when it is parsed; none if nobody
    /// reads it.
    pub fn register(&self, slot: Slot) -> Option<Register> {
        self.registers.get(slot as usize).copied().flatten()
    }

    /// Gives the register of a place that is read when the control has decided.
    pub fn decided(&self, slot: Slot) -> Option<Register> {
        self.decided.iter().find(|(known, _)| *known == slot).map(|(_, register)| *register)
    }

    /// Counts the operations of the parser, and of control and deparser, on all ways.
    pub fn operations(&self) -> [usize; 2] {
        [self.parser.len(), self.control.len()]
    }
}
