//! What became of loads: JSON, and why one sent nothing.

use pinion_net::load::{Latencies, LoadReport, LoadSpec};
use pinion_sim::Clock;
use serde_json::{Value, json};

use crate::words::count;

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

/// Says why a load sent nothing in a run that ended in a cycle.
pub fn why_idle(spec: &LoadSpec, ended: u64) -> String {
    match spec.startup_messages {
        _ if spec.requests == 0 => "it has no requests".to_owned(),
        0 => format!(
            "it begins in cycle {} (start_delay), and the run ended in cycle {}",
            count(spec.start_delay_cycles),
            count(ended)
        ),
        1 => "it waits for the message with which its node says that it is ready (startup=1), \
              which has not come"
            .to_owned(),
        messages => format!(
            "it waits for {messages} messages with which its nodes say that they are ready \
             (startup={messages}), which have not all come"
        ),
    }
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
