//! Parsers, controls and deparsers: their parameters and bodies.

use super::{Checker, Role, Symbol};
use crate::program::{State, Step};
use crate::syntax::{Declaration, Direction, Head};
use crate::types::Type;

/// Names of the three regions that the blocks of a pipeline share.
pub(super) const REGIONS: [&str; 3] = ["hdr", "meta", "smeta"];

impl Checker<'_> {
    /// Finds the types of a block's parameters; those of packets are left out.
    pub(super) fn parameter_types(&mut self, head: &Head) -> Option<Vec<Type>> {
        let mut types = Vec::new();
        for parameter in &head.parameters {
            let ty = self.resolve(&parameter.ty)?;
            if self.packet_kind(&ty).is_none() {
                types.push(ty);
            }
        }
        Some(types)
    }

    /// Tells whether a type is a packet's, and which way it goes.
    pub(super) fn packet_kind(&self, ty: &Type) -> Option<Symbol> {
        let Type::Extern(number, _) = ty else { return None };
        match &*self.types.externs[*number].name {
            "packet_in" => Some(Symbol::PacketIn),
            "packet_out" => Some(Symbol::PacketOut),
            _ => None,
        }
    }

    /// Checks a block in its role; its parameters are the shared regions, or places of its own.
    pub(super) fn block(
        &mut self,
        declaration: &Declaration,
        role: Role,
        regions: Option<[u32; 3]>,
    ) -> (Vec<State>, Vec<Step>) {
        let (Declaration::Parser(head, ..) | Declaration::Control(head, ..)) = declaration else {
            return Default::default();
        };
        self.role = role;
        self.scopes.push(Default::default());
        let mut number = 0;
        for parameter in &head.parameters {
            let Some(ty) = self.resolve(&parameter.ty) else { continue };
            let symbol = match self.packet_kind(&ty) {
                Some(symbol) => symbol,
                None if matches!(ty, Type::Extern(..)) => {
                    let help = "declare externs in the control";
                    self.error(parameter.ty.span, "an object as a parameter", help);
                    continue;
                }
                None => {
                    let slot = match regions {
                        Some(regions) if number < 3 => regions[number],
                        Some(_) if self.program.told.1 > 0 => self.program.told.0,
                        _ => self.allocate(&ty, &parameter.name.text, parameter.name.span),
                    };
                    number += 1;
                    let fixed = match parameter.direction {
                        Direction::In | Direction::None => Some("the parameter is `in`"),
                        Direction::Out | Direction::InOut => None,
                    };
                    Symbol::Variable { ty, slot, fixed }
                }
            };
            self.enter(&parameter.name.text, parameter.name.span, symbol);
        }
        let body = match declaration {
            Declaration::Parser(head, locals, states) => {
                (self.states(&head.name, locals, states), Vec::new())
            }
            Declaration::Control(head, locals, apply) => {
                let mut steps = Vec::new();
                self.scopes.push(Default::default());
                for local in locals {
                    self.statement(local, &mut steps);
                }
                match apply {
                    Some(apply) => self.scope(apply, &mut steps),
                    None => {
                        let message = format!("the control {} has no apply block", head.name.text);
                        self.error(head.name.span, message, "what it does stands in apply { … }");
                    }
                }
                self.scopes.pop();
                (Vec::new(), steps)
            }
            _ => Default::default(),
        };
        self.scopes.pop();
        body
    }
}
