//! Expressions: their types and widths (P4-16 specification, §8.5 to §8.11).

use super::constant::{compare, compute};
use super::{Checker, Symbol};
use crate::diagnostic::Diagnostic;
use crate::program::{Binary, Unary, Value, ValueKind, binary, mask, unary};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, TypeRef};
use crate::types::{Type, Types};

/// An expression with its type.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub ty: Type,
    pub kind: TypedKind,
    pub span: Span,
}

/// What an expression gives.
#[derive(Clone, Debug)]
pub(super) enum TypedKind {
    /// A number without a width.
    Number(i128),
    /// A bool or bits.
    Value(Value),
    /// A struct or header: its first place.
    Row(u32),
}

impl Typed {
    /// Gives its number if it is constant.
    pub(super) fn integer(&self) -> Option<i128> {
        match &self.kind {
            TypedKind::Number(value) => Some(*value),
            TypedKind::Value(value) => value.as_constant().map(|value| value as i128),
            TypedKind::Row(_) => None,
        }
    }

    fn of(ty: Type, value: Value) -> Self {
        let span = value.span;
        Self { ty, kind: TypedKind::Value(value), span }
    }

    fn number(value: i128, span: Span) -> Self {
        Self { ty: Type::Integer, kind: TypedKind::Number(value), span }
    }
}

/// Computes what can be computed at once.
fn fold(kind: ValueKind, width: u32, span: Span) -> Value {
    let constant = match &kind {
        ValueKind::Unary(operator, inner) => {
            inner.as_constant().map(|value| unary(*operator, value, width))
        }
        ValueKind::Binary(operator, one, other) => one
            .as_constant()
            .zip(other.as_constant())
            .map(|(a, b)| binary(*operator, a, b, one.width)),
        ValueKind::Slice(inner, low) => inner.as_constant().map(|value| value >> low),
        ValueKind::Resize(inner) => inner.as_constant(),
        ValueKind::Join(one, other) => one
            .as_constant()
            .zip(other.as_constant())
            .map(|(a, b)| a.checked_shl(other.width).unwrap_or(0) | b),
        _ => None,
    };
    match constant {
        Some(value) => Value::constant(value, width, span),
        None => Value { kind, width, span },
    }
}

impl Checker<'_> {
    /// Checks an expression that must have a type; gives its value.
    pub(super) fn value(&mut self, expr: &Expr, wanted: &Type) -> Option<Value> {
        let typed = self.typed(expr)?;
        match self.convert(typed, wanted)?.kind {
            TypedKind::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Makes a value fit a type, if P4 does so by itself: numbers without a width fit any.
    pub(super) fn convert(&mut self, typed: Typed, wanted: &Type) -> Option<Typed> {
        if typed.ty == *wanted {
            return Some(typed);
        }
        if let (TypedKind::Number(number), Type::Bit(width)) = (&typed.kind, wanted) {
            let value = self.fit(*number, *width, typed.span);
            return Some(Typed::of(wanted.clone(), Value::constant(value, *width, typed.span)));
        }
        let (is, should) = (self.types.describe(&typed.ty), self.types.describe(wanted));
        let help = match (&typed.ty, wanted) {
            (Type::Bit(1), Type::Bool) => "compare it: x == 1".to_owned(),
            (Type::Bit(_) | Type::Integer, Type::Bool) => {
                "compare it with a number: x != 0".to_owned()
            }
            (Type::Bool, Type::Bit(_)) => format!("cast it: ({should})(bit<1>) x"),
            (Type::Bit(_), Type::Bit(_)) => {
                format!("cast it: ({should}) x, or give both the same width")
            }
            _ => format!("{should} is needed here"),
        };
        let error = Diagnostic::error(typed.span, format!("{should} expected, but this is {is}"));
        self.found.push(error.label(is).help(help));
        None
    }

    /// Checks an expression.
    pub(super) fn typed(&mut self, expr: &Expr) -> Option<Typed> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Number { value, width: Some(width) } => {
                Some(Typed::of(Type::Bit(*width), Value::constant(*value, *width, span)))
            }
            ExprKind::Number { value, width: None } => match i128::try_from(*value) {
                Ok(value) => Some(Typed::number(value, span)),
                Err(_) => {
                    let help = format!("write its width: 128w{value}");
                    self.error(span, "this number is too large without a width", help);
                    None
                }
            },
            ExprKind::Bool(value) => {
                Some(Typed::of(Type::Bool, Value::constant(u128::from(*value), 1, span)))
            }
            ExprKind::Name(name) => match self.symbol(name) {
                Some(Symbol::Constant(Type::Integer, value)) => Some(Typed::number(*value, span)),
                Some(Symbol::Constant(ty, value)) => {
                    let value = Value::constant(*value as u128, Types::width(ty), span);
                    Some(Typed::of(ty.clone(), value))
                }
                _ => self.place_value(expr),
            },
            ExprKind::Member(..) => self.place_value(expr),
            ExprKind::Slice(inner, high, low) => self.slice(inner, high, low, span),
            ExprKind::Unary(sign, inner) => self.unary(sign, inner, span),
            ExprKind::Binary(sign, place, one, other) => {
                self.binary(sign, *place, [one, other], span)
            }
            ExprKind::Choice(parts) => self.choice(parts, span),
            ExprKind::Cast(ty, inner) => self.cast(ty, inner, span),
            ExprKind::Call(callee, arguments) => self.call_value(callee, arguments, span),
            ExprKind::List(_) => {
                let help = "a list gives a whole struct: name = { value, value };";
                self.error(span, "a list of values where one value is needed", help);
                None
            }
        }
    }

    /// Gives what stands in a variable, field or struct.
    fn place_value(&mut self, expr: &Expr) -> Option<Typed> {
        let place = self.place(expr)?;
        let kind = match place.ty {
            Type::Struct(_) => TypedKind::Row(place.slot),
            _ => TypedKind::Value(Value::slot(place.slot, Types::width(&place.ty), expr.span)),
        };
        Some(Typed { ty: place.ty, kind, span: expr.span })
    }

    /// Gives the bits of `[high:low]` if they lie within a width.
    pub(super) fn bits(&mut self, high: &Expr, low: &Expr, width: u32) -> Option<(u32, u32)> {
        let (top, bottom) = (self.constant(high, None)?, self.constant(low, None)?);
        if 0 <= bottom && bottom <= top && top < i128::from(width) {
            return Some((top as u32, bottom as u32));
        }
        let span = high.span.to(low.span);
        let message = format!("there are no bits [{top}:{bottom}] of bit<{width}>");
        let help =
            format!("bits are numbered {} to 0, the higher one first", width.saturating_sub(1));
        self.error(span, message, help);
        None
    }

    fn slice(&mut self, inner: &Expr, high: &Expr, low: &Expr, span: Span) -> Option<Typed> {
        let typed = self.typed(inner)?;
        let (Type::Bit(width), TypedKind::Value(value)) = (&typed.ty, typed.kind) else {
            let is = self.types.describe(&typed.ty);
            self.error(inner.span, format!("{is} has no bits to take"), "take them of bit<N>");
            return None;
        };
        let (top, bottom) = self.bits(high, low, *width)?;
        let width = top - bottom + 1;
        let value = fold(ValueKind::Slice(Box::new(value), bottom), width, span);
        Some(Typed::of(Type::Bit(width), value))
    }

    fn unary(&mut self, sign: &str, inner: &Expr, span: Span) -> Option<Typed> {
        let typed = self.typed(inner)?;
        let operator = match (sign, &typed.ty) {
            ("+", Type::Bit(_) | Type::Integer) => return Some(typed),
            ("-", Type::Integer) => {
                let TypedKind::Number(value) = typed.kind else { return None };
                return Some(Typed::number(value.checked_neg()?, span));
            }
            ("!", Type::Bool) => Unary::Not,
            ("~", Type::Bit(_)) => Unary::Complement,
            ("-", Type::Bit(_)) => Unary::Negate,
            _ => {
                let is = self.types.describe(&typed.ty);
                let help = match sign {
                    "!" => "`!` is for bool; `~` complements bits, and x == 0 compares",
                    "~" => "`~` is for bit<N>; `!` negates a bool; a number needs a width: 8w1",
                    _ => "`-` is for bit<N>",
                };
                self.error(span, format!("`{sign}` of {is}"), help);
                return None;
            }
        };
        let TypedKind::Value(value) = typed.kind else { return None };
        let width = value.width;
        Some(Typed::of(typed.ty, fold(ValueKind::Unary(operator, Box::new(value)), width, span)))
    }

    fn binary(
        &mut self,
        sign: &str,
        place: Span,
        operands: [&Expr; 2],
        span: Span,
    ) -> Option<Typed> {
        let [one, other] = operands.map(|operand| self.typed(operand));
        let (one, other) = (one?, other?);
        if let (TypedKind::Number(a), TypedKind::Number(b)) = (&one.kind, &other.kind) {
            if let Some(truth) = compare(sign, *a, *b) {
                let value = Value::constant(u128::from(truth), 1, span);
                return Some(Typed::of(Type::Bool, value));
            }
            let computed = compute(sign, *a, *b);
            if computed.is_none() {
                let help = "numbers have up to 127 bits, and nothing divides by 0";
                self.error(span, format!("`{sign}` of these has no value"), help);
            }
            return Some(Typed::number(computed?, span));
        }
        match sign {
            "<<" | ">>" => return self.shift(sign, one, other, span),
            "++" => return self.join(one, other, span),
            "*" | "/" | "%" => {
                let help =
                    "pipelines multiply by powers of two: shift; constants may use any operator";
                self.error(place, format!("`{sign}` of values that packets bring"), help);
                return None;
            }
            _ => {}
        }
        // A number takes the other's width.
        let (one, other) = match (&one.kind, &other.kind) {
            (TypedKind::Number(_), _) => (self.convert(one, &other.ty.clone())?, other),
            (_, TypedKind::Number(_)) => {
                let ty = one.ty.clone();
                (one, self.convert(other, &ty)?)
            }
            _ => (one, other),
        };
        let fits = one.ty == other.ty
            && match sign {
                "&&" | "||" => one.ty == Type::Bool,
                "==" | "!=" => matches!(one.ty, Type::Bool | Type::Bit(_)),
                _ => matches!(one.ty, Type::Bit(_)),
            };
        if !fits {
            self.unfit(sign, place, &one, &other);
            return None;
        }
        let (ty, (TypedKind::Value(a), TypedKind::Value(b))) = (one.ty, (one.kind, other.kind))
        else {
            return None;
        };
        let (operator, swapped) = operator(sign)?;
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let is_bool = matches!(sign, "==" | "!=" | "<" | ">" | "<=" | ">=" | "&&" | "||");
        let ty = if is_bool { Type::Bool } else { ty };
        let width = Types::width(&ty);
        let kind = ValueKind::Binary(operator, Box::new(a), Box::new(b));
        Some(Typed::of(ty, fold(kind, width, span)))
    }

    /// Says that an operator's operands do not fit.
    fn unfit(&mut self, sign: &str, place: Span, one: &Typed, other: &Typed) {
        let (left, right) = (self.types.describe(&one.ty), self.types.describe(&other.ty));
        let help = match (&one.ty, &other.ty) {
            (Type::Bit(a), Type::Bit(b)) if a != b => {
                format!("give both the same width: cast one, (bit<{}>) x", a.max(b))
            }
            (Type::Bool, Type::Bool) => {
                "bools are joined by &&, || and !, compared by == and !=".to_owned()
            }
            (Type::Bit(_), Type::Bit(_)) => {
                "&&, || and ! are for bools: compare, as in x != 0".to_owned()
            }
            (Type::Struct(_), _) | (_, Type::Struct(_)) => "compare their fields".to_owned(),
            _ => "a bool and bits do not mix: compare the bits, or cast (bit<1>) flag".to_owned(),
        };
        let error = Diagnostic::error(place, format!("`{sign}` between {left} and {right}"));
        let error = error.related(one.span, left).related(other.span, right);
        self.found.push(error.help(help));
    }

    fn shift(&mut self, sign: &str, one: Typed, other: Typed, span: Span) -> Option<Typed> {
        let operator = if sign == "<<" { Binary::ShiftLeft } else { Binary::ShiftRight };
        let (Type::Bit(width), TypedKind::Value(value)) = (&one.ty, one.kind.clone()) else {
            let help = "give what is shifted a width: 16w1 << n";
            self.error(one.span, "what is shifted has no width", help);
            return None;
        };
        let amount = match other.kind {
            TypedKind::Number(number) => match u32::try_from(number) {
                Ok(number) => Value::constant(u128::from(number), 32, other.span),
                Err(_) => {
                    self.error(other.span, "a shift by less than nothing", "shift the other way");
                    return None;
                }
            },
            TypedKind::Value(value) if other.ty != Type::Bool => value,
            _ => {
                self.error(other.span, "a shift is by bits", "shift by a number or bit<N>");
                return None;
            }
        };
        let width = *width;
        let kind = ValueKind::Binary(operator, Box::new(value), Box::new(amount));
        Some(Typed::of(one.ty, fold(kind, width, span)))
    }

    fn join(&mut self, one: Typed, other: Typed, span: Span) -> Option<Typed> {
        let (Type::Bit(a), Type::Bit(b)) = (&one.ty, &other.ty) else {
            self.error(span, "`++` joins bits", "give both operands a width: 4w1 ++ x");
            return None;
        };
        let width = a + b;
        if width > crate::lexer::WIDEST {
            let message = format!("{width} bits are more than a value may have");
            self.error(span, message, "set several fields");
            return None;
        }
        let (TypedKind::Value(one), TypedKind::Value(other)) = (one.kind, other.kind) else {
            return None;
        };
        let kind = ValueKind::Join(Box::new(one), Box::new(other));
        Some(Typed::of(Type::Bit(width), fold(kind, width, span)))
    }

    fn choice(&mut self, parts: &[Expr; 3], span: Span) -> Option<Typed> {
        let condition = self.value(&parts[0], &Type::Bool);
        let (one, other) = (self.typed(&parts[1])?, self.typed(&parts[2])?);
        let (one, other) = match (&one.kind, &other.kind) {
            (TypedKind::Number(_), TypedKind::Number(_)) => {
                let help = "give one of them a width, such as 16w1";
                self.error(span, "a choice between numbers without a width", help);
                return None;
            }
            (TypedKind::Number(_), _) => (self.convert(one, &other.ty.clone())?, other),
            _ => {
                let ty = one.ty.clone();
                (one, self.convert(other, &ty)?)
            }
        };
        let (TypedKind::Value(a), TypedKind::Value(b)) = (one.kind, other.kind) else {
            self.error(span, "a choice between structs", "choose field by field, or use if");
            return None;
        };
        let width = a.width;
        let condition = condition?;
        let value = match condition.as_constant() {
            Some(0) => b,
            Some(_) => a,
            None => {
                let kind = ValueKind::Choice(Box::new([condition, a, b]));
                Value { kind, width, span }
            }
        };
        Some(Typed::of(one.ty, value))
    }

    fn cast(&mut self, ty: &TypeRef, inner: &Expr, span: Span) -> Option<Typed> {
        let wanted = self.resolve(ty)?;
        let typed = self.typed(inner)?;
        if typed.ty == wanted {
            return Some(Typed { span, ..typed });
        }
        match (&typed.ty, &wanted, typed.kind) {
            (Type::Integer, Type::Bit(width), TypedKind::Number(number)) => {
                let value = mask(number as u128, *width);
                Some(Typed::of(wanted.clone(), Value::constant(value, *width, span)))
            }
            (Type::Bit(1), Type::Bool, TypedKind::Value(value))
            | (Type::Bool, Type::Bit(1), TypedKind::Value(value)) => {
                Some(Typed::of(wanted, Value { span, ..value }))
            }
            (Type::Bit(_), Type::Bit(width), TypedKind::Value(value)) => {
                let width = *width;
                Some(Typed::of(wanted, fold(ValueKind::Resize(Box::new(value)), width, span)))
            }
            (is, ..) => {
                let message = format!(
                    "{} cannot be cast to {}",
                    self.types.describe(is),
                    self.types.describe(&wanted)
                );
                let help = "casts lead from bit<N> to bit<M>, and between bool and bit<1>";
                self.error(span, message, help);
                None
            }
        }
    }

    /// Checks a call that gives a value: `isValid` is the only one.
    fn call_value(&mut self, callee: &Expr, arguments: &[Expr], span: Span) -> Option<Typed> {
        if let ExprKind::Member(object, method) = &callee.kind
            && &*method.text == "isValid"
        {
            let place = self.place(object)?;
            if !self.types.is_header(&place.ty) {
                let is = self.types.describe(&place.ty);
                let help = "ask a header, such as hdr.ipv4.isValid()";
                self.error(object.span, format!("{is} is neither valid nor invalid"), help);
                return None;
            }
            self.no_arguments(arguments);
            return Some(Typed::of(Type::Bool, Value::slot(place.slot, 1, span)));
        }
        let help = "externs answer by their last argument: name.apply(request, answer); of a table ask if \
                    (name.apply().hit)";
        self.error(span, "this call gives no value", help);
        None
    }

    /// Refuses arguments.
    pub(super) fn no_arguments(&mut self, arguments: &[Expr]) {
        if let Some(argument) = arguments.first() {
            self.error(argument.span, "nothing is to be given here", "leave the brackets empty");
        }
    }
}

/// Gives the operator for a sign, and whether its operands change places.
fn operator(sign: &str) -> Option<(Binary, bool)> {
    Some(match sign {
        "+" => (Binary::Add, false),
        "-" => (Binary::Subtract, false),
        "&" => (Binary::And, false),
        "|" => (Binary::Or, false),
        "^" => (Binary::Xor, false),
        "==" => (Binary::Equal, false),
        "!=" => (Binary::Unequal, false),
        "<" => (Binary::Less, false),
        "<=" => (Binary::LessEqual, false),
        ">" => (Binary::Less, true),
        ">=" => (Binary::LessEqual, true),
        "&&" => (Binary::Both, false),
        "||" => (Binary::Either, false),
        _ => return None,
    })
}
