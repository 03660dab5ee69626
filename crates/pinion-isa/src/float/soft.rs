//! Arithmetic with integers: exact intermediate results (or such that what is lost is marked in
//! their last bit), rounded once.

use std::cmp::Ordering;

use super::{Environment, Format, Rounding, flag, note_signalling};

/// A finite number other than zero, without limits to its exponent.
///
/// Its magnitude is `significand` / 2^127 · 2^`exponent`; bit 127 of the significand is set. Bit 0
/// may stand for any number of lost bits below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// Whether it is below zero.
    pub negative: bool,
    /// Its exponent.
    pub exponent: i32,
    /// Its significand.
    pub significand: u128,
}

/// What bits of a format stand for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// A NaN.
    Nan,
    /// An infinity, negative or not.
    Infinity(bool),
    /// A zero, negative or not.
    Zero(bool),
    /// Any other number.
    Finite(Number),
}

/// Takes bits apart.
#[inline]
pub(super) fn unpack<F: Format>(bits: u64) -> Value {
    let negative = F::is_negative(bits);
    let fraction = bits & F::FRACTION;
    let field = (bits & F::INFINITY) >> (F::PRECISION - 1);
    if bits & F::INFINITY == F::INFINITY {
        return if fraction == 0 { Value::Infinity(negative) } else { Value::Nan };
    }
    if field == 0 {
        if fraction == 0 {
            return Value::Zero(negative);
        }
        // value = fraction · 2^(1 - BIAS - (PRECISION - 1))
        let exponent = 129 - F::BIAS - F::PRECISION as i32;
        return Value::Finite(normalise(negative, exponent, u128::from(fraction)));
    }
    let significand = u128::from(fraction | (F::FRACTION + 1)) << (128 - F::PRECISION);
    Value::Finite(Number { negative, exponent: field as i32 - F::BIAS, significand })
}

/// Moves the highest bit of a significand that is not zero to bit 127.
#[inline]
pub(super) fn normalise(negative: bool, exponent: i32, significand: u128) -> Number {
    let shift = significand.leading_zeros();
    Number { negative, exponent: exponent - shift as i32, significand: significand << shift }
}

/// Shifts right; bits that fall out are marked in bit 0.
#[inline]
pub(super) fn shift_right_marking(value: u128, amount: u32) -> u128 {
    match amount {
        0 => value,
        1..128 => value >> amount | u128::from(value << (128 - amount) != 0),
        _ => u128::from(value != 0),
    }
}

/// Rounds a significand to its highest `precision` bits: gives them and whether it was inexact.
#[inline]
fn round(number: &Number, precision: u32, rounding: Rounding) -> (u64, bool) {
    let kept = (number.significand >> (128 - precision)) as u64;
    let rest = number.significand << precision;
    if rest == 0 {
        return (kept, false);
    }
    let to_half = rest.cmp(&(1 << 127));
    let grows = rounding.grows(number.negative, kept & 1 != 0, to_half);
    (kept + u64::from(grows), true)
}

/// Rounds a number to a format and raises the flags due.
#[inline]
pub(super) fn pack<F: Format>(number: Number, environment: &mut Environment) -> u64 {
    let sign = if number.negative { F::SIGN } else { 0 };
    let minimum = 1 - F::BIAS;
    if number.exponent < minimum {
        return sign | pack_tiny::<F>(number, environment);
    }
    let (mut kept, inexact) = round(&number, F::PRECISION, environment.rounding);
    let mut exponent = number.exponent;
    if kept >> F::PRECISION != 0 {
        kept >>= 1;
        exponent += 1;
    }
    if exponent > F::BIAS {
        return sign | overflow::<F>(number.negative, environment);
    }
    if inexact {
        environment.flags |= flag::INEXACT;
    }
    // The hidden bit adds one to the exponent field.
    sign | ((((exponent + F::BIAS - 1) as u64) << (F::PRECISION - 1)) + kept)
}

/// The magnitude of a number below the smallest normal one.
#[cold]
fn pack_tiny<F: Format>(number: Number, environment: &mut Environment) -> u64 {
    let below = (1 - F::BIAS - number.exponent) as u32;
    let shifted = Number { significand: shift_right_marking(number.significand, below), ..number };
    let (kept, inexact) = round(&shifted, F::PRECISION, environment.rounding);
    if inexact {
        // Tiny is what would stay below the smallest normal number if the exponent had no limit.
        let unlimited = round(&number, F::PRECISION, environment.rounding).0;
        let tiny = below > 1 || unlimited >> F::PRECISION == 0;
        environment.flags |= flag::INEXACT | if tiny { flag::UNDERFLOW } else { 0 };
    }
    kept
}

/// The magnitude that stands for a number beyond the largest.
#[cold]
fn overflow<F: Format>(negative: bool, environment: &mut Environment) -> u64 {
    environment.flags |= flag::OVERFLOW | flag::INEXACT;
    // Infinity where the excess of the largest number would round away from zero.
    let grows = environment.rounding.grows(negative, true, Ordering::Greater);
    if grows { F::INFINITY } else { F::INFINITY - 1 }
}

/// Zero as the result of a sum whose exact value is zero.
fn cancelled<F: Format>(environment: &Environment) -> u64 {
    if environment.rounding == Rounding::Down { F::SIGN } else { 0 }
}

fn signed<F: Format>(negative: bool, magnitude: u64) -> u64 {
    magnitude | if negative { F::SIGN } else { 0 }
}

/// Adds two values.
pub(super) fn add<F: Format>(a: u64, b: u64, environment: &mut Environment) -> u64 {
    note_signalling::<F>(&[a, b], environment);
    match (unpack::<F>(a), unpack::<F>(b)) {
        (Value::Nan, _) | (_, Value::Nan) => F::NAN,
        (Value::Infinity(one), Value::Infinity(other)) if one != other => {
            environment.invalid::<F>()
        }
        (Value::Infinity(negative), _) | (_, Value::Infinity(negative)) => {
            signed::<F>(negative, F::INFINITY)
        }
        (Value::Zero(one), Value::Zero(other)) if one == other => a,
        (Value::Zero(_), Value::Zero(_)) => cancelled::<F>(environment),
        (Value::Zero(_), Value::Finite(_)) => b,
        (Value::Finite(_), Value::Zero(_)) => a,
        (Value::Finite(a), Value::Finite(b)) => sum::<F>(a, b, environment),
    }
}

/// Adds two numbers whose significands' lowest bit is free.
#[inline]
fn sum<F: Format>(a: Number, b: Number, environment: &mut Environment) -> u64 {
    let swap = (a.exponent, a.significand) < (b.exponent, b.significand);
    let (large, small) = if swap { (b, a) } else { (a, b) };
    let distance = (large.exponent - small.exponent) as u32;
    // One bit of room above for the carry.
    let larger = large.significand >> 1;
    let smaller = shift_right_marking(small.significand, distance.saturating_add(1));
    let exact = if large.negative == small.negative { larger + smaller } else { larger - smaller };
    if exact == 0 {
        return cancelled::<F>(environment);
    }
    pack::<F>(normalise(large.negative, large.exponent + 1, exact), environment)
}

/// The exact product of two numbers of at most 64 significant bits.
#[inline]
fn product(a: Number, b: Number) -> Number {
    let significand = (a.significand >> 64) * (b.significand >> 64);
    // Two factors with 63 bits behind the point each: the product has 126, one less than usual.
    normalise(a.negative != b.negative, a.exponent + b.exponent + 1, significand)
}

/// Multiplies two values.
pub(super) fn multiply<F: Format>(a: u64, b: u64, environment: &mut Environment) -> u64 {
    note_signalling::<F>(&[a, b], environment);
    let negative = F::is_negative(a) != F::is_negative(b);
    match (unpack::<F>(a), unpack::<F>(b)) {
        (Value::Nan, _) | (_, Value::Nan) => F::NAN,
        (Value::Infinity(_), Value::Zero(_)) | (Value::Zero(_), Value::Infinity(_)) => {
            environment.invalid::<F>()
        }
        (Value::Infinity(_), _) | (_, Value::Infinity(_)) => signed::<F>(negative, F::INFINITY),
        (Value::Zero(_), _) | (_, Value::Zero(_)) => signed::<F>(negative, 0),
        (Value::Finite(a), Value::Finite(b)) => pack::<F>(product(a, b), environment),
    }
}

/// Computes a · b + c, rounding once.
pub(super) fn fused<F: Format>(a: u64, b: u64, c: u64, environment: &mut Environment) -> u64 {
    note_signalling::<F>(&[a, b, c], environment);
    let negative = F::is_negative(a) != F::is_negative(b);
    let (left, right, addend) = (unpack::<F>(a), unpack::<F>(b), unpack::<F>(c));
    match (left, right) {
        // Invalid even when the addend is a quiet NaN (RISC-V unprivileged, section 11.6).
        (Value::Infinity(_), Value::Zero(_)) | (Value::Zero(_), Value::Infinity(_)) => {
            return environment.invalid::<F>();
        }
        (Value::Nan, _) | (_, Value::Nan) => return F::NAN,
        _ => {}
    }
    match (left, right, addend) {
        (_, _, Value::Nan) => F::NAN,
        (Value::Infinity(_), _, Value::Infinity(other))
        | (_, Value::Infinity(_), Value::Infinity(other))
            if other != negative =>
        {
            environment.invalid::<F>()
        }
        (Value::Infinity(_), ..) | (_, Value::Infinity(_), _) => signed::<F>(negative, F::INFINITY),
        (_, _, Value::Infinity(_)) => c,
        (Value::Zero(_), ..) | (_, Value::Zero(_), _) => match addend {
            Value::Zero(other) if other != negative => cancelled::<F>(environment),
            _ => c,
        },
        (Value::Finite(a), Value::Finite(b), Value::Zero(_)) => {
            pack::<F>(product(a, b), environment)
        }
        (Value::Finite(a), Value::Finite(b), Value::Finite(c)) => {
            sum::<F>(product(a, b), c, environment)
        }
        (Value::Nan, ..) | (_, Value::Nan, _) => F::NAN,
    }
}

/// Divides a by b.
pub(super) fn divide<F: Format>(a: u64, b: u64, environment: &mut Environment) -> u64 {
    note_signalling::<F>(&[a, b], environment);
    let negative = F::is_negative(a) != F::is_negative(b);
    match (unpack::<F>(a), unpack::<F>(b)) {
        (Value::Nan, _) | (_, Value::Nan) => F::NAN,
        (Value::Infinity(_), Value::Infinity(_)) | (Value::Zero(_), Value::Zero(_)) => {
            environment.invalid::<F>()
        }
        (Value::Infinity(_), _) => signed::<F>(negative, F::INFINITY),
        (Value::Zero(_), _) | (_, Value::Infinity(_)) => signed::<F>(negative, 0),
        (Value::Finite(_), Value::Zero(_)) => {
            environment.flags |= flag::DIVIDE_BY_ZERO;
            signed::<F>(negative, F::INFINITY)
        }
        (Value::Finite(a), Value::Finite(b)) => {
            // At least 63 bits of the quotient; a remainder is marked.
            let (dividend, divisor) = (a.significand >> 1, b.significand >> 64);
            let (quotient, rest) = (dividend / divisor, dividend % divisor);
            let significand = quotient << 64 | u128::from(rest != 0);
            pack::<F>(normalise(negative, a.exponent - b.exponent, significand), environment)
        }
    }
}

/// Takes the square root.
pub(super) fn square_root<F: Format>(a: u64, environment: &mut Environment) -> u64 {
    note_signalling::<F>(&[a], environment);
    match unpack::<F>(a) {
        Value::Nan => F::NAN,
        Value::Zero(_) | Value::Infinity(false) => a,
        Value::Infinity(true) => environment.invalid::<F>(),
        Value::Finite(number) if number.negative => environment.invalid::<F>(),
        Value::Finite(number) => {
            // An even exponent and a significand in [1, 4), with 126 bits behind the point.
            let odd = number.exponent & 1 != 0;
            let square = number.significand >> if odd { 0 } else { 1 };
            let root = square.isqrt();
            let significand = root << 64 | u128::from(root * root != square);
            pack::<F>(normalise(false, number.exponent >> 1, significand), environment)
        }
    }
}
