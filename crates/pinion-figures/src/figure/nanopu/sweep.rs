//! What the figures of response times under load share: their columns, a row of a report, the load
//! of the published evaluation, and questions to the rows.

use std::collections::BTreeSet;

use pinion_net::load::{Arrivals, Distribution, Latencies, LoadReport, LoadSpec, Timing};
use pinion_sim::Clock;

use crate::figure::{Cell, Column, Parameters, Row, Setting, Table};
use pinion_app::error::Result;

/// Is the share of the offered requests that must be answered in time for a load to be sustained.
const SUSTAINED: f64 = 0.99;

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

/// Tells the highest load, in percent, of a run whose curves answered it all: no request missing, and
/// answers as fast as requests.
pub(super) fn sustained_percent(table: &Table, curves: &[&str]) -> Option<f64> {
    let rows = || curves.iter().flat_map(|curve| table.rows_with("curve", curve));
    let bits = |row: &Row, column: &str| table.number(row, column).map(f64::to_bits);
    let keeps_up = |row: &Row| {
        let answered = table.number(row, "answered").zip(table.number(row, "offered"));
        table.number(row, "missing") == Some(0.0)
            && answered.is_some_and(|(answered, offered)| answered >= SUSTAINED * offered)
    };
    let failing: BTreeSet<Option<u64>> =
        rows().filter(|row| !keeps_up(row)).map(|row| bits(row, "gap")).collect();
    rows()
        .filter(|row| !failing.contains(&bits(row, "gap")))
        .filter_map(|row| table.number(row, "load"))
        .max_by(f64::total_cmp)
}

/// Gives the ratio of two curves' 99 % tails at the largest gap that both have: at low load.
pub(super) fn ratio_at_low_load(table: &Table, over: &str, under: &str) -> Option<f64> {
    let (over, under) = (tails(table, over), tails(table, under));
    let shared = over.iter().filter_map(|(gap, tail)| {
        let other = under.iter().find(|(other, _)| other == gap)?;
        Some((*gap, tail / other.1))
    });
    shared.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, ratio)| ratio)
}

/// Gives the ratio of two curves' 99 % tails at the run whose load is nearest to `percent`.
pub(super) fn ratio_at_load(table: &Table, over: &str, under: &str, percent: f64) -> Option<f64> {
    let at = |curve: &str| {
        let points = table.curve("curve", curve, "load", "p99");
        let near = |point: &(f64, f64)| (point.0 - percent).abs();
        points.into_iter().min_by(|a, b| near(a).total_cmp(&near(b))).map(|(_, tail)| tail)
    };
    Some(at(over)? / at(under)?)
}

fn tails(table: &Table, curve: &str) -> Vec<(f64, f64)> {
    table.curve("curve", curve, "gap", "p99")
}
