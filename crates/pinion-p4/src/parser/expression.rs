//! Expressions and types.

use super::Parser;
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, Word};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, TypeKind, TypeRef};

/// Operators in one row, and members of members, that are followed.
const LONGEST: usize = 256;

/// Operators of two operands with how strongly they bind, from the weakest (P4-16 specification, §8).
const BINARY: [(&str, u8); 19] = [
    ("||", 1),
    ("&&", 2),
    ("==", 3),
    ("!=", 3),
    ("<", 4),
    (">", 4),
    ("<=", 4),
    (">=", 4),
    ("|", 5),
    ("^", 6),
    ("&", 7),
    ("<<", 8),
    (">>", 8),
    ("++", 9),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

/// How strongly the operators bind that can stand between `<` and `>` of a type.
const ABOVE_COMPARISONS: u8 = 9;

impl Parser<'_> {
    /// Reads an expression.
    pub(super) fn expression(&mut self) -> Option<Expr> {
        self.deeper()?;
        let condition = self.binary(1)?;
        let whole = if self.take("?") {
            let one = self.expression()?;
            self.expect(":", "a choice is written condition ? value : other value")?;
            let other = self.expression()?;
            let span = condition.span.to(other.span);
            Expr { kind: ExprKind::Choice(Box::new([condition, one, other])), span }
        } else {
            condition
        };
        self.depth -= 1;
        Some(whole)
    }

    /// Gives the next operator, how strongly it binds and how many words it has.
    fn operator(&self) -> Option<(&'static str, u8, usize)> {
        let token = self.peek(0)?;
        let Word::Sign(sign) = token.word else { return None };
        let touches = |other: &&Token| other.span.start == token.span.end && other.is(">");
        if sign == ">" && self.peek(1).filter(touches).is_some() {
            return Some((">>", 8, 2));
        }
        let (sign, strength) = BINARY.iter().find(|(known, _)| *known == sign)?;
        Some((sign, *strength, 1))
    }

    /// Reads operands joined by operators that bind as strongly as `least` at least.
    fn binary(&mut self, least: u8) -> Option<Expr> {
        let mut left = self.unary()?;
        let mut length = 0;
        while let Some((sign, strength, words)) = self.operator().filter(|found| found.1 >= least) {
            let place = self.span();
            length += 1;
            if length > LONGEST {
                let message = format!("more than {LONGEST} operators in a row");
                self.error(Diagnostic::error(place, message).help("compute it in several steps"));
                return None;
            }
            self.at += words;
            let place = place.to(self.before());
            self.deeper()?;
            let right = self.binary(strength + 1)?;
            self.depth -= 1;
            let span = left.span.to(right.span);
            let kind = ExprKind::Binary(sign, place, Box::new(left), Box::new(right));
            left = Expr { kind, span };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr> {
        let start = self.span();
        for sign in ["!", "~", "-", "+"] {
            if self.take(sign) {
                self.deeper()?;
                let inner = self.unary()?;
                self.depth -= 1;
                let span = start.to(inner.span);
                return Some(Expr { kind: ExprKind::Unary(sign, Box::new(inner)), span });
            }
        }
        if self.is("(") && self.peek(1).is_some_and(|token| self.begins_type(token)) {
            self.at += 1;
            let ty = self.type_ref()?;
            self.expect(")", "a cast is written (bit<8>) value")?;
            self.deeper()?;
            let inner = self.unary()?;
            self.depth -= 1;
            let span = start.to(inner.span);
            return Some(Expr { kind: ExprKind::Cast(Box::new(ty), Box::new(inner)), span });
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Option<Expr> {
        let mut whole = self.primary()?;
        for _ in 0..LONGEST {
            if self.take(".") {
                let member = self.name("the name of a member")?;
                let span = whole.span.to(member.span);
                whole = Expr { kind: ExprKind::Member(Box::new(whole), member), span };
            } else if self.is("(") {
                let arguments = self.arguments()?;
                let span = whole.span.to(self.before());
                whole = Expr { kind: ExprKind::Call(Box::new(whole), arguments), span };
            } else if self.take("[") {
                let high = self.expression()?;
                if self.is("]") {
                    let error =
                        Diagnostic::error(whole.span.to(self.span()), "there are no arrays");
                    self.error(error.help("bits are taken with [high:low], for example x[7:0]"));
                    return None;
                }
                self.expect(":", "bits are taken with [high:low], for example x[7:0]")?;
                let low = self.expression()?;
                self.expect("]", "close it with `]`")?;
                let span = whole.span.to(self.before());
                let kind = ExprKind::Slice(Box::new(whole), Box::new(high), Box::new(low));
                whole = Expr { kind, span };
            } else {
                return Some(whole);
            }
        }
        self.error(Diagnostic::error(whole.span, "too many members of members"));
        None
    }

    /// Reads arguments in brackets.
    pub(super) fn arguments(&mut self) -> Option<Vec<Expr>> {
        self.expect("(", "arguments stand in brackets")?;
        self.list(")")
    }

    /// Reads expressions up to a closing bracket.
    fn list(&mut self, close: &str) -> Option<Vec<Expr>> {
        let mut list = Vec::new();
        while !self.is(close) {
            list.push(self.expression()?);
            if !self.take(",") {
                break;
            }
        }
        self.expect(close, "")?;
        Some(list)
    }

    fn primary(&mut self) -> Option<Expr> {
        let span = self.span();
        let kind = match self.peek(0).map(|token| token.word.clone()) {
            Some(Word::Number { value, width }) => ExprKind::Number { value, width },
            Some(Word::Name(name)) if &*name == "true" || &*name == "false" => {
                ExprKind::Bool(&*name == "true")
            }
            Some(Word::Name(_)) => {
                let name = self.name("a value")?;
                return Some(Expr { kind: ExprKind::Name(name.text), span });
            }
            Some(Word::Sign("(")) => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect(")", "this bracket is not closed")?;
                return Some(Expr { span: span.to(self.before()), ..inner });
            }
            Some(Word::Sign("{")) => {
                self.at += 1;
                self.deeper()?;
                let list = self.list("}")?;
                self.depth -= 1;
                return Some(Expr { kind: ExprKind::List(list), span: span.to(self.before()) });
            }
            _ => {
                self.expected("a value", "");
                return None;
            }
        };
        self.at += 1;
        Some(Expr { kind, span })
    }

    /// Tells whether a word begins a type.
    pub(super) fn begins_type(&self, token: &Token) -> bool {
        match &token.word {
            Word::Name(name) => {
                ["bit", "bool", "int", "varbit", "void"].contains(&&**name)
                    || self.types.contains(name)
            }
            _ => false,
        }
    }

    /// Reads a type.
    pub(super) fn type_ref(&mut self) -> Option<TypeRef> {
        let start = self.span();
        if self.take("bool") {
            return Some(TypeRef { kind: TypeKind::Bool, span: start });
        }
        if self.take("void") {
            return Some(TypeRef { kind: TypeKind::Void, span: start });
        }
        for (unknown, instead) in [
            ("int", "use bit<N>: this P4 has no signed numbers"),
            ("varbit", "use bit<N>: this P4 has no fields of varying length"),
            ("string", "this P4 has no texts"),
            ("tuple", "use a struct: this P4 has no tuples"),
        ] {
            if self.is(unknown) {
                let message = format!("the type `{unknown}` is not part of this P4");
                self.error(Diagnostic::error(start, message).help(instead));
                return None;
            }
        }
        if self.take("bit") {
            return self.bit(start);
        }
        let name = self.name("a type")?;
        let mut arguments = Vec::new();
        if self.take("<") {
            self.deeper()?;
            while !self.is(">") {
                arguments.push(self.type_ref()?);
                if !self.take(",") {
                    break;
                }
            }
            self.expect(">", "close the types with `>`")?;
            self.depth -= 1;
        }
        let span = start.to(self.before());
        Some(TypeRef { kind: TypeKind::Named(name, arguments), span })
    }

    /// Reads the width of `bit`: a number, name or anything in brackets.
    fn bit(&mut self, start: Span) -> Option<TypeRef> {
        let mut width = None;
        if self.take("<") {
            self.deeper()?;
            width = Some(Box::new(self.binary(ABOVE_COMPARISONS)?));
            self.depth -= 1;
            self.expect(">", "a width is written bit<8>; put more than a sum into brackets")?;
        }
        Some(TypeRef { kind: TypeKind::Bit(width), span: start.to(self.before()) })
    }
}
