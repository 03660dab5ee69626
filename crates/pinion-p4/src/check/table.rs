//! Match-action tables: what they compare, and what their actions do (P4-16 specification, §14). A table
//! becomes an extern that is asked with its key and answers whether an entry fits, which action it
//! names, and that action's arguments; the actions stand behind it as steps. So a table takes its place
//! in the pipeline as every extern does, and one apply a packet is its rule, too.

use super::expression::TypedKind;
use super::{Checker, Role, Symbol};
use crate::program::{
    ActionShape, Binary, External, KeyKind, KeyShape, Row, Slot, Step, StepKind, TableShape, Value,
    ValueKind, mask, visit,
};
use crate::source::Span;
use crate::syntax::{Action, Direction, Expr, ExprKind, Name, Table};
use crate::types::{Type, Types};

/// Cycles from a key to the action and its arguments: one to find the entry, one to read it.
const CYCLES: u32 = 2;
/// Bits of the number of an action.
const ACTION_BITS: u32 = 8;
/// Most values that a table compares.
pub(crate) const MOST_KEYS: usize = 8;
/// Entries of a table that does not say how many.
const ENTRIES: u32 = 1024;
/// Most entries of a table that compares by equality alone, and of others.
const MOST_ENTRIES: [i128; 2] = [1 << 20, 1 << 12];

/// An action that was checked.
#[derive(Clone, Debug)]
pub(super) struct KnownAction {
    shape: ActionShape,
    /// Its first parameter.
    first: Slot,
    steps: Vec<Step>,
}

/// A table that was checked.
#[derive(Clone, Debug)]
pub(super) struct KnownTable {
    external: u32,
    keys: Vec<Value>,
    request: Slot,
    response: Slot,
    /// Its actions.
    actions: Vec<KnownAction>,
}

impl Checker<'_> {
    /// Checks an action.
    pub(super) fn action(&mut self, action: &Action) {
        let (name, span) = (&action.name, action.name.span);
        if self.role != Role::Control {
            self.error(span, "an action in a parser or deparser", "declare it in the control");
            return;
        }
        self.scopes.push(Default::default());
        let first = self.program.slots.len() as Slot;
        let mut parameters = Vec::new();
        for parameter in &action.parameters {
            let Some(ty) = self.resolve(&parameter.ty) else { continue };
            let (text, place) = (&parameter.name.text, parameter.name.span);
            if parameter.direction != Direction::None || !matches!(ty, Type::Bit(_) | Type::Bool) {
                let help = "its parameters are bit<N> or bool, without a direction: entries give \
                            them; all else is read and written in the control directly";
                self.error(place, "an action's parameter that no entry could give", help);
                continue;
            }
            let slot = self.allocate(&ty, &format!("{}.{text}", name.text), place);
            parameters.push((text.to_string(), Types::width(&ty)));
            let fixed = Some("an entry gives it");
            self.enter(text, place, Symbol::Variable { ty, slot, fixed });
        }
        let mut steps = Vec::new();
        self.scope(&action.body, &mut steps);
        self.scopes.pop();
        visit(&steps, &mut |step| {
            if matches!(step.kind, StepKind::Exit) {
                let help = "an action ends with its last statement; use if";
                self.found.push(
                    crate::diagnostic::Diagnostic::error(step.span, "exit or return in an action")
                        .help(help),
                );
            }
        });
        let shape = ActionShape { name: name.text.to_string(), parameters };
        self.actions.push(KnownAction { shape, first, steps });
        self.enter(&name.text, span, Symbol::Action(self.actions.len() - 1));
    }

    /// Checks a table.
    pub(super) fn table(&mut self, table: &Table) {
        let (name, span) = (&table.name, table.name.span);
        if self.role != Role::Control {
            self.error(span, "a table in a parser or deparser", "declare it in the control");
            return;
        }
        let (mut keys, mut shapes) = (Vec::new(), Vec::new());
        for key in &table.keys {
            let Some(typed) = self.typed(&key.value) else { continue };
            let TypedKind::Value(value) = typed.kind else {
                self.error(key.value.span, "a key is bits or a bool", "compare fields of headers");
                continue;
            };
            let Some(kind) = self.key_kind(&key.kind) else { continue };
            let name = match value.kind {
                ValueKind::Slot { slot, .. } => self.program.slots[slot as usize].name.clone(),
                _ => format!("key_{}", keys.len()),
            };
            shapes.push(KeyShape { name, width: value.width, kind });
            keys.push(value);
        }
        self.key_kinds(table, &shapes);
        let actions = self.table_actions(table);
        let is_exact = shapes.iter().all(|key| key.kind == KeyKind::Exact);
        let size = self.table_size(table, is_exact);
        let default = self.default_row(table, &actions);
        let mut response = vec![("hit".to_owned(), 1), ("action".to_owned(), ACTION_BITS)];
        for action in &actions {
            let own = action.shape.parameters.iter();
            response.extend(
                own.map(|(field, width)| (format!("{}.{field}", action.shape.name), *width)),
            );
        }
        let request: Vec<(String, u32)> =
            shapes.iter().map(|key| (key.name.clone(), key.width)).collect();
        let request_slot = self.row(&format!("{}.key", name.text), &request, span);
        let response_slot = self.row(&name.text, &response, span);
        let external = self.program.externs.len() as u32;
        self.signatures.push([Type::Bool, Type::Bool]);
        let number = Some(self.program.tables.len() as u32);
        self.program.externs.push(External {
            name: name.text.to_string(),
            latency: CYCLES,
            request,
            response,
            span,
            table: number,
        });
        self.program.tables.push(TableShape {
            name: name.text.to_string(),
            keys: shapes,
            actions: actions.iter().map(|action| action.shape.clone()).collect(),
            size,
            default,
            span,
        });
        let (request, response) = (request_slot, response_slot);
        self.tables.push(KnownTable { external, keys, request, response, actions });
        self.enter(&name.text, span, Symbol::Table(self.tables.len() - 1));
    }

    /// Makes places for the fields of a request or answer.
    fn row(&mut self, name: &str, fields: &[(String, u32)], span: Span) -> Slot {
        let first = self.program.slots.len() as Slot;
        for (field, width) in fields {
            self.allocate(&Type::Bit(*width), &format!("{name}.{field}"), span);
        }
        if self.is_full { 0 } else { first }
    }

    fn key_kind(&mut self, kind: &Name) -> Option<KeyKind> {
        match &*kind.text {
            "exact" => Some(KeyKind::Exact),
            "lpm" => Some(KeyKind::Prefix),
            "ternary" => Some(KeyKind::Ternary),
            other => {
                let help = "there are exact, lpm (the longest prefix) and ternary (under a mask)";
                self.error(kind.span, format!("nothing is compared by `{other}`"), help);
                None
            }
        }
    }

    /// Refuses keys that do not go together.
    fn key_kinds(&mut self, table: &Table, shapes: &[KeyShape]) {
        let (name, span) = (&table.name.text, table.name.span);
        if table.keys.is_empty() {
            self.error(
                span,
                format!("the table {name} compares nothing"),
                "key = { value : exact; }",
            );
        } else if table.keys.len() > MOST_KEYS {
            let message = format!("the table {name} compares more than {MOST_KEYS} values");
            self.error(span, message, "join fields: a ++ b");
        }
        let count = |kind| shapes.iter().filter(|key| key.kind == kind).count();
        let (prefixes, ternary) = (count(KeyKind::Prefix), count(KeyKind::Ternary));
        if prefixes > 1 || prefixes == 1 && ternary > 0 {
            let place = table.keys.iter().rev().find(|key| &*key.kind.text == "lpm");
            let help =
                "a table has one lpm key at most, and none beside ternary ones: make them ternary";
            let place = place.map_or(span, |key| key.kind.span);
            self.error(place, "which entry is the longest would not be clear", help);
        }
    }

    fn table_actions(&mut self, table: &Table) -> Vec<KnownAction> {
        let mut actions: Vec<KnownAction> = Vec::new();
        for name in &table.actions {
            let Some(action) = self.find_action(name) else { continue };
            if actions.iter().any(|known| known.shape.name == action.shape.name) {
                let message = format!("the action {} is there twice", name.text);
                self.error(name.span, message, "leave one of them out");
                continue;
            }
            actions.push(action);
        }
        if table.actions.is_empty() {
            let message = format!("the table {} has no actions", table.name.text);
            self.error(table.name.span, message, "name what entries may do: actions = { a; b; }");
        }
        if actions.len() >= 1 << ACTION_BITS {
            let message = format!("the table {} has {} actions", table.name.text, actions.len());
            self.error(table.name.span, message, "255 are enough");
        }
        actions
    }

    fn find_action(&mut self, name: &Name) -> Option<KnownAction> {
        if let Some(Symbol::Action(number)) = self.symbol(&name.text) {
            return Some(self.actions[*number].clone());
        }
        if &*name.text == "NoAction" {
            let shape = ActionShape { name: name.text.to_string(), parameters: Vec::new() };
            return Some(KnownAction { shape, first: 0, steps: Vec::new() });
        }
        let known = self.actions.iter().map(|action| action.shape.name.as_str());
        let help = match super::nearest(&name.text, known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("declare it in front of the table: action {}() {{ … }}", name.text),
        };
        self.error(name.span, format!("there is no action `{}`", name.text), help);
        None
    }

    fn table_size(&mut self, table: &Table, is_exact: bool) -> u32 {
        let Some(size) = &table.size else { return ENTRIES };
        let Some(number) = self.constant(size, None) else { return ENTRIES };
        let most = MOST_ENTRIES[usize::from(!is_exact)];
        if !(1..=most).contains(&number) {
            let help = format!("this one may have 1 to {most}");
            self.error(size.span, format!("a table of {number} entries"), help);
            return ENTRIES;
        }
        number as u32
    }

    /// Gives what is done where no entry fits: nothing, if the table does not say.
    fn default_row(&mut self, table: &Table, actions: &[KnownAction]) -> Row {
        let nothing = Row { action: actions.len() as u32, arguments: Vec::new() };
        let Some((name, arguments)) = &table.default else { return nothing };
        let found = actions.iter().position(|action| action.shape.name == *name.text);
        let Some(number) = found else {
            if &*name.text != "NoAction" {
                let message = format!("`{}` is no action of {}", name.text, table.name.text);
                self.error(name.span, message, "name it in actions = { … } too");
            }
            return nothing;
        };
        let parameters = &actions[number].shape.parameters;
        if parameters.len() != arguments.len() {
            let message = format!(
                "{} arguments for the {} parameters of {}",
                arguments.len(),
                parameters.len(),
                name.text
            );
            self.error(name.span, message, "a default action has all its arguments");
            return nothing;
        }
        let mut values = Vec::new();
        for ((_, width), argument) in parameters.iter().zip(arguments) {
            let value = self.constant(argument, Some(&Type::Bit(*width))).unwrap_or(0);
            values.push(mask(value as u128, *width));
        }
        Row { action: number as u32, arguments: values }
    }

    /// Finds a table that an expression applies: `name.apply()`.
    pub(super) fn table_call(&mut self, expr: &Expr) -> Option<usize> {
        let ExprKind::Call(callee, arguments) = &expr.kind else { return None };
        let ExprKind::Member(object, method) = &callee.kind else { return None };
        let ExprKind::Name(name) = &object.kind else { return None };
        let Some(Symbol::Table(number)) = self.symbol(name) else { return None };
        let number = *number;
        if &*method.text != "apply" {
            let help = format!("write {name}.apply();");
            self.error(method.span, format!("a table has no method `{}`", method.text), help);
        }
        self.no_arguments(arguments);
        Some(number)
    }

    /// Finds a table whose hit, or miss, an expression asks for; the flag tells a miss.
    pub(super) fn table_hit(&mut self, expr: &Expr) -> Option<(usize, bool)> {
        match &expr.kind {
            ExprKind::Unary("!", inner) => {
                self.table_hit(inner).map(|(table, is_miss)| (table, !is_miss))
            }
            ExprKind::Member(call, member) => {
                let table = self.table_call(call)?;
                match &*member.text {
                    "hit" => Some((table, false)),
                    "miss" => Some((table, true)),
                    other => {
                        let help =
                            "ask for hit or miss; what an action decides, it says in a variable";
                        self.error(member.span, format!("a table does not say `{other}`"), help);
                        Some((table, false))
                    }
                }
            }
            _ => None,
        }
    }

    /// Applies a table: asks it, and does what the action says.
    pub(super) fn apply_table(&mut self, number: usize, span: Span, steps: &mut Vec<Step>) {
        let table = self.tables[number].clone();
        for (slot, key) in (table.request..).zip(table.keys) {
            steps.push(Step { kind: StepKind::Set(slot, key), span });
        }
        let (request, response) = (table.request, table.response);
        steps.push(Step { kind: StepKind::Apply(table.external, request, response), span });
        let mut behind: Vec<Step> = Vec::new();
        let mut first = response + 2;
        let mut ways = Vec::new();
        for (number, action) in table.actions.iter().enumerate() {
            let count = action.shape.parameters.len() as u32;
            let mut way = Vec::new();
            if count > 0 {
                way.push(Step { kind: StepKind::Copy(first, action.first, count), span });
            }
            way.extend(action.steps.iter().cloned());
            first += count;
            ways.push((number, way));
        }
        for (number, way) in ways.into_iter().rev() {
            if action_is_idle(&way) {
                continue;
            }
            let chosen = Value::slot(response + 1, ACTION_BITS, span);
            let wanted = Value::constant(number as u128, ACTION_BITS, span);
            let kind = ValueKind::Binary(Binary::Equal, Box::new(chosen), Box::new(wanted));
            let is_chosen = Value { kind, width: 1, span };
            behind = vec![Step { kind: StepKind::If(is_chosen, way, behind), span }];
        }
        steps.append(&mut behind);
    }

    /// Gives the bool that tells whether an applied table had an entry.
    pub(super) fn hit_value(&self, number: usize, is_miss: bool, span: Span) -> Value {
        let hit = Value::slot(self.tables[number].response, 1, span);
        if !is_miss {
            return hit;
        }
        Value { kind: ValueKind::Unary(crate::program::Unary::Not, Box::new(hit)), width: 1, span }
    }
}

/// Tells whether an action does nothing.
fn action_is_idle(steps: &[Step]) -> bool {
    steps.iter().all(|step| matches!(step.kind, StepKind::Copy(..)))
}
