//! What floating-point instructions do: registers, boxes, rounding modes, flags, `mstatus.FS`.
//!
//! Apart from the integer instructions, whose hot path never comes here. A register holds a
//! double-precision value, or a single-precision one with all upper bits set (NaN boxing).

use super::csr_access::illegal;
use super::{Hart, Outcome};
use crate::csr::mstatus::FS;
use crate::encode::float_bits;
use crate::float::{self, Double, Environment, Format, Rounding, Single, flag, nearest};
use crate::{
    Access, Cause, Class, Exception, Extensions, FIRST_FLOAT_REGISTER, Instruction, MemoryKind, Op,
    Xlen,
};

/// The upper half of a register that holds a single-precision value.
const BOX: u64 = 0xffff_ffff << 32;
/// The rounding mode field that stands for `frm`'s.
const DYNAMIC: u8 = 7;

/// The rounding mode in `fcsr`.
const FRM: u32 = 7 << 5;

/// Says whether an operation works in single precision: its bits say so.
#[inline(always)]
const fn is_single(i: &Instruction) -> bool {
    i.imm >> 25 & 1 == 0
}

/// A format as registers hold it.
trait Boxed: Format {
    /// Takes a value out of a register; what is no value of this format counts as a NaN.
    fn unbox(register: u64) -> u64;
    /// Makes the register's contents.
    fn enclose(bits: u64) -> u64;
}

impl Boxed for Single {
    #[inline(always)]
    fn unbox(register: u64) -> u64 {
        if register & BOX == BOX { register & !BOX } else { Self::NAN }
    }
    #[inline(always)]
    fn enclose(bits: u64) -> u64 {
        bits | BOX
    }
}

impl Boxed for Double {
    #[inline(always)]
    fn unbox(register: u64) -> u64 {
        register
    }
    #[inline(always)]
    fn enclose(bits: u64) -> u64 {
        bits
    }
}

/// The registers' contents at reset: zero of the widest format there is.
pub(super) fn reset_value(extensions: Extensions) -> u64 {
    if extensions.has(Extensions::D) { 0 } else { BOX }
}

impl<X: Xlen> Hart<X> {
    /// Executes an instruction of the F or D extension.
    #[inline(never)]
    pub(super) fn execute_float(&mut self, i: &Instruction) -> Outcome<X> {
        if self.csr.mstatus & FS == 0 {
            return illegal(float_bits(i));
        }
        match i.class {
            Class::FloatLoad => self.float_load(i),
            Class::FloatStore => self.float_store(i),
            _ if self.execute_quickly(i) => Outcome::Next,
            _ => self.execute_operation(i),
        }
    }

    /// Executes an operation if it is a common one, rounds to nearest even, and raises no flag that
    /// is not up; else changes nothing.
    #[inline(always)]
    fn execute_quickly(&mut self, i: &Instruction) -> bool {
        let nearest = matches!(i.rounding_mode(), 0 | DYNAMIC) && self.csr.fcsr & FRM == 0;
        if !nearest || self.csr.fcsr & u32::from(flag::INEXACT) == 0 {
            return false;
        }
        let contents = if is_single(i) {
            self.quick_result::<Single>(i)
        } else {
            self.quick_result::<Double>(i)
        };
        let Some(contents) = contents else { return false };
        self.set_f(i.rd, contents);
        self.retire(i.length);
        true
    }

    #[inline(always)]
    fn quick_result<F: Boxed>(&self, i: &Instruction) -> Option<u64> {
        let a = F::unbox(self.float_register(i.rs1));
        let b = F::unbox(self.float_register(i.rs2));
        let c = F::unbox(self.float_register(i.rs3));
        let bits = match i.op {
            Op::FaddS | Op::FaddD => nearest::add::<F>(a, b),
            Op::FsubS | Op::FsubD => nearest::add::<F>(a, b ^ F::SIGN),
            Op::FmulS | Op::FmulD => nearest::multiply::<F>(a, b),
            Op::FdivS | Op::FdivD => nearest::divide::<F>(a, b),
            Op::FmaddS | Op::FmaddD => nearest::fused::<F>(a, b, c),
            Op::FmsubS | Op::FmsubD => nearest::fused::<F>(a, b, c ^ F::SIGN),
            Op::FnmsubS | Op::FnmsubD => nearest::fused::<F>(a ^ F::SIGN, b, c),
            Op::FnmaddS | Op::FnmaddD => nearest::fused::<F>(a ^ F::SIGN, b, c ^ F::SIGN),
            _ => None,
        };
        bits.map(F::enclose)
    }

    /// Executes an operation in whatever environment.
    #[inline(never)]
    fn execute_operation(&mut self, i: &Instruction) -> Outcome<X> {
        let fcsr = self.csr.fcsr;
        let mode = match i.rounding_mode() {
            DYNAMIC => (fcsr >> 5) as u8,
            mode => mode, // of operations that do not round this is 0 to 2
        };
        let Some(rounding) = Rounding::from_number(mode) else { return illegal(i.imm as u32) };
        let environment = Environment { rounding, flags: fcsr as u8 & flag::ALL };
        if is_single(i) {
            self.operate::<Single>(i, environment)
        } else {
            self.operate::<Double>(i, environment)
        }
    }

    /// Executes what works in one of the formats.
    #[inline(always)]
    fn operate<F: Boxed>(&mut self, i: &Instruction, mut environment: Environment) -> Outcome<X> {
        let old = environment.flags;
        match i.class {
            Class::FloatToInt => {
                let result = self.float_to_int::<F>(i, &mut environment);
                self.set_x(i.rd, result);
            }
            Class::IntToFloat => {
                let bits = self.int_to_float::<F>(i, &mut environment);
                self.set_f(i.rd, F::enclose(bits));
            }
            _ => {
                let bits = self.float_to_float::<F>(i, &mut environment);
                self.set_f(i.rd, F::enclose(bits));
            }
        }
        if environment.flags != old {
            self.csr.fcsr |= u32::from(environment.flags);
            self.csr.mstatus |= FS;
        }
        self.retire(i.length);
        Outcome::Next
    }

    /// Writes a floating-point register, numbered from 32.
    #[inline(always)]
    fn set_f(&mut self, register: u8, contents: u64) {
        self.f[usize::from(register & 31)] = contents;
        self.csr.mstatus |= FS;
    }

    #[inline(always)]
    fn float_register(&self, register: u8) -> u64 {
        self.f[usize::from(register & 31)]
    }

    #[inline(always)]
    fn float_to_float<F: Boxed>(&self, i: &Instruction, environment: &mut Environment) -> u64 {
        let a = F::unbox(self.float_register(i.rs1));
        let b = F::unbox(self.float_register(i.rs2));
        let c = F::unbox(self.float_register(i.rs3));
        let sign = F::SIGN;
        match i.op {
            Op::FaddS | Op::FaddD => float::add::<F>(a, b, environment),
            // The sign of a NaN does not matter, here and below.
            Op::FsubS | Op::FsubD => float::add::<F>(a, b ^ sign, environment),
            Op::FmulS | Op::FmulD => float::multiply::<F>(a, b, environment),
            Op::FdivS | Op::FdivD => float::divide::<F>(a, b, environment),
            Op::FsqrtS | Op::FsqrtD => float::square_root::<F>(a, environment),
            Op::FmaddS | Op::FmaddD => float::fused::<F>(a, b, c, environment),
            Op::FmsubS | Op::FmsubD => float::fused::<F>(a, b, c ^ sign, environment),
            Op::FnmsubS | Op::FnmsubD => float::fused::<F>(a ^ sign, b, c, environment),
            Op::FnmaddS | Op::FnmaddD => float::fused::<F>(a ^ sign, b, c ^ sign, environment),
            Op::FsgnjS | Op::FsgnjD => a & !sign | b & sign,
            Op::FsgnjnS | Op::FsgnjnD => a & !sign | !b & sign,
            Op::FsgnjxS | Op::FsgnjxD => a ^ b & sign,
            Op::FminS | Op::FminD => float::minimum::<F>(a, b, environment),
            Op::FmaxS | Op::FmaxD => float::maximum::<F>(a, b, environment),
            Op::FcvtSD => float::convert::<Double, F>(self.float_register(i.rs1), environment),
            _ => {
                let single = Single::unbox(self.float_register(i.rs1));
                float::convert::<Single, F>(single, environment)
            }
        }
    }

    #[inline(always)]
    fn float_to_int<F: Boxed>(&self, i: &Instruction, environment: &mut Environment) -> X {
        let contents = self.float_register(i.rs1);
        let a = F::unbox(contents);
        let b = F::unbox(self.float_register(i.rs2));
        let word = |value: u64| X::from_i32(value as i32);
        match i.op {
            Op::FeqS | Op::FeqD => X::from_bool(float::equal::<F>(a, b, environment)),
            Op::FltS | Op::FltD => X::from_bool(float::less::<F>(a, b, environment)),
            Op::FleS | Op::FleD => X::from_bool(float::less_or_equal::<F>(a, b, environment)),
            Op::FclassS | Op::FclassD => X::from_u32(float::classify::<F>(a)),
            Op::FcvtWS | Op::FcvtWD => word(float::to_integer::<F>(a, 32, true, environment)),
            Op::FcvtWuS | Op::FcvtWuD => word(float::to_integer::<F>(a, 32, false, environment)),
            Op::FcvtLS | Op::FcvtLD => {
                X::from_u64(float::to_integer::<F>(a, 64, true, environment))
            }
            Op::FcvtLuS | Op::FcvtLuD => {
                X::from_u64(float::to_integer::<F>(a, 64, false, environment))
            }
            Op::FmvXW => word(contents),
            _ => X::from_u64(contents),
        }
    }

    #[inline(always)]
    fn int_to_float<F: Boxed>(&self, i: &Instruction, environment: &mut Environment) -> u64 {
        let a = self.get(i.rs1);
        let word = a.to_u32();
        let (negative, magnitude) = match i.op {
            Op::FcvtSW | Op::FcvtDW => ((word as i32) < 0, u64::from((word as i32).unsigned_abs())),
            Op::FcvtSWu | Op::FcvtDWu => (false, u64::from(word)),
            Op::FcvtSL | Op::FcvtDL => (a.to_i64() < 0, a.to_i64().unsigned_abs()),
            Op::FcvtSLu | Op::FcvtDLu => (false, a.to_u64()),
            Op::FmvWX => return u64::from(word),
            _ => return a.to_u64(),
        };
        float::from_integer::<F>(negative, magnitude, environment)
    }

    /// Says whether a doubleword is accessed in halves, and for the access due at `address` gives
    /// its address, bytes, and the instruction's length if it is the last.
    fn part(&self, i: &Instruction, address: X, bytes: u8) -> (X, u8, u8) {
        if X::BITS == 64 || bytes < 8 {
            return (address, bytes, i.length);
        }
        match self.half_done {
            None => (address, 4, 0),
            Some(_) => (address.plus(X::from_u32(4)), 4, i.length),
        }
    }

    fn float_load(&mut self, i: &Instruction) -> Outcome<X> {
        let address = self.get(i.rs1).plus(X::from_i32(i.imm));
        let whole = if i.op == Op::Flw { 4 } else { 8 };
        if address.to_u32() & self.misaligned_mask & (u32::from(whole) - 1) != 0 {
            return Outcome::Trap(Exception::new(Cause::LoadMisaligned, address));
        }
        let (address, bytes, length) = self.part(i, address, whole);
        Outcome::Access(Access {
            kind: MemoryKind::Load,
            address,
            bytes,
            signed: false,
            rd: i.rd,
            length,
            data: X::ZERO,
        })
    }

    fn float_store(&mut self, i: &Instruction) -> Outcome<X> {
        let address = self.get(i.rs1).plus(X::from_i32(i.imm));
        let whole = if i.op == Op::Fsw { 4 } else { 8 };
        if address.to_u32() & self.misaligned_mask & (u32::from(whole) - 1) != 0 {
            return Outcome::Trap(Exception::new(Cause::StoreMisaligned, address));
        }
        let contents = self.float_register(i.rs2);
        let (address, bytes, length) = self.part(i, address, whole);
        let second_half = whole != bytes && length != 0;
        let data = if second_half { contents >> 32 } else { contents };
        Outcome::Access(Access {
            kind: MemoryKind::Store,
            address,
            bytes,
            signed: false,
            // Of two halves both need `complete_float`.
            rd: if whole == bytes { 0 } else { i.rs2 },
            length,
            data: X::from_u64(data),
        })
    }

    /// Finishes a load into a floating-point register, or half of an access on RV32.
    #[inline(never)]
    pub(super) fn complete_float(&mut self, access: &Access<X>, value: X) {
        let low = value.to_u32();
        if access.length == 0 {
            self.half_done = Some(low);
            return;
        }
        let first = self.half_done.take();
        if access.kind == MemoryKind::Load {
            let contents = match (first, access.bytes) {
                (Some(first), _) => u64::from(low) << 32 | u64::from(first),
                (None, 4) => Single::enclose(u64::from(low)),
                (None, _) => value.to_u64(),
            };
            self.set_f(access.rd - FIRST_FLOAT_REGISTER, contents);
        }
        self.retire(access.length);
    }
}
