//! What may be read where: headers that are not valid, variables that were never set, externs that are
//! asked twice. In: a checked program. Out: errors for what goes wrong always, warnings for what goes
//! wrong with some packets; and a mark on each such read, so that it can be counted when it happens.
//!
//! States of the parser are visited in an order in which each comes behind all that lead to it, so each
//! step is looked at once.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::program::{
    Binary, Header, Program, Slot, SlotInfo, Step, StepKind, Target, Unary, Value, ValueKind,
};
use crate::source::Span;

/// What is known at a point of the program.
#[derive(Clone, Debug)]
struct Known {
    /// By place: it is set on some way here, and on all ways.
    set: Vec<(bool, bool)>,
    /// By header: it is valid on some way here, and on all.
    valid: Vec<(bool, bool)>,
    /// By extern: where it was asked on a way here.
    asked: Vec<Option<Span>>,
}

impl Known {
    /// Joins what is known where two ways meet. A header's fields count as set if they are whenever it
    /// is valid: a way on which it is not says nothing of them.
    fn join(mut self, mut other: Self, headers: &[Header]) -> Self {
        for (number, header) in headers.iter().enumerate() {
            let fields = header.first as usize..(header.first + header.fields) as usize;
            match (self.valid[number].0, other.valid[number].0) {
                (false, true) => self.set[fields.clone()].copy_from_slice(&other.set[fields]),
                (true, false) => other.set[fields.clone()].copy_from_slice(&self.set[fields]),
                _ => {}
            }
        }
        let both = |mine: &mut Vec<(bool, bool)>, theirs: &[(bool, bool)]| {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine = (mine.0 | theirs.0, mine.1 & theirs.1);
            }
        };
        both(&mut self.set, &other.set);
        both(&mut self.valid, &other.valid);
        for (mine, theirs) in self.asked.iter_mut().zip(&other.asked) {
            *mine = mine.or(*theirs);
        }
        self
    }
}

/// Joins what is known on ways of which some may not be taken.
fn join(one: Option<Known>, other: Option<Known>, headers: &[Header]) -> Option<Known> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.join(other, headers)),
        (one, other) => one.or(other),
    }
}

struct Flow<'a> {
    slots: &'a mut [SlotInfo],
    headers: &'a [Header],
    externs: &'a [crate::program::External],
    /// By place: the header whose validity it is.
    validity: Vec<Option<u32>>,
    found: &'a mut Diagnostics,
}

/// Looks at a whole program; marks reads that may go wrong.
pub fn check(program: &mut Program, found: &mut Diagnostics) {
    let Program { slots, headers, externs, states, control, deparser, regions, told, .. } = program;
    let mut validity = vec![None; slots.len()];
    for (number, header) in headers.iter().enumerate() {
        validity[header.valid as usize] = Some(number as u32);
    }
    let places = slots.len();
    let mut flow = Flow { slots, headers, externs, validity, found };
    let nothing = (false, false);
    let mut start = Known {
        set: vec![nothing; places],
        valid: vec![nothing; headers.len()],
        asked: vec![None; externs.len()],
    };
    // The architecture fills both kinds of metadata.
    for (first, count) in regions[1..].iter().chain([&*told]) {
        start.set[*first as usize..(*first + *count) as usize].fill((true, true));
    }
    let mut arriving: Vec<Option<Known>> = vec![None; states.len()];
    let mut accepted = None;
    if let Some(first) = arriving.first_mut() {
        *first = Some(start);
    }
    for number in order(states) {
        let Some(known) = arriving[number].take() else { continue };
        let state = &mut states[number];
        let Some(known) = flow.steps(&mut state.steps, known) else { continue };
        for value in &mut state.on {
            flow.value(value, &known);
        }
        for case in &state.cases {
            match case.to {
                Target::State(next) => {
                    let before = arriving[next].take();
                    arriving[next] = join(before, Some(known.clone()), flow.headers);
                }
                Target::Accept => accepted = join(accepted, Some(known.clone()), flow.headers),
                Target::Reject => {}
            }
        }
    }
    let Some(known) = accepted else {
        if let Some(state) = states.first() {
            let error = Diagnostic::error(state.span, "the parser accepts no packet");
            flow.found.push(error.help("one of its states must end with transition accept;"));
        }
        return;
    };
    let ended = known.clone();
    let known = flow.steps(control, known).unwrap_or(ended);
    flow.steps(deparser, known);
    let mut applied = vec![false; externs.len()];
    crate::program::visit(control, &mut |step| {
        if let StepKind::Apply(number, ..) = step.kind {
            applied[number as usize] = true;
        }
    });
    for (external, _) in externs.iter().zip(&applied).filter(|(_, applied)| !**applied) {
        let message = format!("{} is never asked", external.name);
        let what = if external.table.is_some() { "" } else { "request, answer" };
        let help = format!("call {}.apply({what}), or remove it", external.name);
        found.push(Diagnostic::warning(external.span, message).help(help));
    }
}

/// Gives an order of the states in which each comes behind all that lead to it.
pub fn order(states: &[crate::program::State]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; states.len()];
    let mut way = Vec::new();
    if !states.is_empty() {
        seen[0] = true;
        way.push((0, 0));
    }
    while let Some((state, at)) = way.last_mut() {
        let Some(case) = states[*state].cases.get(*at) else {
            order.push(*state);
            way.pop();
            continue;
        };
        *at += 1;
        if let Target::State(next) = case.to
            && !seen[next]
        {
            seen[next] = true;
            way.push((next, 0));
        }
    }
    order.reverse();
    order
}

impl Flow<'_> {
    /// Looks at steps; gives what is known behind them, if the block goes on there.
    fn steps(&mut self, steps: &mut [Step], known: Known) -> Option<Known> {
        let mut known = Some(known);
        for step in steps {
            let Some(now) = known.take() else {
                let warning = Diagnostic::warning(step.span, "nothing ever gets here");
                self.found.push(warning.help("the block has ended before; remove it"));
                return None;
            };
            known = self.step(step, now);
        }
        known
    }

    fn step(&mut self, step: &mut Step, mut known: Known) -> Option<Known> {
        let span = step.span;
        match &mut step.kind {
            StepKind::Exit => return None,
            StepKind::Begin(first, count) => {
                known.set[*first as usize..(*first + *count) as usize].fill((false, false));
            }
            StepKind::Set(slot, value) => {
                self.value(value, &known);
                self.write(*slot, span, &mut known);
            }
            StepKind::SetBits(slot, _, value) => {
                self.value(value, &known);
                self.warn_invalid(*slot, span, &known);
                let bits = &mut known.set[*slot as usize];
                self.slots[*slot as usize].may_be_unset |= !bits.1;
                bits.0 = true;
            }
            StepKind::Copy(from, to, count) => self.copy(*from, *to, *count, span, &mut known),
            StepKind::Validate(number, valid) => {
                let header = &self.headers[*number as usize];
                known.valid[*number as usize] = (*valid, *valid);
                known.set[header.valid as usize] = (true, true);
            }
            StepKind::Extract(number) => {
                let header = &self.headers[*number as usize];
                known.valid[*number as usize] = (true, true);
                let first = header.valid as usize;
                known.set[first..=first + header.fields as usize].fill((true, true));
            }
            StepKind::Emit(number, certain) => {
                let header = &self.headers[*number as usize];
                *certain = known.valid[*number as usize].1;
                if known.valid[*number as usize].0 {
                    let (first, count) = (header.first, header.fields);
                    let what = format!("{} is sent", header.name);
                    self.row(first, count, &what, span, &known);
                }
            }
            StepKind::Apply(number, request, response) => {
                let external = &self.externs[*number as usize];
                if let Some(first) = known.asked[*number as usize] {
                    let message = format!("{} is asked twice for one packet", external.name);
                    let error = Diagnostic::error(span, message).label("again here");
                    let help = "an extern takes one request a packet: choose the request before, and \
                                apply it once";
                    self.found.push(error.related(first, "first here").help(help));
                }
                known.asked[*number as usize] = Some(span);
                let what = format!("{} is asked", external.name);
                self.row(*request, external.request.len() as u32, &what, span, &known);
                let first = *response as usize;
                let end = first + external.response.len();
                known.set[first..end.min(self.slots.len())].fill((true, true));
            }
            StepKind::If(condition, then, otherwise) => {
                self.value(condition, &known);
                let mut yes = known.clone();
                let mut no = known;
                self.assume(condition, true, &mut yes);
                self.assume(condition, false, &mut no);
                let (yes, no) = (self.steps(then, yes), self.steps(otherwise, no));
                return join(yes, no, self.headers);
            }
        }
        Some(known)
    }

    /// Takes note of a write.
    fn write(&mut self, slot: Slot, span: Span, known: &mut Known) {
        self.warn_invalid(slot, span, known);
        known.set[slot as usize] = (true, true);
        if let Some(header) = self.validity[slot as usize] {
            known.valid[header as usize] = (true, true);
        }
    }

    /// Warns of a write to a header that is never valid there.
    fn warn_invalid(&mut self, slot: Slot, span: Span, known: &Known) {
        let Some(header) = self.slots[slot as usize].header else { return };
        if !known.valid[header as usize].0 {
            let name = &self.headers[header as usize].name;
            let message = format!("writes to {name}, which is not valid here");
            let warning = Diagnostic::warning(span, message);
            self.found.push(warning.help(format!("call {name}.setValid() first")));
        }
    }

    /// Copies what is known of a row of places.
    fn copy(&mut self, from: Slot, to: Slot, count: u32, span: Span, known: &mut Known) {
        let row = from..from + count;
        let unset = row.clone().filter(|slot| !known.set[*slot as usize].0).count();
        let is_row_of_validity = self.validity[from as usize].is_some();
        if unset == count as usize && !is_row_of_validity {
            let name = name_of_row(&self.slots[from as usize].name);
            let error = Diagnostic::error(span, format!("copies {name}, of which nothing is set"));
            self.found.push(error.help("give its fields values before"));
        }
        for n in 0..count as usize {
            self.slots[from as usize + n].may_be_unset |= !known.set[from as usize + n].1;
            known.set[to as usize + n] = known.set[from as usize + n];
            let validity = (self.validity[from as usize + n], self.validity[to as usize + n]);
            if let (Some(source), Some(target)) = validity {
                known.valid[target as usize] = known.valid[source as usize];
            }
        }
    }

    /// Warns of fields of a row that somebody else reads and that are not set.
    fn row(&mut self, first: Slot, count: u32, what: &str, span: Span, known: &Known) {
        let (mut never, mut sometimes) = (Vec::new(), Vec::new());
        for slot in first..first + count {
            self.slots[slot as usize].may_be_unset |= !known.set[slot as usize].1;
        }
        for slot in first..first + count {
            let info = &self.slots[slot as usize];
            if info.optional || self.validity[slot as usize].is_some() {
                continue;
            }
            let name = info.name.rsplit('.').next().unwrap_or(&info.name);
            match known.set[slot as usize] {
                (false, _) => never.push(name),
                (true, false) => sometimes.push(name),
                _ => {}
            }
        }
        let (fields, when) = match (never.is_empty(), sometimes.is_empty()) {
            (false, _) => (never, "was never set"),
            (true, false) => (sometimes, "is not set on every way here"),
            (true, true) => return,
        };
        let row = name_of_row(&self.slots[first as usize].name);
        let message = format!("{what} while {} {when}", fields.join(", "));
        let warning =
            Diagnostic::warning(span, message).label(format!("{row} goes out, with zeros there"));
        self.found.push(warning.help("set these fields before, to 0 if that is what you mean"));
    }

    /// Looks at the reads of a value.
    fn value(&mut self, value: &mut Value, known: &Known) {
        let span = value.span;
        match &mut value.kind {
            ValueKind::Constant(_) => {}
            ValueKind::Slot { slot, may_be_invalid, may_be_unset } => {
                let info = &self.slots[*slot as usize];
                if self.validity[*slot as usize].is_some() {
                    return;
                }
                if let Some(header) = info.header {
                    let name = &self.headers[header as usize].name;
                    let (some, all) = known.valid[header as usize];
                    let help = format!("ask before: if ({name}.isValid()) {{ … }}");
                    if !some {
                        let message = format!("reads {}, but {name} is not valid here", info.name);
                        self.found.push(Diagnostic::error(span, message).help(help));
                        return;
                    }
                    if !all {
                        let message = format!("reads {} also when {name} is not valid", info.name);
                        self.found.push(Diagnostic::warning(span, message).help(help));
                        *may_be_invalid = true;
                        self.slots[*slot as usize].may_be_unset = true;
                        return;
                    }
                }
                let (some, all) = known.set[*slot as usize];
                let help = "give it a value where it is declared, or on every way here";
                if !some {
                    let message = format!("reads {}, which was never set", info.name);
                    self.found.push(Diagnostic::error(span, message).help(help));
                } else if !all {
                    let message =
                        format!("reads {}, which is not set on every way here", info.name);
                    self.found.push(Diagnostic::warning(span, message).help(help));
                    *may_be_unset = true;
                    self.slots[*slot as usize].may_be_unset = true;
                }
            }
            ValueKind::Unary(_, inner) | ValueKind::Slice(inner, _) | ValueKind::Resize(inner) => {
                self.value(inner, known);
            }
            ValueKind::Binary(operator @ (Binary::Both | Binary::Either), one, other) => {
                self.value(one, known);
                let mut then = known.clone();
                self.assume(one, *operator == Binary::Both, &mut then);
                self.value(other, &then);
            }
            ValueKind::Binary(_, one, other) | ValueKind::Join(one, other) => {
                self.value(one, known);
                self.value(other, known);
            }
            ValueKind::Choice(parts) => {
                let [condition, one, other] = &mut **parts;
                self.value(condition, known);
                for (part, truth) in [(one, true), (other, false)] {
                    let mut then = known.clone();
                    self.assume(condition, truth, &mut then);
                    self.value(part, &then);
                }
            }
        }
    }

    /// Takes over what a condition says about headers when it is true, or false.
    fn assume(&self, condition: &Value, truth: bool, known: &mut Known) {
        match &condition.kind {
            ValueKind::Slot { slot, .. } => {
                if let Some(header) = self.validity[*slot as usize] {
                    known.valid[header as usize] = (truth, truth);
                }
            }
            ValueKind::Unary(Unary::Not, inner) => self.assume(inner, !truth, known),
            ValueKind::Binary(operator @ (Binary::Both | Binary::Either), one, other)
                if (*operator == Binary::Both) == truth =>
            {
                self.assume(one, truth, known);
                self.assume(other, truth, known);
            }
            _ => {}
        }
    }
}

/// Gives the name of a struct by the name of its first field.
fn name_of_row(first: &str) -> &str {
    first.rsplit_once('.').map_or(first, |(row, _)| row)
}
