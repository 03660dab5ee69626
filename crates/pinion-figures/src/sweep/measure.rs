//! What is measured of a point. In: a run's summary. Out: numbers with a name and a unit each.

use serde_json::{Map, Value};

use pinion_app::app::App;
use pinion_observe::report::Summary;

/// Names a number of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Is its column, the unit at the end.
    pub name: &'static str,
    /// Tells what it is, with the unit.
    pub label: &'static str,
    /// Tells that it counts something.
    pub is_count: bool,
}

const fn count(name: &'static str, label: &'static str) -> Metric {
    Metric { name, label, is_count: true }
}

const fn number(name: &'static str, label: &'static str) -> Metric {
    Metric { name, label, is_count: false }
}

/// Lists what is measured, in the order of the columns.
pub const METRICS: [Metric; 17] = [
    count("packets", "packets processed"),
    count("bytes", "bytes processed"),
    number("simulated_ns", "time from the first arrival to the end, ns"),
    number("throughput_gbit_s", "throughput, Gbit/s"),
    number("packet_rate_mpps", "packet rate, million/s"),
    number("latency_min_ns", "shortest latency, ns"),
    number("latency_mean_ns", "mean latency, ns"),
    number("latency_p50_ns", "latency of half the packets, ns"),
    number("latency_p99_ns", "latency of 99 % of the packets, ns"),
    number("latency_max_ns", "longest latency, ns"),
    number("handler_cycles_mean", "mean handler time, cycles"),
    count("instructions", "instructions"),
    number("ipc", "instructions per cycle"),
    number("hpu_utilisation", "share of HPU time in use"),
    count("dropped", "packets dropped"),
    count("faults", "handlers that failed"),
    number("host_seconds", "time of this computer, s"),
];

/// Is the place of the one number that no two runs have alike.
const HOST_SECONDS: usize = METRICS.len() - 1;

/// Holds the numbers of a point, as [`METRICS`] lists them; `None` where a run gives none (the
/// latency of no packets).
#[derive(Clone, Debug, PartialEq)]
pub struct Measured(pub [Option<f64>; METRICS.len()]);

impl Measured {
    /// Takes the numbers of a run; it must have collected its handlers.
    pub fn of(summary: &Summary, app: &App) -> Self {
        let totals = &summary.totals;
        let latency = |pick: fn(&pinion_observe::report::Quantiles) -> f64| {
            summary.latency.as_ref().map(pick)
        };
        let seconds = summary.active.ps() as f64 / 1e12;
        let per_second = (seconds > 0.0).then(|| totals.processed as f64 / seconds / 1e6);
        let runs: u64 = summary.handlers.iter().map(|row| row.runs).sum();
        let busy_ps: u64 = summary.handlers.iter().map(|row| row.busy_ps).sum();
        let cycles = busy_ps as f64 * app.machine.value.clock.frequency_mhz as f64 / 1e6;
        Self([
            Some(totals.processed as f64),
            Some(summary.processed_bytes as f64),
            Some(summary.active.ns()),
            Some(summary.throughput_gbit_s()),
            per_second,
            latency(|quantiles| quantiles.min),
            latency(|quantiles| quantiles.mean),
            latency(|quantiles| quantiles.p50),
            latency(|quantiles| quantiles.p99),
            latency(|quantiles| quantiles.max),
            (runs > 0).then(|| cycles / runs as f64),
            Some(totals.instructions as f64),
            Some(summary.ipc()),
            Some(summary.hpu_utilisation()),
            Some(summary.dropped() as f64),
            Some(totals.faults as f64),
            Some(summary.host.as_secs_f64()),
        ])
    }

    /// Gives a number by its name.
    pub fn get(&self, name: &str) -> Option<f64> {
        let place = METRICS.iter().position(|metric| metric.name == name)?;
        self.0[place]
    }

    /// Gives the same without the time of the host, which is never the same.
    #[must_use]
    pub fn without_host_time(mut self) -> Self {
        self.0[HOST_SECONDS] = None;
        self
    }

    /// Gives the numbers for the journal.
    pub(super) fn to_json(&self) -> Value {
        let entry =
            |(metric, value): (&Metric, &Option<f64>)| (metric.name.to_owned(), (*value).into());
        Value::Object(METRICS.iter().zip(&self.0).map(entry).collect::<Map<_, _>>())
    }

    /// Reads what [`Measured::to_json`] wrote; `None` when a number is missing.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let mut numbers = [None; METRICS.len()];
        for (number, metric) in numbers.iter_mut().zip(&METRICS) {
            *number = match value.get(metric.name)? {
                Value::Null => None,
                value => Some(value.as_f64()?),
            };
        }
        Some(Self(numbers))
    }
}
