//! What became of loads, for programs' eyes: JSON.

use pinion_net::load::{Latencies, LoadReport};
use pinion_sim::Clock;
use serde_json::{Value, json};

/// How sure the intervals of quantiles are.
pub const CONFIDENCE: f64 = 0.95;

/// Gives a load's report as JSON, times in nanoseconds of `clock`.
pub fn to_json(load: &LoadReport, clock: Clock) -> Value {
    json!({
        "requests": load.sent,
        "answered": load.answered,
        "missing": load.missing,
        "repeated": load.repeated,
        "unexpected": load.unexpected,
        "sent_again": {
            "packets": load.resent.packets,
            "nacks": load.resent.nacks,
            "timeouts": load.resent.timeouts,
        },
        "offered_per_s": load.offered_per_s(clock),
        "answered_per_s": load.answered_per_s(clock),
        "response_ns": latencies(&load.all, clock),
        "by_context": by(&load.by_context, clock),
        "by_node": by(&load.by_node, clock),
        "by_mode": by(&load.by_mode, clock),
    })
}

fn by<K: std::fmt::Display>(
    parts: &std::collections::BTreeMap<K, Latencies>,
    clock: Clock,
) -> Value {
    if parts.len() < 2 {
        return Value::Null;
    }
    let part = |(key, of): (&K, &Latencies)| (key.to_string(), latencies(of, clock));
    Value::Object(parts.iter().map(part).collect())
}

fn latencies(latencies: &Latencies, clock: Clock) -> Value {
    let Some(summary) = latencies.summary(clock) else { return Value::Null };
    let ns = |cycles: Option<f64>| cycles.map(|cycles| cycles * clock.period_ps() / 1000.0);
    let p99 = latencies.quantile_interval(0.99, CONFIDENCE);
    json!({
        "count": summary.count,
        "min": summary.min_ns,
        "mean": summary.mean_ns,
        "p50": summary.p50_ns,
        "p90": summary.p90_ns,
        "p99": summary.p99_ns,
        "p99_low": ns(p99.low),
        "p99_high": ns(p99.high),
        "p99.9": summary.p999_ns,
        "max": summary.max_ns,
    })
}
