//! Published figures and tables, made again. In: a [`Figure`], its file `figures/NAME.toml`, a seed.
//! Out: a table of rows, a chart, and the published values beside ours.
//!
//! Most figures are nothing but their file, `figures/NAME.toml`, which one engine ([`engine`]) makes:
//! the parameters with their sources, the series and axes whose product are the points, what runs at
//! each, the columns as formulas of what the run measured, what the charts show, the published values,
//! how ours are read off the rows ([`Expression`]), and why they differ where they do.
//!
//! Some are a file and code. The code knows what a file cannot say: runs that search for something, or
//! consist of several; its module tells which ([`Figure::points`], [`Figure::run`]).
//!
//! Points are independent of each other and run on all cores; their seeds come from the request's
//! seed and the point alone, so the number of threads changes nothing.

mod catalogue;
pub mod engine;
pub mod fpspin;
mod kinds;
mod markdown;
pub mod nanopu;
mod produce;
pub mod pspin;

#[cfg(test)]
mod tests;

pub use catalogue::{figures, find, select};
pub use markdown::to_markdown;
pub use pinion_observe::plot::{
    Cell, Column, ColumnSpec, Comparison, Definition, Drawn, Expression, Parameter, Parameters,
    Published, Row, TOLERANCE, Table, Verdict, chart, compare, comparison_rows, reasons,
};
pub use produce::{Observer, Produced, Request, Unobserved, count_points, produce, produce_with};

use std::collections::BTreeMap;
use std::path::Path;

use pinion_app::error::Result;
use pinion_observe::document::Document;

/// A published figure or table that can be made again.
pub trait Figure: Sync {
    /// Names it: `figures/NAME.toml`, `NAME.csv`, `NAME.svg`.
    fn name(&self) -> &str;

    /// Loads its file.
    ///
    /// # Errors
    /// When there is none, it is wrong, or an override does not fit.
    fn definition(&self, overrides: &[String]) -> Result<Definition> {
        Definition::load(self.name(), overrides)
    }

    /// Tells whether it can be made on another machine than its own.
    fn takes_machine(&self, _: &Definition) -> bool {
        false
    }

    /// Names what each row holds.
    fn columns(&self, definition: &Definition) -> Vec<Column>;

    /// Lists the runs it takes.
    ///
    /// # Errors
    /// When a parameter is missing or of the wrong kind.
    fn points(&self, definition: &Definition, parameters: &Parameters) -> Result<Vec<Point>>;

    /// Does one run and gives its rows.
    ///
    /// # Errors
    /// When the run cannot be done.
    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>>;
}

/// One run of a figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Name of the run for people: `JBSQ, gap 900`.
    pub label: String,
    /// Name of the curve it belongs to.
    pub curve: String,
    /// What varies along the curve.
    pub x: f64,
    /// Chooses the random numbers: points with the same stream get the same traffic, so that curves
    /// differ by what they compare only.
    pub stream: u64,
    /// The values of the axes, where the figure is nothing but a file.
    pub values: BTreeMap<String, Parameter>,
    /// What the run is told there.
    pub with: BTreeMap<String, Parameter>,
    /// The place of its series in the file.
    pub series: usize,
    /// Whether it is the first of its series (of each of the axes' values around it).
    pub is_first: bool,
}

/// What all runs of a figure share, and a point's seed.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The figure's file.
    pub definition: &'a Definition,
    /// The file's parameters, overrides applied.
    pub parameters: &'a Parameters,
    /// Changes numbers of the machine, as `--set` does elsewhere.
    pub machine: &'a [String],
    /// Name of the machine instead of the figure's own, where it takes another.
    pub machine_name: Option<&'a str>,
    /// Name of the folder for programs, instead of the user's cache.
    pub build_dir: Option<&'a Path>,
    /// Seeds this run.
    pub seed: u64,
}

/// Gives everything that was produced as a document.
pub fn to_json(produced: &Produced) -> serde_json::Value {
    let Produced { name, definition, table, comparisons, .. } = produced;
    let columns = table
        .columns
        .iter()
        .map(|column| serde_json::json!({ "name": column.name, "unit": column.unit }));
    serde_json::json!({
        "document": Document::Figure.head(),
        "figure": name,
        "title": definition.title,
        "source": definition.source,
        "seed": produced.seed,
        "quick": produced.quick,
        "columns": columns.collect::<Vec<_>>(),
        "rows": table.to_json(),
        "published": comparisons,
    })
}

/// Makes one document of several figures'.
pub fn together(figures: &[serde_json::Value]) -> serde_json::Value {
    serde_json::json!({ "document": Document::Figures.head(), "figures": figures })
}
