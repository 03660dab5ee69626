//! A distribution of times: values come in, minimum, mean, maximum and percentiles go out. Holds
//! one counter per bucket that occurred, with the longest time in it; buckets are exact up to 1 us and at most
//! a millionth of their value wide beyond. A percentile is a time that came. The HDR histogram of loads (`pinion_net::load::Latencies`) keeps five digits
//! at most; here a time of a few cycles among milliseconds has to come out as it was.

use pinion_sim::Time;
use rustc_hash::FxHashMap;

const SUB_BITS: u32 = 20;

/// Counts how often each time occurred.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    /// By the lowest time of a bucket: how many are in it, and the longest of them.
    buckets: FxHashMap<u64, (u64, u64)>,
    count: u64,
    sum_ps: u128,
    min_ps: u64,
    max_ps: u64,
}

/// Sums up a distribution, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Quantiles {
    /// The shortest time.
    pub min: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The time that half are within.
    pub p50: f64,
    /// The time that 99 of 100 are within.
    pub p99: f64,
    /// The longest time.
    pub max: f64,
}

impl Histogram {
    /// Counts one time.
    pub fn record(&mut self, time: Time) {
        let ps = time.ps();
        let (count, longest) = self.buckets.entry(lowest(ps)).or_default();
        (*count, *longest) = (*count + 1, ps.max(*longest));
        self.min_ps = if self.count == 0 { ps } else { self.min_ps.min(ps) };
        self.max_ps = self.max_ps.max(ps);
        self.count += 1;
        self.sum_ps += u128::from(ps);
    }

    /// Gives how many times were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Gives minimum, mean, percentiles and maximum; `None` when nothing was counted.
    pub fn quantiles(&self) -> Option<Quantiles> {
        if self.count == 0 {
            return None;
        }
        let mut buckets: Vec<(u64, u64)> =
            self.buckets.values().map(|&(count, longest)| (longest, count)).collect();
        buckets.sort_unstable();
        let ns = |ps: u64| Time::from_ps(ps).ns();
        Some(Quantiles {
            min: ns(self.min_ps),
            mean: self.sum_ps as f64 / self.count as f64 / 1000.0,
            p50: ns(self.percentile_ps(&buckets, 50)),
            p99: ns(self.percentile_ps(&buckets, 99)),
            max: ns(self.max_ps),
        })
    }

    /// Gives the smallest recorded time, but for a millionth, that at least `percent` of all are within.
    fn percentile_ps(&self, buckets: &[(u64, u64)], percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        for (ps, count) in buckets {
            seen += u128::from(*count);
            if seen >= rank {
                return *ps;
            }
        }
        self.max_ps
    }
}

/// Gives the lowest time of the bucket that `ps` falls into.
fn lowest(ps: u64) -> u64 {
    let dropped_bits = (64 - ps.leading_zeros()).saturating_sub(SUB_BITS);
    ps >> dropped_bits << dropped_bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow() {
        for ps in [0, 1, 27_000, 496_992, 1_000_003, 1 << 40, u64::MAX / 3] {
            let low = lowest(ps);
            assert!(low <= ps && ps - low <= ps >> (SUB_BITS - 1), "{ps}: {low}");
            assert_eq!(lowest(low), low);
        }
        assert_eq!(lowest(999_999), 999_999);
    }

    #[test]
    fn percentiles_are_ranks() {
        let mut histogram = Histogram::default();
        for ns in (1..=100).rev() {
            histogram.record(Time::from_ns(ns));
        }
        let quantiles = histogram.quantiles().unwrap();
        let expected = Quantiles { min: 1.0, mean: 50.5, p50: 50.0, p99: 99.0, max: 100.0 };
        assert_eq!(quantiles, expected);
        assert_eq!(Histogram::default().quantiles(), None);
    }

    #[test]
    fn percentiles_are_times_that_came() {
        let mut histogram = Histogram::default();
        (0..200).for_each(|index| histogram.record(Time::from_ps(10_531_000 + index / 100 * 7)));
        let quantiles = histogram.quantiles().unwrap();
        assert_eq!([quantiles.p50, quantiles.p99], [10_531.007; 2], "in one bucket, the longest");
        histogram.record(Time::from_ns(142_800));
        assert_eq!(histogram.quantiles().unwrap().max, 142_800.0);
    }
}
