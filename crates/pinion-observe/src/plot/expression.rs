//! Formulas of a figure's file. In: a text. Out: a number, read off the rows of a table or made of
//! the names of one row.
//!
//! Over a table a name stands for a column's numbers, and `[…]` keeps the rows that fit: a comparison
//! is of a column and a number or a text in `'…'`, at whose ends a `*` stands for anything. Where one
//! number is wanted, the first counts.
//!
//! ```text
//! rate[curve = 'JBSQ', gap = 900] / rate[curve = 'RSS', gap = 900]
//! ```
//!
//! | function | gives |
//! |---|---|
//! | `first(c)`, `last(c)`, `least(c)`, `most(c)`, `mean(c)`, `sum(c)` | one number of those |
//! | `at_least(k, c)`, `at_most(k, c)` | `c` in the row where the column `k` is the least, the most |
//! | `near(k, n, c)` | `c` in the row where `k` is nearest to `n` |
//! | `ratios(k, c, d)` | `c` over `d` for each number of `k` that both have |
//! | `slope(k, c)` | the slope of `c` over `k`, by least squares |
//! | `bend(k, c)` | the slope between the last two rows over that between the two before |
//! | `sustained(c)` | the most of `c` where nothing is `missing` and `answered` is as much as `offered` |
//! | `min(n, …)`, `max(n, …)` | the least, the most of some numbers |

mod evaluate;
mod parse;

use serde::Deserialize;

use super::Table;
use evaluate::{OneRow, Rows};

/// A formula.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Expression {
    text: String,
    root: Node,
}

/// A part of a formula.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    /// A name, and what must hold for a row that counts.
    Name(String, Vec<Condition>),
    Negative(Box<Node>),
    Operation(Operator, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

/// Joins two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// Must hold for a row.
#[derive(Clone, Debug, PartialEq)]
struct Condition {
    column: String,
    order: Order,
    than: Operand,
}

/// Compares a cell with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Is,
    IsNot,
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// What a cell is compared with.
#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Number(f64),
    Text(String),
}

/// A function; the head of this file tells what each gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    First,
    Last,
    Least,
    Most,
    Mean,
    Sum,
    AtLeast,
    AtMost,
    Near,
    Ratios,
    Slope,
    Bend,
    Sustained,
    Min,
    Max,
}

impl Function {
    /// Every function with its name and how many arguments it takes; 0 stands for any number.
    const ALL: [(&'static str, Self, usize); 15] = [
        ("first", Self::First, 1),
        ("last", Self::Last, 1),
        ("least", Self::Least, 1),
        ("most", Self::Most, 1),
        ("mean", Self::Mean, 1),
        ("sum", Self::Sum, 1),
        ("at_least", Self::AtLeast, 2),
        ("at_most", Self::AtMost, 2),
        ("near", Self::Near, 3),
        ("ratios", Self::Ratios, 3),
        ("slope", Self::Slope, 2),
        ("bend", Self::Bend, 2),
        ("sustained", Self::Sustained, 1),
        ("min", Self::Min, 0),
        ("max", Self::Max, 0),
    ];
}

impl TryFrom<String> for Expression {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match parse::parse(&text) {
            Ok(root) => Ok(Self { text, root }),
            Err(problem) => Err(format!("`{text}`: {problem}")),
        }
    }
}

impl Expression {
    /// Gives the number that a table's rows say; `None` where they do not (a load that was not run).
    ///
    /// # Errors
    /// When it names a column that the table does not have.
    pub fn over_table(&self, table: &Table) -> Result<Option<f64>, String> {
        let value = evaluate::evaluate(&self.root, &Rows(table));
        let number = value.map(|value| value.and_then(|value| value.number()));
        number.map_err(|problem| format!("`{}`: {problem}", self.text))
    }

    /// Gives the number that it makes of names; `None` where one of them has none.
    ///
    /// # Errors
    /// When there is no such name: `number` answers `None`.
    pub fn over_names(
        &self,
        number: &dyn Fn(&str) -> Option<Option<f64>>,
    ) -> Result<Option<f64>, String> {
        let value = evaluate::evaluate(&self.root, &OneRow(number));
        let number = value.map(|value| value.and_then(|value| value.number()));
        number.map_err(|problem| format!("`{}`: {problem}", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Column, Row};
    use super::*;

    fn formula(text: &str) -> Expression {
        Expression::try_from(text.to_owned()).unwrap()
    }

    fn table() -> Table {
        let row = |curve: &str, gap: f64, tail: f64| -> Row {
            vec![curve.into(), gap.into(), if tail > 0.0 { tail.into() } else { Cell::Missing }]
        };
        let columns = vec![
            Column::text("curve"),
            Column::number("gap", "", 0),
            Column::number("tail", "", 0),
        ];
        let rows = vec![
            row("JBSQ", 100.0, 8.0),
            row("JBSQ", 200.0, 4.0),
            row("JBSQ", 300.0, 3.0),
            row("RSS", 200.0, 6.0),
            row("RSS", 400.0, 5.0),
            row("RSS", 100.0, 0.0),
        ];
        Table { columns, rows }
    }

    #[test]
    fn rows_are_chosen_and_their_numbers_reduced() {
        let table = table();
        let of = |text: &str| formula(text).over_table(&table).unwrap();
        for (text, number) in [
            ("1 + 2 * 3 - 8 / 4", 5.0),
            ("-(1 - 3) * 1e1", 20.0),
            ("tail[curve = 'JBSQ', gap = 200]", 4.0),
            ("tail", 8.0),
            ("last(tail[curve != 'RSS'])", 3.0),
            ("least(tail[gap <= 200])", 4.0),
            ("most(tail[curve = 'R*'])", 6.0),
            ("most(tail[curve != '*SQ', curve = '*S*'])", 6.0),
            ("mean(tail[gap > 150, gap < 350])", 13.0 / 3.0),
            ("sum(gap[curve = 'RSS'])", 700.0),
            ("at_most(gap, tail[curve = 'JBSQ'])", 3.0),
            ("at_least(tail, gap)", 300.0),
            ("near(gap, 290, tail)", 3.0),
            ("first(ratios(gap, tail[curve = 'RSS'], tail[curve = 'JBSQ']))", 1.5),
            ("at_most(gap, ratios(gap, tail[curve = 'RSS'], tail[curve = 'JBSQ']))", 1.5),
            ("slope(gap, gap)", 1.0),
            ("bend(gap, tail[curve = 'JBSQ'])", 0.25),
            ("max(1, tail[curve = 'RSS'], 2)", 6.0),
            ("100 * (1 - least(tail) / most(tail))", 62.5),
        ] {
            assert_eq!(of(text), Some(number), "{text}");
        }
        for text in ["tail[gap = 250]", "tail[gap = 250] / 2", "slope(gap, gap[gap = 300])"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn names_of_one_row_have_numbers() {
        let number = |name: &str| match name {
            "bytes" => Some(Some(64.0)),
            "median" => Some(None),
            _ => None,
        };
        assert_eq!(formula("bytes * 8 / 2").over_names(&number), Ok(Some(256.0)));
        assert_eq!(formula("bytes / median").over_names(&number), Ok(None));
        let error = formula("byte * 8").over_names(&number).unwrap_err();
        assert!(error.contains("`byte * 8`") && error.contains("no `byte`"), "{error}");
    }

    #[test]
    fn what_cannot_be_is_told() {
        for (text, part) in [
            ("tail[", "a column"),
            ("tail[curve = ]", "a number or a text"),
            ("tail[curve ~ 'a']", "a comparison"),
            ("tail[curve = 'a]", "no end"),
            ("(1 + 2", "`)`"),
            ("1 +", "ends"),
            ("1 2", "behind"),
            ("median(tail)", "no function `median`"),
            ("near(gap, tail)", "takes 3"),
        ] {
            let error = Expression::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains(part) && error.contains(text), "{text}: {error}");
        }
        let deep = "(".repeat(10_000);
        assert!(Expression::try_from(deep).unwrap_err().contains("nested"));
        let error = formula("tall[curve = 'RSS']").over_table(&table()).unwrap_err();
        assert!(error.contains("no `tall`") && error.contains("curve, gap, tail"), "{error}");
        assert!(formula("tail[curv = 'RSS']").over_table(&table()).is_err());
        assert!(formula("at_most(3, tail)").over_table(&table()).is_err());
    }
}
