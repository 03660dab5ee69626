//! A distribution of response times written out: the percentiles that HdrHistogram's own tools list,
//! as numbers, as CSV, or in their text format (`.hgrm`), which its plotters read.

use std::fmt::Write as _;

use pinion_sim::Clock;

use super::Latencies;

/// Lines for each halving of the distance to 100 %.
const TICKS: u32 = 5;

/// Holds a line of a percentile distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PercentileRow {
    /// The response time, to the histogram's accuracy.
    pub cycles: u64,
    /// The share of answers within it.
    pub share: f64,
    /// Number of them.
    pub count: u64,
}

impl Latencies {
    /// Lists percentiles, five for each halving of the distance to 100 %.
    pub fn percentiles(&self) -> Vec<PercentileRow> {
        let mut count = 0;
        let mut rows: Vec<PercentileRow> = Vec::new();
        for value in self.histogram().iter_quantiles(TICKS) {
            count += value.count_since_last_iteration();
            let row = PercentileRow {
                cycles: value.value_iterated_to(),
                share: count as f64 / self.count() as f64,
                count,
            };
            if rows.last().is_none_or(|last| last.count < count) {
                rows.push(row);
            }
        }
        rows
    }

    /// Writes percentiles as CSV, in cycles and in nanoseconds of `clock`.
    pub fn percentiles_csv(&self, clock: Clock) -> String {
        let mut text = String::from("cycles,ns,percentile,count,inverse\n");
        for row in self.percentiles() {
            let ns = row.cycles as f64 * clock.period_ps() / 1000.0;
            let inverse = inverse(row.share);
            let (cycles, count, percent) = (row.cycles, row.count, row.share * 100.0);
            let _ = writeln!(text, "{cycles},{ns:.3},{percent:.6},{count},{inverse}");
        }
        text
    }

    /// Writes percentiles in HdrHistogram's text format, in nanoseconds of `clock`.
    pub fn percentiles_hgrm(&self, clock: Clock) -> String {
        let ns = |cycles: f64| cycles * clock.period_ps() / 1000.0;
        let heads = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];
        let mut text =
            format!("{:>12} {:>14} {:>10} {:>14}\n\n", heads[0], heads[1], heads[2], heads[3]);
        for row in self.percentiles() {
            let _ =
                write!(text, "{:12.3} {:2.12} {:10}", ns(row.cycles as f64), row.share, row.count);
            let inverse = inverse(row.share);
            let _ = match inverse.is_empty() {
                true => writeln!(text),
                false => writeln!(text, " {inverse:>14}"),
            };
        }
        let mean = ns(self.mean_cycles().unwrap_or(0.0));
        let deviation = ns(self.deviation_cycles().unwrap_or(0.0));
        let max = if self.count() == 0 { 0.0 } else { ns(self.histogram().max() as f64) };
        let histogram = self.histogram();
        let _ = writeln!(text, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]");
        let _ = writeln!(text, "#[Max     = {max:12.3}, Total count    = {:12}]", self.count());
        let _ = writeln!(
            text,
            "#[Buckets = {:12}, SubBuckets     = {:12}]",
            histogram.buckets(),
            histogram.distinct_values() / usize::from(histogram.buckets().max(1))
        );
        text
    }
}

/// Writes 1 / (1 - share), which is none at 100 %.
fn inverse(share: f64) -> String {
    if share < 1.0 { format!("{:.2}", 1.0 / (1.0 - share)) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_answers_are_in_the_list_and_in_order() {
        let mut latencies = Latencies::new(false);
        (1..=10_000).for_each(|cycles| latencies.record(cycles));
        let rows = latencies.percentiles();
        assert!(rows.is_sorted_by(|a, b| a.cycles < b.cycles && a.share < b.share));
        let last = rows.last().unwrap();
        assert_eq!((last.count, last.share), (10_000, 1.0));
        let half = rows.iter().find(|row| row.share >= 0.5).unwrap();
        assert!((half.cycles as f64 / 5000.0 - 1.0).abs() < 0.002, "{half:?}");
        let clock = Clock::from_hz(3_200_000_000);
        let csv = latencies.percentiles_csv(clock);
        assert_eq!(csv.lines().count(), rows.len() + 1);
        assert!(csv.lines().all(|line| line.matches(',').count() == 4), "{csv}");
        let text = latencies.percentiles_hgrm(clock);
        assert!(text.trim_start().starts_with("Value"), "{text}");
        assert!(text.contains("Total count    =        10000]"), "{text}");
        assert!(text.contains("#[Mean    =     1562.656"), "{text}");
    }

    #[test]
    fn nothing_gives_an_empty_list() {
        let latencies = Latencies::new(true);
        assert_eq!(latencies.percentiles(), []);
        assert_eq!(latencies.percentiles_csv(Clock::from_hz(1)).lines().count(), 1);
        assert!(latencies.percentiles_hgrm(Clock::from_hz(1)).contains("Total count"));
    }
}
