//! The conditions of `#if`. In: words without macros. Out: a number. Operators are C's.

use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, Word};
use crate::source::Span;

/// Brackets in brackets that are followed.
const DEEPEST: usize = 64;

/// Operators of two operands, from the weakest.
const BINARY: [&[&str]; 9] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", "+", "-"],
    &["*", "/", "%"],
];

/// Computes a condition.
///
/// # Errors
/// What is no condition of it.
pub fn value(tokens: &[Token], span: Span) -> Result<i128, Diagnostic> {
    let mut condition = Condition { tokens, at: 0, span, depth: 0 };
    let value = condition.binary(0)?;
    match condition.tokens.get(condition.at) {
        None => Ok(value),
        Some(token) => Err(condition.wrong(token.span, "nothing more can come here")),
    }
}

struct Condition<'a> {
    tokens: &'a [Token],
    at: usize,
    span: Span,
    depth: usize,
}

impl Condition<'_> {
    fn wrong(&self, span: Span, why: &str) -> Diagnostic {
        let help = "conditions are numbers, defined(NAME), !, && and ||, comparisons and + - * / %";
        Diagnostic::error(span, format!("this is no condition: {why}")).help(help)
    }

    fn binary(&mut self, level: usize) -> Result<i128, Diagnostic> {
        let Some(signs) = BINARY.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(token) = self.tokens.get(self.at) {
            let Some(sign) = signs.iter().find(|sign| token.is(sign)) else { break };
            let place = token.span;
            self.at += 1;
            let right = self.binary(level + 1)?;
            let computed = apply(sign, left, right);
            left = computed.ok_or_else(|| self.wrong(place, "it has no value"))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i128, Diagnostic> {
        self.depth += 1;
        let token = self.tokens.get(self.at);
        let span = token.map_or(self.span, |token| token.span);
        if self.depth > DEEPEST {
            return Err(self.wrong(span, "it is nested too deeply"));
        }
        self.at += 1;
        let value = match token.map(|token| &token.word) {
            Some(Word::Number { value, .. }) => i128::try_from(*value).ok(),
            Some(Word::Sign("!")) => Some(i128::from(self.unary()? == 0)),
            Some(Word::Sign("-")) => self.unary()?.checked_neg(),
            Some(Word::Sign("~")) => Some(!self.unary()?),
            Some(Word::Sign("(")) => {
                let value = self.binary(0)?;
                match self.tokens.get(self.at) {
                    Some(token) if token.is(")") => self.at += 1,
                    _ => return Err(self.wrong(span, "this bracket is not closed")),
                }
                Some(value)
            }
            _ => return Err(self.wrong(span, "a value is missing")),
        };
        self.depth -= 1;
        value.ok_or_else(|| self.wrong(span, "the number is too large"))
    }
}

fn apply(sign: &str, left: i128, right: i128) -> Option<i128> {
    let flag = |value: bool| Some(i128::from(value));
    match sign {
        "||" => flag(left != 0 || right != 0),
        "&&" => flag(left != 0 && right != 0),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "==" => flag(left == right),
        "!=" => flag(left != right),
        "<" => flag(left < right),
        "<=" => flag(left <= right),
        ">" => flag(left > right),
        ">=" => flag(left >= right),
        "<<" => left.checked_shl(u32::try_from(right).ok()?),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        _ => None,
    }
}
