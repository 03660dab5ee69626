//! What runs for a figure, as its file says. In: `[run]`, `[[series]]` and `[[columns]]`. Out: the same,
//! typed; the figures' engine makes runs and rows of it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Expression, Parameter};

/// What all points of a figure run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// What kind of run it is.
    pub kind: String,
    /// The axes that vary slowest, around the series.
    #[serde(default)]
    pub axes: Vec<AxisSpec>,
    /// A formula of axes and parameters; points where it is not above 0 are left out.
    pub only: Option<Expression>,
    /// The axis by whose numbers points go in order, instead of series by series.
    pub order: Option<String>,
    /// Chooses the random numbers: points with the same one get the same traffic.
    pub stream: Option<String>,
    /// What the kind of run is told.
    #[serde(default)]
    pub with: BTreeMap<String, Parameter>,
}

/// A series of points: the product of its axes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesSpec {
    /// Its name; `{axis}` stands for the axis' value.
    pub name: String,
    /// Its axes, the slowest first.
    #[serde(default)]
    pub axes: Vec<AxisSpec>,
    /// What kind of run its points are, if not the figure's, whose `with` they are not told then.
    pub kind: Option<String>,
    /// What its runs are told beyond the figure's.
    #[serde(default)]
    pub with: BTreeMap<String, Parameter>,
    /// The rows of each of its records, if not one as the columns say.
    #[serde(default)]
    pub rows: Vec<RowSpec>,
}

/// A row of a record: what is other in it than the columns say.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct RowSpec {
    /// It stands behind the series' first record alone.
    #[serde(default)]
    pub once: bool,
    /// It stands only where this, which is given beside an axis, has a number.
    pub needs: Option<String>,
    /// The formula or the text of a column, by its name; an empty formula leaves the place empty.
    #[serde(flatten)]
    pub cells: BTreeMap<String, String>,
}

/// What varies, and over what: one of `over`, `words` and `of`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisSpec {
    /// Its name, which `{…}` names elsewhere.
    pub name: String,
    /// The parameters with its numbers; `{axis}` in one stands for a slower axis' value.
    pub over: Option<OneOrMany>,
    /// The parameter with its words.
    pub words: Option<String>,
    /// Its words or numbers themselves.
    #[serde(default)]
    pub of: Vec<Parameter>,
    /// What is added to each number.
    #[serde(default)]
    pub plus: f64,
    /// What numbers must be multiples of, from it on.
    pub step: Option<f64>,
    /// The largest number that can be.
    pub most: Option<f64>,
    /// What else there is at some of its numbers, such as what was published, by name.
    #[serde(default)]
    pub beside: BTreeMap<String, BesideSpec>,
}

/// Numbers that belong to places along an axis; `{axis}` in a name stands for an axis' value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BesideSpec {
    /// The parameter with the numbers.
    pub values: String,
    /// The parameter with the places, as many.
    pub at: String,
}

/// A name, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// Gives the names.
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names,
        }
    }
}

/// What a place in every row holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// Decimals that are shown.
    #[serde(default)]
    pub decimals: usize,
    /// The text that it holds; `{series}`, an axis, a parameter or a text of the run in braces stands
    /// for what that is.
    pub text: Option<String>,
    /// The number that it holds, if not what its name says: a formula of the run's quantities, axes
    /// and parameters.
    pub is: Option<Expression>,
}
