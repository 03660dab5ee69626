//! A figure's file. In: `figures/NAME.toml` and overrides. Out: parameters, axes, published values.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::chart::{Chart, Further};
use super::{ColumnSpec, Expression, Reason, RunSpec, SeriesSpec};
use pinion_app::assets;
use pinion_app::error::{Error, Result};

/// What an override of a figure's own numbers begins with; others change the machine.
const OWN: &str = "parameters.";

/// Holds what a figure's file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Tells in one line what the figure shows.
    pub title: String,
    /// Name of the published figure and what it was measured on.
    pub source: String,
    /// How it is made here, and what is different on purpose.
    pub method: String,
    /// What the chart shows.
    pub chart: Chart,
    /// Shows the same rows in other ways.
    #[serde(default)]
    pub further: Vec<Further>,
    /// What runs, for a figure that is nothing but a file.
    pub run: Option<RunSpec>,
    /// The series of its points.
    #[serde(default)]
    pub series: Vec<SeriesSpec>,
    /// Name of what its rows hold.
    #[serde(default)]
    pub columns: Vec<ColumnSpec>,
    /// The numbers of the experiment.
    #[serde(default)]
    parameters: BTreeMap<String, Parameter>,
    /// Replaces some of them for a quick look.
    #[serde(default)]
    quick: BTreeMap<String, Parameter>,
    /// What was published.
    #[serde(default)]
    pub published: Vec<Published>,
}

/// One number, list or word of an experiment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// A number.
    Number(f64),
    /// Numbers.
    List(Vec<f64>),
    /// A word.
    Text(String),
    /// Words.
    Texts(Vec<String>),
}

/// Holds the numbers of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    figure: String,
    values: BTreeMap<String, Parameter>,
}

/// A published value: a number, or bounds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Names it.
    pub name: String,
    /// What it is.
    pub what: String,
    /// Reads ours off the rows.
    pub ours: Expression,
    /// The number, where one was published.
    pub paper: Option<f64>,
    /// The least that was published, for bounds.
    pub from: Option<f64>,
    /// The most that was published, for bounds.
    pub to: Option<f64>,
    /// The unit.
    #[serde(default)]
    pub unit: String,
    /// Where it stands.
    pub source: String,
    /// Why ours differs by more than the tolerance, and what shows that.
    pub difference: Option<Reason>,
    /// Where the chart shows it.
    pub drawn: Option<Drawn>,
}

/// Says where a chart shows a published value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// Name of the group of bars; without it and a place the value is a line across.
    pub group: Option<String>,
    /// Name of the bar in the group, or the curve whose colour it has.
    pub series: Option<String>,
    /// The place along the axis across, of curves.
    pub at: Option<f64>,
    /// Name of the further chart that shows it, instead of the first.
    pub chart: Option<String>,
}

impl Definition {
    /// Loads a figure's file; overrides that begin with `parameters.` change it.
    ///
    /// # Errors
    /// When there is no such file, or it is wrong, or an override does not fit.
    pub fn load(name: &str, overrides: &[String]) -> Result<Self> {
        let relative = format!("figures/{name}.toml");
        Self::checked(assets::load_file(&relative, overrides)?.value, &relative)
    }

    /// Reads a figure's file from text.
    ///
    /// # Errors
    /// When it is wrong, or an override does not fit.
    pub fn read(name: &str, text: &str, overrides: &[String]) -> Result<Self> {
        Self::read_file(&format!("{name}.toml"), text, overrides)
    }

    /// Reads a figure's file from the text of a file.
    ///
    /// # Errors
    /// When it is wrong, or an override does not fit.
    pub fn read_file(file: &str, text: &str, overrides: &[String]) -> Result<Self> {
        Self::checked(pinion_sim::config::load(file, text, overrides)?.value, file)
    }

    fn checked(definition: Self, file: &str) -> Result<Self> {
        let wrong = |problem: String| Err(Error::Usage(format!("{file}: {problem}")));
        for published in &definition.published {
            if published.paper.is_none() && published.from.is_none() && published.to.is_none() {
                return wrong(format!(
                    "`{}` has no value: give `paper`, or `from` and `to`, or one of them",
                    published.name
                ));
            }
        }
        let unknown = definition.quick.keys().find(|key| !definition.parameters.contains_key(*key));
        if let Some(key) = unknown {
            return wrong(format!("[quick] has `{key}`, which [parameters] has not"));
        }
        Ok(definition)
    }

    /// Gives the numbers of the experiment; for a quick look those that are not overridden by hand
    /// are smaller.
    pub fn parameters(&self, name: &str, quick: bool, overrides: &[String]) -> Parameters {
        let mut values = self.parameters.clone();
        let by_hand = |key: &str| {
            let named = overrides.iter().filter_map(|text| text.split_once('='));
            named.into_iter().any(|(left, _)| left.trim() == format!("{OWN}{key}"))
        };
        for (key, value) in self.quick.iter().filter(|(key, _)| quick && !by_hand(key)) {
            values.insert(key.clone(), value.clone());
        }
        Parameters { figure: name.to_owned(), values }
    }
}

/// Tells overrides of a figure's own numbers from those of the machine.
pub fn split_overrides(overrides: &[String]) -> (Vec<String>, Vec<String>) {
    overrides.iter().cloned().partition(|text| text.trim_start().starts_with(OWN))
}

impl Parameters {
    /// Makes parameters for a figure named in messages.
    pub fn new(figure: &str, values: BTreeMap<String, Parameter>) -> Self {
        Self { figure: figure.to_owned(), values }
    }

    /// Gives a number.
    ///
    /// # Errors
    /// When there is none of that name, or it is no number.
    pub fn number(&self, name: &str) -> Result<f64> {
        match self.get(name)? {
            Parameter::Number(number) => Ok(*number),
            _ => Err(self.wrong(name, "a number")),
        }
    }

    /// Gives a whole number.
    ///
    /// # Errors
    /// When there is none of that name, or it is no whole number from 0 to 2⁵³.
    pub fn whole(&self, name: &str) -> Result<u64> {
        let number = self.number(name)?;
        let is_whole = number.fract() == 0.0 && (0.0..=(1u64 << 53) as f64).contains(&number);
        if is_whole { Ok(number as u64) } else { Err(self.wrong(name, "a whole number from 0 on")) }
    }

    /// Gives a list of numbers; one number is a list too.
    ///
    /// # Errors
    /// When there is none of that name, or it is no list of numbers.
    pub fn list(&self, name: &str) -> Result<Vec<f64>> {
        match self.get(name)? {
            Parameter::Number(number) => Ok(vec![*number]),
            Parameter::List(numbers) => Ok(numbers.clone()),
            _ => Err(self.wrong(name, "a list of numbers")),
        }
    }

    /// Gives a list of words; one word is a list too.
    ///
    /// # Errors
    /// When there is none of that name, or it is no list of words.
    pub fn words(&self, name: &str) -> Result<Vec<String>> {
        match self.get(name)? {
            Parameter::Text(text) => Ok(vec![text.clone()]),
            Parameter::Texts(texts) => Ok(texts.clone()),
            Parameter::List(numbers) if numbers.is_empty() => Ok(Vec::new()),
            _ => Err(self.wrong(name, "a list of words")),
        }
    }

    /// Gives a value, where there is one of that name.
    pub fn value(&self, name: &str) -> Option<&Parameter> {
        self.values.get(name)
    }

    fn get(&self, name: &str) -> Result<&Parameter> {
        self.values.get(name).ok_or_else(|| {
            let figure = &self.figure;
            Error::Usage(format!("figures/{figure}.toml has no `{OWN}{name}`, which it needs"))
        })
    }

    fn wrong(&self, name: &str, expected: &str) -> Error {
        let figure = &self.figure;
        Error::Usage(format!("figures/{figure}.toml: `{OWN}{name}` is not {expected}"))
    }
}
