//! The metrics of a set's summary, computed from what was seen: by their names alone, the same for
//! the hardware and for ours.
//!
//! Each family takes a metric's name and answers `None` if the name is not one of its own,
//! `Some(None)` if it is but there is nothing to compute it from.

mod applications;
mod board;
mod classes;
mod echo;
pub use echo::COLD_MESSAGES;
pub mod messages;
mod packets;
mod rates;
mod service;

use super::observation::Observation;
use super::set::{CoreTiming, Scenario, ScriptFrame, Switch};

/// What a family says about a metric.
pub type Answer = Option<Option<f64>>;

/// Holds what metrics are computed from.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// What was run.
    pub scenario: &'a Scenario,
    /// The frames to inject.
    pub script: &'a [ScriptFrame],
    /// What was seen.
    pub seen: &'a Observation,
    /// The thread switches that were seen.
    pub switches: &'a [Switch],
    /// Name of the tests of the program, if it is made of tests.
    pub tests: &'a [CoreTiming],
}

impl View<'_> {
    /// Gives the program's name without its suffix.
    pub fn program(&self) -> &str {
        self.scenario.elf.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }
}

/// Computes a metric that is a number.
pub fn number(view: &View<'_>, metric: &str) -> Answer {
    echo::number(view, metric)
        .or_else(|| rates::number(view, metric))
        .or_else(|| packets::number(view, metric))
        .or_else(|| service::number(view, metric))
        .or_else(|| classes::number(view, metric))
        .or_else(|| applications::number(view, metric))
}

/// Computes a metric that is an order.
pub fn order(view: &View<'_>, metric: &str) -> Option<Vec<u64>> {
    (metric == "order_of_replies").then(|| service::order(view))
}

/// Reduces numbers as the end of a metric's name says: `min`, `median`, `max`.
fn reduce(name: &str, values: &[f64]) -> Option<f64> {
    match name {
        "min" => values.iter().copied().reduce(f64::min),
        "max" => values.iter().copied().reduce(f64::max),
        "median" => median(values),
        _ => None,
    }
}

/// Gives the median; of an even count, the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[half]),
        _ => Some((values[half - 1] + values[half]) / 2.0),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.iter().sum::<f64>() / count as f64)
}

/// Gives the differences of successive cycles.
fn periods(cycles: impl Iterator<Item = i64>) -> Vec<f64> {
    let cycles: Vec<i64> = cycles.collect();
    cycles.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
}

fn truth(holds: bool) -> Answer {
    Some(Some(f64::from(u8::from(holds))))
}

fn count(items: usize) -> Answer {
    Some(Some(items as f64))
}
