//! Words become a tree (P4-16 specification, appendix G, of the subset). In: the preprocessor's words.
//! Out: declarations, and an error for each that is none, which does not keep the others from being
//! read: behind an error the parser goes on at the next statement or declaration.
//!
//! It looks ahead two words at most and never goes back, so it takes time in proportion to the
//! program's length; it follows brackets in brackets so deep and no deeper.

mod block;
mod declaration;
mod expression;
mod statement;
mod table;

use std::collections::HashSet;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{Token, Word};
use crate::source::Span;
use crate::syntax::{Declaration, Name};

/// Brackets, blocks and `else if` in each other that are followed.
const DEEPEST: usize = 100;

/// Words that are no names (P4-16 specification, §6.3.2, of the subset).
const KEYWORDS: [&str; 41] = [
    "action",
    "apply",
    "bit",
    "bool",
    "const",
    "control",
    "default",
    "else",
    "entries",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "key",
    "match_kind",
    "out",
    "package",
    "parser",
    "return",
    "select",
    "state",
    "string",
    "struct",
    "switch",
    "table",
    "transition",
    "true",
    "tuple",
    "typedef",
    "value_set",
    "varbit",
    "verify",
    "void",
];

/// Keywords that are names where no declaration can begin (as in `hdr.key`).
const SOFT: [&str; 6] = ["apply", "key", "state", "entries", "error", "default"];

/// Reads words.
pub struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    end: Span,
    depth: usize,
    /// Names of types so far: behind an opening bracket they begin a cast.
    types: HashSet<Arc<str>>,
    found: &'a mut Diagnostics,
}

/// Reads a whole program.
pub fn parse(tokens: &[Token], found: &mut Diagnostics) -> Vec<Declaration> {
    let end = tokens.last().map_or(Span::default(), |token| token.span.behind());
    let mut parser = Parser { tokens, at: 0, end, depth: 0, types: HashSet::new(), found };
    let mut declarations = Vec::new();
    while parser.at < tokens.len() && !parser.found.is_hopeless() {
        let before = parser.at;
        if let Some(declaration) = parser.declaration() {
            declarations.extend(declaration);
        } else {
            parser.skip_declaration(before);
        }
    }
    declarations
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    /// Tells whether the next word is written like this.
    fn is(&self, text: &str) -> bool {
        self.peek(0).is_some_and(|token| token.is(text))
    }

    /// Gives the place of the next word.
    fn span(&self) -> Span {
        self.peek(0).map_or(self.end, |token| token.span)
    }

    /// Gives the place of the word before.
    fn before(&self) -> Span {
        self.at.checked_sub(1).map_or(self.end, |at| self.tokens[at].span)
    }

    /// Takes the next word if it is written like this.
    fn take(&mut self, text: &str) -> bool {
        let is = self.is(text);
        self.at += usize::from(is);
        is
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    /// Says that something else should stand here.
    fn expected(&mut self, what: &str, help: &str) -> Option<std::convert::Infallible> {
        let is_name =
            |token: Option<&Token>| token.is_some_and(|token| matches!(token.word, Word::Name(_)));
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        if self.is(",") && is_name(before) && is_name(self.peek(1)) {
            let (one, other) = (self.name_at(self.at - 1), self.name_at(self.at + 1));
            let message = format!("a comma between `{one}` and `{other}`");
            let error = Diagnostic::error(self.span(), message);
            self.error(
                error
                    .label("a dot names a member")
                    .help(format!("write {one}.{other}, if {other} is a member of {one}")),
            );
            return None;
        }
        let found = match self.peek(0) {
            Some(token) => token.word.describe(),
            None => "the end of the program".to_owned(),
        };
        let error =
            Diagnostic::error(self.span(), format!("{what} expected, but there is {found}"));
        self.error(if help.is_empty() { error } else { error.help(help) });
        None
    }

    fn name_at(&self, at: usize) -> String {
        match self.tokens.get(at).map(|token| &token.word) {
            Some(Word::Name(name)) => name.to_string(),
            _ => String::new(),
        }
    }

    /// Takes a sign or keyword that must come here.
    fn expect(&mut self, text: &str, help: &str) -> Option<Span> {
        if self.is(text) {
            self.at += 1;
            return Some(self.before());
        }
        if text == ";" && !self.is(",") {
            let error = Diagnostic::error(self.before().behind(), "a semicolon is missing");
            self.error(
                error.label("`;` belongs here").help("statements and declarations end with `;`"),
            );
            // Where a line ends it was just forgotten: what follows is looked at as if it stood there.
            let goes_on = self.peek(0).is_some_and(|token| token.first || token.is("}"));
            return goes_on.then(|| self.before());
        }
        self.expected(&format!("`{text}`"), help);
        None
    }

    /// Takes a name.
    fn name(&mut self, what: &str) -> Option<Name> {
        match self.peek(0) {
            Some(Token { word: Word::Name(text), span, .. })
                if !KEYWORDS.contains(&&**text) || SOFT.contains(&&**text) =>
            {
                let name = Name { text: Arc::clone(text), span: *span };
                self.at += 1;
                Some(name)
            }
            Some(Token { word: Word::Name(text), span, .. }) => {
                let error = Diagnostic::error(*span, format!("`{text}` is a word of the language"));
                self.error(error.help(format!("{what} needs another name")));
                None
            }
            _ => {
                self.expected(what, "");
                None
            }
        }
    }

    /// Goes one bracket or block deeper; gives nothing if that is too deep.
    fn deeper(&mut self) -> Option<()> {
        if self.depth >= DEEPEST {
            let message =
                format!("more than {DEEPEST} brackets, blocks or `else if` in each other");
            let error = Diagnostic::error(self.span(), message);
            self.error(error.help("compute parts of it before, in variables of their own"));
            return None;
        }
        self.depth += 1;
        Some(())
    }

    /// Skips annotations: `@name`, with anything in brackets. Gives the last one's name.
    fn annotations(&mut self) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        while self.take("@") {
            if let Some(Token { word: Word::Name(name), .. }) = self.peek(0) {
                names.push(Arc::clone(name));
                self.at += 1;
            }
            if self.is("(") || self.is("[") {
                self.skip_brackets();
            }
        }
        names
    }

    /// Skips a bracket and everything up to the one that closes it.
    fn skip_brackets(&mut self) {
        let mut open = 0usize;
        while let Some(token) = self.peek(0) {
            match &token.word {
                Word::Sign("(" | "[" | "{") => open += 1,
                Word::Sign(")" | "]" | "}") => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return;
            }
        }
    }

    /// Goes on behind a declaration that was not understood, which began at word `start`.
    fn skip_declaration(&mut self, start: usize) {
        self.depth = 0;
        self.at = start;
        while let Some(token) = self.peek(0) {
            match token.word {
                Word::Sign(";") => {
                    self.at += 1;
                    return;
                }
                Word::Sign("{") => {
                    self.skip_brackets();
                    self.take(";");
                    return;
                }
                Word::Sign("(" | "[") => self.skip_brackets(),
                _ => self.at += 1,
            }
        }
    }

    /// Goes on behind a statement that was not understood: behind its semicolon or block, or before
    /// the end of the block that it stands in.
    fn skip_statement(&mut self, start: usize, depth: usize) {
        self.depth = depth;
        self.at = self.at.max(start);
        let from = self.at;
        while let Some(token) = self.peek(0) {
            match token.word {
                Word::Sign(";") => {
                    self.at += 1;
                    return;
                }
                Word::Sign("}") => return,
                Word::Sign("{") => {
                    self.skip_brackets();
                    return;
                }
                Word::Name(ref name)
                    if self.at > from
                        && token.first
                        && ["if", "state", "apply", "transition"].contains(&&**name) =>
                {
                    return;
                }
                _ => self.at += 1,
            }
        }
    }
}
