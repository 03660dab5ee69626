//! Statements: what they do, step by step.

use std::sync::Arc;

use super::expression::TypedKind;
use super::place::Place;
use super::{Checker, Role, Symbol};
use crate::program::{Slot, Step, StepKind, Value};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Instance, Name, Statement, StatementKind, Variable};
use crate::types::{Type, Types};

/// Most cycles that an extern may take.
const LONGEST_LATENCY: i128 = 1024;

impl Checker<'_> {
    /// Checks statements in a scope of their own.
    pub(super) fn scope(&mut self, statements: &[Statement], steps: &mut Vec<Step>) {
        self.scopes.push(Default::default());
        for statement in statements {
            self.statement(statement, steps);
        }
        self.scopes.pop();
    }

    /// Checks a statement; adds its steps.
    pub(super) fn statement(&mut self, statement: &Statement, steps: &mut Vec<Step>) {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Empty => {}
            StatementKind::Block(list) => self.scope(list, steps),
            StatementKind::Variable(variable) => self.local(variable, steps),
            StatementKind::Instance(instance) => self.external(instance),
            StatementKind::Action(action) => self.action(action),
            StatementKind::Table(table) => self.table(table),
            StatementKind::Assign(place, value) => self.assign(place, value, span, steps),
            StatementKind::Call(call) => self.call(call, span, steps),
            StatementKind::Exit => steps.push(Step { kind: StepKind::Exit, span }),
            StatementKind::If(condition, then, otherwise) => {
                let condition = match self.table_hit(condition) {
                    Some((table, is_miss)) => {
                        self.apply_table(table, span, steps);
                        Some(self.hit_value(table, is_miss, condition.span))
                    }
                    None => self.value(condition, &Type::Bool),
                };
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                self.scope(std::slice::from_ref(&**then), &mut yes);
                if let Some(otherwise) = otherwise {
                    self.scope(std::slice::from_ref(&**otherwise), &mut no);
                }
                if let Some(condition) = condition {
                    steps.push(Step { kind: StepKind::If(condition, yes, no), span });
                }
            }
        }
    }

    fn local(&mut self, variable: &Variable, steps: &mut Vec<Step>) {
        if variable.constant {
            self.constant_declared(variable);
            return;
        }
        let (name, span) = (&variable.name, variable.name.span);
        let Some(ty) = self.resolve(&variable.ty) else {
            // Its uses are no further mistakes.
            if let Some(value) = &variable.value {
                self.typed(value);
            }
            return;
        };
        if matches!(ty, Type::Extern(..)) {
            let help = "objects are declared with arguments: UserExtern<A, B>(2) name;";
            self.error(span, format!("`{}` is an object, not a variable", name.text), help);
            return;
        }
        let slot = self.allocate(&ty, &name.text, span);
        steps.push(Step { kind: StepKind::Begin(slot, self.types.slots(&ty)), span });
        let place = Place { ty: ty.clone(), slot, fixed: None };
        if let Some(value) = &variable.value {
            self.store(&place, value, value.span, steps);
        }
        self.enter(&name.text, span, Symbol::Variable { ty, slot, fixed: None });
    }

    /// Checks an assignment.
    fn assign(&mut self, target: &Expr, value: &Expr, span: Span, steps: &mut Vec<Step>) {
        if let ExprKind::Slice(inner, high, low) = &target.kind {
            let Some(place) = self.writable(inner) else { return };
            let Type::Bit(width) = place.ty else {
                let is = self.types.describe(&place.ty);
                self.error(inner.span, format!("{is} has no bits"), "take bits of bit<N>");
                return;
            };
            let Some((top, bottom)) = self.bits(high, low, width) else { return };
            if let Some(value) = self.value(value, &Type::Bit(top - bottom + 1)) {
                steps.push(Step { kind: StepKind::SetBits(place.slot, bottom, value), span });
            }
            return;
        }
        match self.writable(target) {
            Some(place) => self.store(&place, value, span, steps),
            None => {
                if !matches!(value.kind, ExprKind::List(_)) {
                    self.typed(value);
                }
            }
        }
    }

    /// Finds a place that may be written.
    fn writable(&mut self, target: &Expr) -> Option<Place> {
        let place = self.place(target)?;
        if let Some(why) = place.fixed {
            self.error(
                target.span,
                format!("this cannot be written: {why}"),
                "write to a variable",
            );
            return None;
        }
        Some(place)
    }

    /// Stores a value, struct or list in a place.
    fn store(&mut self, place: &Place, value: &Expr, span: Span, steps: &mut Vec<Step>) {
        if let (Type::Struct(_), ExprKind::List(values)) = (&place.ty, &value.kind) {
            return self.store_list(place, values, span, steps);
        }
        let Some(typed) = self.typed(value) else { return };
        let Some(typed) = self.convert(typed, &place.ty) else { return };
        let kind = match typed.kind {
            TypedKind::Row(from) => StepKind::Copy(from, place.slot, self.types.slots(&place.ty)),
            TypedKind::Value(value) => StepKind::Set(place.slot, value),
            TypedKind::Number(_) => return,
        };
        steps.push(Step { kind, span });
    }

    fn store_list(&mut self, place: &Place, values: &[Expr], span: Span, steps: &mut Vec<Step>) {
        let Some(found) = self.types.fields_of(&place.ty).cloned() else { return };
        if found.fields.len() != values.len() {
            let message = format!(
                "{} values for the {} fields of {}",
                values.len(),
                found.fields.len(),
                found.name
            );
            let names: Vec<_> = found.fields.iter().map(|field| &*field.name).collect();
            self.error(span, message, format!("its fields are {}", names.join(", ")));
            return;
        }
        if found.header {
            let valid = Value::constant(1, 1, span);
            steps.push(Step { kind: StepKind::Set(place.slot, valid), span });
        }
        for (field, value) in found.fields.iter().zip(values) {
            let slot = place.slot + field.offset;
            let field = Place { ty: field.ty.clone(), slot, fixed: None };
            self.store(&field, value, value.span, steps);
        }
    }

    /// Declares an extern.
    pub(super) fn external(&mut self, instance: &Instance) {
        let (name, span) = (&instance.name, instance.name.span);
        let Some(ty) = self.resolve(&instance.ty) else { return };
        let is_user = match &ty {
            Type::Extern(number, types) => {
                let kind = &self.types.externs[*number];
                kind.methods.iter().any(|method| &**method == "apply") && types.len() == 2
            }
            _ => false,
        };
        let (Type::Extern(_, types), true) = (&ty, is_user) else {
            let is = self.types.describe(&ty);
            let help = "the objects of a pipeline are UserExtern<REQUEST, RESPONSE>(LATENCY) name;";
            self.error(instance.ty.span, format!("there are no objects of {is}"), help);
            return;
        };
        if self.role != Role::Control {
            let help = "declare and ask it in the control";
            self.error(span, "an extern in a parser or deparser", help);
            return;
        }
        let latency = match &instance.arguments[..] {
            [latency] => self.constant(latency, None),
            _ => {
                let message = "an extern is made with its latency alone";
                self.error(span, message, "UserExtern<REQUEST, RESPONSE>(LATENCY) name;");
                return;
            }
        };
        let Some(latency) = latency else { return };
        if !(1..=LONGEST_LATENCY).contains(&latency) {
            let message = format!("a latency of {latency} cycles");
            let help = format!("an answer takes 1 to {LONGEST_LATENCY} cycles");
            self.error(instance.arguments[0].span, message, help);
            return;
        }
        let [request, response] = [&types[0], &types[1]].map(|ty| self.leaves(ty));
        let number = self.program.externs.len();
        self.signatures.push([types[0].clone(), types[1].clone()]);
        self.program.externs.push(crate::program::External {
            name: name.text.to_string(),
            latency: latency as u32,
            request,
            response,
            span,
            table: None,
        });
        self.enter(&name.text, span, Symbol::External(number));
    }

    /// Lists the fields of a type with their bits, those of structs in it by `struct.field`.
    fn leaves(&self, ty: &Type) -> Vec<(String, u32)> {
        let Some(found) = self.types.fields_of(ty) else {
            return vec![(String::new(), Types::width(ty))];
        };
        let mut list = Vec::new();
        for field in &found.fields {
            for (name, width) in self.leaves(&field.ty) {
                let dot = if name.is_empty() { "" } else { "." };
                list.push((format!("{}{dot}{name}", field.name), width));
            }
        }
        list
    }

    /// Checks a call that is a statement.
    fn call(&mut self, call: &Expr, span: Span, steps: &mut Vec<Step>) {
        if let Some(table) = self.table_call(call) {
            return self.apply_table(table, span, steps);
        }
        let ExprKind::Call(callee, arguments) = &call.kind else {
            let help = "a statement is an assignment, a call, if or a declaration";
            self.error(call.span, "this does nothing", help);
            return;
        };
        let ExprKind::Member(object, method) = &callee.kind else {
            let help = "calls are packet.extract(…), packet.emit(…), header.setValid(), \
                        header.setInvalid() and extern.apply(…)";
            self.error(callee.span, "there are no functions to call", help);
            return;
        };
        let symbol = match &object.kind {
            ExprKind::Name(name) => self.symbol(name).cloned(),
            _ => None,
        };
        match symbol {
            Some(Symbol::PacketIn) => self.packet("extract", method, arguments, span, steps),
            Some(Symbol::PacketOut) => self.packet("emit", method, arguments, span, steps),
            Some(Symbol::External(number)) => self.apply(number, method, arguments, span, steps),
            _ => self.header_call(object, method, arguments, span, steps),
        }
    }

    /// Checks `packet.extract(header)` or `packet.emit(header)`.
    fn packet(
        &mut self,
        wanted: &str,
        method: &Name,
        arguments: &[Expr],
        span: Span,
        steps: &mut Vec<Step>,
    ) {
        let ([header], true) = (arguments, &*method.text == wanted) else {
            let help = format!("write packet.{wanted}(hdr.eth);");
            self.error(span, format!("a packet is for `{wanted}` of a header here"), help);
            return;
        };
        let place = if wanted == "extract" { self.writable(header) } else { self.place(header) };
        let Some(place) = place else { return };
        let headers = self.headers_at(&place);
        let is_header = self.types.is_header(&place.ty);
        if headers.is_empty() || wanted == "extract" && !is_header {
            let is = self.types.describe(&place.ty);
            self.error(header.span, format!("{is} is no header"), "name a header, such as hdr.eth");
            return;
        }
        for number in headers {
            let kind = match wanted {
                "extract" => StepKind::Extract(number),
                _ => StepKind::Emit(number, false),
            };
            steps.push(Step { kind, span });
        }
    }

    /// Checks `extern.apply(request, answer)`.
    fn apply(
        &mut self,
        number: usize,
        method: &Name,
        arguments: &[Expr],
        span: Span,
        steps: &mut Vec<Step>,
    ) {
        let name = self.program.externs[number].name.clone();
        let ([request, response], "apply") = (arguments, &*method.text) else {
            let help = format!("write {name}.apply(request, answer);");
            self.error(span, "an extern is asked with a request and a place for its answer", help);
            return;
        };
        let [wanted, given] = self.signatures[number].clone();
        let request_slot = self.request(&name, request, &wanted, steps);
        let place = self.writable(response);
        let (Some(request_slot), Some(place)) = (request_slot, place) else { return };
        if place.ty != given {
            let (is, should) = (self.types.describe(&place.ty), self.types.describe(&given));
            let message = format!("{name} answers with {should}, but this is {is}");
            self.error(response.span, message, "declare a variable of that type for it");
            return;
        }
        steps.push(Step { kind: StepKind::Apply(number as u32, request_slot, place.slot), span });
    }

    /// Puts a request into places of its own unless it stands in some.
    fn request(
        &mut self,
        name: &str,
        request: &Expr,
        wanted: &Type,
        steps: &mut Vec<Step>,
    ) -> Option<Slot> {
        if !matches!(request.kind, ExprKind::List(_)) {
            let typed = self.typed(request)?;
            let typed = self.convert(typed, wanted)?;
            if let TypedKind::Row(slot) = typed.kind {
                return Some(slot);
            }
        }
        let slot = self.allocate(wanted, &format!("{name}.request"), request.span);
        let place = Place { ty: wanted.clone(), slot, fixed: None };
        self.store(&place, request, request.span, steps);
        Some(slot)
    }

    /// Checks `header.setValid()` and `header.setInvalid()`.
    fn header_call(
        &mut self,
        object: &Expr,
        method: &Name,
        arguments: &[Expr],
        span: Span,
        steps: &mut Vec<Step>,
    ) {
        let Some(place) = self.place(object) else { return };
        let valid = match &*method.text {
            "setValid" => true,
            "setInvalid" => false,
            _ => {
                let text: &Arc<str> = &method.text;
                let help = "headers have isValid(), setValid() and setInvalid()";
                self.error(method.span, format!("there is no method `{text}` here"), help);
                return;
            }
        };
        self.no_arguments(arguments);
        if !self.types.is_header(&place.ty) {
            let is = self.types.describe(&place.ty);
            self.error(object.span, format!("{is} is no header"), "only headers can be valid");
            return;
        }
        if place.fixed.is_some() {
            let help = "change headers in the control; the deparser only puts them out";
            self.error(object.span, "this header cannot be changed here", help);
            return;
        }
        for number in self.headers_at(&place) {
            steps.push(Step { kind: StepKind::Validate(number, valid), span });
        }
    }
}
