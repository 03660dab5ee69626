//! Headers that are sent: what is always the same of them, what stands where the record has it, and what is
//! put between. In: a plan, the record and registers. Out: bytes.
//!
//! A control that chooses between plans by one byte of the record, and adds to fields at most, is no row of
//! operations but a [`Sending`], as those of most transports' ways out are.

use super::run::{Words, index};
use super::{Flat, Op, Register};

/// Headers that are sent at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// What is always the same of them, zeros, and eight bytes more.
    pub(super) bytes: Vec<u8>,
    /// How many of these are sent.
    pub(super) length: usize,
    /// By byte: bits that are always the same.
    pub(super) constant: Vec<u8>,
    /// By eight bytes: those that are the record's in the same place, all ones.
    pub(super) same: Vec<u64>,
    pub(super) copies: Vec<Copied>,
    pub(super) puts: Vec<Put>,
    /// Constant bytes and same ones again, if all fit into a row of a fixed length.
    pub(super) short: Option<Short>,
    /// The record is sent as it is.
    pub(super) is_record: bool,
}

/// Bytes of headers that are filled at once, with eight to spare.
const SHORT_BYTES: usize = 80;

/// Bytes of the headers of most transports.
const USUAL_BYTES: usize = 64;

/// What [`Plan`] says of every byte, in rows of a fixed length.
#[derive(Clone, Debug)]
pub(super) struct Short {
    pub(super) bytes: [u8; SHORT_BYTES],
    pub(super) same: [u64; SHORT_BYTES / 8],
}

impl Plan {
    /// Makes the rows of a fixed length.
    pub(super) fn shorten(&mut self) {
        let is_same = |byte: usize| {
            self.same.get(byte / 8).is_some_and(|word| word.to_ne_bytes()[byte % 8] == u8::MAX)
        };
        self.is_record =
            self.copies.is_empty() && self.puts.is_empty() && (0..self.length).all(is_same);
        let mut short = Short { bytes: [0; SHORT_BYTES], same: [0; SHORT_BYTES / 8] };
        let (Some(bytes), Some(same)) =
            (short.bytes.get_mut(..self.bytes.len()), short.same.get_mut(..self.same.len()))
        else {
            return;
        };
        bytes.copy_from_slice(&self.bytes);
        same.copy_from_slice(&self.same);
        self.short = Some(short);
    }
}

/// Bytes of the record that are copied into eight bytes; the mask is as the bytes stand in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    pub(super) from: u16,
    pub(super) at: u16,
    pub(super) mask: u64,
}

/// Bits of a register that are put into eight bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put {
    pub(super) register: Register,
    pub(super) at: u16,
    pub(super) left: u8,
    pub(super) right: u8,
}

impl Put {
    /// Puts a value of at most 64 bits from a bit on into so many bytes, eight at least: in two parts if
    /// it stands in nine of them.
    pub(super) fn parts(
        bit: u32,
        width: u32,
        register: Register,
        bytes: usize,
    ) -> impl Iterator<Item = Self> {
        let last = bytes as u32 - 8;
        let start = (bit / 8).min(last);
        let part = move |start: u32| {
            let (window, end) = (8 * (start + 8), bit + width);
            Self {
                register,
                at: start as u16,
                left: window.saturating_sub(end) as u8,
                right: end.saturating_sub(window) as u8,
            }
        };
        let rest = (8 * (start + 8) < bit + width).then(|| part((start + 1).min(last)));
        [Some(part(start)), rest].into_iter().flatten()
    }
}

/// Appends headers.
#[inline(never)]
pub(super) fn send(flat: &Flat, plan: u16, record: &[u8], words: &Words, out: &mut Vec<u8>) {
    let plan = &flat.plans[usize::from(plan)];
    if plan.is_record && plan.length == USUAL_BYTES {
        let bytes: Option<&[u8; USUAL_BYTES]> = record.first_chunk();
        return out.extend_from_slice(bytes.map_or(&[][..], |bytes| bytes));
    }
    let start = out.len();
    let finish = |area: &mut [u8]| {
        plan.copy_fields(area, record);
        plan.puts.iter().for_each(|put| put.put(words[index(put.register)], area));
    };
    if let (Some(short), Some(record)) = (&plan.short, record.first_chunk()) {
        let record: &[u8; SHORT_BYTES] = record;
        out.extend_from_slice(record);
        if let Some(area) = out.last_chunk_mut() {
            short.replace(area);
            finish(area);
        }
    } else {
        out.extend_from_slice(&plan.bytes);
        let area = &mut out[start..];
        let parts = area.as_chunks_mut::<8>().0.iter_mut().zip(record.as_chunks::<8>().0);
        for ((part, record), same) in parts.zip(&plan.same) {
            *part = (u64::from_ne_bytes(*part) | u64::from_ne_bytes(*record) & same).to_ne_bytes();
        }
        finish(area);
    }
    out.truncate(start + plan.length);
}

impl Short {
    /// Replaces what is not the record's, of a copy of that.
    #[inline]
    fn replace(&self, area: &mut [u8; SHORT_BYTES]) {
        let own = self.bytes.as_chunks::<8>().0.iter().zip(&self.same);
        for (part, (own, same)) in area.as_chunks_mut::<8>().0.iter_mut().zip(own) {
            *part = (u64::from_ne_bytes(*part) & same | u64::from_ne_bytes(*own)).to_ne_bytes();
        }
    }
}

impl Plan {
    /// Copies what does not stand where the record has it.
    #[inline]
    fn copy_fields(&self, area: &mut [u8], record: &[u8]) {
        for copied in &self.copies {
            let (from, at) = (usize::from(copied.from), usize::from(copied.at));
            if let (Some(source), Some(target)) =
                (record.get(from..from + 8), area.get_mut(at..at + 8))
                && let (Some(source), Some(target)) =
                    (source.first_chunk(), target.first_chunk_mut())
            {
                let value = u64::from_ne_bytes(*source) & copied.mask;
                *target = (u64::from_ne_bytes(*target) | value).to_ne_bytes();
            }
        }
    }
}

impl Put {
    /// Puts a value where it belongs.
    #[inline]
    fn put(&self, value: u64, area: &mut [u8]) {
        let at = usize::from(self.at);
        if let Some(target) = area.get_mut(at..at + 8)
            && let Some(target) = target.first_chunk_mut()
        {
            let value = value << self.left >> self.right;
            *target = (u64::from_ne_bytes(*target) | value.to_be()).to_ne_bytes();
        }
    }
}

/// Headers that one of two plans sends. A way that does more than that is none, and a row of operations.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    /// A byte of the record and bits in it: if one of them is set, the first way is taken.
    test: (u16, u8),
    ways: [Option<Way>; 2],
}

impl Sending {
    /// Gives the way that a record goes.
    #[inline]
    fn way(&self, record: &[u8]) -> Option<&Way> {
        let (at, bits) = self.test;
        let is_first = record.get(usize::from(at)).is_some_and(|byte| byte & bits != 0);
        self.ways[usize::from(!is_first)].as_ref()
    }
}

/// A plan, and what is put into its headers besides.
#[derive(Clone, Debug)]
struct Way {
    plan: u16,
    sums: Vec<Sum>,
    /// So many bytes of the record are sent as they are, and nothing else.
    as_it_is: Option<usize>,
}

/// Two bytes of the record and a number, which are put into the headers.
#[derive(Clone, Copy, Debug)]
struct Sum {
    from: u16,
    number: u64,
    width: u8,
    put: Put,
}

impl Flat {
    /// Appends the headers of a packet to `out` and tells that it has, if the program is as simple as that.
    #[inline]
    pub fn send(&self, record: &[u8; SHORT_BYTES], out: &mut Vec<u8>) -> bool {
        let Some(way) = self.sending.as_ref().and_then(|sending| sending.way(record)) else {
            return false;
        };
        let plan = &self.plans[usize::from(way.plan)];
        let Some(short) = &plan.short else { return false };
        let start = out.len();
        out.extend_from_slice(record);
        let Some(area) = out.last_chunk_mut() else { return false };
        short.replace(area);
        plan.copy_fields(area, record);
        for sum in &way.sums {
            let from = usize::from(sum.from);
            let field = record.get(from..from + 2).and_then(|bytes| bytes.first_chunk());
            let field = u64::from(field.map_or(0, |bytes| u16::from_be_bytes(*bytes)));
            let value = field.wrapping_add(sum.number) & super::run::ones(sum.width);
            sum.put.put(value, area);
        }
        out.truncate(start + plan.length);
        true
    }

    /// Gives the bytes of the record that are sent as they are, if the program does nothing else.
    pub fn sends_record(&self) -> Option<usize> {
        let [one, other] = &self.sending.as_ref()?.ways;
        let length = one.as_ref()?.as_it_is;
        length.filter(|_| other.as_ref().is_some_and(|other| other.as_it_is == length))
    }

    /// Tells whether the program sends this record, as many bytes as there are, as it is.
    #[inline]
    pub fn sends_this(&self, record: &[u8]) -> bool {
        let way = self.sending.as_ref().and_then(|sending| sending.way(record));
        way.is_some_and(|way| way.as_it_is == Some(record.len()))
    }

    /// Finds out whether the program is as simple as that.
    pub(super) fn find_sending(&mut self) {
        self.sending = self.sending_of();
    }

    fn sending_of(&self) -> Option<Sending> {
        let way = |from: u16| self.way_of(from.into());
        let (test, ways) = match *self.control.first()? {
            Op::JumpIfByteClear { at, mask, to } => ((at, mask), [way(1), way(to)]),
            Op::JumpIfByteAny { at, mask, to } => ((at, mask), [way(to), way(1)]),
            _ => ((0, 0), [way(0), way(0)]),
        };
        ways.iter().any(Option::is_some).then_some(Sending { test, ways })
    }

    /// Follows operations that load two bytes, add a number to them, and send.
    fn way_of(&self, from: usize) -> Option<Way> {
        let number = |register: Register| {
            let known = self.initial.iter().find(|(known, _)| *known == register);
            let is_input = self.registers.contains(&Some(register))
                || self.decided.iter().any(|(_, decided)| *decided == register);
            known.filter(|_| !is_input).map(|(_, value)| *value)
        };
        let (mut loaded, mut sums) = (Vec::new(), Vec::new());
        let mut ops = self.control.get(from..)?.iter();
        loop {
            match *ops.next()? {
                Op::Load16 { to, at } => loaded.push((to, at)),
                Op::Add { to, one, other, width } => {
                    let field = |of| loaded.iter().find(|(register, _)| *register == of);
                    let (number, (_, from)) = match (number(one), number(other)) {
                        (Some(number), None) => (number, field(other)?),
                        (None, Some(number)) => (number, field(one)?),
                        _ => return None,
                    };
                    sums.push((to, *from, number, width));
                }
                Op::Send { plan } => {
                    let of = self.plans.get(usize::from(plan))?;
                    of.short.as_ref()?;
                    let sum = |put: &Put| {
                        let known = sums.iter().find(|(to, ..)| *to == put.register);
                        let plain = loaded.iter().find(|(to, _)| *to == put.register);
                        let known = known.copied().or(plain.map(|(to, from)| (*to, *from, 0, 16)));
                        known.map(|(_, from, number, width)| Sum { from, number, width, put: *put })
                    };
                    let sums = of.puts.iter().map(sum).collect::<Option<_>>()?;
                    let as_it_is = of.is_record.then_some(of.length);
                    let way = Way { plan, sums, as_it_is };
                    return matches!(ops.next()?, Op::Accept).then_some(way);
                }
                _ => return None,
            }
        }
    }
}
