//! Parsers and controls: what they declare, their states, what they do.

use super::Parser;
use crate::diagnostic::Diagnostic;
use crate::syntax::{Case, Declaration, Head, Key, State, Statement, Transition};

impl Parser<'_> {
    /// Reads the body of a parser.
    pub(super) fn parser_body(&mut self, head: Head) -> Option<Declaration> {
        let (mut locals, mut states) = (Vec::new(), Vec::new());
        while !self.is("}") {
            if self.peek(0).is_none() {
                let error = Diagnostic::error(head.name.span, "this parser has no end");
                self.error(error.help("close it with `}`"));
                return None;
            }
            if self.found.is_hopeless() {
                return None;
            }
            self.annotations();
            if self.take("state") {
                let (start, depth) = (self.at, self.depth);
                match self.state() {
                    Some(state) => states.push(state),
                    None => {
                        self.depth = depth;
                        self.at = start;
                        self.skip_to_block_end();
                    }
                }
            } else {
                self.statement_into(&mut locals);
            }
        }
        self.at += 1;
        Some(Declaration::Parser(head, locals, states))
    }

    /// Goes on behind the next block.
    fn skip_to_block_end(&mut self) {
        while self.peek(0).is_some() && !self.is("{") && !self.is("}") {
            self.at += 1;
        }
        if self.is("{") {
            self.skip_brackets();
        }
    }

    fn state(&mut self) -> Option<State> {
        let name = self.name("the name of a state")?;
        self.expect("{", "a state is written state NAME { … }")?;
        let mut body = Vec::new();
        let mut transition = None;
        while !self.is("}") {
            if self.peek(0).is_none() {
                let error = Diagnostic::error(name.span, "this state has no end");
                self.error(error.help("close it with `}`"));
                return None;
            }
            if self.found.is_hopeless() {
                return None;
            }
            let place = self.span();
            if self.take("transition") {
                let depth = self.depth;
                let start = self.at;
                match self.transition() {
                    Some(found) => transition = Some(found),
                    None => self.skip_statement(start, depth),
                }
            } else {
                if transition.is_some() {
                    let error = Diagnostic::error(place, "a statement behind the transition");
                    self.error(error.help("the transition is the last statement of a state"));
                }
                self.statement_into(&mut body);
            }
        }
        self.at += 1;
        Some(State { name, body, transition })
    }

    fn transition(&mut self) -> Option<Transition> {
        let span = self.span();
        if !self.take("select") {
            let name = self.name("the name of a state, or select")?;
            self.expect(";", "")?;
            return Some(Transition::To(name));
        }
        let on = self.arguments()?;
        let span = span.to(self.before());
        self.expect("{", "the cases stand in braces")?;
        let mut cases = Vec::new();
        while !self.is("}") {
            cases.push(self.case()?);
        }
        self.at += 1;
        self.take(";");
        Some(Transition::Select { on, cases, span })
    }

    fn case(&mut self) -> Option<Case> {
        let start = self.span();
        let mut keys = Vec::new();
        // One key may stand in brackets, too; then it is an expression in brackets, or a list of one.
        if self.is("(") && !self.peek(1).is_some_and(|token| self.begins_type(token)) {
            self.at += 1;
            loop {
                keys.push(self.key()?);
                if !self.take(",") {
                    break;
                }
            }
            self.expect(")", "keys for several values stand in brackets, with commas")?;
        } else {
            keys.push(self.key()?);
        }
        self.expect(":", "a case is written value: state;")?;
        let to = self.name("the name of a state")?;
        self.expect(";", "")?;
        Some(Case { keys, span: start.to(self.before()), to })
    }

    fn key(&mut self) -> Option<Key> {
        if self.take("default") || self.take("_") {
            return Some(Key::Any);
        }
        let value = self.expression()?;
        if self.take("&&&") {
            return Some(Key::Mask(value, self.expression()?));
        }
        if self.take("..") {
            return Some(Key::Range(value, self.expression()?));
        }
        Some(Key::Value(value))
    }

    /// Reads the body of a control.
    pub(super) fn control_body(&mut self, head: Head) -> Option<Declaration> {
        let mut locals: Vec<Statement> = Vec::new();
        let mut apply = None;
        while !self.is("}") {
            if self.peek(0).is_none() {
                let error = Diagnostic::error(head.name.span, "this control has no end");
                self.error(error.help("close it with `}`"));
                return None;
            }
            if self.found.is_hopeless() {
                return None;
            }
            self.annotations();
            let place = self.span();
            if self.is("apply") && self.peek(1).is_some_and(|token| token.is("{")) {
                self.at += 2;
                if apply.is_some() {
                    let error = Diagnostic::error(place, "a second apply block");
                    self.error(error.help("a control has one; join them"));
                }
                apply = self.statements();
            } else {
                self.statement_into(&mut locals);
            }
        }
        self.at += 1;
        Some(Declaration::Control(head, locals, apply))
    }
}
