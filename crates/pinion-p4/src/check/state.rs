//! The states of a parser, and where they lead.

use std::collections::HashMap;
use std::sync::Arc;

use super::Checker;
use crate::diagnostic::Diagnostic;
use crate::program::{self, Case, State, Target, mask};
use crate::syntax::{Key, Name, State as Written, Statement, Transition};
use crate::types::{Type, Types};

/// Most states of a parser.
const MOST_STATES: usize = 256;

impl Checker<'_> {
    /// Checks a parser's states; `start` comes first.
    pub(super) fn states(
        &mut self,
        name: &Name,
        locals: &[Statement],
        written: &[Written],
    ) -> Vec<State> {
        let mut order: Vec<&Written> = written.iter().collect();
        order.sort_by_key(|state| &*state.name.text != "start");
        if order.first().is_none_or(|state| &*state.name.text != "start") {
            let message = format!("the parser {} has no state `start`", name.text);
            self.error(name.span, message, "it begins in state start { … }");
            return Vec::new();
        }
        if order.len() > MOST_STATES {
            let message = format!("more than {MOST_STATES} states");
            self.error(name.span, message, "a parser has a state or two for each header");
            return Vec::new();
        }
        let mut names: HashMap<Arc<str>, usize> = HashMap::new();
        for (number, state) in order.iter().enumerate() {
            let text = &state.name.text;
            if ["accept", "reject"].contains(&&**text) {
                let help = "accept takes the packet and reject drops it, without a state of yours";
                self.error(state.name.span, format!("`{text}` is there already"), help);
            }
            if names.insert(Arc::clone(text), number).is_some() {
                let message = format!("the state `{text}` is there twice");
                self.error(state.name.span, message, "give one of them another name");
            }
        }
        self.scopes.push(Default::default());
        let mut before = Vec::new();
        for local in locals {
            self.statement(local, &mut before);
        }
        let mut states: Vec<State> = order.iter().map(|state| self.state(state, &names)).collect();
        self.scopes.pop();
        before.append(&mut states[0].steps);
        states[0].steps = before;
        self.order(&states, name);
        states
    }

    fn state(&mut self, state: &Written, names: &HashMap<Arc<str>, usize>) -> State {
        self.scopes.push(Default::default());
        let mut steps = Vec::new();
        for statement in &state.body {
            self.statement(statement, &mut steps);
        }
        let (mut on, mut cases) = (Vec::new(), Vec::new());
        match &state.transition {
            None => {
                let warning = Diagnostic::warning(
                    state.name.span,
                    format!("the state {} has no transition", state.name.text),
                );
                self.found
                    .push(warning.label("drops the packet").help("end it with transition accept;"));
            }
            Some(Transition::To(name)) => {
                if let Some(to) = self.target(name, names) {
                    cases.push(Case { keys: Vec::new(), to });
                }
            }
            Some(Transition::Select { on: values, cases: written, span }) => {
                let mut types = Vec::new();
                for value in values {
                    let Some(typed) = self.typed(value) else { continue };
                    match typed.kind {
                        super::expression::TypedKind::Value(value) => {
                            types.push(typed.ty);
                            on.push(value);
                        }
                        _ => {
                            let help = "select by fields of headers";
                            self.error(value.span, "select needs bits or a bool", help);
                        }
                    }
                }
                let mut is_last = false;
                for case in written {
                    if is_last {
                        let warning =
                            Diagnostic::warning(case.span, "nothing ever gets to this case");
                        self.found.push(warning.help("default comes last"));
                    }
                    is_last |= case.keys.iter().all(|key| matches!(key, Key::Any));
                    if types.len() != values.len() {
                        continue;
                    }
                    let is_default = matches!(case.keys[..], [Key::Any]);
                    if case.keys.len() != types.len() && !is_default {
                        let message =
                            format!("{} keys for {} values", case.keys.len(), types.len());
                        self.error(case.span, message, "a case has a key for each value of select");
                        continue;
                    }
                    let keys: Option<Vec<_>> = match is_default {
                        true => Some(vec![program::Key::Any; types.len()]),
                        false => {
                            let both = case.keys.iter().zip(&types);
                            both.map(|(key, ty)| self.key(key, ty)).collect()
                        }
                    };
                    if let (Some(keys), Some(to)) = (keys, self.target(&case.to, names)) {
                        cases.push(Case { keys, to });
                    }
                }
                if !is_last {
                    let warning = Diagnostic::warning(*span, "this select has no default");
                    let label = "drops packets that fit no case";
                    self.found.push(
                        warning.label(label).help("add default: accept; or default: reject;"),
                    );
                }
            }
        }
        self.scopes.pop();
        State { name: state.name.text.to_string(), span: state.name.span, steps, on, cases }
    }

    fn target(&mut self, name: &Name, names: &HashMap<Arc<str>, usize>) -> Option<Target> {
        match &*name.text {
            "accept" => return Some(Target::Accept),
            "reject" => return Some(Target::Reject),
            text => {
                if let Some(number) = names.get(text) {
                    return Some(Target::State(*number));
                }
            }
        }
        let known = names.keys().map(|name| &**name).chain(["accept", "reject"]);
        let help = match super::nearest(&name.text, known) {
            Some(near) => format!("did you mean {near}?"),
            None => "states are declared in the same parser; accept and reject are there always"
                .to_owned(),
        };
        self.error(name.span, format!("there is no state `{}`", name.text), help);
        None
    }

    fn key(&mut self, key: &Key, ty: &Type) -> Option<program::Key> {
        let width = Types::width(ty);
        let all = mask(u128::MAX, width);
        let mut number =
            |expr| self.constant(expr, Some(ty)).map(|value| mask(value as u128, width));
        Some(match key {
            Key::Any => program::Key::Any,
            Key::Value(value) => program::Key::Mask(number(value)?, all),
            Key::Mask(value, bits) => program::Key::Mask(number(value)?, number(bits)?),
            Key::Range(first, last) => program::Key::Range(number(first)?, number(last)?),
        })
    }

    /// Refuses states that lead back to each other, and warns of those that nothing leads to.
    fn order(&mut self, states: &[State], name: &Name) {
        // 0: not seen, 1: on the way from start, 2: done.
        let mut marks = vec![0u8; states.len()];
        let mut way: Vec<(usize, usize)> = vec![(0, 0)];
        marks[0] = 1;
        while let Some((state, at)) = way.last_mut() {
            let Some(case) = states[*state].cases.get(*at) else {
                marks[*state] = 2;
                way.pop();
                continue;
            };
            *at += 1;
            let Target::State(next) = case.to else { continue };
            match marks[next] {
                0 => {
                    marks[next] = 1;
                    way.push((next, 0));
                }
                1 => {
                    let message = format!("the state {} leads back to itself", states[next].name);
                    let help = "a pipeline's parser goes through each state once at most";
                    self.error(states[next].span, message, help);
                    marks[next] = 2;
                }
                _ => {}
            }
        }
        for (state, _) in states.iter().zip(&marks).filter(|(_, mark)| **mark == 0) {
            let warning = Diagnostic::warning(
                state.span,
                format!("nothing leads to the state {}", state.name),
            );
            let help = format!("remove it, or lead to it from another state of {}", name.text);
            self.found.push(warning.help(help));
        }
    }
}
