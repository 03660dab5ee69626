//! A figure's chart. In: what the file says about axes, the rows, the published values. Out: an SVG
//! with a title, both axes with units, a legend, and marks where something was published.
//!
//! The drawing is plotters'; what is chosen here is the look: thin grey grid, colours that people
//! with colour-blindness tell apart (Okabe and Ito's), a marker of its own for each curve.

mod axis;
mod bars;
mod frame;
mod lines;

use serde::Deserialize;

use super::{Comparison, Definition, Table};
use crate::error::{Error, Result};
pub use axis::{Axis, Scale};

/// Says what a chart shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Says how.
    pub kind: Kind,
    /// Is the axis across; of bars, the column that names the groups.
    pub x: Axis,
    /// Is the axis upwards.
    pub y: Axis,
    /// Is the column whose texts name the curves, or the bars in a group.
    pub series: String,
}

/// Says how a chart shows numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A curve for each name.
    Lines,
    /// Groups of bars.
    Bars,
}

/// Draws a chart.
///
/// # Errors
/// When the file names a column that the rows do not have.
pub fn draw(definition: &Definition, table: &Table, comparisons: &[Comparison]) -> Result<String> {
    let chart = &definition.chart;
    for name in [&chart.x.column, &chart.y.column, &chart.series] {
        if table.column(name).is_none() {
            let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            return Err(Error::Usage(format!(
                "the chart of `{}` is to show `{name}`, but the columns are {}",
                definition.title,
                names.join(", ")
            )));
        }
    }
    let mut svg = String::new();
    let drawn = match chart.kind {
        Kind::Lines => lines::draw(&mut svg, definition, table, comparisons),
        Kind::Bars => bars::draw(&mut svg, definition, table, comparisons),
    };
    drawn.map_err(|problem| Error::part("cannot draw the chart", problem))?;
    Ok(svg)
}
