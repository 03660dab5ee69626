//! Rows of a figure. In: cells. Out: CSV, JSON, text, and the questions a figure asks of its own
//! rows.

use std::borrow::Cow;

use serde_json::Value;

use pinion_app::error::{Error, Result};

/// Names what a place in every row holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in the CSV.
    pub name: Cow<'static, str>,
    /// The unit, empty for texts and plain numbers.
    pub unit: Cow<'static, str>,
    /// Decimals that are shown; the CSV has all.
    pub decimals: usize,
}

impl Column {
    /// Makes a column of texts.
    pub const fn text(name: &'static str) -> Self {
        Self::number(name, "", 0)
    }

    /// Makes a column of numbers.
    pub const fn number(name: &'static str, unit: &'static str, decimals: usize) -> Self {
        Self { name: Cow::Borrowed(name), unit: Cow::Borrowed(unit), decimals }
    }
}

/// One place in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A name.
    Text(String),
    /// A number.
    Number(f64),
    /// Nothing that could be measured.
    Missing,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Missing }
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Number(number as f64)
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Missing, Self::from)
    }
}

impl Cell {
    /// Gives the number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Missing => String::new(),
        }
    }
}

/// One row; as many cells as there are columns.
pub type Row = Vec<Cell>;

/// Holds all rows of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the places.
    pub columns: Vec<Column>,
    /// The rows in order of the points.
    pub rows: Vec<Row>,
}

impl Table {
    /// Finds a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Gives the rows whose text in `column` is `text`.
    pub fn rows_with(&self, column: &str, text: &str) -> impl Iterator<Item = &Row> {
        let place = self.column(column);
        self.rows.iter().filter(move |row| {
            place.and_then(|place| row.get(place)).is_some_and(|cell| cell.plain() == text)
        })
    }

    /// Gives a row's number in `column`.
    pub fn number(&self, row: &Row, column: &str) -> Option<f64> {
        self.column(column).and_then(|place| row.get(place)).and_then(Cell::number)
    }

    /// Gives the number in `column` of the only row whose texts are as `names` says.
    pub fn lookup(&self, names: &[(&str, &str)], column: &str) -> Option<f64> {
        let fits = |row: &&Row| {
            names.iter().all(|(name, text)| {
                let cell = self.column(name).and_then(|place| row.get(place));
                cell.is_some_and(|cell| cell.plain() == *text)
            })
        };
        self.rows.iter().find(fits).and_then(|row| self.number(row, column))
    }

    /// Gives the pairs of numbers in two columns of the rows with `text` in `name`.
    pub fn curve(&self, name: &str, text: &str, x: &str, y: &str) -> Vec<(f64, f64)> {
        let rows = self.rows_with(name, text);
        rows.filter_map(|row| Some((self.number(row, x)?, self.number(row, y)?))).collect()
    }

    /// Gives the different texts of a column in order of appearance.
    pub fn names(&self, column: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let Some(place) = self.column(column) else { return names };
        for name in self.rows.iter().filter_map(|row| row.get(place)).map(Cell::plain) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Writes the table as CSV, units in the head line, numbers with all their digits.
    ///
    /// # Errors
    /// When a row cannot be written, which needs a lack of memory.
    pub fn to_csv(&self) -> Result<Vec<u8>> {
        let failed = |error: csv::Error| Error::part("cannot write the table", error);
        let mut writer = csv::Writer::from_writer(Vec::new());
        let head = self.columns.iter().map(|column| match column.unit.as_ref() {
            "" => column.name.to_string(),
            unit => format!("{} [{unit}]", column.name),
        });
        writer.write_record(head).map_err(failed)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(Cell::plain)).map_err(failed)?;
        }
        writer
            .into_inner()
            .map_err(|error| Error::part("cannot write the table", error.to_string()))
    }

    /// Gives the rows as JSON objects.
    pub fn to_json(&self) -> Value {
        let object = |row: &Row| -> Value {
            let cells = self.columns.iter().zip(row).map(|(column, cell)| {
                let value = match cell {
                    Cell::Text(text) => Value::from(text.clone()),
                    Cell::Number(number) => Value::from(*number),
                    Cell::Missing => Value::Null,
                };
                (column.name.to_string(), value)
            });
            Value::Object(cells.collect())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }

    /// Gives the table as lines of texts, the head first, for aligned printing.
    pub fn to_text(&self) -> Vec<Vec<String>> {
        let head = self.columns.iter().map(|column| match column.unit.as_ref() {
            "" => column.name.to_string(),
            unit => format!("{}, {unit}", column.name),
        });
        let mut lines = vec![head.collect()];
        lines.extend(self.rows.iter().map(|row| {
            let cells = self.columns.iter().zip(row);
            cells.map(|(column, cell)| shown(cell, column.decimals)).collect()
        }));
        lines
    }
}

fn shown(cell: &Cell, decimals: usize) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => format!("{number:.decimals$}"),
        Cell::Missing => "–".to_owned(),
    }
}
