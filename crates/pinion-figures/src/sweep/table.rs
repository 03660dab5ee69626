//! The rows as a table. In: an outcome. Out: CSV, Parquet, and lines of text. One row for each
//! point, one column for each key and each number: what data tools call tidy.

use super::measure::Shown;
use super::parquet::{self, Column, Data};
use super::{Outcome, Row, grid};
use pinion_app::error::{Error, Result};

/// Limits the lines of the printed table.
const SHOWN_ROWS: usize = 200;

impl Outcome {
    /// Writes the rows as CSV.
    ///
    /// # Errors
    /// When a row cannot be written, which needs a lack of memory.
    pub fn to_csv(&self) -> Result<Vec<u8>> {
        let failed = |error: csv::Error| Error::part("cannot write the table", error);
        let columns = self.columns();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(columns.iter().map(|column| &column.name)).map_err(failed)?;
        for row in 0..self.rows.len() {
            let cells = columns.iter().map(|column| column.data.text(row));
            writer.write_record(cells).map_err(failed)?;
        }
        writer
            .into_inner()
            .map_err(|error| Error::part("cannot write the table", error.to_string()))
    }

    /// Writes the rows as Parquet.
    pub fn to_parquet(&self) -> Vec<u8> {
        parquet::write(&self.columns())
    }

    /// Gives the rows as lines of texts, the head first, with the numbers most asked for.
    pub fn to_text(&self) -> Vec<Vec<String>> {
        let mut head: Vec<String> = self.axes.iter().map(|axis| axis.key.clone()).collect();
        head.extend(self.numbers.shown.iter().map(|shown| shown.head.to_owned()));
        if self.failed() > 0 {
            head.push("problem".to_owned());
        }
        let mut lines = vec![head];
        lines.extend(self.rows.iter().take(SHOWN_ROWS).map(|row| self.line(row)));
        if self.rows.len() > SHOWN_ROWS {
            lines.push(vec![format!("and {} more", self.rows.len() - SHOWN_ROWS)]);
        }
        lines
    }

    fn line(&self, row: &Row) -> Vec<String> {
        let mut line = row.values.clone();
        let number = |name: &str| row.measured.as_ref()?.get(self.numbers, name);
        line.extend(self.numbers.shown.iter().map(
            |Shown { name, factor, digits, unit, .. }| match number(name) {
                None => "–".to_owned(),
                Some(number) => format!("{:.digits$}{unit}", number * factor),
            },
        ));
        line.extend(row.problem.clone());
        line
    }

    /// Gives the columns: the axes, the numbers, the problems.
    pub fn columns(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = (0..self.axes.len()).map(|axis| self.axis(axis)).collect();
        columns.extend(self.numbers.metrics.iter().enumerate().map(|(place, metric)| {
            let numbers = self.rows.iter().map(|row| row.measured.as_ref()?.0[place]);
            let data = match metric.is_count {
                true => Data::Integers(numbers.map(|number| number.map(|n| n as i64)).collect()),
                false => Data::Numbers(numbers.collect()),
            };
            Column { name: metric.name.to_owned(), data }
        }));
        let problems = self.rows.iter().map(|row| row.problem.clone());
        columns.push(Column { name: "problem".to_owned(), data: Data::Texts(problems.collect()) });
        columns
    }

    /// Gives the column of an axis: of numbers, where all its values are.
    fn axis(&self, place: usize) -> Column {
        let axis = &self.axes[place];
        let values = || self.rows.iter().map(|row| row.values[place].as_str());
        let is = |fits: fn(&str) -> bool| axis.values.iter().all(|value| fits(value));
        let data = if is(|value| value.parse::<i64>().is_ok()) {
            Data::Integers(values().map(|value| value.parse().ok()).collect())
        } else if is(|value| value.parse::<f64>().is_ok_and(f64::is_finite)) {
            Data::Numbers(values().map(grid::number).collect())
        } else {
            Data::Texts(values().map(|value| Some(value.to_owned())).collect())
        };
        Column { name: axis.key.clone(), data }
    }
}
