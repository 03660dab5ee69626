//! Files become one row of words: `#include`, `#define` of constants, `#if` and its kin. In: the name of
//! a file and who reads files. Out: the words of all files, with macros replaced. A word that a macro
//! gave has the place where the macro stands, so that a message shows what was written.
//!
//! Macros with parameters are not taken: constants and structs do in P4 what they are for.

mod condition;

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{Token, Word, words};
use crate::source::{Sources, Span};

/// Files in files that are followed.
const DEEPEST: usize = 32;
/// Files of a program, each as often as it is included: files that include others twice could make any
/// number of them.
const MOST_FILES: usize = 256;
/// Words of a program; macros that use macros could make any number of them.
const MOST_WORDS: usize = 400_000;
/// Macros in macros that are followed.
const DEEPEST_MACRO: usize = 64;
/// Bytes of a file.
const LARGEST_FILE: usize = 4 << 20;

/// Reads the files of a program.
pub trait Files {
    /// Reads a file that another one includes, or the first if `from` is none. `own` ones are
    /// written in quotes and looked for beside the file first; others only among the library's.
    /// Gives the file's name as a reader would open it, and its text.
    ///
    /// # Errors
    /// What is in the way, in a few words.
    fn read(&self, name: &str, from: Option<&str>, own: bool) -> Result<(String, String), String>;
}

/// Holds what is read and replaced so far.
pub struct Preprocessor<'a> {
    files: &'a dyn Files,
    sources: &'a mut Sources,
    found: &'a mut Diagnostics,
    macros: HashMap<Arc<str>, Vec<Token>>,
    output: Vec<Token>,
    is_full: bool,
    lacks_files: bool,
    depth: usize,
}

/// Where an `#if` stands.
struct Branch {
    opened: Span,
    /// What is in it counts.
    live: bool,
    /// One of its branches has counted, or none may.
    taken: bool,
    /// Its `#else` has been.
    is_last: bool,
}

/// Words of a program.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// The words of all its files.
    pub words: Vec<Token>,
    /// A file that is included is not among them, so that names may be unknown which it declares.
    pub lacks_files: bool,
}

/// Reads a program and everything it includes; the words of all of it.
///
/// # Errors
/// What is in the way of reading the file itself.
pub fn read(
    name: &str,
    files: &dyn Files,
    sources: &mut Sources,
    found: &mut Diagnostics,
) -> Result<Read, String> {
    let (name, text) = files.read(name, None, true)?;
    let mut preprocessor = Preprocessor {
        files,
        sources,
        found,
        macros: HashMap::new(),
        output: Vec::new(),
        is_full: false,
        lacks_files: false,
        depth: 0,
    };
    preprocessor.file(name, text);
    Ok(Read { words: preprocessor.output, lacks_files: preprocessor.lacks_files })
}

impl Preprocessor<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>, help: &str) {
        self.found.push(Diagnostic::error(span, message).help(help));
    }

    fn file(&mut self, name: String, text: String) {
        if text.len() > LARGEST_FILE {
            let file = self.sources.add(name, String::new());
            let span = Span { file, ..Span::default() };
            self.error(span, "the file has more than 4 MiB", "P4 programs are short");
            return;
        }
        let file = self.sources.add(name, text.clone());
        let tokens = words(file, &text, self.found);
        self.depth += 1;
        let mut branches: Vec<Branch> = Vec::new();
        let mut at = 0;
        while at < tokens.len() && !self.is_full {
            let token = &tokens[at];
            if token.first && token.is("#") {
                let end = at + 1 + tokens[at + 1..].iter().take_while(|token| !token.first).count();
                self.directive(token.span, &tokens[at + 1..end], &mut branches);
                at = end;
            } else {
                if branches.last().is_none_or(|branch| branch.live) {
                    self.expand(token, None, &mut Vec::new());
                }
                at += 1;
            }
        }
        for branch in branches {
            self.error(branch.opened, "this `#if` has no `#endif`", "close it in the same file");
        }
        self.depth -= 1;
    }

    fn directive(&mut self, hash: Span, line: &[Token], branches: &mut Vec<Branch>) {
        let Some((first, rest)) = line.split_first() else { return };
        let Word::Name(name) = &first.word else {
            self.error(first.span, "a directive's name comes behind `#`", "for example #include");
            return;
        };
        let span = hash.to(first.span);
        let is_live = branches.last().is_none_or(|branch| branch.live);
        match &**name {
            "if" | "ifdef" | "ifndef" => {
                let live = is_live && self.holds(name, span, rest);
                branches.push(Branch {
                    opened: span,
                    live,
                    taken: live || !is_live,
                    is_last: false,
                });
            }
            "elif" | "else" => {
                let Some(mut branch) = branches.pop() else {
                    self.error(span, format!("`#{name}` without an `#if`"), "remove it");
                    return;
                };
                if branch.is_last {
                    self.error(span, format!("`#{name}` behind `#else`"), "`#else` comes last");
                }
                branch.is_last = &**name == "else";
                branch.live = !branch.taken && (branch.is_last || self.holds("if", span, rest));
                branch.taken |= branch.live;
                branches.push(branch);
            }
            "endif" => {
                if branches.pop().is_none() {
                    self.error(span, "`#endif` without an `#if`", "remove it");
                }
            }
            _ if !is_live => {}
            "include" => self.include(span, rest),
            "define" => self.define(span, rest),
            "undef" => match rest.first().map(|token| &token.word) {
                Some(Word::Name(name)) => {
                    self.macros.remove(name);
                }
                _ => self.error(span, "`#undef` wants a name", "for example #undef DEBUG"),
            },
            "error" => {
                let text = rest.first().zip(rest.last());
                let text = text.map(|(one, other)| self.sources.text(one.span.to(other.span)));
                let message = format!("#error: {}", text.unwrap_or(""));
                self.error(span, message, "the program says that it cannot be used like this");
            }
            "pragma" | "line" => {}
            _ => {
                let message = format!("there is no directive `#{name}`");
                let help = "there are #include, #define, #undef, #if, #ifdef, #ifndef, #elif, #else, \
                            #endif and #error";
                self.error(span, message, help);
            }
        }
    }

    /// Tells whether the condition of an `#if`, `#ifdef` or `#ifndef` holds.
    fn holds(&mut self, kind: &str, span: Span, rest: &[Token]) -> bool {
        if kind == "if" {
            let expanded = self.expanded_condition(rest);
            return match condition::value(&expanded, span) {
                Ok(value) => value != 0,
                Err(error) => {
                    self.found.push(error);
                    false
                }
            };
        }
        match rest.first().map(|token| &token.word) {
            Some(Word::Name(name)) => self.macros.contains_key(name) == (kind == "ifdef"),
            _ => {
                let help = format!("for example #{kind} DEBUG");
                self.error(span, format!("`#{kind}` wants a name"), &help);
                false
            }
        }
    }

    /// Replaces macros in a condition, except in `defined(NAME)`, which becomes 0 or 1; a name that
    /// is no macro is 0, as in C.
    fn expanded_condition(&mut self, line: &[Token]) -> Vec<Token> {
        let outer = std::mem::take(&mut self.output);
        let number = |span, value| Token {
            word: Word::Number { value: u128::from(value), width: None },
            span,
            first: false,
        };
        let mut at = 0;
        while let Some(token) = line.get(at) {
            let named = |at: usize| match line.get(at).map(|token| &token.word) {
                Some(Word::Name(name)) => Some(Arc::clone(name)),
                _ => None,
            };
            let in_brackets = line.get(at + 1).is_some_and(|token| token.is("("));
            let name = named(at + 1 + usize::from(in_brackets));
            match (token.is("defined"), name) {
                (true, Some(name)) => {
                    let is_known = self.macros.contains_key(&name);
                    self.output.push(number(token.span, is_known));
                    at += 2 + 2 * usize::from(in_brackets);
                }
                _ => {
                    self.expand(token, None, &mut Vec::new());
                    at += 1;
                }
            }
        }
        let mut expanded = std::mem::replace(&mut self.output, outer);
        for token in &mut expanded {
            if matches!(token.word, Word::Name(_)) {
                let is_true = token.is("true");
                *token = number(token.span, is_true);
            }
        }
        expanded
    }

    fn include(&mut self, span: Span, rest: &[Token]) {
        let (name, own, place) = match rest {
            [token] if matches!(token.word, Word::Text(_)) => match &token.word {
                Word::Text(text) => (text.to_string(), true, token.span),
                _ => return,
            },
            [open, .., close] if open.is("<") && close.is(">") => {
                let inside = Span { start: open.span.end, end: close.span.start, ..open.span };
                let name = self.sources.text(inside).trim().to_owned();
                (name, false, open.span.to(close.span))
            }
            _ => {
                let help = "write #include \"file.p4\" or #include <core.p4>";
                self.lack(span, "`#include` wants the name of a file", help);
                return;
            }
        };
        if self.depth >= DEEPEST {
            let message = format!("files include each other more than {DEEPEST} deep");
            let help = "guard each with #ifndef NAME, #define NAME, #endif";
            self.lack(place, message, help);
            return;
        }
        if self.sources.len() >= MOST_FILES {
            self.is_full = true;
            let message = format!("more than {MOST_FILES} files are included");
            let help = "guard each with #ifndef NAME, #define NAME, #endif";
            self.lack(place, message, help);
            return;
        }
        let from = self.sources.get(span.file).map(|source| source.name.clone());
        match self.files.read(&name, from.as_deref(), own) {
            Ok((name, text)) => {
                self.sources.include(span.to(place), self.sources.len() as u32);
                self.file(name, text);
            }
            Err(why) => {
                let message = format!("cannot read {name}: {why}");
                let help = "names in quotes are looked for beside this file, then in Pinion's library; \
                            those in <> in the library alone. Names and types are checked when all files are there";
                self.lack(place, message, help);
            }
        }
    }

    /// Says that a file is not read, and why.
    fn lack(&mut self, span: Span, message: impl Into<String>, help: &str) {
        self.lacks_files = true;
        self.error(span, message, help);
    }

    fn define(&mut self, span: Span, rest: &[Token]) {
        let Some((Token { word: Word::Name(name), span: place, .. }, body)) = rest.split_first()
        else {
            self.error(span, "`#define` wants a name", "for example #define MAX_SEGS 38");
            return;
        };
        let has_parameters =
            body.first().is_some_and(|token| token.is("(") && token.span.start == place.end);
        if has_parameters {
            let message = format!("the macro {name} has parameters");
            let help = "only constants can be defined; write a const, or what it stands for";
            self.error(*place, message, help);
            return;
        }
        self.macros.insert(Arc::clone(name), body.to_vec());
    }

    /// Adds a word, or what the macro of this name stands for; within `active` macros, which are
    /// not replaced again.
    fn expand(&mut self, token: &Token, used_at: Option<Span>, active: &mut Vec<Arc<str>>) {
        if self.output.len() >= MOST_WORDS {
            if !self.is_full {
                self.is_full = true;
                let message = format!("the program has more than {MOST_WORDS} words");
                let help = "look for macros that use others several times";
                self.error(used_at.unwrap_or(token.span), message, help);
            }
            return;
        }
        let span = used_at.unwrap_or(token.span);
        if let Word::Name(name) = &token.word
            && active.len() < DEEPEST_MACRO
            && !active.contains(name)
            && let Some(body) = self.macros.get(name).cloned()
        {
            active.push(Arc::clone(name));
            for part in &body {
                if self.is_full {
                    break;
                }
                self.expand(part, Some(span), active);
            }
            active.pop();
            return;
        }
        self.output.push(Token { span, ..token.clone() });
    }
}
