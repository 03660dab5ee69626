//! Operators between the parts of an expression, in C's order: `bytes > 128 && kind == 2`. They work on
//! whole numbers of any sign and width, without the wrapping of C's.

use super::Symbols;
use super::expression::{Answer, Reader};
use super::frames::Memory;
use super::types::Kind;
use super::values::Value;

/// Operators by how strongly they bind, the weakest first; of those that begin alike the longer one first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// What an operator must not be the beginning of.
const LONGER: [&str; 6] = ["||", "&&", "<<", ">>", "->", "=="];

impl Symbols<'_> {
    /// Tells whether what an expression comes to is not zero.
    ///
    /// # Errors
    /// When it is no whole number.
    pub fn is_true(&self, answer: &Answer, memory: &Memory<'_>) -> Result<bool, String> {
        self.whole(answer, memory).map(|number| number != 0)
    }

    /// Gives a whole number with its sign.
    pub(super) fn whole(&self, answer: &Answer, memory: &Memory<'_>) -> Result<i128, String> {
        let value = match answer {
            Answer::Number(number) => return Ok((*number).into()),
            Answer::Computed(number) => return Ok(*number),
            Answer::Value(value) => value,
        };
        let kind = &self.type_of(value.type_id).kind;
        if let Kind::Float | Kind::Structure { .. } | Kind::Array { .. } = kind {
            return Err(format!("`{}` is no whole number", self.text(value, memory)));
        }
        let number = self.number(value, memory).ok_or_else(|| self.text(value, memory))?;
        Ok(match has_sign(kind, value) {
            true => (number as i64).into(),
            false => number.into(),
        })
    }
}

/// Tells whether a number is held as its two's complement.
fn has_sign(kind: &Kind, value: &Value) -> bool {
    let is_signed =
        matches!(kind, Kind::Signed | Kind::Letter { is_signed: true } | Kind::Enumeration { .. });
    is_signed && value.bits.is_none()
}

impl Reader<'_, '_> {
    /// Reads an expression with operators.
    pub(super) fn whole_expression(&mut self) -> Result<Answer, String> {
        self.level(0)
    }

    /// Reads operators of one level and those that bind more strongly.
    fn level(&mut self, level: usize) -> Result<Answer, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let right = self.level(level + 1)?;
            let (one, other) = (self.whole(&left)?, self.whole(&right)?);
            left = Answer::Computed(apply(operator, one, other)?);
        }
        Ok(left)
    }

    /// Takes one of some operators, if it is next.
    fn operator<'o>(&mut self, operators: &[&'o str]) -> Option<&'o str> {
        let is_next = |operator: &&&str| {
            let is_longer = |longer: &&str| longer.len() > operator.len() && self.begins(longer);
            self.begins(operator) && !LONGER.iter().any(is_longer)
        };
        let found = *operators.iter().find(is_next)?;
        self.takes(found);
        Some(found)
    }

    fn whole(&self, answer: &Answer) -> Result<i128, String> {
        self.symbols.whole(answer, self.names.memory)
    }

    /// Applies an operator that stands in front: `!`, `~` or `-`.
    pub(super) fn in_front(&self, operator: &str, answer: &Answer) -> Result<Answer, String> {
        let number = self.whole(answer)?;
        let result = match operator {
            "!" => (number == 0).into(),
            "~" => !number,
            _ => number.checked_neg().ok_or_else(too_large)?,
        };
        Ok(Answer::Computed(result))
    }
}

fn too_large() -> String {
    "the number is too large".to_owned()
}

fn apply(operator: &str, one: i128, other: i128) -> Result<i128, String> {
    let shift = || u32::try_from(other).map_err(|_| format!("nothing is shifted by {other} bits"));
    let divided = |result: Option<i128>| result.ok_or_else(|| "it is divided by 0".to_owned());
    Ok(match operator {
        "||" => (one != 0 || other != 0).into(),
        "&&" => (one != 0 && other != 0).into(),
        "|" => one | other,
        "^" => one ^ other,
        "&" => one & other,
        "==" => (one == other).into(),
        "!=" => (one != other).into(),
        "<=" => (one <= other).into(),
        ">=" => (one >= other).into(),
        "<" => (one < other).into(),
        ">" => (one > other).into(),
        "<<" => one.checked_shl(shift()?).ok_or_else(too_large)?,
        ">>" => one.checked_shr(shift()?).unwrap_or(0),
        "+" => one.checked_add(other).ok_or_else(too_large)?,
        "-" => one.checked_sub(other).ok_or_else(too_large)?,
        "*" => one.checked_mul(other).ok_or_else(too_large)?,
        "/" => divided(one.checked_div(other))?,
        _ => divided(one.checked_rem(other))?,
    })
}
