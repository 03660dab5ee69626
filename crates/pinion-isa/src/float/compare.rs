//! Comparisons, minimum, maximum and classification.

use super::{Environment, Format, flag, note_signalling};

/// Says whether a < b, neither being a NaN.
fn is_below<F: Format>(a: u64, b: u64) -> bool {
    let both_zero = (a | b) & !F::SIGN == 0;
    match (F::is_negative(a), F::is_negative(b)) {
        (false, false) => a < b,
        (true, true) => a > b,
        (true, false) => !both_zero,
        (false, true) => false,
    }
}

/// Raises the invalid flag and answers no if one of the operands is a NaN.
fn ordered<F: Format>(a: u64, b: u64, environment: &mut Environment) -> bool {
    let ordered = !F::is_nan(a) && !F::is_nan(b);
    if !ordered {
        environment.flags |= flag::INVALID;
    }
    ordered
}

/// Says whether a = b: `feq`; quiet NaNs raise nothing.
pub fn equal<F: Format>(a: u64, b: u64, environment: &mut Environment) -> bool {
    note_signalling::<F>(&[a, b], environment);
    let both_zero = (a | b) & !F::SIGN == 0;
    !F::is_nan(a) && !F::is_nan(b) && (a == b || both_zero)
}

/// Says whether a < b: `flt`.
pub fn less<F: Format>(a: u64, b: u64, environment: &mut Environment) -> bool {
    ordered::<F>(a, b, environment) && is_below::<F>(a, b)
}

/// Says whether a ≤ b: `fle`.
pub fn less_or_equal<F: Format>(a: u64, b: u64, environment: &mut Environment) -> bool {
    ordered::<F>(a, b, environment) && !is_below::<F>(b, a)
}

/// Gives the smaller operand, -0 before +0, a number before a NaN: `fmin`.
pub fn minimum<F: Format>(a: u64, b: u64, environment: &mut Environment) -> u64 {
    choose::<F>(a, b, is_below::<F>(a, b) || F::is_negative(a) && !is_below::<F>(b, a), environment)
}

/// Gives the larger operand, +0 before -0, a number before a NaN: `fmax`.
pub fn maximum<F: Format>(a: u64, b: u64, environment: &mut Environment) -> u64 {
    let first = is_below::<F>(b, a) || !F::is_negative(a) && !is_below::<F>(a, b);
    choose::<F>(a, b, first, environment)
}

fn choose<F: Format>(a: u64, b: u64, first: bool, environment: &mut Environment) -> u64 {
    note_signalling::<F>(&[a, b], environment);
    match (F::is_nan(a), F::is_nan(b)) {
        (true, true) => F::NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) => [b, a][usize::from(first)],
    }
}

/// Gives the class as one of ten bits: `fclass`.
pub fn classify<F: Format>(a: u64) -> u32 {
    let magnitude = a & !F::SIGN;
    let negative = F::is_negative(a);
    let from_zero = match magnitude {
        _ if F::is_signalling(a) => return 1 << 8,
        _ if F::is_nan(a) => return 1 << 9,
        0 => 0,
        _ if magnitude <= F::FRACTION => 1,
        _ if magnitude < F::INFINITY => 2,
        _ => 3,
    };
    1 << if negative { 3 - from_zero } else { 4 + from_zero }
}

#[cfg(test)]
mod tests {
    use super::super::{Double, Rounding, Single};
    use super::*;

    fn quiet() -> Environment {
        Environment { rounding: Rounding::NearestEven, flags: 0 }
    }

    #[test]
    fn compares_as_the_host_does() {
        let values =
            [0.0, -0.0, 1.0, -1.0, 1.5, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::NAN];
        for a in values {
            for b in values {
                let (x, y) = (a.to_bits(), b.to_bits());
                let mut e = quiet();
                assert_eq!(equal::<Double>(x, y, &mut e), a == b, "{a} = {b}");
                assert_eq!(e.flags, 0);
                assert_eq!(less::<Double>(x, y, &mut e), a < b, "{a} < {b}");
                assert_eq!(less_or_equal::<Double>(x, y, &mut e), a <= b, "{a} <= {b}");
                let unordered = a.is_nan() || b.is_nan();
                assert_eq!(e.flags, if unordered { flag::INVALID } else { 0 });
            }
        }
    }

    #[test]
    fn minimum_and_maximum_know_signed_zeros_and_nans() {
        let (zero, minus_zero, one) = (0, Single::SIGN, 1.0f32.to_bits().into());
        let signalling = Single::INFINITY | 1;
        let mut e = quiet();
        for (a, b) in [(zero, minus_zero), (minus_zero, zero)] {
            assert_eq!(minimum::<Single>(a, b, &mut e), minus_zero);
            assert_eq!(maximum::<Single>(a, b, &mut e), zero);
        }
        assert_eq!(minimum::<Single>(one, Single::NAN, &mut e), one);
        assert_eq!(maximum::<Single>(Single::NAN | 5, Single::NAN | 6, &mut e), Single::NAN);
        assert_eq!(e.flags, 0);
        assert_eq!(minimum::<Single>(signalling, one, &mut e), one);
        assert_eq!(e.flags, flag::INVALID);
    }

    #[test]
    fn classifies_everything() {
        let classes = [
            Double::SIGN | Double::INFINITY,
            (-1.0f64).to_bits(),
            Double::SIGN | 1,
            Double::SIGN,
            0,
            Double::FRACTION,
            Double::FRACTION + 1,
            Double::INFINITY,
            Double::INFINITY | 1,
            Double::NAN | Double::SIGN,
        ];
        for (bit, value) in classes.into_iter().enumerate() {
            assert_eq!(classify::<Double>(value), 1 << bit, "{value:#x}");
        }
    }
}
