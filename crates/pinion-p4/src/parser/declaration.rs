//! Declarations of the outermost level.

use std::sync::Arc;

use super::Parser;
use super::statement::NOT_HERE;
use crate::diagnostic::Diagnostic;
use crate::syntax::{Declaration, Direction, Field, Head, Name, Parameter, StatementKind};

impl Parser<'_> {
    /// Reads a declaration; gives an empty list for one that says nothing that matters here.
    pub(super) fn declaration(&mut self) -> Option<Vec<Declaration>> {
        self.annotations();
        if self.take(";") {
            return Some(Vec::new());
        }
        let start = self.span();
        if self.take("error") || self.take("match_kind") {
            self.expect("{", "")?;
            self.at -= 1;
            self.skip_brackets();
            return Some(Vec::new());
        }
        let declaration = if self.is("const") {
            match self.local()? {
                StatementKind::Variable(constant) => Declaration::Constant(constant),
                _ => return None,
            }
        } else if self.take("typedef") {
            let ty = self.type_ref()?;
            let name = self.type_name()?;
            self.expect(";", "")?;
            Declaration::Typedef(ty, name)
        } else if self.is("struct") || self.is("header") {
            let header = self.is("header");
            self.at += 1;
            self.fields(header)?
        } else if self.take("extern") {
            self.extern_object()?
        } else if self.take("package") {
            let head = self.head(true)?;
            self.expect(";", "")?;
            Declaration::Package(head)
        } else if self.is("parser") || self.is("control") {
            let is_parser = self.is("parser");
            self.at += 1;
            self.parser_or_control(is_parser)?
        } else if self.is("table") || self.is("action") {
            let message = "tables and actions stand in a control";
            let help = "declare them in front of the apply block that uses them";
            self.error(Diagnostic::error(start, message).help(help));
            return None;
        } else if let Some((word, instead)) = NOT_HERE.iter().find(|(word, _)| self.is(word)) {
            let message = format!("`{word}` is not part of this P4");
            self.error(Diagnostic::error(start, message).help(*instead));
            return None;
        } else if self.begins_declaration() || self.peek(1).is_some_and(|token| token.is("(")) {
            match self.local()? {
                StatementKind::Instance(instance) => Declaration::Instance(instance),
                StatementKind::Variable(variable) => {
                    let message =
                        format!("the variable {} stands outside of a control", variable.name.text);
                    let help = "make it a const, or declare it in a control; state that lasts from \
                                packet to packet is kept by externs";
                    self.error(Diagnostic::error(variable.name.span, message).help(help));
                    return Some(Vec::new());
                }
                _ => return None,
            }
        } else {
            let help = "there are const, typedef, struct, header, extern, package, parser, control \
                        and objects, such as main";
            self.expected("a declaration", help);
            return None;
        };
        Some(vec![declaration])
    }

    /// Takes the name of a new type.
    fn type_name(&mut self) -> Option<Name> {
        let name = self.name("the name of a type")?;
        self.types.insert(Arc::clone(&name.text));
        Some(name)
    }

    fn fields(&mut self, header: bool) -> Option<Declaration> {
        let name = self.type_name()?;
        self.expect("{", "its fields stand in braces")?;
        let mut fields = Vec::new();
        while !self.is("}") {
            if self.peek(0).is_none() {
                let error = Diagnostic::error(name.span, format!("{} has no end", name.text));
                self.error(error.help("close it with `}`"));
                return None;
            }
            if self.found.is_hopeless() {
                return None;
            }
            let (start, depth) = (self.at, self.depth);
            match self.field() {
                Some(field) => fields.push(field),
                None => {
                    self.skip_statement(start, depth);
                    if self.at == start && !self.is("}") {
                        self.at += 1;
                    }
                }
            }
        }
        self.at += 1;
        Some(Declaration::Struct { header, name, fields })
    }

    fn field(&mut self) -> Option<Field> {
        let optional = self.annotations().iter().any(|name| &**name == "optional");
        let ty = self.type_ref()?;
        let name = self.name("the name of a field")?;
        self.expect(";", "")?;
        Some(Field { ty, name, optional })
    }

    /// Reads type parameters, if there are any.
    fn type_parameters(&mut self) -> Option<Vec<Name>> {
        let mut types = Vec::new();
        if self.take("<") {
            while !self.is(">") {
                types.push(self.type_name()?);
                if !self.take(",") {
                    break;
                }
            }
            self.expect(">", "close the type parameters with `>`")?;
        }
        Some(types)
    }

    /// Reads name, type parameters and parameters; the name becomes a type's if it is one.
    fn head(&mut self, is_type: bool) -> Option<Head> {
        let name = if is_type { self.type_name()? } else { self.name("a name")? };
        let types = self.type_parameters()?;
        let parameters = self.parameters()?;
        Some(Head { name, types, parameters })
    }

    pub(super) fn parameters(&mut self) -> Option<Vec<Parameter>> {
        self.expect("(", "parameters stand in brackets")?;
        let mut parameters = Vec::new();
        while !self.is(")") {
            self.annotations();
            let direction = match () {
                () if self.take("inout") => Direction::InOut,
                () if self.take("in") => Direction::In,
                () if self.take("out") => Direction::Out,
                () => Direction::None,
            };
            let ty = self.type_ref()?;
            let name = self.name("the name of a parameter")?;
            if self.take("=") {
                self.expression()?;
            }
            parameters.push(Parameter { direction, ty, name });
            if !self.take(",") {
                break;
            }
        }
        self.expect(")", "close the parameters")?;
        Some(parameters)
    }

    fn extern_object(&mut self) -> Option<Declaration> {
        let name = self.type_name()?;
        let types = self.type_parameters()?;
        if self.is("(") || !self.is("{") {
            let error = Diagnostic::error(name.span, "extern functions are not part of this P4");
            self.error(
                error.help("the externs of a pipeline are objects: UserExtern<A, B>(2) name;"),
            );
            return None;
        }
        self.at += 1;
        let mut methods = Vec::new();
        while !self.is("}") {
            if self.peek(0).is_none() {
                self.expected("`}`", "close the extern");
                return None;
            }
            self.annotations();
            // A constructor has no type before its name.
            let is_constructor = self.peek(1).is_some_and(|token| token.is("("));
            if !is_constructor {
                self.type_ref()?;
            }
            let method = self.name("the name of a method")?;
            let own = self.type_parameters()?;
            let parameters = self.parameters()?;
            self.expect(";", "")?;
            methods.push(Head { name: method, types: own, parameters });
        }
        self.at += 1;
        Some(Declaration::Extern(name, types, methods))
    }

    fn parser_or_control(&mut self, is_parser: bool) -> Option<Declaration> {
        let head = self.head(true)?;
        if self.take(";") {
            return Some(match is_parser {
                true => Declaration::ParserType(head),
                false => Declaration::ControlType(head),
            });
        }
        if let Some(first) = head.types.first() {
            let error = Diagnostic::error(first.span, "a parser or control of any type");
            self.error(error.help("only its type can have type parameters: parser P<H>(…);"));
        }
        self.expect("{", "its body stands in braces")?;
        if is_parser { self.parser_body(head) } else { self.control_body(head) }
    }
}
