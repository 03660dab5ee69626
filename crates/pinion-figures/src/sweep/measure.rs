//! What is measured of a point. In: a run's summary. Out: numbers with a name and a unit each; which
//! they are depends on what ran.

use serde_json::{Map, Value};

use pinion_app::app::App;
use pinion_observe::report::{Quantiles, Summary};

/// Names a number of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its column, the unit at the end.
    pub name: &'static str,
    /// What it is, with the unit.
    pub label: &'static str,
    /// Whether it counts something.
    pub is_count: bool,
    place: Place,
}

/// Says where in a summary's JSON a number stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nowhere: [`Measured::of_handlers`] reckons it.
    Reckoned,
    /// At a pointer (RFC 6901).
    At(&'static str),
    /// At a pointer within each of a list's entries (or an object's values); their sum.
    Sum(&'static str, &'static str),
    /// The same; the largest.
    Largest(&'static str, &'static str),
    /// The number of a list's entries.
    Length(&'static str),
}

const fn count(name: &'static str, label: &'static str) -> Metric {
    Metric { name, label, is_count: true, place: Place::Reckoned }
}

const fn number(name: &'static str, label: &'static str) -> Metric {
    Metric { name, label, is_count: false, place: Place::Reckoned }
}

impl Metric {
    const fn at(self, pointer: &'static str) -> Self {
        Self { place: Place::At(pointer), ..self }
    }

    const fn sum(self, list: &'static str, pointer: &'static str) -> Self {
        Self { place: Place::Sum(list, pointer), ..self }
    }

    const fn largest(self, list: &'static str, pointer: &'static str) -> Self {
        Self { place: Place::Largest(list, pointer), ..self }
    }

    const fn length(self, list: &'static str) -> Self {
        Self { place: Place::Length(list), ..self }
    }

    fn find(&self, summary: &Value) -> Option<f64> {
        let each = |list: &str, pointer: &'static str| {
            let entries = match summary.pointer(list)? {
                Value::Array(entries) => entries.iter().collect::<Vec<_>>(),
                Value::Object(entries) => entries.values().collect(),
                _ => return None,
            };
            let found = entries.into_iter().filter_map(|entry| entry.pointer(pointer)?.as_f64());
            Some(found.collect::<Vec<_>>()).filter(|found| !found.is_empty())
        };
        match self.place {
            Place::Reckoned => None,
            Place::At(pointer) => summary.pointer(pointer)?.as_f64(),
            Place::Sum(list, pointer) => Some(each(list, pointer)?.into_iter().sum()),
            Place::Largest(list, pointer) => each(list, pointer)?.into_iter().reduce(f64::max),
            Place::Length(list) => Some(summary.pointer(list)?.as_array()?.len() as f64),
        }
    }
}

/// Says how a number stands in the printed table.
pub(super) struct Shown {
    pub name: &'static str,
    pub head: &'static str,
    /// Factor before it is printed.
    pub factor: f64,
    pub digits: usize,
    /// Behind the number.
    pub unit: &'static str,
}

const fn shown(name: &'static str, head: &'static str, factor: f64, digits: usize) -> Shown {
    Shown { name, head, factor, digits, unit: "" }
}

/// What is measured of a kind of runs.
pub struct Numbers {
    /// The numbers in the order of their columns; the last is the one that no two runs have alike.
    pub metrics: &'static [Metric],
    pub(super) shown: &'static [Shown],
    /// Those that a chart shows unless asked for another: the first that was measured.
    pub(super) charted: &'static [&'static str],
}

impl std::fmt::Debug for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Numbers").field("metrics", &self.metrics.len()).finish_non_exhaustive()
    }
}

const HOST_SECONDS: Metric = number("host_seconds", "time of this computer, s");

/// What is measured of packet handlers.
pub static OF_HANDLERS: Numbers = Numbers {
    metrics: &[
        count("packets", "packets processed"),
        count("bytes", "bytes processed"),
        number("active_ns", "time from the first arrival to the end, ns"),
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
        HOST_SECONDS,
    ],
    shown: &[
        shown("throughput_gbit_s", "Gbit/s", 1.0, 2),
        shown("packet_rate_mpps", "Mpacket/s", 1.0, 2),
        shown("latency_p50_ns", "p50 ns", 1.0, 0),
        shown("latency_p99_ns", "p99 ns", 1.0, 0),
        Shown { unit: " %", ..shown("hpu_utilisation", "HPUs in use", 100.0, 1) },
    ],
    charted: &["throughput_gbit_s"],
};

/// What is measured of a nanoservice.
pub static OF_NANOSERVICES: Numbers = Numbers {
    metrics: &[
        count("requests", "requests").at("/load/requests"),
        count("answered", "requests answered").at("/load/answered"),
        count("missing", "requests without an answer").at("/load/missing"),
        number("offered_per_s", "requests offered, 1/s").at("/load/offered_per_s"),
        number("answered_per_s", "requests answered, 1/s").at("/load/answered_per_s"),
        number("response_mean_ns", "mean response time, ns").at("/load/response_ns/mean"),
        number("response_p50_ns", "response time of half the requests, ns")
            .at("/load/response_ns/p50"),
        number("response_p99_ns", "response time of 99 % of the requests, ns")
            .at("/load/response_ns/p99"),
        number("response_max_ns", "longest response time, ns").at("/load/response_ns/max"),
        count("messages_in", "messages delivered").at("/messages/in"),
        count("messages_out", "messages sent").at("/messages/out"),
        number("wire_to_wire_mean_ns", "mean wire-to-wire latency, ns").at("/latency_ns/mean"),
        number("wire_to_wire_p99_ns", "wire-to-wire latency of 99 % of the messages, ns")
            .at("/latency_ns/p99"),
        count("trimmed", "packets trimmed").at("/packets/trimmed"),
        count("dropped", "packets dropped").sum("/packets/dropped", ""),
        count("instructions", "instructions").at("/instructions"),
        count("cycles", "cycles").at("/cycles"),
        number("simulated_ns", "simulated time, ns").at("/simulated_ns"),
        HOST_SECONDS,
    ],
    shown: &[
        shown("answered_per_s", "M answers/s", 1e-6, 3),
        shown("response_p50_ns", "p50 ns", 1.0, 1),
        shown("response_p99_ns", "p99 ns", 1.0, 1),
        shown("wire_to_wire_mean_ns", "wire to wire ns", 1.0, 1),
        shown("cycles", "cycles", 1.0, 0),
    ],
    charted: &["response_p99_ns", "wire_to_wire_mean_ns", "cycles"],
};

/// What is measured of a cluster.
pub static OF_CLUSTERS: Numbers = Numbers {
    metrics: &[
        count("nodes", "nodes").length("/nodes"),
        count("requests", "requests of all loads").sum("/loads", "/requests"),
        count("answered", "requests answered").sum("/loads", "/answered"),
        count("missing", "requests without an answer").sum("/loads", "/missing"),
        number("answered_per_s", "requests answered, 1/s").sum("/loads", "/answered_per_s"),
        number("response_mean_ns", "mean response time of the slowest load, ns")
            .largest("/loads", "/response_ns/mean"),
        number("response_p50_ns", "response time of half the slowest load's requests, ns")
            .largest("/loads", "/response_ns/p50"),
        number("response_p99_ns", "response time of 99 % of the slowest load's requests, ns")
            .largest("/loads", "/response_ns/p99"),
        count("messages_in", "messages delivered").sum("/nodes", "/messages_in"),
        count("messages_out", "messages sent").sum("/nodes", "/messages_out"),
        count("cable_frames", "frames on all cables").sum("/network/cables", "/frames"),
        count("cable_dropped", "frames without room before a cable")
            .sum("/network/cables", "/dropped"),
        count("instructions", "instructions").at("/instructions"),
        count("cycles", "cycles").at("/cycles"),
        number("simulated_ns", "simulated time, ns").at("/simulated_ns"),
        HOST_SECONDS,
    ],
    shown: &[
        shown("nodes", "nodes", 1.0, 0),
        shown("answered_per_s", "M answers/s", 1e-6, 3),
        shown("response_p99_ns", "p99 ns", 1.0, 1),
        shown("cycles", "cycles", 1.0, 0),
        shown("simulated_ns", "µs", 1e-3, 2),
    ],
    charted: &["response_p99_ns", "simulated_ns"],
};

/// Holds the numbers of a point, in the order of its [`Numbers`]; `None` where a run gives none (the
/// latency of no packets).
#[derive(Clone, Debug, PartialEq)]
pub struct Measured(pub Vec<Option<f64>>);

impl Measured {
    /// Takes the numbers of a run of handlers; it must have collected them.
    pub fn of_handlers(summary: &Summary, app: &App) -> Self {
        let totals = &summary.section.totals;
        let latency = |pick: fn(&Quantiles) -> f64| summary.latency.as_ref().map(pick);
        let seconds = summary.section.active.ps() as f64 / 1e12;
        let per_second = (seconds > 0.0).then(|| totals.processed as f64 / seconds / 1e6);
        let runs: u64 = summary.section.handlers.iter().map(|row| row.runs).sum();
        let busy_ps: u64 = summary.section.handlers.iter().map(|row| row.busy_ps).sum();
        let cycles = busy_ps as f64 * app.machine.value.clock.frequency_mhz as f64 / 1e6;
        Self(vec![
            Some(totals.processed as f64),
            Some(summary.section.processed_bytes as f64),
            Some(summary.section.active.ns()),
            Some(summary.section.throughput_gbit_s()),
            per_second,
            latency(|quantiles| quantiles.min),
            latency(|quantiles| quantiles.mean),
            latency(|quantiles| quantiles.p50),
            latency(|quantiles| quantiles.p99),
            latency(|quantiles| quantiles.max),
            (runs > 0).then(|| cycles / runs as f64),
            Some(totals.instructions as f64),
            Some(summary.section.ipc()),
            Some(summary.section.hpu_utilisation()),
            Some(summary.section.dropped() as f64),
            Some(totals.faults as f64),
            Some(summary.host.as_secs_f64()),
        ])
    }

    /// Takes the numbers of a run of a nanoservice or a cluster out of its JSON summary.
    pub fn of_summary(numbers: &Numbers, summary: &Value, host_seconds: f64) -> Self {
        let find = |metric: &Metric| match metric.name {
            name if name == HOST_SECONDS.name => Some(host_seconds),
            _ => metric.find(summary),
        };
        Self(numbers.metrics.iter().map(find).collect())
    }

    /// Gives a number by its name.
    pub fn get(&self, numbers: &Numbers, name: &str) -> Option<f64> {
        let place = numbers.metrics.iter().position(|metric| metric.name == name)?;
        self.0[place]
    }

    /// Gives the same without the time of the host, which is never the same.
    #[must_use]
    pub fn without_host_time(mut self) -> Self {
        if let Some(last) = self.0.last_mut() {
            *last = None;
        }
        self
    }

    /// Gives the numbers for the journal.
    pub(super) fn to_json(&self, numbers: &Numbers) -> Value {
        let entry =
            |(metric, value): (&Metric, &Option<f64>)| (metric.name.to_owned(), (*value).into());
        Value::Object(numbers.metrics.iter().zip(&self.0).map(entry).collect::<Map<_, _>>())
    }

    /// Reads what [`Measured::to_json`] wrote; `None` when a number is missing.
    pub(super) fn from_json(numbers: &Numbers, value: &Value) -> Option<Self> {
        let find = |metric: &Metric| match value.get(metric.name)? {
            Value::Null => Some(None),
            value => Some(Some(value.as_f64()?)),
        };
        numbers.metrics.iter().map(find).collect::<Option<_>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_where_a_summary_has_them() {
        let summary = serde_json::json!({
            "loads": [{ "requests": 3, "response_ns": { "p99": 7.5 } }, { "requests": 4 }],
            "nodes": [{ "messages_in": 1 }, { "messages_in": 2 }, {}],
            "cycles": 9,
        });
        let measured = Measured::of_summary(&OF_CLUSTERS, &summary, 0.5);
        let get = |name| measured.get(&OF_CLUSTERS, name);
        assert_eq!((get("nodes"), get("requests")), (Some(3.0), Some(7.0)));
        assert_eq!((get("response_p99_ns"), get("messages_in")), (Some(7.5), Some(3.0)));
        assert_eq!((get("cycles"), get("instructions")), (Some(9.0), None));
        assert_eq!(get("host_seconds"), Some(0.5));
        let kept = measured.to_json(&OF_CLUSTERS);
        assert_eq!(Measured::from_json(&OF_CLUSTERS, &kept), Some(measured));
        assert_eq!(Measured::from_json(&OF_NANOSERVICES, &kept), None);
    }

    #[test]
    fn every_number_of_nodes_is_looked_for_somewhere() {
        for numbers in [&OF_NANOSERVICES, &OF_CLUSTERS] {
            let (_, found) = numbers.metrics.split_last().unwrap();
            let nowhere = found.iter().find(|metric| metric.place == Place::Reckoned);
            assert_eq!(nowhere, None);
        }
    }

    #[test]
    fn what_is_shown_is_measured() {
        for numbers in [&OF_HANDLERS, &OF_NANOSERVICES, &OF_CLUSTERS] {
            let has = |name: &str| numbers.metrics.iter().any(|metric| metric.name == name);
            assert!(numbers.shown.iter().all(|shown| has(shown.name)));
            assert!(numbers.charted.iter().all(|name| has(name)));
            assert_eq!(numbers.metrics.last(), Some(&HOST_SECONDS));
        }
    }
}
