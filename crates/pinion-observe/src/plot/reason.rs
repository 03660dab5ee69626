//! Why ours differs from what was published. In: a text, in which a formula in braces, `{p99[gap = 900];
//! 1}`, stands for what the rows give, with so many decimals (none unless said). Out: the text with
//! numbers.

use serde::Deserialize;

use super::{Expression, Table};

/// A text with formulas.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Reason(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Number(Expression, usize),
}

impl TryFrom<String> for Reason {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            let (formula, behind) = behind
                .split_once('}')
                .ok_or_else(|| format!("`{text}` has a brace that is not closed"))?;
            let (formula, decimals) = formula.rsplit_once(';').unwrap_or((formula, "0"));
            let digits = decimals.trim().parse::<u8>();
            let decimals = digits.map_err(|_| format!("`{decimals}` is no number of decimals"))?;
            parts.push(Part::Text(before.to_owned()));
            let formula = Expression::try_from(formula.to_owned())?;
            parts.push(Part::Number(formula, usize::from(decimals)));
            rest = behind;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }
}

impl Reason {
    /// Gives the text with the numbers that a table's rows say; `–` for those they do not.
    ///
    /// # Errors
    /// When it names a column that the table does not have.
    pub fn over_table(&self, table: &Table) -> Result<String, String> {
        let part = |part: &Part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Number(formula, decimals) => {
                let number = formula.over_table(table)?.filter(|number| number.is_finite());
                Ok(number.map_or_else(|| "–".to_owned(), |number| format!("{number:.decimals$}")))
            }
        };
        self.0.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    #[test]
    fn formulas_in_braces_become_numbers() {
        let columns = vec![Column::number("gap", "", 0), Column::number("p99", "", 0)];
        let rows = vec![vec![900.0.into(), 1.26.into()], vec![800.0.into(), 2.0.into()]];
        let table = Table { columns, rows };
        let of = |text: &str| Reason::try_from(text.to_owned());
        let told = of("{p99[gap = 900]; 1} µs, {p99[gap = 800]} there, {p99[gap = 7]; 2} nowhere");
        assert_eq!(told.unwrap().over_table(&table).unwrap(), "1.3 µs, 2 there, – nowhere");
        assert_eq!(of("plain").unwrap().over_table(&table).unwrap(), "plain");
        assert!(of("{p9}").unwrap().over_table(&table).unwrap_err().contains("no `p9`"));
        for (text, part) in [("{p99", "not closed"), ("{p99; x}", "decimals"), ("{1 +}", "ends")] {
            assert!(of(text).unwrap_err().contains(part), "{text}");
        }
    }
}
