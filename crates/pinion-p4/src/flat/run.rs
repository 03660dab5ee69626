//! Runs a flat program for one packet after the other.

use super::send::send;
use super::{Flat, Op, REGISTERS, Register, SomeBits};

/// All registers of a program.
pub type Words = [u64; REGISTERS];

/// Gives where a register stands.
#[inline]
pub fn index(register: Register) -> usize {
    usize::from(register) % REGISTERS
}

/// Says why a parser does not take a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It ends before its headers do.
    Short,
    /// A transition led to `reject`.
    Refused,
}

/// Answers the requests of a program's externs.
pub trait Units {
    /// Takes a request of a program's site out of registers and puts the answer there.
    fn ask(&mut self, flat: &Flat, site: usize, registers: &mut Words);

    /// Takes a request of this form out of the [`EXCHANGE`](super::EXCHANGE) and puts the answer there. Which forms
    /// there are is between those who make code and those who answer.
    ///
    /// # Panics
    /// Unless it is implemented: code with forms is for those who answer them.
    fn answer<const FORM: usize>(&mut self, _registers: &mut Words) {
        unreachable!("code with requests of form {FORM} is for those who answer it");
    }
}

/// Holds a program's registers: what it knows of the packet at hand.
#[derive(Clone, Debug)]
pub struct Packet {
    pub(super) registers: Box<Words>,
    /// By watched read: how often it found nothing.
    pub(super) missed: Box<[u64]>,
}

impl Packet {
    /// Makes registers for a program.
    pub fn new(flat: &Flat) -> Self {
        let mut registers = Box::new([0; REGISTERS]);
        for (register, value) in &flat.initial {
            registers[index(*register)] = *value;
        }
        Self { registers, missed: vec![0; flat.watched.len()].into() }
    }

    /// Reads a register.
    #[inline]
    pub fn get(&self, register: Register) -> u64 {
        self.registers[index(register)]
    }

    /// Writes a register, if a place has one.
    #[inline]
    pub fn set(&mut self, register: Option<Register>, value: u64) {
        if let Some(register) = register {
            self.registers[index(register)] = value;
        }
    }

    /// Gives, by watched read, how often it found nothing.
    pub fn missed(&self) -> &[u64] {
        &self.missed
    }

    /// Runs the parser on a packet; gives the number of bytes of its headers.
    ///
    /// # Errors
    /// [`Rejected`] says why it is not taken; one that is shorter than the shortest headers is not looked at.
    pub fn parse(&mut self, flat: &Flat, bytes: &[u8]) -> Result<usize, Rejected> {
        if bytes.len() < flat.fewest_bytes {
            return Err(Rejected::Short);
        }
        let Some(line) = &flat.line else {
            return self.run::<true>(flat, &flat.parser, bytes, &mut Vec::new(), &mut Nobody);
        };
        for &(at, mask, key) in &line.checks {
            if load::<8>(bytes, usize::from(at)) & mask != key {
                return Err(Rejected::Refused);
            }
        }
        for of in &line.loads {
            let value = load::<8>(bytes, usize::from(of.at)) >> of.drop & of.mask;
            self.registers[index(of.to)] = value;
        }
        Ok(line.taken)
    }

    /// Runs the control, and the deparser behind it: appends the headers' bytes, if the program was
    /// compiled to send them. What the interface says of a record stands in `record`.
    #[inline]
    pub fn process(
        &mut self,
        flat: &Flat,
        record: &[u8],
        units: &mut impl Units,
        out: &mut Vec<u8>,
    ) {
        match flat.code.get() {
            Some(code) => self.process_by(code, flat, record, units, out),
            None => self.interpret(flat, record, units, out),
        }
    }

    /// Does what [`process`](Self::process) does, operation by operation.
    #[inline(never)]
    pub fn interpret(
        &mut self,
        flat: &Flat,
        record: &[u8],
        units: &mut impl Units,
        out: &mut Vec<u8>,
    ) {
        if let [_, _, ..] = &flat.decided[..] {
            self.forget(flat);
        }
        // A control has no way to reject.
        let _ = self.run::<false>(flat, &flat.control, record, out, units);
    }

    /// Lets places that are read when the control has decided be 0; one alone is set at each end.
    #[inline(never)]
    fn forget(&mut self, flat: &Flat) {
        for (_, register) in &flat.decided {
            self.registers[index(*register)] = 0;
        }
    }

    /// Runs operations: a parser's, or those of control and deparser.
    #[inline]
    fn run<const PARSES: bool>(
        &mut self,
        flat: &Flat,
        ops: &[Op],
        bytes: &[u8],
        out: &mut Vec<u8>,
        units: &mut impl Units,
    ) -> Result<usize, Rejected> {
        // The operation that comes next, and the first byte that is not taken.
        let (mut next, mut taken) = (0, 0);
        let words = &mut *self.registers;
        macro_rules! word {
            ($register:expr) => {
                words[index($register)]
            };
        }
        macro_rules! jump {
            ($to:expr) => {
                next = usize::from($to)
            };
        }
        while let Some(op) = ops.get(next) {
            next += 1;
            let base = if PARSES { taken } else { 0 };
            match *op {
                Op::Move { to, from } => word!(to) = word!(from),
                Op::Add { to, one, other, width } => {
                    word!(to) = word!(one).wrapping_add(word!(other)) & ones(width);
                }
                Op::Subtract { to, one, other, width } => {
                    word!(to) = word!(one).wrapping_sub(word!(other)) & ones(width);
                }
                Op::And { to, one, other } => word!(to) = word!(one) & word!(other),
                Op::Or { to, one, other } => word!(to) = word!(one) | word!(other),
                Op::Xor { to, one, other } => word!(to) = word!(one) ^ word!(other),
                Op::ShiftLeft { to, one, other, width } => {
                    let by = word!(other);
                    let shifted = if by < 64 { word!(one) << by } else { 0 };
                    word!(to) = shifted & ones(width);
                }
                Op::ShiftRight { to, one, other } => {
                    let by = word!(other);
                    word!(to) = if by < 64 { word!(one) >> by } else { 0 };
                }
                Op::Equal { to, one, other } => {
                    word!(to) = u64::from(word!(one) == word!(other));
                }
                Op::Unequal { to, one, other } => {
                    word!(to) = u64::from(word!(one) != word!(other));
                }
                Op::Less { to, one, other } => word!(to) = u64::from(word!(one) < word!(other)),
                Op::LessEqual { to, one, other } => {
                    word!(to) = u64::from(word!(one) <= word!(other));
                }
                Op::Slice { to, from, low, width } => {
                    word!(to) = word!(from) >> low & ones(width);
                }
                Op::Join { to, one, other, by } => {
                    word!(to) = word!(one) << by | word!(other);
                }
                Op::Choose { to, condition, pair } => {
                    let [one, other] = pair_of(flat, pair);
                    word!(to) = if word!(condition) != 0 { word!(one) } else { word!(other) };
                }
                Op::SetBits { to, from, bits } => {
                    let SomeBits { old, low, mask } = bits_of(flat, bits);
                    word!(to) = word!(old) & !mask | word!(from) << low & mask;
                }
                Op::Jump { to } => jump!(to),
                Op::JumpIfZero { condition, to } => {
                    if word!(condition) == 0 {
                        jump!(to);
                    }
                }
                Op::JumpIfSet { condition, to } => {
                    if word!(condition) != 0 {
                        jump!(to);
                    }
                }
                Op::JumpIfClear { value, mask, to } => {
                    if word!(value) & word!(mask) == 0 {
                        jump!(to);
                    }
                }
                Op::JumpIfAny { value, mask, to } => {
                    if word!(value) & word!(mask) != 0 {
                        jump!(to);
                    }
                }
                Op::JumpIfEqual { one, other, to } => {
                    if word!(one) == word!(other) {
                        jump!(to);
                    }
                }
                Op::JumpUnlessEqual { one, other, to } => {
                    if word!(one) != word!(other) {
                        jump!(to);
                    }
                }
                Op::JumpIfLess { one, other, to } => {
                    if word!(one) < word!(other) {
                        jump!(to);
                    }
                }
                Op::JumpIfLessEqual { one, other, to } => {
                    if word!(one) <= word!(other) {
                        jump!(to);
                    }
                }
                Op::JumpIfFrameClear { at: from, mask, to } => {
                    if load::<8>(bytes, base + usize::from(from)) & word!(mask) == 0 {
                        jump!(to);
                    }
                }
                Op::JumpIfByteClear { at: from, mask, to } => {
                    if bytes[base + usize::from(from)] & mask == 0 {
                        jump!(to);
                    }
                }
                Op::JumpIfByteAny { at: from, mask, to } => {
                    if bytes[base + usize::from(from)] & mask != 0 {
                        jump!(to);
                    }
                }
                Op::JumpUnlessFrame { at: from, key, to } => {
                    let [mask, key] = key_of(flat, key);
                    if load::<8>(bytes, base + usize::from(from)) & mask != key {
                        jump!(to);
                    }
                }
                Op::Switch { at, table } => {
                    let byte = bytes[base + usize::from(at)];
                    jump!(flat.switches[usize::from(table)][usize::from(byte)]);
                }
                Op::Watch { flag, site } => note(&mut self.missed, site, word!(flag)),
                Op::Need { bytes: count } => {
                    if base + usize::from(count) > bytes.len() {
                        return Err(Rejected::Short);
                    }
                }
                Op::Take { bytes: count } => taken += usize::from(count),
                Op::Load8 { to, at } => word!(to) = u64::from(bytes[base + usize::from(at)]),
                Op::Load16 { to, at } => word!(to) = load::<2>(bytes, base + usize::from(at)),
                Op::Load32 { to, at } => word!(to) = load::<4>(bytes, base + usize::from(at)),
                Op::Load48 { to, at } => word!(to) = load::<6>(bytes, base + usize::from(at)),
                Op::LoadBits { to, at, drop, width } => {
                    word!(to) = load::<8>(bytes, base + usize::from(at)) >> drop & ones(width);
                }
                Op::Send { plan } if !PARSES => {
                    send(flat, plan, bytes, words, out);
                }
                Op::Ask { site } if !PARSES => units.ask(flat, site.into(), words),
                Op::Wide { number } => {
                    wide(flat, number, words, bytes, base);
                }
                Op::Accept => return Ok(base),
                Op::AcceptWith { to, value } => {
                    word!(to) = value.into();
                    return Ok(base);
                }
                // A parser neither asks nor sends.
                Op::Send { .. } | Op::Ask { .. } => {}
                Op::Reject => return Err(Rejected::Refused),
            }
        }
        Ok(taken)
    }
}

/// Reads bytes, the highest first.
#[inline]
fn load<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word[8 - N..].copy_from_slice(&bytes[at..at + N]);
    u64::from_be_bytes(word)
}

// Lists beside the operations are seldom asked, and asked here, so that nobody keeps at hand where they stand.

#[inline(never)]
fn pair_of(flat: &Flat, pair: u16) -> [Register; 2] {
    flat.pairs[usize::from(pair)]
}

#[inline(never)]
fn bits_of(flat: &Flat, bits: u16) -> SomeBits {
    flat.bits[usize::from(bits)]
}

#[inline(never)]
fn key_of(flat: &Flat, key: u16) -> [u64; 2] {
    flat.keys[usize::from(key)]
}

/// Gives the largest number of so many bits.
#[inline]
pub fn ones(width: u8) -> u64 {
    u64::MAX >> ((64 - width) & 63)
}

/// Computes a wide value.
#[inline(never)]
pub(super) fn wide(flat: &Flat, number: u16, words: &mut Words, bytes: &[u8], base: usize) {
    flat.wide[usize::from(number)].run(words, bytes.get(base..).unwrap_or(&[]));
}

/// Counts a read of what is not there.
#[inline(never)]
fn note(missed: &mut [u64], site: u16, flag: u64) {
    missed[usize::from(site)] += u64::from(flag == 0);
}

/// Answers nothing: parsers and deparsers ask nobody.
struct Nobody;

impl Units for Nobody {
    fn ask(&mut self, _: &Flat, _: usize, _: &mut Words) {}
}
