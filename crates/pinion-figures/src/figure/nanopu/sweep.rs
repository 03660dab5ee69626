//! What the figures of response times under load share: their columns, a row of a report, the load
//! of the published evaluation, and questions to the rows.

use pinion_net::load::{Arrivals, Distribution, Latencies, LoadReport, LoadSpec, Timing};
use pinion_sim::Clock;

use crate::figure::{Cell, Column, Parameters, Row, Setting};
use pinion_app::error::Result;

/// Names the columns.
pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::text("curve"),
        Column::number("gap", "cycles", 0),
        Column::number("load", "%", 1),
        Column::number("offered", "M/s", 3),
        Column::number("answered", "M/s", 3),
        Column::number("p99", "µs", 3),
        Column::number("p50", "µs", 3),
        Column::number("mean", "µs", 3),
        Column::number("requests", "", 0),
        Column::number("missing", "", 0),
        Column::number("p99_low", "µs", 3),
        Column::number("p99_high", "µs", 3),
    ]
}

/// Gives the row of a curve: the response times are those in `latencies`, the rates those of the
/// whole run. The load is that of the gaps that really were, as the published evaluation computes it.
pub(super) fn row(
    curve: &str,
    gap: f64,
    report: &LoadReport,
    latencies: &Latencies,
    clock: Clock,
    capacity_per_s: f64,
) -> Row {
    let us = |cycles: Option<f64>| cycles.map(|cycles| cycles * clock.period_ps() / 1e6);
    let million = |rate: Option<f64>| rate.map(|rate| rate / 1e6);
    let offered = report.offered_per_s(clock);
    // The interval in which the 99th percentile lies, as sure as `CONFIDENCE` says.
    let interval = latencies.quantile_interval(0.99, pinion_observe::load::CONFIDENCE);
    vec![
        curve.into(),
        gap.into(),
        offered.map(|offered| offered / capacity_per_s * 100.0).into(),
        million(offered).into(),
        million(report.answered_per_s(clock)).into(),
        us(latencies.quantile_with_missing(0.99)).into(),
        us(latencies.quantile_with_missing(0.5)).into(),
        us(latencies.mean_cycles()).into(),
        Cell::from(latencies.count() + latencies.missing()),
        Cell::from(latencies.missing()),
        us(interval.low).into(),
        us(interval.high).into(),
    ]
}

/// Makes the load of a point out of the figure's parameters.
pub(super) fn load(
    parameters: &Parameters,
    setting: &Setting<'_>,
    gap_cycles: f64,
    service: Distribution,
) -> Result<LoadSpec> {
    let requests = parameters.whole("requests")?;
    let timing = match parameters.whole("window_cycles")? {
        0 => Timing::Exact,
        window_cycles => Timing::Windowed { window_cycles },
    };
    let gap = Distribution::Exponential { mean_cycles: gap_cycles };
    // The published evaluation waits as long as twice all requests take, one after the other.
    let patience = 2.0 * requests as f64 * service.mean_cycles();
    Ok(LoadSpec {
        seed: setting.seed,
        requests,
        arrivals: Arrivals::Open { gap, timing },
        patience_cycles: (patience as u64).max(1_000_000),
        service,
        ..LoadSpec::default()
    })
}
