//! A sweep's chart. In: an outcome, and which key goes across and which number upwards. Out: an
//! SVG, drawn as the figures are. Seeds are repetitions: a point of a curve is the mean over them.

use std::fmt::Write as _;

use super::grid::{self, SEED};
use super::{Axis, Metric, Numbers, Outcome, Row};
use pinion_app::error::{Error, Result};
use pinion_observe::plot::{Cell, Column, Definition, Table, chart};

/// The span over which sizes are spread by their logarithms.
const LOG_SPAN: f64 = 8.0;

/// Limits the values that stand at ticks of their own.
const MOST_TICKS: usize = 12;
/// Limits the curves: the legend has room for no more.
const MOST_CURVES: usize = 18;

/// Chooses what a chart shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Name of the key across; the numeric one with the most values, unless given.
    pub x: Option<String>,
    /// Names the number upwards, or the beginning of its name; that of the kind of runs (the throughput
    /// of handlers), unless given.
    pub y: Option<String>,
}

impl Choice {
    /// Checks that there is what it names.
    ///
    /// # Errors
    /// When there is not; tells what there is.
    pub fn check(&self, numbers: &Numbers, axes: &[Axis]) -> Result<()> {
        self.metric(numbers, &[])?;
        self.across(axes).map(|_| ())
    }

    fn metric(&self, numbers: &Numbers, rows: &[Row]) -> Result<&'static Metric> {
        let metrics = numbers.metrics;
        let is_there = |name: &&str| {
            rows.iter()
                .any(|row| row.measured.as_ref().is_some_and(|m| m.get(numbers, name).is_some()))
        };
        let measured = numbers.charted.iter().copied().find(is_there);
        let name = self.y.as_deref().unwrap_or(measured.unwrap_or(numbers.charted[0]));
        let whole = metrics.iter().find(|metric| metric.name == name);
        let mut begun = metrics.iter().filter(|metric| metric.name.starts_with(name));
        match (whole, begun.next(), begun.next()) {
            (Some(metric), _, _) | (None, Some(metric), None) => Ok(metric),
            _ => Err(Error::Usage(format!(
                "--y {name} names none of the numbers, which are {}",
                metrics.iter().map(|metric| metric.name).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// Finds the axis across; `None` when nothing varies.
    fn across(&self, axes: &[Axis]) -> Result<Option<usize>> {
        if let Some(name) = &self.x {
            let found = axes.iter().position(|axis| axis.key == *name);
            return found.map(Some).ok_or_else(|| {
                let keys: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
                Error::Usage(format!("--x {name} is not swept; the keys are {}", keys.join(", ")))
            });
        }
        let most = |fits: &dyn Fn(&Axis) -> bool| {
            let varying = axes.iter().enumerate().filter(|(_, axis)| axis.values.len() > 1);
            // Of several with as many values the first.
            let fitting = varying.rev().filter(|(_, axis)| fits(axis));
            fitting.max_by_key(|(_, axis)| axis.values.len()).map(|(place, _)| place)
        };
        let is_seed = |axis: &Axis| axis.key == SEED;
        Ok(most(&|axis| !is_seed(axis) && axis.numbers().is_some())
            .or_else(|| most(&|axis| !is_seed(axis)))
            .or_else(|| most(&|_| true)))
    }
}

/// Draws a sweep; gives nothing where nothing varies.
///
/// # Errors
/// When the choice names what there is not.
pub fn plot(outcome: &Outcome, choice: &Choice) -> Result<Option<String>> {
    let metric = choice.metric(outcome.numbers, &outcome.rows)?;
    let Some(across) = choice.across(&outcome.axes)? else { return Ok(None) };
    let table = table(outcome, across, metric);
    let definition = Definition::read("sweep", &definition(outcome, across, metric), &[])?;
    chart::draw(&definition, &table, &[]).map(Some)
}

/// Makes the rows of the chart: what names the curve, what stands across, the mean upwards.
fn table(outcome: &Outcome, across: usize, metric: &Metric) -> Table {
    let number = |row: &Row| grid::number(&row.values[across]);
    let is_numeric = outcome.axes[across].numbers().is_some();
    let names = curves(outcome, across);
    let mut rows = Vec::new();
    for name in names.iter().take(MOST_CURVES) {
        let own = outcome.rows.iter().filter(|row| curve(outcome, across, row) == *name);
        let mut places: Vec<Vec<&Row>> = Vec::new();
        for row in own {
            let place = places.iter_mut().find(|rows| rows[0].values[across] == row.values[across]);
            match place {
                Some(rows) => rows.push(row),
                None => places.push(vec![row]),
            }
        }
        if is_numeric {
            let key = |rows: &Vec<&Row>| number(rows[0]).unwrap_or(0.0);
            places.sort_by(|a, b| key(a).total_cmp(&key(b)));
        }
        rows.extend(places.into_iter().map(|rows| {
            let values: Vec<f64> = rows
                .iter()
                .filter_map(|row| row.measured.as_ref()?.get(outcome.numbers, metric.name))
                .collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let x = match number(rows[0]).filter(|_| is_numeric) {
                Some(number) => Cell::from(number),
                None => Cell::from(rows[0].values[across].as_str()),
            };
            vec![name.as_str().into(), x, mean.into()]
        }));
    }
    let x = if is_numeric { Column::number("x", "", 0) } else { Column::text("x") };
    Table { columns: vec![Column::text("curve"), x, Column::number("y", "", 3)], rows }
}

/// Lists the curves' names in the grid's order.
fn curves(outcome: &Outcome, across: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in &outcome.rows {
        let name = curve(outcome, across, row);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Names the curve of a row: by the other keys that vary.
fn curve(outcome: &Outcome, across: usize, row: &Row) -> String {
    let others: Vec<_> = outcome
        .axes
        .iter()
        .zip(&row.values)
        .enumerate()
        .filter(|(place, (axis, _))| *place != across && axis.values.len() > 1 && axis.key != SEED)
        .map(|(_, pair)| pair)
        .collect();
    let end = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let ends: Vec<String> = others.iter().map(|(axis, _)| end(&axis.key)).collect();
    // `count` is as good as `cluster.count` where no other key ends so.
    let name = |place: usize| {
        let is_alone = ends.iter().filter(|other| **other == ends[place]).count() == 1;
        if is_alone && others.len() > 1 { ends[place].as_str() } else { &others[place].0.key }
    };
    let parts = (0..others.len()).map(|place| format!("{} {}", name(place), others[place].1));
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { outcome.app.clone() } else { parts.join(", ") }
}

/// Writes the chart's description, as a figure's file has it.
fn definition(outcome: &Outcome, across: usize, metric: &Metric) -> String {
    let axis = &outcome.axes[across];
    let numbers = axis.numbers();
    let is_wide = numbers.as_ref().is_some_and(|numbers| {
        let (low, high) = numbers
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), n| (low.min(*n), high.max(*n)));
        low > 0.0 && high / low >= LOG_SPAN && numbers.len() > 2
    });
    let mut fixed = vec![format!("machine {}", outcome.machine)];
    for axis in &outcome.axes {
        match axis.values.as_slice() {
            [value] => fixed.push(format!("{}={value}", axis.key)),
            values if axis.key == SEED && axis.key != outcome.axes[across].key => {
                fixed.push(format!("mean of {} seeds", values.len()));
            }
            _ => {}
        }
    }
    let all = curves(outcome, across).len();
    if all > MOST_CURVES {
        fixed.push(format!("the first {MOST_CURVES} of {all} curves"));
    }
    let ticks = numbers.as_ref().filter(|numbers| is_wide && numbers.len() <= MOST_TICKS);
    let ticks = ticks.cloned().unwrap_or_default();
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = String::new();
    let kind = if numbers.is_some() { "lines" } else { "bars" };
    let scale = if is_wide { "log" } else { "linear" };
    let _ = write!(
        text,
        "title = {}\nsource = {}\nmethod = \"\"\n[chart]\nkind = \"{kind}\"\nseries = \"curve\"\n\
         x = {{ column = \"x\", label = {}, scale = \"{scale}\", ticks = {ticks:?} }}\n\
         y = {{ column = \"y\", label = {} }}\n",
        quoted(&format!("{}: {}", outcome.app, metric.label)),
        quoted(&fixed.join(", ")),
        quoted(&axis.key),
        quoted(metric.label),
    );
    text
}
