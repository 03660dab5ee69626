//! What names mean, and whether types and widths fit (P4-16 specification, §7 and §8, of the subset). In:
//! the tree. Out: a [`Program`], or errors with what to do about each. An error in one statement does
//! not keep the others from being looked at.

mod block;
mod constant;
mod declaration;
mod event;
mod expression;
mod package;
mod place;
mod state;
mod statement;
mod table;

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::program::{Program, Slot};
use crate::source::Span;
use crate::syntax::{Declaration, Head};
use crate::types::{Type, Types};

/// Places of one value in a program; structs of structs could make any number of them.
const MOST_SLOTS: u32 = 4096;

/// What a name stands for.
#[derive(Clone, Debug)]
enum Symbol {
    /// A constant, with its value.
    Constant(Type, i128),
    /// A variable or parameter.
    Variable {
        ty: Type,
        slot: Slot,
        /// Why it cannot be written, if so.
        fixed: Option<&'static str>,
    },
    /// What a parser takes headers from.
    PacketIn,
    /// What a deparser puts headers into.
    PacketOut,
    /// An extern object.
    External(usize),
    /// An action of tables.
    Action(usize),
    /// A match-action table.
    Table(usize),
}

/// Says what kind of block is looked at: only some statements make sense in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Parser,
    Control,
    Deparser,
}

/// Holds what is known so far.
struct Checker<'a> {
    found: &'a mut Diagnostics,
    types: Types,
    program: Program,
    /// Types of parsers, controls and packages.
    heads: HashMap<Arc<str>, (Kind, &'a Head)>,
    /// Parsers and controls.
    blocks: HashMap<Arc<str>, &'a Declaration>,
    /// Names by scope, the outermost first.
    scopes: Vec<HashMap<Arc<str>, (Symbol, Span)>>,
    /// Types of the request and answer of each extern.
    signatures: Vec<[Type; 2]>,
    actions: Vec<table::KnownAction>,
    tables: Vec<table::KnownTable>,
    role: Role,
    /// Slots are used up; said once.
    is_full: bool,
}

/// Kinds of heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Parser,
    Control,
    Package,
}

/// Checks a tree; gives the program that it is, if it has a `main`.
pub fn check(tree: &[Declaration], found: &mut Diagnostics) -> Option<Program> {
    let mut checker = Checker {
        found,
        types: Types::default(),
        program: Program::default(),
        heads: HashMap::new(),
        blocks: HashMap::new(),
        scopes: vec![HashMap::new()],
        signatures: Vec::new(),
        actions: Vec::new(),
        tables: Vec::new(),
        role: Role::Control,
        is_full: false,
    };
    let mut mains = Vec::new();
    for declaration in tree {
        checker.declare(declaration, &mut mains);
    }
    let is_whole = checker.assemble(&mains);
    is_whole.then_some(checker.program)
}

impl Checker<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.found.push(Diagnostic::error(span, message).help(help));
    }

    /// Enters a name into the innermost scope.
    fn enter(&mut self, name: &Arc<str>, span: Span, symbol: Symbol) {
        let scope = self.scopes.last_mut().expect("there is always the outermost scope");
        let before = scope.insert(Arc::clone(name), (symbol, span));
        if let Some((_, first)) = before {
            let error = Diagnostic::error(span, format!("`{name}` is declared twice"));
            let error = error.label("again here").related(first, "first here");
            self.found.push(error.help("give one of them another name"));
        }
    }

    /// Finds what a name stands for.
    fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).map(|(symbol, _)| symbol)
    }
}

/// Finds the word most like another one among those there are.
fn nearest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let like = words.map(|other| (strsim::damerau_levenshtein(word, other), other));
    let near = like.filter(|(distance, other)| distance * 3 <= word.len().max(other.len()));
    near.min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}
