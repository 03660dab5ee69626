//! IEEE 754 arithmetic as the F and D extensions define it, bit by bit: every rounding mode, every
//! exception flag, one canonical NaN, tininess detected after rounding.
//!
//! In: bits of operands and an [`Environment`] (rounding mode, flags so far). Out: bits of the
//! result and new flags. `soft` computes with integers, exactly, then rounds once; it alone is
//! right everywhere. `host` uses the host's arithmetic where the result and the flags are known
//! to be the same. `compare` and `convert` have what needs no arithmetic.

mod compare;
mod convert;
mod host;
mod soft;

pub use compare::{classify, equal, less, less_or_equal, maximum, minimum};
pub use convert::{convert, from_integer, to_integer};
pub use host::{add, divide, fused, multiply, nearest, square_root};

/// Exception flags, as in `fflags`.
pub mod flag {
    /// The result is not exact.
    pub const INEXACT: u8 = 1;
    /// The result is tiny and not exact.
    pub const UNDERFLOW: u8 = 2;
    /// The result is too large for the format.
    pub const OVERFLOW: u8 = 4;
    /// A finite number was divided by zero.
    pub const DIVIDE_BY_ZERO: u8 = 8;
    /// There is no meaningful result.
    pub const INVALID: u8 = 16;
    /// All of them.
    pub const ALL: u8 = 31;
}

/// Says how a result that does not fit is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, halves to even.
    NearestEven,
    /// Towards zero.
    TowardZero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// To the nearest, halves away from zero.
    NearestAway,
}

impl Rounding {
    /// Finds the mode with a number as in `frm`, `None` for reserved ones.
    #[inline]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::NearestEven,
            1 => Self::TowardZero,
            2 => Self::Down,
            3 => Self::Up,
            4 => Self::NearestAway,
            _ => return None,
        })
    }

    /// Says whether the magnitude grows when it is odd or even (`odd`) before a remainder that is
    /// not zero and compares with one half as `to_half` says.
    const fn grows(self, negative: bool, odd: bool, to_half: std::cmp::Ordering) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match (self, to_half) {
            (Self::NearestEven, Equal) => odd,
            (Self::NearestAway, Equal) => true,
            (Self::NearestEven | Self::NearestAway, Greater) => true,
            (Self::NearestEven | Self::NearestAway, Less) | (Self::TowardZero, _) => false,
            (Self::Down, _) => negative,
            (Self::Up, _) => !negative,
        }
    }
}

/// Holds the rounding mode and collects flags.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// How results are rounded.
    pub rounding: Rounding,
    /// Flags raised, by this operation or before it.
    pub flags: u8,
}

impl Environment {
    /// Raises the invalid flag and gives the canonical NaN.
    fn invalid<F: Format>(&mut self) -> u64 {
        self.flags |= flag::INVALID;
        F::NAN
    }
}

/// Describes a binary interchange format; its values are the low bits of a `u64`.
pub trait Format: host::Host {
    /// Bits of the significand, the hidden one included.
    const PRECISION: u32;
    /// Bits of a value.
    const BITS: u32;

    /// Bits of the exponent field.
    const EXPONENT_BITS: u32 = Self::BITS - Self::PRECISION;
    /// The largest exponent, and the bias.
    const BIAS: i32 = (1 << (Self::EXPONENT_BITS - 1)) - 1;
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::BITS - 1);
    /// The bits of the significand that are stored.
    const FRACTION: u64 = (1 << (Self::PRECISION - 1)) - 1;
    /// Plus infinity: the exponent field's bits.
    const INFINITY: u64 = Self::SIGN - 1 - Self::FRACTION;
    /// The bit that makes a NaN quiet.
    const QUIET: u64 = 1 << (Self::PRECISION - 2);
    /// The canonical NaN.
    const NAN: u64 = Self::INFINITY | Self::QUIET;

    /// Says whether the bits are a NaN.
    #[inline(always)]
    fn is_nan(bits: u64) -> bool {
        bits & !Self::SIGN > Self::INFINITY
    }

    /// Says whether the bits are a signalling NaN.
    #[inline(always)]
    fn is_signalling(bits: u64) -> bool {
        Self::is_nan(bits) && bits & Self::QUIET == 0
    }

    /// Says whether the sign bit is set.
    #[inline(always)]
    fn is_negative(bits: u64) -> bool {
        bits & Self::SIGN != 0
    }
}

/// Single precision (binary32).
#[derive(Clone, Copy, Debug)]
pub struct Single;

/// Double precision (binary64).
#[derive(Clone, Copy, Debug)]
pub struct Double;

impl Format for Single {
    const PRECISION: u32 = 24;
    const BITS: u32 = 32;
}

impl Format for Double {
    const PRECISION: u32 = 53;
    const BITS: u32 = 64;
}

/// Raises the invalid flag if one of the operands is a signalling NaN.
fn note_signalling<F: Format>(operands: &[u64], environment: &mut Environment) {
    if operands.iter().any(|bits| F::is_signalling(*bits)) {
        environment.flags |= flag::INVALID;
    }
}
