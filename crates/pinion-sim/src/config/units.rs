//! Quantities as people write them: `"64KiB"` and `"100us"` come in, exact integers go out.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// Tells why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct QuantityError {
    text: String,
    expected: &'static str,
}

/// A number of bytes, written as an integer or as `"512B"`, `"64KiB"`, `"4MiB"`, `"1GiB"`, `"10kB"`,
/// `"2MB"`, `"1GB"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A length of time in integer picoseconds, written as `"1500ps"`, `"250ns"`, `"1.5us"`, `"10ms"`
/// or `"2s"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    /// Number of picoseconds.
    pub ps: u64,
}

const SIZES: [(&str, u64); 8] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];
const TIMES: [(&str, u64); 6] = [
    ("ps", 1),
    ("ns", 1_000),
    ("µs", 1_000_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
];
const SIZE_EXPECTED: &str =
    "a size: write a number of bytes or, for example, \"64KiB\" (B, KiB, MiB, GiB, kB, MB, GB)";
const TIME_EXPECTED: &str = "a time: write, for example, \"100us\" (ps, ns, us or µs, ms, s)";

impl FromStr for Bytes {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let plain = text.trim().replace('_', "").parse().ok();
        plain
            .or_else(|| scaled(text, &SIZES))
            .map(Self)
            .ok_or_else(|| QuantityError { text: text.to_owned(), expected: SIZE_EXPECTED })
    }
}

impl FromStr for Duration {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        scaled(text, &TIMES)
            .map(|ps| Self { ps })
            .ok_or_else(|| QuantityError { text: text.to_owned(), expected: TIME_EXPECTED })
    }
}

/// Reads a decimal number with one of the suffixes; nothing is rounded.
fn scaled(text: &str, suffixes: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))?;
    let (number, suffix) = text.split_at(split);
    let suffix = suffix.trim_start().replace('μ', "µ");
    let scale = suffixes.iter().find(|(name, _)| *name == suffix)?.1;
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let whole: u64 = whole.parse().ok()?;
    let mut total = u128::from(whole) * u128::from(scale);
    if !fraction.is_empty() {
        let digits: u128 = fraction.parse().ok()?;
        let denominator = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let part = digits.checked_mul(u128::from(scale))?;
        if part % denominator != 0 {
            return None;
        }
        total += part / denominator;
    }
    u64::try_from(total).ok()
}

/// Writes a quantity with the largest suffix that divides it.
fn write_scaled(f: &mut fmt::Formatter<'_>, amount: u64, suffixes: &[(&str, u64)]) -> fmt::Result {
    let best =
        suffixes.iter().rev().find(|(_, scale)| amount != 0 && amount.is_multiple_of(*scale));
    let (name, scale) = best.copied().unwrap_or(suffixes[0]);
    write!(f, "{}{name}", amount / scale)
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &[("B", 1), SIZES[0], SIZES[1], SIZES[2]])
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.ps, &[TIMES[0], TIMES[1], TIMES[2], TIMES[4], TIMES[5]])
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SIZE_EXPECTED)
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Bytes, E> {
        Ok(Bytes(bytes))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Bytes, E> {
        let refuse = |_| E::invalid_value(de::Unexpected::Signed(bytes), &self);
        u64::try_from(bytes).map(Bytes).map_err(refuse)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
        text.parse().map_err(E::custom)
    }
}

struct DurationVisitor;

impl Visitor<'_> for DurationVisitor {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TIME_EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        text.parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BytesVisitor)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DurationVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact() {
        assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("1.5 KiB".parse(), Ok(Bytes(1_536)));
        assert_eq!("1_500".parse(), Ok(Bytes(1_500)));
        assert_eq!("10kB".parse(), Ok(Bytes(10_000)));
        for bad in ["", "KiB", "-1B", "0.3B", "1.B.", "99999999999GiB", "4 miB"] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_exact_and_need_a_unit() {
        assert_eq!("100us".parse(), Ok(Duration { ps: 100_000_000 }));
        assert_eq!("100 µs".parse(), Ok(Duration { ps: 100_000_000 }));
        // The Greek letter, which keyboards give, and the sign look the same.
        assert_eq!("100 μs".parse(), Ok(Duration { ps: 100_000_000 }));
        assert_eq!("312.5ps".parse::<Duration>().ok(), None);
        assert_eq!("0.3125ns".parse::<Duration>().ok(), None);
        assert_eq!("0.3ns".parse(), Ok(Duration { ps: 300 }));
        assert!("100".parse::<Duration>().is_err());
    }

    #[test]
    fn both_print_what_they_read() {
        for text in ["64KiB", "4MiB", "100B"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        for text in ["100µs", "10ms", "7ps", "2s"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
    }
}
