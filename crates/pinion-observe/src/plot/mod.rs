//! Results to look at. In: rows, and what a file says about them. Out: CSV, an SVG, and published
//! values beside ours.

pub mod chart;
mod compare;
mod definition;
mod experiment;
mod expression;
mod flame;
mod panels;
mod picture;
mod reason;
mod table;
mod waterfall;

pub use compare::{Comparison, TOLERANCE, Verdict, compare, comparison_rows, reasons};
pub use definition::{Definition, Drawn, Parameter, Parameters, Published, split_overrides};
pub use experiment::{AxisSpec, BesideSpec, ColumnSpec, RowSpec, RunSpec, SeriesSpec};
pub use expression::Expression;
pub use flame::{Frame, flame_graph};
pub use panels::{Panel, panels};
pub use reason::Reason;
pub use table::{Cell, Column, Row, Table};
pub use waterfall::{Bar, waterfall};
