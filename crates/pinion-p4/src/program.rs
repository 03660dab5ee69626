//! A checked program, with all names resolved: what its states, its control and its deparser do, step by
//! step, with places of one value each ([`Slot`]). Structs and headers are rows of such places; a header
//! has one more before its fields, which tells whether it is valid.
//!
//! [`check`](crate::check) makes it, [`flow`](crate::flow) looks for reads of what is not there,
//! [`stages`](crate::stages) says how long it takes, [`flat`](crate::flat) makes it executable.

use crate::source::Span;

/// Number of a place of one value.
pub type Slot = u32;

/// Describes a place of one value.
#[derive(Clone, Debug)]
pub struct SlotInfo {
    /// Its name, as `hdr.ndp.flags`.
    pub name: String,
    /// Its bits.
    pub width: u32,
    /// The header that it is a field of.
    pub header: Option<u32>,
    /// It need not be set before somebody else reads it.
    pub optional: bool,
    /// It is read on some way on which it was not set; it is zero then.
    pub may_be_unset: bool,
}

/// Describes a header.
#[derive(Clone, Debug)]
pub struct Header {
    /// Its name, as `hdr.ndp`.
    pub name: String,
    /// Tells whether it is valid.
    pub valid: Slot,
    /// Its first field.
    pub first: Slot,
    /// Number of its fields.
    pub fields: u32,
    /// Its bits on the wire.
    pub bits: u32,
}

/// Describes an extern object.
#[derive(Clone, Debug)]
pub struct External {
    /// Its name.
    pub name: String,
    /// Cycles from its request to its answer.
    pub latency: u32,
    /// Fields of its request, with their bits.
    pub request: Vec<(String, u32)>,
    /// Fields of its answer, with their bits.
    pub response: Vec<(String, u32)>,
    /// Where it is declared.
    pub span: Span,
    /// The table that it is.
    pub table: Option<u32>,
}

/// Names the ways to compare a value with that of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// All bits.
    Exact,
    /// The first bits, as many as the entry says; the longest counts.
    Prefix,
    /// The bits of the entry's mask.
    Ternary,
}

/// Describes a value that a table compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyShape {
    /// Its name.
    pub name: String,
    /// Its bits.
    pub width: u32,
    /// How it is compared.
    pub kind: KeyKind,
}

/// Describes an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionShape {
    /// Its name.
    pub name: String,
    /// What entries give, with the bits of each.
    pub parameters: Vec<(String, u32)>,
}

/// An action with its arguments; one behind the last action does nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of the action among the table's.
    pub action: u32,
    /// What its parameters are.
    pub arguments: Vec<u128>,
}

/// Describes a match-action table.
#[derive(Clone, Debug)]
pub struct TableShape {
    /// Its name.
    pub name: String,
    /// What it compares.
    pub keys: Vec<KeyShape>,
    /// What entries may do.
    pub actions: Vec<ActionShape>,
    /// Entries at most.
    pub size: u32,
    /// What is done where no entry fits.
    pub default: Row,
    /// Where it is declared.
    pub span: Span,
}

impl TableShape {
    /// Tells whether another one compares and does the same.
    pub fn is_like(&self, other: &Self) -> bool {
        let parts = |it: &Self| (it.keys.clone(), it.actions.clone(), it.size, it.default.clone());
        self.name == other.name && parts(self) == parts(other)
    }
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `-`
    Negate,
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `&&`; the right operand is only looked at if the left is true.
    Both,
    /// `||`; the right operand is only looked at if the left is false.
    Either,
}

/// A value: what gives it, its bits (a bool has one), and where it stands.
#[derive(Clone, Debug)]
pub struct Value {
    /// What gives it.
    pub kind: ValueKind,
    /// Its bits.
    pub width: u32,
    /// Where it stands.
    pub span: Span,
}

/// Says what gives a value.
#[derive(Clone, Debug)]
pub enum ValueKind {
    /// A constant.
    Constant(u128),
    /// A place.
    Slot {
        /// Which.
        slot: Slot,
        /// It may belong to a header that is invalid, by the packet.
        may_be_invalid: bool,
        /// It may not have been set, by the packet.
        may_be_unset: bool,
    },
    /// An operator of one operand.
    Unary(Unary, Box<Value>),
    /// An operator of two.
    Binary(Binary, Box<Value>, Box<Value>),
    /// Bits from this one on, as many as the value has.
    Slice(Box<Value>, u32),
    /// The same number in more or fewer bits.
    Resize(Box<Value>),
    /// The first operand's bits before the second's.
    Join(Box<Value>, Box<Value>),
    /// The second if the first is true, else the third.
    Choice(Box<[Value; 3]>),
}

impl Value {
    /// Makes a constant.
    pub fn constant(value: u128, width: u32, span: Span) -> Self {
        Self { kind: ValueKind::Constant(mask(value, width)), width, span }
    }

    /// Makes the value of a place.
    pub fn slot(slot: Slot, width: u32, span: Span) -> Self {
        let kind = ValueKind::Slot { slot, may_be_invalid: false, may_be_unset: false };
        Self { kind, width, span }
    }

    /// Gives its number if it is constant.
    pub fn as_constant(&self) -> Option<u128> {
        match self.kind {
            ValueKind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Calls `f` with it and each value inside it.
    pub fn visit(&self, f: &mut impl FnMut(&Self)) {
        f(self);
        match &self.kind {
            ValueKind::Constant(_) | ValueKind::Slot { .. } => {}
            ValueKind::Unary(_, inner) | ValueKind::Slice(inner, _) | ValueKind::Resize(inner) => {
                inner.visit(f);
            }
            ValueKind::Binary(_, one, other) | ValueKind::Join(one, other) => {
                one.visit(f);
                other.visit(f);
            }
            ValueKind::Choice(parts) => parts.iter().for_each(|part| part.visit(f)),
        }
    }

    /// Calls `f` with each place that it reads.
    pub fn reads(&self, f: &mut impl FnMut(Slot)) {
        self.visit(&mut |value| {
            if let ValueKind::Slot { slot, .. } = value.kind {
                f(slot);
            }
        });
    }
}

/// Keeps the low bits of a number.
pub fn mask(value: u128, width: u32) -> u128 {
    match width {
        0..=127 => value & ((1 << width) - 1),
        _ => value,
    }
}

/// Computes an operator of one operand.
pub fn unary(operator: Unary, value: u128, width: u32) -> u128 {
    match operator {
        Unary::Not => u128::from(value == 0),
        Unary::Complement => mask(!value, width),
        Unary::Negate => mask(value.wrapping_neg(), width),
    }
}

/// Computes an operator of two operands, of which the left has this many bits.
pub fn binary(operator: Binary, one: u128, other: u128, width: u32) -> u128 {
    let shift = u32::try_from(other).unwrap_or(u32::MAX);
    match operator {
        Binary::Add => mask(one.wrapping_add(other), width),
        Binary::Subtract => mask(one.wrapping_sub(other), width),
        Binary::And => one & other,
        Binary::Or => one | other,
        Binary::Xor => one ^ other,
        Binary::ShiftLeft => mask(one.checked_shl(shift).unwrap_or(0), width),
        Binary::ShiftRight => one.checked_shr(shift).unwrap_or(0),
        Binary::Equal => u128::from(one == other),
        Binary::Unequal => u128::from(one != other),
        Binary::Less => u128::from(one < other),
        Binary::LessEqual => u128::from(one <= other),
        Binary::Both => u128::from(one != 0 && other != 0),
        Binary::Either => u128::from(one != 0 || other != 0),
    }
}

/// A step of a program.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Where it stands.
    pub span: Span,
}

/// Says what a step does.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// Gives a place a value.
    Set(Slot, Value),
    /// Gives some bits of a place a value, from this bit on.
    SetBits(Slot, u32, Value),
    /// Copies a row of places: from, to, how many.
    Copy(Slot, Slot, u32),
    /// Does one thing or the other.
    If(Value, Vec<Step>, Vec<Step>),
    /// Makes a header valid or invalid.
    Validate(u32, bool),
    /// Takes a header out of the packet.
    Extract(u32),
    /// Puts a header into the packet if it is valid; it is always if the flag is set.
    Emit(u32, bool),
    /// Asks an extern: its number, the first place of the request, the first of the answer.
    Apply(u32, Slot, Slot),
    /// Variables begin here, without values: the first and how many.
    Begin(Slot, u32),
    /// The block ends here.
    Exit,
}

/// A state of the parser.
#[derive(Clone, Debug)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// What it does.
    pub steps: Vec<Step>,
    /// What its transition looks at.
    pub on: Vec<Value>,
    /// Where it goes, tried in this order; if none fits, the packet is rejected.
    pub cases: Vec<Case>,
}

/// A case of a transition.
#[derive(Clone, Debug)]
pub struct Case {
    /// What each value is compared with.
    pub keys: Vec<Key>,
    /// Where it goes.
    pub to: Target,
}

/// What a value is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Nothing.
    Any,
    /// A number, in the bits of a mask.
    Mask(u128, u128),
    /// A first and a last number.
    Range(u128, u128),
}

/// Says where a transition leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To a state.
    State(usize),
    /// The packet is taken.
    Accept,
    /// The packet is dropped.
    Reject,
}

/// Says when an extern is asked and answers, in cycles from the header's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its request leaves.
    pub from: u32,
    /// Its answer is there, or the event has happened.
    pub to: u32,
    /// Nobody reads its answer.
    pub is_event: bool,
}

/// Says what a pipeline takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// Cycles of the parser.
    pub parser: u32,
    /// By extern; none for one that is never asked.
    pub externs: Vec<Option<Asked>>,
    /// Cycles from the header's arrival until everything has happened.
    pub cycles: u32,
}

/// Names the events, other than a packet's arrival, that a program may handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A timer fires that a control has started.
    Timer,
    /// The NIC drops a packet.
    Drop,
    /// A packet has come without its payload, since a switch has cut it.
    Trim,
    /// A queue of received words passes its threshold.
    Queue,
    /// A message is whole and has gone to its queue.
    Delivery,
}

impl EventKind {
    /// All kinds, in the order of the enum.
    pub const ALL: [Self; 5] = [Self::Timer, Self::Drop, Self::Trim, Self::Queue, Self::Delivery];

    /// Names it as reports do.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Drop => "drop",
            Self::Trim => "trim",
            Self::Queue => "queue",
            Self::Delivery => "delivery",
        }
    }
}

/// A control that handles an event.
#[derive(Clone, Debug)]
pub struct Event {
    /// The event.
    pub kind: EventKind,
    /// Of a queue: the words of 64 bytes that it passes.
    pub threshold: u32,
    /// Where it is named.
    pub span: Span,
    /// What is done: a program without a parser.
    pub program: Program,
}

/// A checked program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// All places of values.
    pub slots: Vec<SlotInfo>,
    /// All headers.
    pub headers: Vec<Header>,
    /// All externs.
    pub externs: Vec<External>,
    /// All match-action tables.
    pub tables: Vec<TableShape>,
    /// The parser's states; the first is `start`.
    pub states: Vec<State>,
    /// What the control does.
    pub control: Vec<Step>,
    /// What the deparser does.
    pub deparser: Vec<Step>,
    /// Names of parser, control and deparser.
    pub blocks: [String; 3],
    /// First and number of the places of headers, metadata and standard metadata, which the
    /// architecture gives and takes. Their names begin with `hdr.`, `meta.` and `smeta.`.
    pub regions: [(Slot, u32); 3],
    /// First and number of the places that tell a control of an event what has happened; their names
    /// begin with `event.`.
    pub told: (Slot, u32),
    /// Controls of events.
    pub events: Vec<Event>,
    /// When its externs are asked, and how long it takes.
    pub stages: Stages,
}

impl Program {
    /// Finds a place by its name.
    pub fn find(&self, name: &str) -> Option<Slot> {
        self.slots.iter().position(|slot| slot.name == name).map(|slot| slot as Slot)
    }
}

/// Calls `f` with each step, those inside others included.
pub fn visit(steps: &[Step], f: &mut impl FnMut(&Step)) {
    for step in steps {
        f(step);
        if let StepKind::If(_, then, otherwise) = &step.kind {
            visit(then, f);
            visit(otherwise, f);
        }
    }
}
