//! Runs a flat program for one packet after the other.

use super::wide::{load_bits, put_bits};
use super::{Flat, Op, Register, Site};

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
    /// Takes a request out of registers and puts the answer there.
    fn ask(&mut self, site: &Site, registers: &mut [u64]);
}

/// Holds a program's registers: what it knows of the packet at hand.
#[derive(Clone, Debug)]
pub struct Packet {
    registers: Box<[u64]>,
    /// First byte of the header at hand, and the one behind it.
    header: usize,
    cursor: usize,
    /// By watched read: how often it found nothing.
    missed: Box<[u64]>,
}

impl Packet {
    /// Makes registers for a program.
    pub fn new(flat: &Flat) -> Self {
        Self {
            registers: flat.initial.clone().into(),
            header: 0,
            cursor: 0,
            missed: vec![0; flat.watched.len()].into(),
        }
    }

    /// Reads a register.
    pub fn get(&self, register: Register) -> u64 {
        self.registers[usize::from(register)]
    }

    /// Writes a register, if a place has one.
    pub fn set(&mut self, register: Option<Register>, value: u64) {
        if let Some(register) = register {
            self.registers[usize::from(register)] = value;
        }
    }

    /// Gives, by watched read, how often it found nothing.
    pub fn missed(&self) -> &[u64] {
        &self.missed
    }

    /// Forgets the packet before: what must be zero when a packet comes is.
    pub fn begin(&mut self, flat: &Flat) {
        for &register in &flat.reset {
            self.registers[usize::from(register)] = 0;
        }
        self.cursor = 0;
        self.header = 0;
    }

    /// Runs the parser on a packet; gives the number of bytes of its headers.
    ///
    /// # Errors
    /// [`Rejected`] says why it is not taken.
    pub fn parse(&mut self, flat: &Flat, bytes: &[u8]) -> Result<usize, Rejected> {
        self.run(flat, &flat.parser, bytes, &mut Vec::new(), &mut Nobody)?;
        Ok(self.cursor)
    }

    /// Runs the control.
    pub fn control(&mut self, flat: &Flat, units: &mut impl Units) {
        // A control has no way to reject.
        let _ = self.run(flat, &flat.control, &[], &mut Vec::new(), units);
    }

    /// Runs the deparser: appends the headers' bytes.
    pub fn deparse(&mut self, flat: &Flat, out: &mut Vec<u8>) {
        self.header = out.len();
        let _ = self.run(flat, &flat.deparser, &[], out, &mut Nobody);
    }

    #[inline]
    fn run(
        &mut self,
        flat: &Flat,
        ops: &[Op],
        bytes: &[u8],
        out: &mut Vec<u8>,
        units: &mut impl Units,
    ) -> Result<(), Rejected> {
        let mut at = 0;
        let words = &mut self.registers[..];
        macro_rules! word {
            ($register:expr) => {
                words[usize::from($register)]
            };
        }
        while let Some(op) = ops.get(at) {
            at += 1;
            match *op {
                Op::Move { to, from } => word!(to) = word!(from),
                Op::Add { to, one, other, mask } => {
                    word!(to) = word!(one).wrapping_add(word!(other)) & word!(mask);
                }
                Op::Subtract { to, one, other, mask } => {
                    word!(to) = word!(one).wrapping_sub(word!(other)) & word!(mask);
                }
                Op::And { to, one, other } => word!(to) = word!(one) & word!(other),
                Op::Or { to, one, other } => word!(to) = word!(one) | word!(other),
                Op::Xor { to, one, other } => word!(to) = word!(one) ^ word!(other),
                Op::ShiftLeft { to, one, other, mask } => {
                    let by = word!(other);
                    let shifted = if by < 64 { word!(one) << by } else { 0 };
                    word!(to) = shifted & word!(mask);
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
                Op::Slice { to, from, low, mask } => {
                    word!(to) = word!(from) >> low & word!(mask);
                }
                Op::Join { to, one, other, by } => {
                    word!(to) = word!(one) << by | word!(other);
                }
                Op::Choose { to, condition, one, other } => {
                    word!(to) = if word!(condition) != 0 { word!(one) } else { word!(other) };
                }
                Op::SetBits { to, from, low, mask } => {
                    let mask = word!(mask);
                    word!(to) = word!(to) & !mask | word!(from) << low & mask;
                }
                Op::Jump { to } => at = usize::from(to),
                Op::JumpIfZero { condition, to } => {
                    if word!(condition) == 0 {
                        at = usize::from(to);
                    }
                }
                Op::JumpIfSet { condition, to } => {
                    if word!(condition) != 0 {
                        at = usize::from(to);
                    }
                }
                Op::JumpUnlessKey { value, mask, key, to } => {
                    if word!(value) & word!(mask) != word!(key) {
                        at = usize::from(to);
                    }
                }
                Op::JumpUnlessWithin { value, first, last, to } => {
                    if !(word!(first)..=word!(last)).contains(&word!(value)) {
                        at = usize::from(to);
                    }
                }
                Op::Watch { flag, site } => {
                    self.missed[usize::from(site)] += u64::from(word!(flag) == 0);
                }
                Op::Take { bytes: count } => {
                    let end = self.cursor + usize::from(count);
                    if end > bytes.len() {
                        return Err(Rejected::Short);
                    }
                    self.header = self.cursor;
                    self.cursor = end;
                }
                Op::Load8 { to, at } => {
                    word!(to) = u64::from(bytes[self.header + usize::from(at)]);
                }
                Op::Load16 { to, at } => {
                    word!(to) = load::<2>(bytes, self.header + usize::from(at))
                }
                Op::Load32 { to, at } => {
                    word!(to) = load::<4>(bytes, self.header + usize::from(at))
                }
                Op::Load48 { to, at } => {
                    word!(to) = load::<6>(bytes, self.header + usize::from(at))
                }
                Op::LoadBits { to, at, drop, mask } => {
                    let start = self.header + usize::from(at);
                    let value = match bytes.get(start..start + 8) {
                        Some(_) => load::<8>(bytes, start),
                        None => load_bits(&bytes[start..], 0, 64) as u64,
                    };
                    word!(to) = value >> drop & word!(mask);
                }
                Op::Begin { header } => {
                    self.header = out.len();
                    out.extend_from_slice(&flat.templates[usize::from(header)]);
                }
                Op::Put8 { from, at } => put::<1>(out, self.header + usize::from(at), word!(from)),
                Op::Put16 { from, at } => put::<2>(out, self.header + usize::from(at), word!(from)),
                Op::Put32 { from, at } => put::<4>(out, self.header + usize::from(at), word!(from)),
                Op::Put48 { from, at } => put::<6>(out, self.header + usize::from(at), word!(from)),
                Op::PutBits { from, at, width } => {
                    let place = 8 * self.header + usize::from(at);
                    put_bits(out, place, usize::from(width), u128::from(word!(from)));
                }
                Op::Ask { site } => units.ask(&flat.sites[usize::from(site)], words),
                Op::Wide { number } => {
                    let input = bytes.get(self.header..).unwrap_or(&[]);
                    let output = out.get_mut(self.header..).unwrap_or(&mut []);
                    flat.wide[usize::from(number)].run(words, input, output);
                }
                Op::Accept => return Ok(()),
                Op::Reject => return Err(Rejected::Refused),
            }
        }
        Ok(())
    }
}

/// Reads bytes, the highest first.
#[inline]
fn load<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word[8 - N..].copy_from_slice(&bytes[at..at + N]);
    u64::from_be_bytes(word)
}

/// Writes bytes, the highest first.
#[inline]
fn put<const N: usize>(out: &mut [u8], at: usize, value: u64) {
    out[at..at + N].copy_from_slice(&value.to_be_bytes()[8 - N..]);
}

/// Answers nothing: parsers and deparsers ask nobody.
struct Nobody;

impl Units for Nobody {
    fn ask(&mut self, _: &Site, _: &mut [u64]) {}
}
