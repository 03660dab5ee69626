//! Simulated time and the clocks that count it.
//!
//! Time is an integer number of picoseconds since reset. A [`Clock`] turns its own cycles into time
//! exactly: its period is a rational number of picoseconds (3.2 GHz is 312.5 ps), so no rounding
//! ever accumulates.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// Counts picoseconds since reset.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(u64);

impl Time {
    /// Marks reset.
    pub const ZERO: Self = Self(0);
    /// Lies after every other time.
    pub const MAX: Self = Self(u64::MAX);

    /// Makes a time from picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Makes a time from nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1000)
    }

    /// Gives the picoseconds since reset.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Gives the nanoseconds since reset, for printing and statistics.
    pub fn ns(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Gives the time since `earlier`, zero if that is later.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ps if ps < 1_000_000 => write!(f, "{:.1} ns", ps as f64 / 1e3),
            ps if ps < 1_000_000_000 => write!(f, "{:.2} µs", ps as f64 / 1e6),
            ps if ps < 1_000_000_000_000 => write!(f, "{:.2} ms", ps as f64 / 1e9),
            ps => write!(f, "{:.3} s", ps as f64 / 1e12),
        }
    }
}

/// Turns cycles into time and back, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    period_ps_numerator: u64,
    period_ps_denominator: u64,
}

impl Clock {
    /// Makes a clock of the given frequency; the period is kept as a rational number.
    ///
    /// # Panics
    /// If the frequency is zero.
    pub const fn from_hz(hz: u64) -> Self {
        assert!(hz > 0, "a clock needs a frequency");
        let divisor = greatest_common_divisor(1_000_000_000_000, hz);
        Self {
            period_ps_numerator: 1_000_000_000_000 / divisor,
            period_ps_denominator: hz / divisor,
        }
    }

    /// Gives the time of the given cycle's edge, rounded up to a picosecond.
    #[inline]
    pub fn time(self, cycles: u64) -> Time {
        // Nearly always: numbers are small, and periods are whole picoseconds.
        if let Some(ps) = cycles.checked_mul(self.period_ps_numerator) {
            return Time(match self.period_ps_denominator {
                1 => ps,
                denominator => ps.div_ceil(denominator),
            });
        }
        let ps = (u128::from(cycles) * u128::from(self.period_ps_numerator))
            .div_ceil(u128::from(self.period_ps_denominator));
        Time(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// Gives the first cycle whose edge is not before `time`.
    #[inline]
    pub fn cycle_at(self, time: Time) -> u64 {
        if self.period_ps_denominator == 1 {
            return time.0.div_ceil(self.period_ps_numerator);
        }
        let scaled = u128::from(time.0) * u128::from(self.period_ps_denominator);
        let mut cycle =
            u64::try_from(scaled / u128::from(self.period_ps_numerator)).unwrap_or(u64::MAX);
        while self.time(cycle) < time {
            cycle += 1;
        }
        cycle
    }

    /// Gives the period in picoseconds, for printing and rates.
    pub fn period_ps(self) -> f64 {
        self.period_ps_numerator as f64 / self.period_ps_denominator as f64
    }

    /// Gives the frequency in hertz, for printing and rates.
    pub fn hz(self) -> f64 {
        1e12 / self.period_ps()
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_count_exactly() {
        let rocket = Clock::from_hz(3_200_000_000);
        assert_eq!(rocket.time(2), Time::from_ps(625));
        assert_eq!(rocket.time(1), Time::from_ps(313));
        assert_eq!(rocket.time(3_200_000_000), Time::from_ps(1_000_000_000_000));
        assert_eq!(rocket.cycle_at(Time::from_ps(625)), 2);
        assert_eq!(rocket.cycle_at(Time::from_ps(313)), 1);
        assert_eq!(rocket.cycle_at(Time::from_ps(314)), 2);
        let third = Clock::from_hz(3_000_000_000);
        for cycle in [0, 1, 2, 3, 1_000_003, u64::MAX / 1000] {
            assert_eq!(third.cycle_at(third.time(cycle)), cycle);
        }
        let whole = Clock::from_hz(1_000_000_000);
        assert_eq!(whole.time(u64::MAX), Time::from_ps(u64::MAX));
        for ps in [0, 1, 999, 1_000, 1_001, u64::MAX] {
            assert_eq!(whole.cycle_at(Time::from_ps(ps)), ps.div_ceil(1_000));
        }
    }

    #[test]
    fn shows_a_fitting_unit() {
        assert_eq!(Time::from_ps(26_000).to_string(), "26.0 ns");
        assert_eq!(Time::from_ns(1_500).to_string(), "1.50 µs");
        assert_eq!(Time::from_ns(2_000_000).to_string(), "2.00 ms");
    }
}
