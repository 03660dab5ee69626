//! Conversions between formats, and from and to integers.

use super::soft::{Value, normalise, pack, shift_right_marking, unpack};
use super::{Environment, Format, flag, note_signalling};

/// Converts from one format to another: `fcvt.s.d`, `fcvt.d.s`.
pub fn convert<From: Format, To: Format>(a: u64, environment: &mut Environment) -> u64 {
    note_signalling::<From>(&[a], environment);
    let sign = |negative: bool| if negative { To::SIGN } else { 0 };
    match unpack::<From>(a) {
        Value::Nan => To::NAN,
        Value::Infinity(negative) => sign(negative) | To::INFINITY,
        Value::Zero(negative) => sign(negative),
        Value::Finite(number) => pack::<To>(number, environment),
    }
}

/// Converts an integer given by its sign and magnitude.
pub fn from_integer<F: Format>(
    negative: bool,
    magnitude: u64,
    environment: &mut Environment,
) -> u64 {
    match magnitude {
        0 => 0,
        _ => pack::<F>(normalise(negative, 127, u128::from(magnitude)), environment),
    }
}

/// Converts to an integer of `bits` bits, saturating; unsigned results are zero-extended, signed
/// ones sign-extended. What is out of range, and a NaN, which counts as large, is invalid.
pub fn to_integer<F: Format>(
    a: u64,
    bits: u32,
    is_signed: bool,
    environment: &mut Environment,
) -> u64 {
    let largest = u64::MAX >> (64 - bits + u32::from(is_signed));
    let smallest = if is_signed { !largest } else { 0 };
    let saturate = |negative: bool, environment: &mut Environment| {
        environment.flags |= flag::INVALID;
        if negative { smallest } else { largest }
    };
    let number = match unpack::<F>(a) {
        Value::Zero(_) => return 0,
        Value::Finite(number) if number.exponent <= 63 => number,
        Value::Finite(number) => return saturate(number.negative, environment),
        Value::Infinity(negative) => return saturate(negative, environment),
        Value::Nan => return saturate(false, environment),
    };
    // Fixed point: 64 bits before the point and 64 behind it.
    let fixed = shift_right_marking(number.significand, (63 - number.exponent) as u32);
    let (whole, rest) = ((fixed >> 64) as u64, fixed as u64);
    let to_half = rest.cmp(&(1 << 63));
    let grows = rest != 0 && environment.rounding.grows(number.negative, whole & 1 != 0, to_half);
    let limit = if number.negative { smallest.wrapping_neg() } else { largest };
    match whole.checked_add(u64::from(grows)) {
        Some(magnitude) if magnitude <= limit => {
            environment.flags |= if rest != 0 { flag::INEXACT } else { 0 };
            if number.negative { magnitude.wrapping_neg() } else { magnitude }
        }
        _ => saturate(number.negative, environment),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Double, Rounding, Single};
    use super::*;

    fn to(value: f64, bits: u32, is_signed: bool, rounding: Rounding) -> (u64, u8) {
        let mut environment = Environment { rounding, flags: 0 };
        let result = to_integer::<Double>(value.to_bits(), bits, is_signed, &mut environment);
        (result, environment.flags)
    }

    #[test]
    fn integers_saturate() {
        use Rounding::{Down, NearestAway, NearestEven, TowardZero, Up};
        let minus = |value: i64| value as u64;
        for (value, bits, is_signed, rounding, result) in [
            (2.5, 32, true, NearestEven, (2, flag::INEXACT)),
            (2.5, 32, true, NearestAway, (3, flag::INEXACT)),
            (-2.5, 64, true, TowardZero, (minus(-2), flag::INEXACT)),
            (-2.5, 64, true, Down, (minus(-3), flag::INEXACT)),
            (-0.5, 32, false, Up, (0, flag::INEXACT)),
            (-0.5, 32, false, Down, (0, flag::INVALID)),
            (2147483647.5, 32, true, TowardZero, (0x7fff_ffff, flag::INEXACT)),
            (2147483647.5, 32, true, Up, (0x7fff_ffff, flag::INVALID)),
            (-2147483648.0, 32, true, Up, (minus(-0x8000_0000), 0)),
            (f64::NAN, 32, false, Up, (0xffff_ffff, flag::INVALID)),
            (f64::NEG_INFINITY, 64, true, Up, (1 << 63, flag::INVALID)),
            (18446744073709551615.0, 64, false, Up, (u64::MAX, flag::INVALID)),
            (9223372036854775808.0, 64, false, Up, (1 << 63, 0)),
            (1e-300, 64, true, Up, (1, flag::INEXACT)),
        ] {
            assert_eq!(to(value, bits, is_signed, rounding), result, "{value} {rounding:?}");
        }
    }

    #[test]
    fn formats_and_integers_convert_as_the_host_does() {
        let mut state = 0x1234_5678_9abc_def1u64;
        for _ in 0..200_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let mut e = Environment { rounding: Rounding::NearestEven, flags: 0 };
            let value = state >> (state & 63);
            assert_eq!(from_integer::<Double>(false, value, &mut e), (value as f64).to_bits());
            let single = from_integer::<Single>(true, value, &mut e);
            assert_eq!(single, u64::from((-(value as f32)).to_bits() & ((value != 0) as u32 * !0)));
            let double = f64::from_bits(state);
            if !double.is_nan() {
                let narrow = convert::<Double, Single>(state, &mut e);
                assert_eq!(narrow, u64::from((double as f32).to_bits()));
                let wide = convert::<Single, Double>(narrow, &mut e);
                assert_eq!(wide, f64::from(double as f32).to_bits());
            }
        }
    }
}
