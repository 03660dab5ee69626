//! A figure's chart. In: what the file says about axes, the rows, the published values. Out: an SVG
//! with a title, both axes with units, a legend, and marks where something was published.
//!
//! The drawing is plotters'; what is chosen here is the look: thin grey grid, colours that people
//! with colour-blindness tell apart (Okabe and Ito's), a marker of its own for each curve.

mod axis;
mod bars;
pub(super) mod frame;
mod lines;
mod stacked;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Comparison, Definition, Published, Table};
use crate::plot::picture::picture;
pub use axis::{Axis, Scale};
use pinion_app::error::{Error, Result};

/// Says what a chart shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Says how.
    pub kind: Kind,
    /// The axis across; of bars, the column that names the groups.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The column whose texts name the curves, or the bars in a group.
    pub series: String,
    /// The texts that are shown, in this order; all, where it is empty.
    #[serde(default)]
    pub only: Vec<String>,
    /// How some curves look, by their names.
    #[serde(default)]
    pub styles: BTreeMap<String, Style>,
    /// Names for some curves those of the rows between which each lies with some probability: a band
    /// in its colour.
    #[serde(default)]
    pub bands: BTreeMap<String, [String; 2]>,
    /// What numbers cannot pass: lines across, with their names.
    #[serde(default)]
    pub limits: Vec<Limit>,
}

/// A limit of what a chart shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The number (`value` would make the table a leaf with its origin).
    pub at: f64,
    /// Names it.
    pub name: String,
}

/// Says how a curve looks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Style {
    /// Name of the curve whose colour it has.
    pub like: Option<String>,
    /// How its line is drawn.
    #[serde(default)]
    pub line: Line,
}

/// Says how a line is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// Whole, with a marker at each point.
    #[default]
    Whole,
    /// In dashes, with a marker at each point.
    Dashed,
    /// Thin, without markers: what is computed and not run.
    Thin,
    /// Thin, in dashes, without markers: what nothing can pass.
    Limit,
    /// Only markers.
    Points,
    /// Rings, as all published points have them.
    Published,
}

/// A second chart of the same rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Further {
    /// Names it: `FIGURE-NAME.svg`.
    pub name: String,
    /// Tells in one line what it shows.
    pub title: String,
    /// What it shows.
    pub chart: Chart,
}

/// Says how a chart shows numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A curve for each name.
    Lines,
    /// Groups of bars.
    Bars,
    /// A bar for each group, its parts above each other.
    Stacked,
}

/// Everything that one chart shows.
struct Sheet<'a> {
    title: &'a str,
    source: &'a str,
    chart: &'a Chart,
    table: &'a Table,
    /// Published values that this chart shows, with their comparisons.
    published: Vec<(&'a Published, &'a Comparison)>,
}

impl Sheet<'_> {
    /// Names the curves or bars in order.
    fn series(&self) -> Vec<String> {
        if self.chart.only.is_empty() {
            let is_edge = |name: &String| self.chart.bands.values().flatten().any(|n| n == name);
            let mut names = self.table.names(&self.chart.series);
            names.retain(|name| !is_edge(name));
            return names;
        }
        self.chart.only.clone()
    }
}

/// Draws a figure's first chart.
///
/// # Errors
/// When the file names a column that the rows do not have.
pub fn draw(definition: &Definition, table: &Table, comparisons: &[Comparison]) -> Result<String> {
    draw_one(definition, None, table, comparisons)
}

/// Draws a figure's further charts; gives their names and the charts.
///
/// # Errors
/// When the file names a column that the rows do not have.
pub fn draw_further(
    definition: &Definition,
    table: &Table,
    comparisons: &[Comparison],
) -> Result<Vec<(String, String)>> {
    let drawn = definition.further.iter().map(|further| {
        let svg = draw_one(definition, Some(further), table, comparisons)?;
        Ok((further.name.clone(), svg))
    });
    drawn.collect()
}

fn draw_one(
    definition: &Definition,
    further: Option<&Further>,
    table: &Table,
    comparisons: &[Comparison],
) -> Result<String> {
    let chart = further.map_or(&definition.chart, |further| &further.chart);
    let title = further.map_or(&definition.title, |further| &further.title);
    for name in [&chart.x.column, &chart.y.column, &chart.series] {
        if table.column(name).is_none() {
            let names: Vec<&str> =
                table.columns.iter().map(|column| column.name.as_ref()).collect();
            return Err(Error::Usage(format!(
                "the chart of `{title}` is to show `{name}`, but the columns are {}",
                names.join(", ")
            )));
        }
    }
    let here = |published: &Published| {
        let named = published.drawn.as_ref().and_then(|drawn| drawn.chart.as_deref());
        named == further.map(|further| further.name.as_str())
    };
    let published = definition.published.iter().zip(comparisons).filter(|(one, _)| here(one));
    let sheet =
        Sheet { title, source: &definition.source, chart, table, published: published.collect() };
    picture(|svg| match chart.kind {
        Kind::Lines => lines::draw(svg, &sheet),
        Kind::Bars => bars::draw(svg, &sheet),
        Kind::Stacked => stacked::draw(svg, &sheet),
    })
}
