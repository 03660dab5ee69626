//! Runs a flat program for one packet after the other.

use super::{Flat, Op, REGISTERS, Register, Site};

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
    /// Takes a request out of registers and puts the answer there.
    fn ask(&mut self, site: &Site, registers: &mut Words);
}

/// Holds a program's registers: what it knows of the packet at hand.
#[derive(Clone, Debug)]
pub struct Packet {
    registers: Box<Words>,
    /// By watched read: how often it found nothing.
    missed: Box<[u64]>,
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
    pub fn process(
        &mut self,
        flat: &Flat,
        record: &[u8],
        units: &mut impl Units,
        out: &mut Vec<u8>,
    ) {
        for (_, register) in &flat.decided {
            self.registers[index(*register)] = 0;
        }
        // A control has no way to reject.
        let _ = self.run::<false>(flat, &flat.control, record, out, units);
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
        // The operations that are left, and the first byte that is not taken.
        let (mut next, mut base) = (ops.iter(), 0);
        let words = &mut *self.registers;
        macro_rules! word {
            ($register:expr) => {
                words[index($register)]
            };
        }
        macro_rules! jump {
            ($to:expr) => {
                next = ops.get(usize::from($to)..).unwrap_or_default().iter()
            };
        }
        while let Some(op) = next.next() {
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
                Op::SetBits { to, old, from, low, mask } => {
                    let mask = word!(mask);
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
                Op::JumpIfFrameClear { at: from, mask, to } => {
                    if load::<8>(bytes, base + usize::from(from)) & word!(mask) == 0 {
                        jump!(to);
                    }
                }
                Op::JumpUnlessFrame { at: from, mask, key, to } => {
                    if load::<8>(bytes, base + usize::from(from)) & word!(mask) != word!(key) {
                        jump!(to);
                    }
                }
                Op::Watch { flag, site } => note(&mut self.missed, site, word!(flag)),
                Op::Need { bytes: count } => {
                    if base + usize::from(count) > bytes.len() {
                        return Err(Rejected::Short);
                    }
                }
                Op::Take { bytes: count } => base += usize::from(count),
                Op::Load8 { to, at } => word!(to) = u64::from(bytes[base + usize::from(at)]),
                Op::Load16 { to, at } => word!(to) = load::<2>(bytes, base + usize::from(at)),
                Op::Load32 { to, at } => word!(to) = load::<4>(bytes, base + usize::from(at)),
                Op::Load48 { to, at } => word!(to) = load::<6>(bytes, base + usize::from(at)),
                Op::LoadBits { to, at, drop, mask } => {
                    word!(to) = load::<8>(bytes, base + usize::from(at)) >> drop & word!(mask);
                }
                Op::Send { plan } if !PARSES => {
                    send(flat, plan, bytes, words, out);
                }
                Op::Ask { site } if !PARSES => units.ask(&flat.sites[usize::from(site)], words),
                Op::Wide { number } => {
                    wide(flat, number, words, bytes, base);
                }
                Op::Accept => return Ok(base),
                Op::AcceptWith { to } => {
                    word!(to) = 1;
                    return Ok(base);
                }
                // A parser neither asks nor sends.
                Op::Send { .. } | Op::Ask { .. } => {}
                Op::Reject => return Err(Rejected::Refused),
            }
        }
        Ok(base)
    }
}

/// Reads bytes, the highest first.
#[inline]
fn load<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word[8 - N..].copy_from_slice(&bytes[at..at + N]);
    u64::from_be_bytes(word)
}

/// Computes a wide value.
#[inline(never)]
fn wide(flat: &Flat, number: u16, words: &mut Words, bytes: &[u8], base: usize) {
    flat.wide[usize::from(number)].run(words, bytes.get(base..).unwrap_or(&[]));
}

/// Counts a read of what is not there.
#[inline(never)]
fn note(missed: &mut [u64], site: u16, flag: u64) {
    missed[usize::from(site)] += u64::from(flag == 0);
}

/// Appends headers.
#[inline(never)]
fn send(flat: &Flat, plan: u16, record: &[u8], words: &Words, out: &mut Vec<u8>) {
    let plan = &flat.plans[usize::from(plan)];
    let start = out.len();
    out.extend_from_slice(&plan.bytes);
    let area = &mut out[start..];
    let parts = area.as_chunks_mut::<8>().0.iter_mut().zip(record.as_chunks::<8>().0);
    for ((part, record), same) in parts.zip(&plan.same) {
        *part = (u64::from_ne_bytes(*part) | u64::from_ne_bytes(*record) & same).to_ne_bytes();
    }
    for copied in &plan.copies {
        let (from, at) = (usize::from(copied.from), usize::from(copied.at));
        let source = record.get(from..).and_then(|bytes| bytes.first_chunk());
        let target = area.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut());
        if let (Some(source), Some(target)) = (source, target) {
            let value = u64::from_be_bytes(*source) & copied.mask;
            *target = (u64::from_ne_bytes(*target) | value.to_be()).to_ne_bytes();
        }
    }
    for put in &plan.puts {
        let value = words[index(put.register)] << put.left >> put.right;
        let at = usize::from(put.at);
        if let Some(target) = area.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut()) {
            *target = (u64::from_ne_bytes(*target) | value.to_be()).to_ne_bytes();
        }
    }
    out.truncate(start + plan.length);
}

/// Answers nothing: parsers and deparsers ask nobody.
struct Nobody;

impl Units for Nobody {
    fn ask(&mut self, _: &Site, _: &mut Words) {}
}
