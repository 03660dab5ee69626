//! Works out a formula. In: its parts, and what names stand for. Out: a number, or a column's numbers
//! with the rows they stand in.

use super::super::{Cell, Row, Table};
use super::{Condition, Function, Node, Operand, Operator, Order};

/// The share of what is offered that must be answered in time for a load to be sustained.
const SUSTAINED: f64 = 0.99;

/// What a part of a formula is worth.
pub(super) enum Value {
    Number(f64),
    /// Numbers, and the places of their rows.
    Column(Vec<(usize, f64)>),
}

impl Value {
    /// Gives the number: the first of a column.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Column(all) => all.first().map(|(_, number)| *number),
        }
    }

    fn column(self) -> Vec<(usize, f64)> {
        match self {
            Self::Number(number) => vec![(0, number)],
            Self::Column(all) => all,
        }
    }
}

/// `None`: nothing that could be measured.
type Worth = Result<Option<Value>, String>;

/// What names stand for.
pub(super) trait Names {
    /// Gives what a name stands for in the rows that fit.
    fn value(&self, name: &str, conditions: &[Condition]) -> Worth;
    /// Gives the table, where there is one.
    fn table(&self) -> Option<&Table>;
}

/// Names of a table's columns.
pub(super) struct Rows<'a>(pub &'a Table);

/// Names of numbers; an unknown one is `None`, one without a number `Some(None)`.
pub(super) struct OneRow<'a>(pub &'a dyn Fn(&str) -> Option<Option<f64>>);

impl Names for Rows<'_> {
    fn value(&self, name: &str, conditions: &[Condition]) -> Worth {
        let table = self.0;
        let place = place(table, name)?;
        let mut tests = Vec::new();
        for condition in conditions {
            tests.push((self::place(table, &condition.column)?, condition));
        }
        let fits = |row: &Row| tests.iter().all(|(place, test)| test.holds(&row[*place]));
        let rows = table.rows.iter().enumerate().filter(|(_, row)| fits(row));
        let numbers = rows.filter_map(|(at, row)| Some((at, row[place].number()?)));
        Ok(Some(Value::Column(numbers.collect())))
    }

    fn table(&self) -> Option<&Table> {
        Some(self.0)
    }
}

impl Names for OneRow<'_> {
    fn value(&self, name: &str, conditions: &[Condition]) -> Worth {
        if !conditions.is_empty() {
            return Err(format!("`{name}[…]` chooses rows, and here is only one"));
        }
        let number = (self.0)(name).ok_or_else(|| format!("there is no `{name}`"))?;
        Ok(number.map(Value::Number))
    }

    fn table(&self) -> Option<&Table> {
        None
    }
}

fn place(table: &Table, name: &str) -> Result<usize, String> {
    table.column(name).ok_or_else(|| {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_ref()).collect();
        format!("there is no `{name}`; the columns are {}", names.join(", "))
    })
}

impl Condition {
    fn holds(&self, cell: &Cell) -> bool {
        match (&self.than, cell) {
            (Operand::Number(than), Cell::Number(number)) => match self.order {
                Order::Is => number == than,
                Order::IsNot => number != than,
                Order::Below => number < than,
                Order::AtMost => number <= than,
                Order::Above => number > than,
                Order::AtLeast => number >= than,
            },
            (Operand::Text(than), Cell::Text(text)) => {
                let is = fits(text, than);
                match self.order {
                    Order::Is => is,
                    Order::IsNot => !is,
                    _ => false,
                }
            }
            _ => self.order == Order::IsNot,
        }
    }
}

/// Tells whether a text is as wanted; a `*` at an end stands for anything.
fn fits(text: &str, wanted: &str) -> bool {
    match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
        (Some(end), None) => text.ends_with(end),
        (None, Some(start)) => text.starts_with(start),
        (Some(_), Some(_)) => text.contains(wanted.trim_matches('*')),
        (None, None) => text == wanted,
    }
}

/// Works out a part.
pub(super) fn evaluate(node: &Node, names: &dyn Names) -> Worth {
    match node {
        Node::Number(number) => Ok(Some(Value::Number(*number))),
        Node::Name(name, conditions) => names.value(name, conditions),
        Node::Negative(of) => Ok(number(of, names)?.map(|number| Value::Number(-number))),
        Node::Operation(operator, left, right) => {
            let both = number(left, names)?.zip(number(right, names)?);
            Ok(both.map(|(left, right)| Value::Number(operator.of(left, right))))
        }
        Node::Call(function, arguments) => call(*function, arguments, names),
    }
}

fn number(node: &Node, names: &dyn Names) -> Result<Option<f64>, String> {
    Ok(evaluate(node, names)?.and_then(|value| value.number()))
}

impl Operator {
    fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Over => left / right,
        }
    }
}

fn call(function: Function, arguments: &[Node], names: &dyn Names) -> Worth {
    let column = |index: usize| -> Result<Vec<(usize, f64)>, String> {
        Ok(evaluate(&arguments[index], names)?.map(Value::column).unwrap_or_default())
    };
    let one = |number: Option<f64>| Ok(number.map(Value::Number));
    let least = |all: Vec<(f64, f64)>| all.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    match function {
        Function::First => one(column(0)?.first().map(|(_, number)| *number)),
        Function::Last => one(column(0)?.last().map(|(_, number)| *number)),
        Function::Least => one(column(0)?.iter().map(|(_, number)| *number).reduce(f64::min)),
        Function::Most => one(column(0)?.iter().map(|(_, number)| *number).reduce(f64::max)),
        Function::Sum => one(Some(column(0)?.iter().map(|(_, number)| number).sum())),
        Function::Mean => {
            let all = column(0)?;
            let sum: f64 = all.iter().map(|(_, number)| number).sum();
            one((!all.is_empty()).then(|| sum / all.len() as f64))
        }
        Function::AtLeast => {
            one(least(keyed(&arguments[0], column(1)?, names)?).map(|(_, number)| number))
        }
        Function::AtMost => {
            let all = keyed(&arguments[0], column(1)?, names)?;
            one(all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, number)| number))
        }
        Function::Near => {
            let Some(wanted) = number(&arguments[1], names)? else { return Ok(None) };
            let all = keyed(&arguments[0], column(2)?, names)?;
            let far = all.into_iter().map(|(key, number)| ((key - wanted).abs(), number));
            one(least(far.collect()).map(|(_, number)| number))
        }
        Function::Ratios => {
            let upper = column(1)?;
            let keys = keyed(&arguments[0], upper.clone(), names)?;
            let lower = keyed(&arguments[0], column(2)?, names)?;
            let ratio = |((row, upper), (key, _)): ((usize, f64), (f64, f64))| {
                let (_, lower) = lower.iter().find(|(other, _)| *other == key)?;
                Some((row, upper / lower))
            };
            Ok(Some(Value::Column(upper.into_iter().zip(keys).filter_map(ratio).collect())))
        }
        Function::Slope => one(slope(&keyed(&arguments[0], column(1)?, names)?)),
        Function::Bend => one(bend(&keyed(&arguments[0], column(1)?, names)?)),
        Function::Sustained => one(sustained(&column(0)?, names)?),
        Function::Min | Function::Max => {
            let mut best: Option<f64> = None;
            for argument in arguments {
                let Some(number) = number(argument, names)? else { return Ok(None) };
                best = Some(match (best, function) {
                    (None, _) => number,
                    (Some(best), Function::Min) => best.min(number),
                    (Some(best), _) => best.max(number),
                });
            }
            one(best)
        }
    }
}

/// Puts a column's numbers before those of the same rows; rows without are left out.
fn keyed(
    key: &Node,
    column: Vec<(usize, f64)>,
    names: &dyn Names,
) -> Result<Vec<(f64, f64)>, String> {
    let (Node::Name(name, _), Some(table)) = (key, names.table()) else {
        return Err("the first argument is a column of the table".to_owned());
    };
    let place = place(table, name)?;
    let key = |(row, number): (usize, f64)| Some((table.rows[row].get(place)?.number()?, number));
    Ok(column.into_iter().filter_map(key).collect())
}

/// Gives the slope by least squares; nothing for less than two points.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let product: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let square: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    (square > 0.0).then(|| product / square)
}

/// Gives the slope between the last two points over that between the two before: 1 on a line.
fn bend(points: &[(f64, f64)]) -> Option<f64> {
    let [.., before, middle, last] = points else { return None };
    let slope = |a: &(f64, f64), b: &(f64, f64)| (b.1 - a.1) / (b.0 - a.0);
    Some(slope(middle, last) / slope(before, middle))
}

/// Gives the most of the numbers that belong to a run, a `gap`, all of whose rows answered everything.
fn sustained(all: &[(usize, f64)], names: &dyn Names) -> Result<Option<f64>, String> {
    let Some(table) = names.table() else {
        return Err("`sustained` needs the rows of a table".to_owned());
    };
    let places = [place(table, "gap")?, place(table, "missing")?];
    let rates = [place(table, "answered")?, place(table, "offered")?];
    let number = |row: usize, place: usize| table.rows[row].get(place).and_then(Cell::number);
    let keeps_up = |row: usize| {
        let answered = number(row, rates[0]).zip(number(row, rates[1]));
        number(row, places[1]) == Some(0.0)
            && answered.is_some_and(|(answered, offered)| answered >= SUSTAINED * offered)
    };
    let gap = |row: usize| number(row, places[0]).map(f64::to_bits);
    let fails = |gap_here| all.iter().any(|(row, _)| gap(*row) == gap_here && !keeps_up(*row));
    let kept = all.iter().filter(|(row, _)| !fails(gap(*row)));
    Ok(kept.map(|(_, number)| *number).max_by(f64::total_cmp))
}
