//! The host's arithmetic, where it gives the same bits and the flags are known.
//!
//! It is used when results are rounded to nearest even. A result well inside the normal range
//! raises inexact or nothing. Inexact need not be known when the flag is up already, as it is in
//! most programs after a few instructions; else the rounding error is computed, which the host
//! does exactly: it is zero if the result is exact. Everything else goes to `soft`.

use super::{Double, Environment, Format, Rounding, Single, flag, soft};

/// Gives the operations of the host's type for a format.
pub trait Host: Sized {
    /// The host's type.
    type Native: Copy + PartialEq;

    /// Bits of the significand that the magnitude of operands and results must at least have above
    /// the smallest normal number, so that rounding errors are normal numbers too.
    #[doc(hidden)]
    const MARGIN: u64;

    /// Makes a native value of bits.
    fn native(bits: u64) -> Self::Native;
    /// Gives the bits of a native value.
    fn bits(value: Self::Native) -> u64;
    /// Adds.
    fn add(a: Self::Native, b: Self::Native) -> Self::Native;
    /// Subtracts.
    fn subtract(a: Self::Native, b: Self::Native) -> Self::Native;
    /// Multiplies.
    fn multiply(a: Self::Native, b: Self::Native) -> Self::Native;
    /// Divides.
    fn divide(a: Self::Native, b: Self::Native) -> Self::Native;
    /// Takes the square root.
    fn square_root(a: Self::Native) -> Self::Native;
    /// Computes a · b + c, rounding once.
    fn fused(a: Self::Native, b: Self::Native, c: Self::Native) -> Self::Native;
}

macro_rules! implement_host {
    ($format:ty, $native:ty, $bits:ty, $margin:expr) => {
        impl Host for $format {
            type Native = $native;
            const MARGIN: u64 = $margin;

            #[inline(always)]
            fn native(bits: u64) -> $native {
                <$native>::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn bits(value: $native) -> u64 {
                u64::from(value.to_bits())
            }
            #[inline(always)]
            fn add(a: $native, b: $native) -> $native {
                a + b
            }
            #[inline(always)]
            fn subtract(a: $native, b: $native) -> $native {
                a - b
            }
            #[inline(always)]
            fn multiply(a: $native, b: $native) -> $native {
                a * b
            }
            #[inline(always)]
            fn divide(a: $native, b: $native) -> $native {
                a / b
            }
            #[inline(always)]
            fn square_root(a: $native) -> $native {
                a.sqrt()
            }
            #[inline(always)]
            fn fused(a: $native, b: $native, c: $native) -> $native {
                a.mul_add(b, c)
            }
        }
    };
}

implement_host!(Single, f32, u32, 52);
implement_host!(Double, f64, u64, 110);

/// Says whether a magnitude lies in the range where the host's rounding errors are exact: normal,
/// with room for twice the precision below, and some above.
#[inline(always)]
fn is_moderate<F: Format>(bits: u64) -> bool {
    let magnitude = bits & !F::SIGN;
    let unit = F::FRACTION + 1;
    magnitude.wrapping_sub(F::MARGIN * unit) < F::INFINITY - (F::MARGIN + 2) * unit
}

/// Says whether the host may be asked, and whether inexact is up already.
#[inline(always)]
fn to_nearest(environment: &Environment) -> bool {
    environment.rounding == Rounding::NearestEven
}

#[inline(always)]
fn known_inexact(environment: &Environment) -> bool {
    environment.flags & flag::INEXACT != 0
}

/// Raises inexact unless the rounding error is zero; gives the result's bits.
#[inline(always)]
fn settle<F: Format>(result: u64, error: F::Native, environment: &mut Environment) -> u64 {
    let exact = F::bits(error) & !F::SIGN == 0;
    environment.flags |= u8::from(!exact) * flag::INEXACT;
    result
}

/// Results rounded to nearest even, `None` where the host is not to be trusted; what they give is
/// inexact or exact and raises nothing else.
pub mod nearest {
    use super::{Format, is_moderate};

    #[inline(always)]
    fn trusted<F: Format>(result: F::Native) -> Option<u64> {
        let bits = F::bits(result);
        is_moderate::<F>(bits).then_some(bits)
    }

    /// Adds two values.
    #[inline(always)]
    pub fn add<F: Format>(a: u64, b: u64) -> Option<u64> {
        trusted::<F>(F::add(F::native(a), F::native(b)))
    }

    /// Multiplies two values.
    #[inline(always)]
    pub fn multiply<F: Format>(a: u64, b: u64) -> Option<u64> {
        trusted::<F>(F::multiply(F::native(a), F::native(b)))
    }

    /// Divides a by b.
    #[inline(always)]
    pub fn divide<F: Format>(a: u64, b: u64) -> Option<u64> {
        trusted::<F>(F::divide(F::native(a), F::native(b)))
    }

    /// Computes a · b + c.
    #[inline(always)]
    pub fn fused<F: Format>(a: u64, b: u64, c: u64) -> Option<u64> {
        trusted::<F>(F::fused(F::native(a), F::native(b), F::native(c)))
    }
}

/// Adds two values.
#[inline]
pub fn add<F: Format>(a: u64, b: u64, environment: &mut Environment) -> u64 {
    if to_nearest(environment)
        && let Some(result) = nearest::add::<F>(a, b)
    {
        if known_inexact(environment) {
            return result;
        }
        if is_moderate::<F>(a) && is_moderate::<F>(b) {
            // What each operand contributed to the sum, and what of it was lost.
            let (x, y, sum) = (F::native(a), F::native(b), F::native(result));
            let second = F::subtract(sum, x);
            let first = F::subtract(sum, second);
            let error = F::add(F::subtract(x, first), F::subtract(y, second));
            return settle::<F>(result, error, environment);
        }
    }
    soft::add::<F>(a, b, environment)
}

/// Multiplies two values.
#[inline]
pub fn multiply<F: Format>(a: u64, b: u64, environment: &mut Environment) -> u64 {
    if to_nearest(environment)
        && let Some(result) = nearest::multiply::<F>(a, b)
    {
        if known_inexact(environment) {
            return result;
        }
        let error = F::fused(F::native(a), F::native(b), F::native(result ^ F::SIGN));
        return settle::<F>(result, error, environment);
    }
    soft::multiply::<F>(a, b, environment)
}

/// Computes a · b + c, rounding once.
#[inline]
pub fn fused<F: Format>(a: u64, b: u64, c: u64, environment: &mut Environment) -> u64 {
    if to_nearest(environment)
        && known_inexact(environment)
        && let Some(result) = nearest::fused::<F>(a, b, c)
    {
        return result;
    }
    soft::fused::<F>(a, b, c, environment)
}

/// Divides a by b.
#[inline]
pub fn divide<F: Format>(a: u64, b: u64, environment: &mut Environment) -> u64 {
    if to_nearest(environment)
        && let Some(result) = nearest::divide::<F>(a, b)
    {
        if known_inexact(environment) {
            return result;
        }
        if is_moderate::<F>(a) {
            let error = F::fused(F::native(result ^ F::SIGN), F::native(b), F::native(a));
            return settle::<F>(result, error, environment);
        }
    }
    soft::divide::<F>(a, b, environment)
}

/// Takes the square root.
#[inline]
pub fn square_root<F: Format>(a: u64, environment: &mut Environment) -> u64 {
    if to_nearest(environment) && is_moderate::<F>(a) && !F::is_negative(a) {
        let root = F::square_root(F::native(a));
        let result = F::bits(root);
        let error = F::fused(F::native(result ^ F::SIGN), root, F::native(a));
        return settle::<F>(result, error, environment);
    }
    soft::square_root::<F>(a, environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seeded generator (xorshift) of values that lie close together or at the format's ends.
    struct Values(u64);

    impl Values {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn value<F: Format>(&mut self) -> u64 {
            let fraction = self.next() & F::FRACTION;
            let fraction = match self.next() >> 61 {
                0 => fraction,
                1 => fraction & (F::FRACTION << (self.next() % u64::from(F::PRECISION))),
                2 => !(F::FRACTION >> (self.next() % u64::from(F::PRECISION))) & F::FRACTION,
                _ => fraction >> (self.next() % u64::from(F::PRECISION)),
            };
            let exponent = match self.next() >> 62 {
                0 => self.next(),
                1 => F::MARGIN - 2 + self.next() % 5,
                _ => F::BIAS as u64 - 30 + self.next() % 60,
            };
            let sign = self.next() & F::SIGN;
            sign | exponent << (F::PRECISION - 1) & F::INFINITY | fraction
        }
    }

    /// Compares the host with integers on one set of operands.
    fn check<F: Format>(values: &mut Values, flags: u8) {
        let start = Environment { rounding: Rounding::NearestEven, flags };
        let [a, b, c] = std::array::from_fn(|_| values.value::<F>());
        let run = |operation: &dyn Fn(&mut Environment) -> u64| {
            let mut environment = start;
            let result = operation(&mut environment);
            (result, environment.flags)
        };
        // What a fused operation loses is most telling when the addend cancels the product.
        let minus = soft::multiply::<F>(a, b, &mut start.clone()) ^ F::SIGN;
        for (name, ours, exact) in [
            ("+", run(&|e| add::<F>(a, b, e)), run(&|e| soft::add::<F>(a, b, e))),
            ("*", run(&|e| multiply::<F>(a, b, e)), run(&|e| soft::multiply::<F>(a, b, e))),
            ("/", run(&|e| divide::<F>(a, b, e)), run(&|e| soft::divide::<F>(a, b, e))),
            ("√", run(&|e| square_root::<F>(a, e)), run(&|e| soft::square_root::<F>(a, e))),
            ("*+", run(&|e| fused::<F>(a, b, c, e)), run(&|e| soft::fused::<F>(a, b, c, e))),
            (
                "*-",
                run(&|e| fused::<F>(a, b, minus, e)),
                run(&|e| soft::fused::<F>(a, b, minus, e)),
            ),
        ] {
            assert_eq!(ours, exact, "{name} of {a:#x}, {b:#x}, {c:#x}, flags {flags} before");
        }
    }

    #[test]
    fn the_host_and_integers_agree() {
        let environment = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        let seed = environment("PINION_FLOAT_SEED").unwrap_or(0x1234_5678_9abc_def1);
        let cases = environment("PINION_FLOAT_CASES").unwrap_or(300_000u64);
        println!(
            "replay with: PINION_FLOAT_SEED={seed} PINION_FLOAT_CASES={cases} \
             cargo test -p pinion-isa --lib the_host_and_integers_agree"
        );
        let mut values = Values(seed | 1);
        for _ in 0..cases {
            for flags in [0, flag::INEXACT] {
                check::<Single>(&mut values, flags);
                check::<Double>(&mut values, flags);
            }
        }
    }

    #[test]
    fn the_host_is_asked_where_it_should_be() {
        for value in [1.0f64, -1e-270, 1e300] {
            assert!(is_moderate::<Double>(value.to_bits()), "{value}");
        }
        for value in [0.0, -0.0, 1e-280, f64::INFINITY, f64::NAN, f64::MAX, 5e-324] {
            assert!(!is_moderate::<Double>(value.to_bits()), "{value}");
        }
        assert!(is_moderate::<Single>(1.0f32.to_bits().into()));
        assert!(!is_moderate::<Single>(1e-30f32.to_bits().into()));
    }
}
