//! A distribution of times: values come in, minimum, mean, maximum and percentiles go out. Holds one
//! counter per bucket; buckets are at most 1/8192 of their value wide, and exact up to 16 ns.

use pinion_sim::Time;

const SUB_BITS: u32 = 13;

/// Counts how often each time occurred.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    buckets: Vec<u32>,
    count: u64,
    sum_ps: u128,
    min_ps: u64,
    max_ps: u64,
}

/// Sums up a distribution, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Quantiles {
    /// Is the shortest time.
    pub min: f64,
    /// Is the arithmetic mean.
    pub mean: f64,
    /// Is the time that half are within.
    pub p50: f64,
    /// Is the time that 99 of 100 are within.
    pub p99: f64,
    /// Is the longest time.
    pub max: f64,
}

impl Histogram {
    /// Counts one time.
    pub fn record(&mut self, time: Time) {
        let ps = time.ps();
        let index = bucket(ps);
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, 0);
        }
        self.buckets[index] = self.buckets[index].saturating_add(1);
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
        let ns = |ps: u64| Time::from_ps(ps).ns();
        Some(Quantiles {
            min: ns(self.min_ps),
            mean: self.sum_ps as f64 / self.count as f64 / 1000.0,
            p50: ns(self.percentile_ps(50)),
            p99: ns(self.percentile_ps(99)),
            max: ns(self.max_ps),
        })
    }

    /// Gives the smallest recorded time that at least `percent` of all are within.
    fn percentile_ps(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank {
                return lowest(index).clamp(self.min_ps, self.max_ps);
            }
        }
        self.max_ps
    }
}

fn bucket(ps: u64) -> usize {
    let exponent = (64 - ps.leading_zeros()).saturating_sub(SUB_BITS + 1);
    ((u64::from(exponent) << SUB_BITS) + (ps >> exponent)) as usize
}

fn lowest(index: usize) -> u64 {
    let index = index as u64;
    let exponent = (index >> SUB_BITS).saturating_sub(1);
    (index - (exponent << SUB_BITS)) << exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_they_say() {
        for ps in [0, 1, 8191, 8192, 16_383, 16_384, 27_000, 1_000_003, 1 << 40, u64::MAX / 3] {
            let low = lowest(bucket(ps));
            assert!(low <= ps && ps - low <= ps >> SUB_BITS, "{ps}: {low}");
            assert_eq!(bucket(low), bucket(ps));
        }
    }

    #[test]
    fn percentiles_are_ranks() {
        let mut histogram = Histogram::default();
        for ns in 1..=100 {
            histogram.record(Time::from_ns(ns));
        }
        let quantiles = histogram.quantiles().unwrap();
        let expected = Quantiles { min: 1.0, mean: 50.5, p50: 50.0, p99: 99.0, max: 100.0 };
        assert_eq!(quantiles, expected);
        assert_eq!(Histogram::default().quantiles(), None);
    }
}
