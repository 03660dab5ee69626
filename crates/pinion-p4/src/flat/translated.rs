//! A control that somebody executes otherwise than operation by operation: as code of this computer. In: what such
//! code is made of, and where it has left off. Out: what it asks for, as the interpreter does it.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::from_mut;
use std::sync::Arc;

use super::run::{Words, index, wide};
use super::send::send;
use super::{Flat, Op, Packet, REGISTERS, Register, SomeBits, Units};

/// Says where a control has left off, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Left {
    /// What is to be done: one of the kinds, and the number of what it is done with behind it.
    pub what: u64,
    /// Where it goes on.
    pub next: u64,
}

impl Left {
    /// The control has decided.
    pub const DECIDED: u64 = 0;
    /// A site asks.
    pub const ASK: u64 = 1;
    /// Headers are sent.
    pub const SEND: u64 = 2;
    /// Headers are sent, and the control has decided.
    pub const SEND_LAST: u64 = 3;
    /// An operation on wide values.
    pub const WIDE: u64 = 4;
    /// A watched read has found nothing.
    pub const MISS: u64 = 5;
    /// Bits of the kind, behind which the number stands.
    pub const KIND_BITS: u32 = 3;
}

/// Forms of requests that there may be.
pub const FORMS: usize = 13;

/// A control as code of this computer: executes it on registers and a record, for a [`Call`], from where it begins,
/// 0, or goes on, until it has decided, or others have to do something.
#[cfg(target_arch = "x86_64")]
pub type Entry = extern "sysv64" fn(&mut Words, *const u8, *mut c_void, u64) -> Left;
/// A control as code of this computer: executes it on registers and a record, for a [`Call`], from where it begins,
/// 0, or goes on, until it has decided, or others have to do something.
#[cfg(not(target_arch = "x86_64"))]
pub type Entry = extern "C" fn(&mut Words, *const u8, *mut c_void, u64) -> Left;

/// Answers a request.
#[cfg(target_arch = "x86_64")]
type Function<'a, U> = extern "sysv64" fn(&mut Call<'a, U>, &mut Words);
#[cfg(not(target_arch = "x86_64"))]
type Function<'a, U> = extern "C" fn(&mut Call<'a, U>, &mut Words);

/// What code calls: functions by the forms of their requests, which are given the call itself and the registers.
#[repr(C)]
pub struct Call<'a, U: Units> {
    functions: *const Function<'a, U>,
    units: &'a mut U,
    /// What a unit has panicked with. It waits for the code's end: there is no way back through code.
    panic: Option<Box<dyn Any + Send>>,
}

impl<'a, U: Units> Call<'a, U> {
    const FUNCTIONS: [Function<'a, U>; FORMS] = [
        Self::answer::<0>,
        Self::answer::<1>,
        Self::answer::<2>,
        Self::answer::<3>,
        Self::answer::<4>,
        Self::answer::<5>,
        Self::answer::<6>,
        Self::answer::<7>,
        Self::answer::<8>,
        Self::answer::<9>,
        Self::answer::<10>,
        Self::answer::<11>,
        Self::answer::<12>,
    ];

    #[cfg(target_arch = "x86_64")]
    extern "sysv64" fn answer<const FORM: usize>(&mut self, words: &mut Words) {
        self.ask::<FORM>(words);
    }
    #[cfg(not(target_arch = "x86_64"))]
    extern "C" fn answer<const FORM: usize>(&mut self, words: &mut Words) {
        self.ask::<FORM>(words);
    }

    #[inline(always)]
    fn ask<const FORM: usize>(&mut self, words: &mut Words) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.units.answer::<FORM>(words))) {
            self.panic.get_or_insert(panic);
        }
    }
}

/// Holds what was made of a control.
#[derive(Clone, Debug)]
pub struct Code {
    entry: Entry,
    /// Bytes of the record that it may read.
    record_bytes: usize,
    /// Where it lies.
    _pages: Arc<dyn Any + Send + Sync>,
}

impl Code {
    /// Takes code, which lies in pages that are kept as long as it is, and reads so many bytes of the record.
    pub fn new(entry: Entry, record_bytes: usize, pages: Arc<dyn Any + Send + Sync>) -> Self {
        Self { entry, record_bytes, _pages: pages }
    }
}

/// A control, and the deparser behind it, as whoever translates it wants to know them.
#[derive(Debug)]
pub struct Control<'a> {
    flat: &'a Flat,
    /// The operations.
    pub ops: &'a [Op],
    /// Registers that hold one number always, with that.
    pub constants: Vec<(Register, u64)>,
    /// By register: others than the operations, and sites that ask, may read it.
    pub is_read: Box<[bool; REGISTERS]>,
    /// Registers that are 0 when it begins.
    pub cleared: Vec<Register>,
}

impl Control<'_> {
    /// Gives the registers of which [one is chosen](Op::Choose).
    pub fn pair(&self, pair: u16) -> [Register; 2] {
        self.flat.pairs[usize::from(pair)]
    }

    /// Gives the [bits that are replaced](Op::SetBits).
    pub fn bits(&self, bits: u16) -> SomeBits {
        self.flat.bits[usize::from(bits)]
    }

    /// Gives the mask and the key that [eight bytes are compared with](Op::JumpUnlessFrame).
    pub fn key(&self, key: u16) -> [u64; 2] {
        self.flat.keys[usize::from(key)]
    }

    /// Gives, by byte, [where it goes on](Op::Switch).
    pub fn switch(&self, table: u16) -> &[u16; 256] {
        &self.flat.switches[usize::from(table)]
    }
}

impl Flat {
    /// Lets the control be executed by code from now on, unless it is by another already.
    pub fn set_code(&self, code: Code) {
        let _ = self.code.set(code);
    }

    /// Tells whether the control is executed by code.
    pub fn has_code(&self) -> bool {
        self.code.get().is_some()
    }

    /// Gives the control to whoever translates it.
    pub fn control(&self) -> Control<'_> {
        let mut is_read = Box::new([false; REGISTERS]);
        let mut read = |register: Register| {
            // Of a wide value there are two.
            is_read[index(register)] = true;
            is_read[index(register + 1)] = true;
        };
        let answers = self.sites.iter().flat_map(|site| site.response.iter().flatten());
        let mut written: Vec<Register> = answers.flat_map(|it| [*it, *it + 1]).collect();
        for (_, register) in &self.decided {
            read(*register);
            written.push(*register);
        }
        for register in self.registers.iter().flatten() {
            read(*register);
            written.push(*register);
        }
        self.plans.iter().flat_map(|plan| &plan.puts).for_each(|put| read(put.register));
        if !self.wide.is_empty() {
            is_read.fill(true);
        }
        for op in self.parser.iter().chain(&self.control) {
            written.extend(op.written());
            if let Op::Wide { number } = op {
                let to = self.wide[usize::from(*number)].to.register;
                written.extend([to, to + 1]);
            }
        }
        let known = self.initial.iter().copied().chain([(self.zero, 0)]);
        let cleared = match &self.decided[..] {
            several @ [_, _, ..] => several.iter().map(|(_, register)| *register).collect(),
            _ => Vec::new(),
        };
        Control {
            flat: self,
            ops: &self.control,
            constants: known.filter(|(register, _)| !written.contains(register)).collect(),
            is_read,
            cleared,
        }
    }
}

impl Op {
    /// Gives where it may jump to, if that is one place.
    pub fn target(mut self) -> Option<u16> {
        self.target_mut().copied()
    }

    /// Gives the same to be changed.
    pub(super) fn target_mut(&mut self) -> Option<&mut u16> {
        match self {
            Self::Jump { to }
            | Self::JumpIfZero { to, .. }
            | Self::JumpIfSet { to, .. }
            | Self::JumpIfClear { to, .. }
            | Self::JumpIfAny { to, .. }
            | Self::JumpIfFrameClear { to, .. }
            | Self::JumpIfByteClear { to, .. }
            | Self::JumpIfByteAny { to, .. }
            | Self::JumpIfEqual { to, .. }
            | Self::JumpUnlessEqual { to, .. }
            | Self::JumpIfLess { to, .. }
            | Self::JumpIfLessEqual { to, .. }
            | Self::JumpUnlessFrame { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Gives the register that it writes, if it is one alone.
    pub fn written(&self) -> Option<Register> {
        match *self {
            Self::Move { to, .. }
            | Self::Add { to, .. }
            | Self::Subtract { to, .. }
            | Self::And { to, .. }
            | Self::Or { to, .. }
            | Self::Xor { to, .. }
            | Self::ShiftLeft { to, .. }
            | Self::ShiftRight { to, .. }
            | Self::Equal { to, .. }
            | Self::Unequal { to, .. }
            | Self::Less { to, .. }
            | Self::LessEqual { to, .. }
            | Self::Slice { to, .. }
            | Self::Join { to, .. }
            | Self::Choose { to, .. }
            | Self::SetBits { to, .. }
            | Self::Load8 { to, .. }
            | Self::Load16 { to, .. }
            | Self::Load32 { to, .. }
            | Self::Load48 { to, .. }
            | Self::LoadBits { to, .. }
            | Self::AcceptWith { to, .. } => Some(to),
            _ => None,
        }
    }
}

impl Packet {
    /// Does what [`process`](Self::process) does, by code that was made of the control.
    ///
    /// # Panics
    /// If the record is shorter than the control reads.
    #[inline(always)]
    pub(super) fn process_by(
        &mut self,
        code: &Code,
        flat: &Flat,
        record: &[u8],
        units: &mut impl Units,
        out: &mut Vec<u8>,
    ) {
        assert!(record.len() >= code.record_bytes, "the record is shorter than the control reads");
        let mut left = self.execute(code, record, units, 0);
        while left.what != Left::DECIDED {
            left = self.help(code, left, (flat, record), units, out);
        }
    }

    #[inline(always)]
    fn execute(&mut self, code: &Code, record: &[u8], units: &mut impl Units, from: u64) -> Left {
        let mut call = Call { functions: Call::<'_, _>::FUNCTIONS.as_ptr(), units, panic: None };
        let (words, to) = (&mut self.registers, from_mut(&mut call).cast());
        let left = (code.entry)(words, record.as_ptr(), to, from);
        call.panic.map_or(left, |panic| resume_unwind(panic))
    }

    /// Does what code has left to others, and goes on.
    #[inline(never)]
    fn help(
        &mut self,
        code: &Code,
        left: Left,
        (flat, record): (&Flat, &[u8]),
        units: &mut impl Units,
        out: &mut Vec<u8>,
    ) -> Left {
        let words = &mut *self.registers;
        let number = left.what >> Left::KIND_BITS;
        match left.what & ((1 << Left::KIND_BITS) - 1) {
            Left::ASK => units.ask(flat, number as usize, words),
            Left::SEND => send(flat, number as u16, record, words, out),
            Left::SEND_LAST => {
                send(flat, number as u16, record, words, out);
                return Left { what: Left::DECIDED, next: 0 };
            }
            Left::WIDE => wide(flat, number as u16, words, record, 0),
            _ => self.missed[number as usize] += 1,
        }
        self.execute(code, record, units, left.next)
    }
}
