//! Values that are known before the program runs: widths, latencies, constants, keys of `select`.

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::Expr;
use crate::types::Type;

/// Computes with numbers that have no width; gives nothing where there is no such number.
pub(super) fn compute(sign: &str, one: i128, other: i128) -> Option<i128> {
    let shift = u32::try_from(other).ok().filter(|shift| *shift < 127);
    match sign {
        "+" => one.checked_add(other),
        "-" => one.checked_sub(other),
        "*" => one.checked_mul(other),
        "/" => (one >= 0 && other > 0).then(|| one / other),
        "%" => (one >= 0 && other > 0).then(|| one % other),
        "<<" => one.checked_mul(1i128 << shift?),
        ">>" => Some(one >> shift?),
        "&" => Some(one & other),
        "|" => Some(one | other),
        "^" => Some(one ^ other),
        _ => None,
    }
}

/// Compares numbers.
pub(super) fn compare(sign: &str, one: i128, other: i128) -> Option<bool> {
    Some(match sign {
        "==" => one == other,
        "!=" => one != other,
        "<" => one < other,
        "<=" => one <= other,
        ">" => one > other,
        ">=" => one >= other,
        _ => return None,
    })
}

impl Checker<'_> {
    /// Computes a constant, of a type if one is wanted.
    pub(super) fn constant(&mut self, expr: &Expr, wanted: Option<&Type>) -> Option<i128> {
        let typed = self.typed(expr)?;
        let typed = match wanted {
            Some(wanted) => self.convert(typed, wanted)?,
            None => typed,
        };
        match typed.integer() {
            Some(value) => Some(value),
            None => {
                let message = "this is not known before a packet comes";
                let help = "use numbers, constants and operators here";
                self.error(expr.span, message, help);
                None
            }
        }
    }

    /// Warns of a number that loses bits.
    pub(super) fn fit(&mut self, value: i128, width: u32, span: Span) -> u128 {
        let kept = crate::program::mask(value as u128, width);
        if i128::try_from(kept).ok() != Some(value) && !(width == 128 && value >= 0) {
            let message = format!("{value} does not fit into bit<{width}>");
            let warning = Diagnostic::warning(span, message).label(format!("becomes {kept}"));
            self.found.push(warning.help("write the number that you mean, or more bits"));
        }
        kept
    }
}
