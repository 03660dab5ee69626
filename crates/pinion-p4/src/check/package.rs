//! `main`: which parser, control and deparser make the pipeline, and whether they fit each other.

use std::collections::HashMap;
use std::sync::Arc;

use super::block::REGIONS;
use super::event::event_of;
use super::{Checker, Kind, Role, Symbol};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::{Declaration, Direction, Expr, ExprKind, Head, Instance, Parameter, TypeKind};
use crate::types::Type;

/// What `main` looks like.
const MAIN: &str =
    "the last line is XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;";

/// What types stand for that a package leaves open, and where that was said.
pub(super) type Bound = HashMap<Arc<str>, (Type, Span)>;

impl<'a> Checker<'a> {
    /// Checks all blocks, and puts those that `main` names together. Tells whether there is a whole
    /// program.
    pub(super) fn assemble(&mut self, objects: &[&Instance]) -> bool {
        let (events, mains): (Vec<&Instance>, Vec<&Instance>) =
            objects.iter().copied().partition(|object| event_of(object).is_some());
        let mut bound = HashMap::new();
        let parts = match &mains[..] {
            [] if self.blocks.is_empty() => return false,
            [] => {
                let span = self.blocks.values().map(|block| head(block).name.span).max_by_key(key);
                self.error(span.unwrap_or_default(), "the program has no `main`", MAIN);
                None
            }
            [main, rest @ ..] => {
                if let Some(second) = rest.first() {
                    let error =
                        Diagnostic::error(second.name.span, "a second object besides `main`");
                    self.found.push(error.related(main.name.span, "the first").help(MAIN));
                }
                self.main(main, &mut bound)
            }
        };
        let handlers = match parts {
            Some(_) => self.handlers(&events, &mut bound),
            None => Vec::new(),
        };
        let blocks = parts.iter().flatten().chain(handlers.iter().map(|handler| &handler.block));
        let used: Vec<&str> = blocks.map(|block| &*head(block).name.text).collect();
        let mut unused: Vec<&Declaration> = self.blocks.values().copied().collect();
        unused.retain(|block| !used.contains(&&*head(block).name.text));
        unused.sort_by_key(|block| key(&head(block).name.span));
        if let Some(parts) = parts {
            self.blocks_of(parts);
            handlers.iter().for_each(|handler| self.event(handler, parts[2]));
            self.timers();
        }
        for block in unused {
            if parts.is_some() {
                let name = &head(block).name;
                let warning =
                    Diagnostic::warning(name.span, format!("`{}` is not used", name.text));
                self.found.push(warning.help("name it in main, or remove it"));
            }
            // What is wrong in it is told all the same; nothing of it becomes part of the program.
            let (externs, signatures) = (self.program.externs.clone(), self.signatures.clone());
            let tables = self.program.tables.clone();
            let (slots, headers) = (self.program.slots.len(), self.program.headers.len());
            self.block(block, self.role_of(block), None);
            (self.program.externs, self.signatures) = (externs, signatures);
            self.program.tables = tables;
            self.program.slots.truncate(slots);
            self.program.headers.truncate(headers);
        }
        parts.is_some()
    }

    /// Guesses what a block is for by its parameters.
    fn role_of(&self, block: &Declaration) -> Role {
        let is_packet_out = |parameter: &Parameter| match &parameter.ty.kind {
            TypeKind::Named(name, _) => &*name.text == "packet_out",
            _ => false,
        };
        match block {
            Declaration::Parser(..) => Role::Parser,
            _ if head(block).parameters.iter().any(is_packet_out) => Role::Deparser,
            _ => Role::Control,
        }
    }

    /// Checks the three blocks of the pipeline on the regions that they share.
    fn blocks_of(&mut self, parts: [&Declaration; 3]) {
        let [parser, control, deparser] = parts;
        let Some(types) = self.parameter_types(head(parser)) else { return };
        let mut regions = [0; 3];
        for (number, ty) in types.iter().enumerate().take(3) {
            regions[number] = self.allocate(ty, REGIONS[number], head(parser).name.span);
            self.program.regions[number] = (regions[number], self.types.slots(ty));
        }
        self.program.blocks = parts.map(|part| head(part).name.text.to_string());
        self.program.states = self.block(parser, Role::Parser, Some(regions)).0;
        self.program.control = self.block(control, Role::Control, Some(regions)).1;
        self.program.deparser = self.block(deparser, Role::Deparser, Some(regions)).1;
    }

    /// Finds parser, control and deparser that `main` names.
    fn main(&mut self, main: &Instance, bound: &mut Bound) -> Option<[&'a Declaration; 3]> {
        let TypeKind::Named(name, _) = &main.ty.kind else {
            self.error(main.ty.span, "`main` is no package", MAIN);
            return None;
        };
        let Some((Kind::Package, package)) = self.heads.get(&name.text).copied() else {
            let help = "include <xsa.p4>, which declares XilinxPipeline";
            self.error(name.span, format!("there is no package `{}`", name.text), help);
            return None;
        };
        if package.parameters.len() != main.arguments.len() {
            let message = format!(
                "{} takes {} blocks, not {}",
                name.text,
                package.parameters.len(),
                main.arguments.len()
            );
            self.error(main.ty.span, message, MAIN);
            return None;
        }
        let (mut parser, mut control, mut deparser) = (None, None, None);
        for (parameter, argument) in package.parameters.iter().zip(&main.arguments) {
            let block = self.argument(parameter, argument, bound)?;
            let part = match self.role_of(block) {
                Role::Parser => &mut parser,
                Role::Control => &mut control,
                Role::Deparser => &mut deparser,
            };
            *part = Some(block);
        }
        let parts = parser.zip(control).zip(deparser);
        if parts.is_none() {
            self.error(main.ty.span, "a pipeline needs a parser, a control and a deparser", MAIN);
        }
        let ((parser, control), deparser) = parts?;
        Some([parser, control, deparser])
    }

    /// Checks that a block is of the type that the package wants.
    pub(super) fn argument(
        &mut self,
        parameter: &Parameter,
        argument: &Expr,
        bound: &mut Bound,
    ) -> Option<&'a Declaration> {
        let named = match &argument.kind {
            ExprKind::Call(callee, arguments) if arguments.is_empty() => match &callee.kind {
                ExprKind::Name(name) => Some(name),
                _ => None,
            },
            _ => None,
        };
        let Some(named) = named else {
            self.error(argument.span, "`main` is made of blocks", MAIN);
            return None;
        };
        let Some(block) = self.blocks.get(named).copied() else {
            let help = match super::nearest(named, self.blocks.keys().map(|name| &**name)) {
                Some(near) => format!("did you mean {near}()?"),
                None => "declare it before".to_owned(),
            };
            self.error(argument.span, format!("there is no block `{named}`"), help);
            return None;
        };
        let TypeKind::Named(ty, arguments) = &parameter.ty.kind else { return None };
        let (kind, wanted) = self.heads.get(&ty.text).copied()?;
        let is_kind = match block {
            Declaration::Parser(..) => kind == Kind::Parser,
            _ => kind == Kind::Control,
        };
        let given = head(block);
        if !is_kind || given.parameters.len() != wanted.parameters.len() {
            let written: Vec<_> = wanted.parameters.iter().map(|p| &*p.name.text).collect();
            let message = format!("`{named}` is no {}", ty.text);
            let help = format!("{} takes ({})", ty.text, written.join(", "));
            let error = Diagnostic::error(argument.span, message);
            self.found.push(error.related(given.name.span, "declared here").help(help));
            return None;
        }
        // What the block type calls H, the package calls by its own name.
        let names: HashMap<&str, Arc<str>> = wanted
            .types
            .iter()
            .zip(arguments)
            .filter_map(|(own, outer)| match &outer.kind {
                TypeKind::Named(outer, _) => Some((&*own.text, Arc::clone(&outer.text))),
                _ => None,
            })
            .collect();
        let mut fits = true;
        for (own, theirs) in given.parameters.iter().zip(&wanted.parameters) {
            fits &= self.parameter_fits(own, theirs, &names, bound);
        }
        fits.then_some(block)
    }

    fn parameter_fits(
        &mut self,
        own: &Parameter,
        wanted: &Parameter,
        names: &HashMap<&str, Arc<str>>,
        bound: &mut Bound,
    ) -> bool {
        let Some(ty) = self.resolve(&own.ty) else { return false };
        if own.direction != wanted.direction {
            let message = format!("the parameter {} goes another way", own.name.text);
            let way = match wanted.direction {
                Direction::None => "neither in, out nor inout",
                Direction::In => "in",
                Direction::Out => "out",
                Direction::InOut => "inout",
            };
            self.error(own.name.span, message, format!("the architecture has it {way}"));
            return false;
        }
        let variable = match &wanted.ty.kind {
            TypeKind::Named(name, _) => names.get(&*name.text),
            _ => None,
        };
        let (should, place) = match variable {
            Some(name) => match bound.get(name) {
                Some((should, place)) => (should.clone(), Some(*place)),
                None => {
                    let is_packet = matches!(self.packet_kind(&ty), Some(Symbol::PacketIn));
                    if is_packet || !matches!(ty, Type::Struct(_)) {
                        let is = self.types.describe(&ty);
                        let help = "headers and metadata are structs";
                        self.error(own.ty.span, format!("{is} where a struct is needed"), help);
                        return false;
                    }
                    bound.insert(Arc::clone(name), (ty, own.ty.span));
                    return true;
                }
            },
            None => match self.resolve(&wanted.ty) {
                Some(should) => (should, None),
                None => return false,
            },
        };
        if ty != should {
            let (is, should) = (self.types.describe(&ty), self.types.describe(&should));
            let error =
                Diagnostic::error(own.ty.span, format!("{should} expected, but this is {is}"));
            let error = match place {
                Some(place) => error.related(place, format!("{should} here")),
                None => error,
            };
            self.found
                .push(error.help("all blocks of a pipeline share their headers and metadata"));
            return false;
        }
        true
    }
}

/// Gives the head of a block.
pub(super) fn head(block: &Declaration) -> &Head {
    match block {
        Declaration::Parser(head, ..)
        | Declaration::Control(head, ..)
        | Declaration::ParserType(head)
        | Declaration::ControlType(head)
        | Declaration::Package(head) => head,
        _ => unreachable!("only parsers and controls are blocks"),
    }
}

/// Orders places.
fn key(span: &Span) -> (u32, u32) {
    (span.file, span.start)
}
