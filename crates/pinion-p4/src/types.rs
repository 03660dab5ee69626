//! Types, and the structs and headers that a program declares.

use std::collections::HashMap;
use std::sync::Arc;

use crate::source::Span;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `bool`.
    Bool,
    /// `bit<N>`.
    Bit(u32),
    /// A number without a width, which only constants have.
    Integer,
    /// A struct or header, by its number.
    Struct(usize),
    /// A kind of extern, by its number, and what its type parameters stand for.
    Extern(usize, Vec<Type>),
}

/// Describes a field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// It need not be set.
    pub optional: bool,
    /// Places before it in its struct or header.
    pub offset: u32,
}

/// Describes a struct or header.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its name.
    pub name: Arc<str>,
    /// It is a header.
    pub header: bool,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Places that it takes.
    pub slots: u32,
    /// Where it is declared.
    pub span: Span,
}

/// Describes a kind of extern objects.
#[derive(Clone, Debug)]
pub struct ExternKind {
    /// Its name.
    pub name: Arc<str>,
    /// Number of its type parameters.
    pub types: usize,
    /// Names of its methods.
    pub methods: Vec<Arc<str>>,
}

/// Holds all types that have names.
#[derive(Clone, Debug, Default)]
pub struct Types {
    /// By name, with the place of the declaration.
    pub named: HashMap<Arc<str>, (Type, Span)>,
    /// Structs and headers.
    pub structs: Vec<Struct>,
    /// Kinds of externs.
    pub externs: Vec<ExternKind>,
}

impl Types {
    /// Counts the places that a value of a type takes.
    pub fn slots(&self, ty: &Type) -> u32 {
        match ty {
            Type::Struct(number) => self.structs[*number].slots,
            _ => 1,
        }
    }

    /// Gives the bits of a type of one value.
    pub fn width(ty: &Type) -> u32 {
        match ty {
            Type::Bit(width) => *width,
            _ => 1,
        }
    }

    /// Gives the struct or header that a type is.
    pub fn fields_of(&self, ty: &Type) -> Option<&Struct> {
        match ty {
            Type::Struct(number) => self.structs.get(*number),
            _ => None,
        }
    }

    /// Tells whether a type is a header.
    pub fn is_header(&self, ty: &Type) -> bool {
        self.fields_of(ty).is_some_and(|found| found.header)
    }

    /// Writes a type as a program would.
    pub fn describe(&self, ty: &Type) -> String {
        match ty {
            Type::Bool => "bool".to_owned(),
            Type::Bit(width) => format!("bit<{width}>"),
            Type::Integer => "a number".to_owned(),
            Type::Struct(number) => {
                let found = &self.structs[*number];
                let kind = if found.header { "header" } else { "struct" };
                format!("{kind} {}", found.name)
            }
            Type::Extern(number, _) => self.externs[*number].name.to_string(),
        }
    }
}
