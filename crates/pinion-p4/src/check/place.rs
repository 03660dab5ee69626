//! Places: variables, and fields of structs and headers. In: an expression that names one. Out: its
//! type and number.

use std::sync::Arc;

use super::{Checker, MOST_SLOTS, Symbol, nearest};
use crate::diagnostic::Diagnostic;
use crate::program::{Header, Slot, SlotInfo};
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Name};
use crate::types::{Struct, Type, Types};

/// A place.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub ty: Type,
    pub slot: Slot,
    /// Why it cannot be written, if so.
    pub fixed: Option<&'static str>,
}

impl Checker<'_> {
    /// Finds the place that an expression names.
    pub(super) fn place(&mut self, expr: &Expr) -> Option<Place> {
        match &expr.kind {
            ExprKind::Name(name) => self.variable(name, expr.span),
            ExprKind::Member(object, member) => {
                let place = self.place(object)?;
                self.member(&place, object, member)
            }
            _ if self.table_call(expr).is_some() => {
                let help = "write if (name.apply().hit) { … }";
                self.error(expr.span, "a table is asked by a statement, or an if, alone", help);
                None
            }
            _ => {
                let help = "a variable, or a field of a struct or header, is needed here";
                self.error(expr.span, "this is no place that holds a value", help);
                None
            }
        }
    }

    fn variable(&mut self, name: &Arc<str>, span: Span) -> Option<Place> {
        let (message, help) = match self.symbol(name) {
            Some(Symbol::Variable { ty, slot, fixed }) => {
                return Some(Place { ty: ty.clone(), slot: *slot, fixed: *fixed });
            }
            Some(Symbol::Constant(..)) => {
                (format!("`{name}` is a constant"), "constants do not change".to_owned())
            }
            Some(Symbol::External(_)) => {
                let help = format!("ask it: {name}.apply(request, answer);");
                (format!("`{name}` is an extern, not a value"), help)
            }
            Some(Symbol::Action(_)) => {
                let help = "name it in a table's actions; entries choose it";
                (format!("`{name}` is an action, not a value"), help.to_owned())
            }
            Some(Symbol::Table(_)) => {
                let help = format!("apply it: {name}.apply(); or ask if ({name}.apply().hit)");
                (format!("`{name}` is a table, not a value"), help)
            }
            Some(Symbol::PacketIn) => {
                let help = format!("take a header out: {name}.extract(hdr.eth);");
                (format!("`{name}` is the packet, not a value"), help)
            }
            Some(Symbol::PacketOut) => {
                let help = format!("put a header in: {name}.emit(hdr.eth);");
                (format!("`{name}` is the packet, not a value"), help)
            }
            None => (format!("there is no `{name}` here"), self.unknown(name)),
        };
        self.error(span, message, help);
        None
    }

    /// Says what may have been meant by a name that is none.
    fn unknown(&self, name: &str) -> String {
        let mut owners: Vec<String> = Vec::new();
        for (owner, (symbol, _)) in self.scopes.iter().rev().flatten() {
            if let Symbol::Variable { ty, .. } = symbol
                && let Some(found) = self.types.fields_of(ty)
                && found.fields.iter().any(|field| &*field.name == name)
            {
                owners.push(owner.to_string());
            }
        }
        owners.sort();
        let names = self.scopes.iter().flat_map(|scope| scope.keys()).map(|known| &**known);
        match (owners.first(), nearest(name, names)) {
            (Some(owner), _) => format!("did you mean {owner}.{name}?"),
            (None, Some(near)) => format!("did you mean {near}?"),
            (None, None) => {
                "declare it before it is used, or include the file that does".to_owned()
            }
        }
    }

    fn member(&mut self, place: &Place, object: &Expr, member: &Name) -> Option<Place> {
        let Some(found) = self.types.fields_of(&place.ty) else {
            let is = self.types.describe(&place.ty);
            let help = "structs and headers have members; bits are taken by [high:low]";
            self.error(member.span, format!("{is} has no members"), help);
            return None;
        };
        if let Some(field) = found.fields.iter().find(|field| field.name == member.text) {
            let slot = place.slot + field.offset;
            return Some(Place { ty: field.ty.clone(), slot, fixed: place.fixed });
        }
        let error = no_member(found, member);
        self.found.push(error.related(object.span, self.types.describe(&place.ty)));
        None
    }

    /// Makes places for a variable of a type, with this name.
    pub(super) fn allocate(&mut self, ty: &Type, name: &str, span: Span) -> Slot {
        let first = self.program.slots.len() as Slot;
        if first + self.types.slots(ty) > MOST_SLOTS {
            if !self.is_full {
                self.is_full = true;
                let message = format!("the program has more than {MOST_SLOTS} values");
                self.error(span, message, "use smaller structs, or fewer variables of them");
            }
            return 0;
        }
        self.add_slots(ty, name, None, false);
        first
    }

    fn add_slots(&mut self, ty: &Type, name: &str, header: Option<u32>, optional: bool) {
        let Some(found) = self.types.fields_of(ty).cloned() else {
            let info = SlotInfo {
                name: name.to_owned(),
                width: Types::width(ty),
                header,
                optional,
                may_be_unset: false,
            };
            self.program.slots.push(info);
            return;
        };
        let mut inside = header;
        if found.header {
            inside = Some(self.program.headers.len() as u32);
            let valid = self.program.slots.len() as Slot;
            let asked = format!("{name}.isValid()");
            let info =
                SlotInfo { name: asked, width: 1, header: None, optional, may_be_unset: false };
            self.program.slots.push(info);
            let bits = found.fields.iter().map(|field| Types::width(&field.ty)).sum();
            let (name, fields) = (name.to_owned(), found.fields.len() as u32);
            self.program.headers.push(Header { name, valid, first: valid + 1, fields, bits });
        }
        for field in &found.fields {
            let name = format!("{name}.{}", field.name);
            self.add_slots(&field.ty, &name, inside, field.optional);
        }
    }

    /// Finds the headers of a place: itself, or those in a struct.
    pub(super) fn headers_at(&self, place: &Place) -> Vec<u32> {
        let end = place.slot + self.types.slots(&place.ty);
        let headers = self.program.headers.iter().enumerate();
        let inside = headers.filter(|(_, header)| (place.slot..end).contains(&header.valid));
        inside.map(|(number, _)| number as u32).collect()
    }
}

/// Says that a struct or header has no such member.
fn no_member(found: &Struct, member: &Name) -> Diagnostic {
    let kind = if found.header { "header" } else { "struct" };
    let message = format!("the {kind} {} has no member `{}`", found.name, member.text);
    let names = || found.fields.iter().map(|field| &*field.name);
    let help = match nearest(&member.text, names()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
    };
    Diagnostic::error(member.span, message)
        .related(found.span, format!("{} is declared here", found.name))
        .help(help)
}
