//! Declarations of the outermost level: types, constants, and what blocks there are.

use std::sync::Arc;

use super::{Checker, Kind, MOST_SLOTS, Symbol};
use crate::diagnostic::Diagnostic;
use crate::lexer::WIDEST;
use crate::source::Span;
use crate::syntax::{Declaration, Field, Instance, Name, TypeKind, TypeRef, Variable};
use crate::types::{ExternKind, Field as FieldInfo, Struct, Type, Types};

impl<'a> Checker<'a> {
    /// Takes note of a declaration; objects, of which there should be one, go to `mains`.
    pub(super) fn declare(&mut self, declaration: &'a Declaration, mains: &mut Vec<&'a Instance>) {
        match declaration {
            Declaration::Constant(constant) => self.constant_declared(constant),
            Declaration::Typedef(ty, name) => {
                if let Some(ty) = self.resolve(ty) {
                    self.name_type(name, ty);
                }
            }
            Declaration::Struct { header, name, fields } => self.structure(*header, name, fields),
            Declaration::Extern(name, types, methods) => {
                let number = self.types.externs.len();
                self.types.externs.push(ExternKind {
                    name: Arc::clone(&name.text),
                    types: types.len(),
                    methods: methods.iter().map(|method| Arc::clone(&method.name.text)).collect(),
                });
                self.name_type(name, Type::Extern(number, Vec::new()));
            }
            Declaration::ParserType(head) => {
                self.heads.insert(Arc::clone(&head.name.text), (Kind::Parser, head));
            }
            Declaration::ControlType(head) => {
                self.heads.insert(Arc::clone(&head.name.text), (Kind::Control, head));
            }
            Declaration::Package(head) => {
                self.heads.insert(Arc::clone(&head.name.text), (Kind::Package, head));
            }
            Declaration::Parser(head, ..) | Declaration::Control(head, ..) => {
                let name = Arc::clone(&head.name.text);
                if self.blocks.insert(Arc::clone(&name), declaration).is_some() {
                    let message = format!("`{name}` is declared twice");
                    self.error(head.name.span, message, "give one of them another name");
                }
            }
            Declaration::Instance(instance) => mains.push(instance),
        }
    }

    /// Enters a constant.
    pub(super) fn constant_declared(&mut self, constant: &Variable) {
        let ty = self.resolve(&constant.ty);
        let Some((ty, value)) = ty.zip(constant.value.as_ref()) else {
            self.enter(&constant.name.text, constant.name.span, Symbol::Constant(Type::Integer, 0));
            return;
        };
        if self.types.fields_of(&ty).is_some() {
            self.error(constant.ty.span, "a constant is one value", "make one of each field");
            return;
        }
        let value = self.constant(value, Some(&ty)).unwrap_or(0);
        self.enter(&constant.name.text, constant.name.span, Symbol::Constant(ty, value));
    }

    fn name_type(&mut self, name: &Name, ty: Type) {
        let before = self.types.named.insert(Arc::clone(&name.text), (ty, name.span));
        if let Some((_, first)) = before {
            let error =
                Diagnostic::error(name.span, format!("the type `{}` is declared twice", name.text));
            let error = error.label("again here").related(first, "first here");
            let help =
                "guard files that are included twice with #ifndef NAME, #define NAME, #endif";
            self.found.push(error.help(help));
        }
    }

    fn structure(&mut self, header: bool, name: &Name, fields: &[Field]) {
        let mut slots = u32::from(header);
        let mut list: Vec<FieldInfo> = Vec::new();
        let (mut bits, mut is_known) = (0, true);
        for field in fields {
            let Some(ty) = self.resolve(&field.ty) else {
                is_known = false;
                continue;
            };
            let problem = match &ty {
                Type::Extern(..) => Some("objects are no fields"),
                Type::Struct(_) if header => Some("a header is made of bits alone"),
                _ => None,
            };
            if let Some(problem) = problem {
                let help = "declare objects in a control, and structs of headers as structs";
                self.error(field.ty.span, problem, help);
                continue;
            }
            if list.iter().any(|known| known.name == field.name.text) {
                let message = format!("the field `{}` is there twice", field.name.text);
                self.error(field.name.span, message, "give one of them another name");
                continue;
            }
            bits += Types::width(&ty);
            let (size, name) = (self.types.slots(&ty), Arc::clone(&field.name.text));
            list.push(FieldInfo { name, ty, optional: field.optional, offset: slots });
            slots = slots.saturating_add(size);
            if slots > MOST_SLOTS {
                let message = format!("more than {MOST_SLOTS} values in a struct");
                self.error(field.name.span, message, "structs in structs multiply; use fewer");
                return;
            }
        }
        if header && is_known && bits % 8 != 0 {
            let message = format!("the header {} has {bits} bits", name.text);
            let help = format!(
                "add a field of {} bits: a header is a whole number of bytes",
                8 - bits % 8
            );
            self.error(name.span, message, help);
        }
        let number = self.types.structs.len();
        let info =
            Struct { name: Arc::clone(&name.text), header, fields: list, slots, span: name.span };
        self.types.structs.push(info);
        self.name_type(name, Type::Struct(number));
    }

    /// Finds a type.
    pub(super) fn resolve(&mut self, ty: &TypeRef) -> Option<Type> {
        match &ty.kind {
            TypeKind::Bool => Some(Type::Bool),
            TypeKind::Bit(None) => Some(Type::Bit(1)),
            TypeKind::Bit(Some(width)) => {
                let width = self.constant(width, None)?;
                match u32::try_from(width).ok().filter(|width| (1..=WIDEST).contains(width)) {
                    Some(width) => Some(Type::Bit(width)),
                    None => {
                        let message = format!("there is no bit<{width}>");
                        let help = format!("values have 1 to {WIDEST} bits; split wider fields");
                        self.error(ty.span, message, help);
                        None
                    }
                }
            }
            TypeKind::Void => {
                self.error(ty.span, "there are no values of void", "only methods give void");
                None
            }
            TypeKind::Named(name, arguments) => self.named_type(name, arguments, ty.span),
        }
    }

    fn named_type(&mut self, name: &Name, arguments: &[TypeRef], span: Span) -> Option<Type> {
        let found = self.types.named.get(&name.text).map(|(ty, _)| ty.clone());
        let Some(found) = found else {
            let known = self.types.named.keys().map(|name| &**name);
            let help = match super::nearest(&name.text, known) {
                Some(near) => format!("did you mean {near}?"),
                None => {
                    "declare it before, or include the file that does: core.p4, xsa.p4, lnic.p4, \
                         the protocol's"
                        .to_owned()
                }
            };
            self.error(name.span, format!("there is no type `{}`", name.text), help);
            return None;
        };
        let wanted = match &found {
            Type::Extern(number, _) => self.types.externs[*number].types,
            _ => 0,
        };
        if wanted != arguments.len() {
            let message = format!("{} takes {wanted} types, not {}", name.text, arguments.len());
            self.error(
                span,
                message,
                "UserExtern is written UserExtern<REQUEST, RESPONSE>(LATENCY) name;",
            );
            return None;
        }
        let arguments: Option<Vec<_>> = arguments.iter().map(|ty| self.resolve(ty)).collect();
        match (found, arguments?) {
            (Type::Extern(number, _), arguments) => Some(Type::Extern(number, arguments)),
            (found, _) => Some(found),
        }
    }
}
