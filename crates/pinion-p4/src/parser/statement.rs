//! Statements.

use super::Parser;
use crate::diagnostic::Diagnostic;
use crate::lexer::Word;
use crate::source::Span;
use crate::syntax::{Instance, Statement, StatementKind, Variable};

/// What P4 has and this subset has not, with what to do instead.
pub(super) const NOT_HERE: [(&str, &str); 6] = [
    ("switch", "use if and else"),
    ("for", "there are no loops in a pipeline"),
    ("enum", "use constants: const bit<8> NAME = 1;"),
    ("header_union", "use several headers, of which one is valid"),
    ("value_set", "use the values themselves"),
    ("verify", "compare in a select, whose default is reject"),
];

impl Parser<'_> {
    /// Reads statements up to the end of their block, which it takes.
    pub(super) fn statements(&mut self) -> Option<Vec<Statement>> {
        let open = self.before();
        let mut list = Vec::new();
        while !self.is("}") {
            if self.peek(0).is_none() {
                let error = Diagnostic::error(open, "this block has no end");
                self.error(error.help("close it with `}`"));
                return None;
            }
            self.statement_into(&mut list);
            if self.found.is_hopeless() {
                return None;
            }
        }
        self.at += 1;
        Some(list)
    }

    /// Reads a statement; goes on behind one that is none.
    pub(super) fn statement_into(&mut self, list: &mut Vec<Statement>) {
        let (start, depth) = (self.at, self.depth);
        match self.statement() {
            Some(statement) => list.push(statement),
            None => {
                self.skip_statement(start, depth);
                // What stands where no statement can must not be looked at again and again.
                if self.at == start && !self.is("}") {
                    self.at += 1;
                }
            }
        }
    }

    fn statement(&mut self) -> Option<Statement> {
        self.annotations();
        let start = self.span();
        let kind = self.statement_kind(start)?;
        Some(Statement { kind, span: start.to(self.before()) })
    }

    fn statement_kind(&mut self, start: Span) -> Option<StatementKind> {
        if self.take(";") {
            return Some(StatementKind::Empty);
        }
        if self.take("{") {
            self.deeper()?;
            let list = self.statements()?;
            self.depth -= 1;
            return Some(StatementKind::Block(list));
        }
        if self.take("if") {
            return self.conditional();
        }
        if self.take("exit") || self.take("return") {
            self.expect(";", "")?;
            return Some(StatementKind::Exit);
        }
        let declares = self.peek(1).is_some_and(|token| matches!(token.word, Word::Name(_)));
        if declares && self.take("action") {
            return self.action();
        }
        if declares && self.take("table") {
            return self.table();
        }
        if let Some((word, instead)) = NOT_HERE.iter().find(|(word, _)| self.is(word)) {
            let message = format!("`{word}` is not part of this P4");
            self.error(Diagnostic::error(start, message).help(*instead));
            self.at += 1;
            return None;
        }
        if self.is("const") || self.begins_declaration() {
            return self.local();
        }
        let place = self.expression()?;
        if self.take("=") {
            let value = self.expression()?;
            self.expect(";", "")?;
            return Some(StatementKind::Assign(place, value));
        }
        let sign = self.peek(0).map(|token| token.word.clone());
        if let Some(Word::Sign(sign @ ("+=" | "-=" | "&=" | "|=" | "^="))) = sign {
            let message = format!("`{sign}` is not part of this P4");
            let help = "write out what it stands for: x = x + 1;";
            self.error(Diagnostic::error(self.span(), message).help(help));
            return None;
        }
        self.expect(";", "")?;
        Some(StatementKind::Call(place))
    }

    fn conditional(&mut self) -> Option<StatementKind> {
        self.deeper()?;
        self.expect("(", "a condition stands in brackets")?;
        let condition = self.expression()?;
        self.expect(")", "close the condition")?;
        let then = self.statement()?;
        let otherwise = match self.take("else") {
            true => Some(Box::new(self.statement()?)),
            false => None,
        };
        self.depth -= 1;
        Some(StatementKind::If(condition, Box::new(then), otherwise))
    }

    /// Tells whether a variable or object is declared here: `T name`, `T<…> name` or `T(…) name`.
    pub(super) fn begins_declaration(&self) -> bool {
        let Some(token) = self.peek(0) else { return false };
        let is_name = |ahead: usize| {
            self.peek(ahead).is_some_and(|token| matches!(token.word, Word::Name(_)))
        };
        let is_sign = |sign: &str| self.peek(1).is_some_and(|token| token.is(sign));
        let is_builtin = ["bit", "bool", "int", "varbit"].iter().any(|word| token.is(word));
        match &token.word {
            Word::Name(_) if is_builtin => true,
            Word::Name(name) => {
                is_name(1) || self.types.contains(name) && (is_sign("<") || is_sign("("))
            }
            _ => false,
        }
    }

    /// Reads a variable, constant or object.
    pub(super) fn local(&mut self) -> Option<StatementKind> {
        let constant = self.take("const");
        let ty = self.type_ref()?;
        if !constant && self.is("(") {
            let arguments = self.arguments()?;
            let name = self.name("the name of an object")?;
            self.expect(";", "")?;
            return Some(StatementKind::Instance(Instance { ty, arguments, name }));
        }
        let name = self.name("the name of a variable")?;
        let value = match self.take("=") {
            true => Some(self.expression()?),
            false => None,
        };
        if constant && value.is_none() {
            let error =
                Diagnostic::error(name.span, format!("the constant {} has no value", name.text));
            self.error(error.help(format!("write const … {} = value;", name.text)));
        }
        self.expect(";", "")?;
        Some(StatementKind::Variable(Variable { constant, ty, name, value }))
    }
}
