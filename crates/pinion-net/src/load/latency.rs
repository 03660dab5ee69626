//! A distribution of response times. In: cycles. Out: mean, quantiles, count. Holds a histogram of
//! three significant digits (HDR) and, where asked to, every number.
//!
//! Quantiles: [`Latencies::histogram_quantile`] gives the histogram's, the smallest recorded value
//! that the share is within, off by a thousandth at most. [`Latencies::quantile`] is exact and
//! interpolates as pandas' and numpy's default does: with the n numbers sorted as x₀ … xₙ₋₁ and
//! h = (n − 1)·q it is x⌊h⌋ + (h − ⌊h⌋)·(x⌊h⌋₊₁ − x⌊h⌋). Missing answers can be counted as endlessly
//! late, as the published evaluation counts them.

use super::interval::{Interval, quantile_ranks};
use hdrhistogram::Histogram;
use pinion_sim::Clock;

/// Significant decimal digits that the histogram keeps.
const DIGITS: u8 = 3;

/// Collects response times.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    exact: Option<Vec<u64>>,
    sum: u128,
    missing: u64,
}

/// Sums up response times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencySummary {
    /// Answers.
    pub count: u64,
    /// Requests without an answer; they are in none of the numbers below.
    pub missing: u64,
    /// The shortest.
    pub min_ns: f64,
    /// The arithmetic mean.
    pub mean_ns: f64,
    /// The time that half are within.
    pub p50_ns: f64,
    /// The time that 90 % are within.
    pub p90_ns: f64,
    /// The time that 99 % are within.
    pub p99_ns: f64,
    /// The time that 99.9 % are within.
    pub p999_ns: f64,
    /// The longest.
    pub max_ns: f64,
}

impl Latencies {
    /// Starts empty; keeps every number if `keep`.
    pub fn new(keep: bool) -> Self {
        // Three digits are within the one to five that the histogram can do.
        let histogram = Histogram::new(DIGITS).expect("three digits are possible");
        Self { histogram, exact: keep.then(Vec::new), sum: 0, missing: 0 }
    }

    /// Counts one response time.
    pub fn record(&mut self, cycles: u64) {
        if self.histogram.record(cycles).is_err() {
            self.histogram.saturating_record(cycles);
        }
        self.sum += u128::from(cycles);
        if let Some(exact) = &mut self.exact {
            exact.push(cycles);
        }
    }

    /// Counts requests that will have no answer.
    pub fn add_missing(&mut self, count: u64) {
        self.missing += count;
    }

    /// Gives how many were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Gives how many have no answer.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Gives the mean, exactly; `None` when nothing was counted.
    pub fn mean_cycles(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / self.count() as f64)
    }

    /// Gives the standard deviation, of the histogram's accuracy.
    pub fn deviation_cycles(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.histogram.stdev())
    }

    /// Gives the smallest value, to the histogram's accuracy, that a share `q` of the answers is
    /// within.
    pub fn histogram_quantile(&self, q: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.value_at_quantile(q))
    }

    /// Gives the exact quantile of the answers, interpolated; the histogram's where the numbers were
    /// not kept.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.interpolated(q, 0)
    }

    /// Gives the quantile of the requests, those without an answer counted as endlessly late;
    /// `None` when it falls among them.
    pub fn quantile_with_missing(&self, q: f64) -> Option<f64> {
        self.interpolated(q, self.missing)
    }

    /// Gives the interval that holds the quantile of the requests with probability `confidence`,
    /// those without an answer counted as endlessly late, whatever the distribution: see
    /// [`quantile_ranks`].
    pub fn quantile_interval(&self, q: f64, confidence: f64) -> Interval {
        let (low, high) = quantile_ranks(self.count() + self.missing, q, confidence);
        let ranks = [low, high].map(|rank| rank.filter(|&rank| rank <= self.count()));
        let [low, high] = match &self.exact {
            Some(exact) => {
                let mut sorted = exact.clone();
                sorted.sort_unstable();
                ranks.map(|rank| rank.map(|rank| sorted[rank as usize - 1] as f64))
            }
            None => ranks.map(|rank| {
                let share = rank? as f64 / self.count() as f64;
                Some(self.histogram.value_at_quantile(share) as f64)
            }),
        };
        Interval { low, high }
    }

    fn interpolated(&self, q: f64, missing: u64) -> Option<f64> {
        let count = self.count() + missing;
        if self.count() == 0 {
            return None;
        }
        let at = (count - 1) as f64 * q.clamp(0.0, 1.0);
        let (below, part) = (at.floor() as u64, at.fract());
        let above = below + u64::from(part > 0.0);
        if above >= self.count() {
            return None;
        }
        let Some(exact) = &self.exact else {
            let rank = (below + 1) as f64 / self.count() as f64;
            return Some(self.histogram.value_at_quantile(rank) as f64);
        };
        let mut sorted = exact.clone();
        let (_, &mut low, rest) = sorted.select_nth_unstable(below as usize);
        let high = if above > below { rest.iter().copied().min().unwrap_or(low) } else { low };
        Some(low as f64 + part * (high - low) as f64)
    }

    /// Gives the histogram.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Gives every number in order of arrival, where they were kept.
    pub fn exact(&self) -> Option<&[u64]> {
        self.exact.as_deref()
    }

    /// Sums up in nanoseconds of `clock`; `None` when nothing was counted.
    pub fn summary(&self, clock: Clock) -> Option<LatencySummary> {
        let ns = |cycles: f64| cycles * clock.period_ps() / 1000.0;
        let quantile = |q: f64| self.quantile(q).map(ns);
        Some(LatencySummary {
            count: self.count(),
            missing: self.missing,
            min_ns: quantile(0.0)?,
            mean_ns: ns(self.mean_cycles()?),
            p50_ns: quantile(0.5)?,
            p90_ns: quantile(0.9)?,
            p99_ns: quantile(0.99)?,
            p999_ns: quantile(0.999)?,
            max_ns: quantile(1.0)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::new(true);
        values.into_iter().for_each(|value| latencies.record(value));
        latencies
    }

    #[test]
    fn quantiles_interpolate_as_pandas_does() {
        // pandas.Series([1, 2, 3, 4]).quantile([.5, .99, .25]): 2.5, 3.97, 1.75
        let latencies = of([4, 1, 3, 2]);
        let quantile = |q| latencies.quantile(q).unwrap();
        assert_eq!((quantile(0.5), quantile(0.25), quantile(1.0)), (2.5, 1.75, 4.0));
        assert!((quantile(0.99) - 3.97).abs() < 1e-12);
        assert_eq!(latencies.mean_cycles(), Some(2.5));
        assert_eq!(Latencies::new(true).quantile(0.5), None);
    }

    #[test]
    fn missing_answers_are_endlessly_late() {
        let mut latencies = of(1..=98);
        latencies.add_missing(2);
        assert_eq!(latencies.quantile_with_missing(0.99), None);
        assert_eq!(latencies.quantile_with_missing(0.5), Some(50.5));
        assert!((latencies.quantile(0.99).unwrap() - 97.03).abs() < 1e-9);
    }

    #[test]
    fn the_histogram_is_within_a_thousandth() {
        let mut latencies = Latencies::new(false);
        (0..100_000).for_each(|value| latencies.record(value * 3));
        for q in [0.5, 0.9, 0.99, 0.999] {
            let expected = 300_000.0 * q;
            for found in
                [latencies.histogram_quantile(q).unwrap() as f64, latencies.quantile(q).unwrap()]
            {
                assert!((found / expected - 1.0).abs() < 0.0011, "{q}: {found}");
            }
        }
        assert_eq!(latencies.mean_cycles(), Some(149_998.5));
    }

    #[test]
    fn the_interval_of_a_quantile_is_between_two_of_the_numbers() {
        let latencies = of((1..=16).rev().map(|n| n * 10));
        let interval = latencies.quantile_interval(0.5, 0.95);
        assert_eq!((interval.low, interval.high), (Some(40.0), Some(130.0)));
        let mut latencies = of(1..=11);
        latencies.add_missing(5);
        let interval = latencies.quantile_interval(0.5, 0.95);
        assert_eq!((interval.low, interval.high), (Some(4.0), None), "too late ones are above");
        let mut coarse = Latencies::new(false);
        (1..=16).for_each(|n| coarse.record(n * 10));
        assert_eq!(coarse.quantile_interval(0.5, 0.95).high, Some(130.0));
    }

    #[test]
    fn summaries_are_in_nanoseconds() {
        let summary = of([32, 64, 96]).summary(Clock::from_hz(3_200_000_000)).unwrap();
        assert_eq!((summary.min_ns, summary.p50_ns, summary.max_ns), (10.0, 20.0, 30.0));
        assert_eq!((summary.mean_ns, summary.count, summary.missing), (20.0, 3, 0));
    }
}
