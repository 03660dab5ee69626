//! Data rates as people write them: `400g`, `100m`, `2.5g`, `max`.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Says a data rate, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rate {
    /// No limit.
    #[default]
    Unlimited,
    /// So many bits a second; never 0.
    BitsPerSecond(u64),
}

/// Says why a text is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RateError {
    /// It is no number, or none that is a rate.
    #[error(
        "`{text}` is not a rate: write bits a second as `400g`, `2.5g`, `100m`, `64k`, or `max`"
    )]
    Form {
        /// The text.
        text: String,
    },
    /// It is a number without unit: of bits, of gigabits?
    #[error(
        "`{text}` has no unit: write `{text}g` for {text} Gbit/s, `{text}m` for {text} Mbit/s, or \
         `{text}bit/s`"
    )]
    NoUnit {
        /// The number.
        text: String,
    },
}

impl Rate {
    /// Makes a rate of whole Gbit/s (10⁹ bits a second); 0 means no limit.
    pub fn gbit_s(gbit_s: u32) -> Self {
        match gbit_s {
            0 => Self::Unlimited,
            n => Self::BitsPerSecond(u64::from(n) * 1_000_000_000),
        }
    }

    /// Returns the bits a second, or `None` without limit.
    pub fn bits_per_s(self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::BitsPerSecond(bits) => Some(bits.max(1)),
        }
    }
}

impl FromStr for Rate {
    type Err = RateError;

    /// Reads `max`, or digits with an optional fraction and a unit: one of the suffixes `k`, `m`,
    /// `g`, `t` (powers of 1000), or `bit/s`, `bit` or `bps`, or both.
    fn from_str(text: &str) -> Result<Self, RateError> {
        let wrong = || RateError::Form { text: text.to_string() };
        let lower = text.trim().to_ascii_lowercase();
        if matches!(lower.as_str(), "max" | "unlimited") {
            return Ok(Self::Unlimited);
        }
        let units = ["bit/s", "bps", "bit"];
        let bare = units.iter().find_map(|unit| lower.strip_suffix(unit)).unwrap_or(&lower);
        let bare = bare.trim_end();
        let (number, power) = match bare.as_bytes().last() {
            Some(b'k') => (&bare[..bare.len() - 1], 3),
            Some(b'm') => (&bare[..bare.len() - 1], 6),
            Some(b'g') => (&bare[..bare.len() - 1], 9),
            Some(b't') => (&bare[..bare.len() - 1], 12),
            _ if bare.len() == lower.len() && lower.parse::<f64>().is_ok_and(|rate| rate > 0.0) => {
                return Err(RateError::NoUnit { text: text.trim().to_string() });
            }
            _ => (bare, 0),
        };
        let bits = scale(number.trim_end(), power).ok_or_else(wrong)?;
        if bits == 0 { Err(wrong()) } else { Ok(Self::BitsPerSecond(bits)) }
    }
}

/// Reads a decimal number times a power of ten, exactly.
fn scale(number: &str, power: usize) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > power {
        return None;
    }
    let padded = format!("{whole}{fraction:0<power$}");
    padded.parse().ok()
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(bits) = self.bits_per_s() else { return f.write_str("max") };
        let units = [(1_000_000_000, "g"), (1_000_000, "m"), (1_000, "k")];
        match units.iter().find(|(unit, _)| bits % unit == 0) {
            Some((unit, letter)) => write!(f, "{}{letter}", bits / unit),
            None => write!(f, "{bits}bit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, bits) in [
            ("400g", 400_000_000_000),
            ("100m", 100_000_000),
            ("2.5G", 2_500_000_000),
            ("64k", 64_000),
            ("1 Gbit/s", 1_000_000_000),
            ("9600 bit/s", 9600),
            ("9600bps", 9600),
            ("1.6t", 1_600_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Rate::BitsPerSecond(bits)), "{text}");
        }
        assert_eq!("max".parse(), Ok(Rate::Unlimited));
    }

    #[test]
    fn refuses_what_is_no_rate() {
        for text in
            ["", "g", "-1g", "0", "0g", "1.5", "4e9", "1.2.3g", "99999999999t", "fast", "ég"]
        {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_alone_is_no_rate() {
        let error = "400".parse::<Rate>().unwrap_err();
        assert_eq!(error, RateError::NoUnit { text: "400".to_string() });
        assert!(error.to_string().contains("`400g` for 400 Gbit/s"), "{error}");
        let error = "2.5".parse::<Rate>().unwrap_err().to_string();
        assert!(error.contains("`2.5m`"), "{error}");
        let error = "0".parse::<Rate>().unwrap_err();
        assert_eq!(error, RateError::Form { text: "0".to_string() });
    }

    #[test]
    fn prints_what_it_reads() {
        for text in ["400g", "2500m", "64k", "1bit/s", "max"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
    }
}
