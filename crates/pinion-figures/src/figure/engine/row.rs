//! Rows of a figure's file. In: its columns, what a series says of its rows, and what a run measured.
//! Out: cells.

use std::collections::BTreeMap;

use super::super::{Cell, ColumnSpec, Expression, Parameter, Parameters, Point, Row};
use super::{Record, template};
use pinion_observe::plot::RowSpec;

/// What names in formulas and texts stand for.
pub(super) struct Sources<'a> {
    pub parameters: &'a Parameters,
    pub point: &'a Point,
    pub record: &'a Record,
}

impl Sources<'_> {
    /// Makes a row. What the series says of a cell stands for the column in the cells behind it.
    ///
    /// # Errors
    /// When a name stands for nothing.
    pub fn row(&self, columns: &[ColumnSpec], own: &RowSpec) -> Result<Row, String> {
        let unknown = own.cells.keys().find(|name| columns.iter().all(|c| c.name != **name));
        if let Some(name) = unknown {
            return Err(format!("rows: there is no column `{name}`"));
        }
        let mut given = BTreeMap::new();
        let mut row = Row::new();
        for column in columns {
            let said = own.cells.get(&column.name);
            let cell = self.cell(column, said, &given);
            let cell = cell.map_err(|problem| format!("column `{}`: {problem}", column.name))?;
            if said.is_some() {
                given.insert(column.name.as_str(), cell.clone());
            }
            row.push(cell);
        }
        Ok(row)
    }

    /// Tells whether a row stands behind the record, which may be the first of its series.
    pub fn wants(&self, spec: &RowSpec, is_first: bool) -> bool {
        let is_there = |name: &String| matches!(self.point.values.get(name), Some(Parameter::Number(number)) if !number.is_nan());
        (is_first || !spec.once) && spec.needs.as_ref().is_none_or(is_there)
    }

    fn cell(
        &self,
        column: &ColumnSpec,
        said: Option<&String>,
        given: &BTreeMap<&str, Cell>,
    ) -> Result<Cell, String> {
        let text = |name: &str| self.text(name, given);
        let number = |name: &str| self.number(name, given);
        if let Some(pattern) = &column.text {
            return Ok(template::expand(said.unwrap_or(pattern), &text)?.into());
        }
        if let Some(said) = said {
            let formula = template::expand(said, &text)?;
            return match formula.is_empty() {
                true => Ok(Cell::Missing),
                false => Ok(Expression::try_from(formula)?.over_names(&number)?.into()),
            };
        }
        match &column.is {
            Some(formula) => Ok(formula.over_names(&number)?.into()),
            None => Ok(number(&column.name)
                .ok_or_else(|| format!("nothing gives `{}`; say what it `is`", column.name))?
                .into()),
        }
    }

    fn asked(&self, name: &str) -> Option<&Parameter> {
        self.point.values.get(name).or_else(|| self.parameters.value(name))
    }

    /// Gives the number that a name stands for; `Some(None)`: nothing was measured.
    fn number(&self, name: &str, given: &BTreeMap<&str, Cell>) -> Option<Option<f64>> {
        if let Some(cell) = given.get(name).or_else(|| self.record.get(name)) {
            return Some(cell.number());
        }
        match self.asked(name)? {
            Parameter::Number(number) => Some(Some(*number)),
            _ => None,
        }
    }

    fn text(&self, name: &str, given: &BTreeMap<&str, Cell>) -> Option<String> {
        match (name, given.get(name).or_else(|| self.record.get(name))) {
            ("series", _) => Some(self.point.curve.clone()),
            (_, Some(Cell::Text(text))) => Some(text.clone()),
            (_, Some(Cell::Number(number))) => Some(number.to_string()),
            (_, Some(Cell::Missing)) => Some(String::new()),
            (_, None) => template::plain(self.asked(name)?),
        }
    }
}
