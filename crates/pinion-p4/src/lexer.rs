//! Characters become words (P4-16 specification, §6.3.3). In: a file's text. Out: names, numbers and
//! signs with their places, and where a line begins, which the preprocessor wants to know. Nothing
//! is wrong that does not become an error with its place.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;

/// The widest value that a program may compute with, in bits.
pub const WIDEST: u32 = 128;

/// A word of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// A name or keyword.
    Name(Arc<str>),
    /// A number, and the width that is written before it.
    Number {
        /// Its value.
        value: u128,
        /// Its width in bits, if it is written (`8w255`).
        width: Option<u32>,
    },
    /// A text in quotes.
    Text(Arc<str>),
    /// A sign.
    Sign(&'static str),
}

impl Word {
    /// Says what it is to a reader.
    pub fn describe(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Number { value, .. } => format!("the number {value}"),
            Self::Text(text) => format!("the text \"{text}\""),
            Self::Sign(sign) => format!("`{sign}`"),
        }
    }
}

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The word.
    pub word: Word,
    /// Where it stands; of one that a macro gave, where the macro is used.
    pub span: Span,
    /// It is the first of its line.
    pub first: bool,
}

impl Token {
    /// Tells whether it is a sign or name written like this.
    pub fn is(&self, text: &str) -> bool {
        match &self.word {
            Word::Name(name) => &**name == text,
            Word::Sign(sign) => *sign == text,
            _ => false,
        }
    }
}

/// All signs, longer ones before those they begin with. `>` is alone, since it also closes what `<`
/// opened: `>>` are two that touch.
const SIGNS: [&str; 45] = [
    "&&&", "...", "<<", "<=", ">=", "==", "!=", "&&", "||", "++", "..", "|+|", "|-|", "+=", "-=",
    "&=", "|=", "^=", "(", ")", "{", "}", "[", "]", "<", ">", ",", ";", ":", "?", ".", "=", "+",
    "-", "*", "/", "%", "&", "|", "^", "~", "!", "@", "#", "\\",
];

/// Takes a text apart.
pub fn words(file: u32, text: &str, found: &mut Diagnostics) -> Vec<Token> {
    let mut lexer = Lexer { file, text, at: 0, first: true, found, tokens: Vec::new() };
    while lexer.step() {}
    lexer.tokens
}

struct Lexer<'a> {
    file: u32,
    text: &'a str,
    at: usize,
    first: bool,
    found: &'a mut Diagnostics,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn span(&self, start: usize) -> Span {
        Span { file: self.file, start: start as u32, end: self.at as u32 }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, start: usize, word: Word) {
        let span = self.span(start);
        self.tokens.push(Token { word, span, first: self.first });
        self.first = false;
    }

    /// Takes the next word, blank or comment; tells whether there was one.
    fn step(&mut self) -> bool {
        let Some(letter) = self.rest().chars().next() else { return false };
        let start = self.at;
        if letter == '\n' {
            self.first = true;
            self.at += 1;
        } else if letter.is_whitespace() {
            self.at += letter.len_utf8();
        } else if self.rest().starts_with("\\\n") {
            self.at += 2;
        } else if self.rest().starts_with("//") {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        } else if self.rest().starts_with("/*") {
            self.comment(start);
        } else if letter == '"' {
            self.quoted(start);
        } else if letter.is_ascii_digit() {
            self.number(start);
        } else if letter.is_ascii_alphabetic() || letter == '_' {
            let length = self.letters();
            self.at += length;
            let name = &self.text[start..self.at];
            self.push(start, Word::Name(name.into()));
        } else if let Some(sign) = SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
            self.at += sign.len();
            self.push(start, Word::Sign(sign));
        } else {
            self.at += letter.len_utf8();
            let message = format!("the character `{}` has no meaning in P4", letter.escape_debug());
            self.found.push(Diagnostic::error(self.span(start), message).help("remove it"));
        }
        true
    }

    /// Counts the bytes of letters, digits and underscores that follow.
    fn letters(&self) -> usize {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        self.rest().find(|letter| !is_part(letter)).unwrap_or(self.rest().len())
    }

    fn comment(&mut self, start: usize) {
        match self.rest().find("*/") {
            Some(end) => {
                let is_over_lines = self.rest()[..end].contains('\n');
                self.at += end + 2;
                self.first |= is_over_lines;
            }
            None => {
                self.at += 2;
                let open = self.span(start);
                self.at = self.text.len();
                let error = Diagnostic::error(open, "this comment has no end");
                self.found.push(error.help("close it with `*/`"));
            }
        }
    }

    fn quoted(&mut self, start: usize) {
        let line = self.rest().find('\n').unwrap_or(self.rest().len());
        let end = self.rest()[1..line.max(1)].find('"');
        self.at += end.map_or(line, |end| end + 2);
        if end.is_none() {
            let error = Diagnostic::error(self.span(start), "this text has no end on its line");
            self.found.push(error.help("close it with a quote"));
        }
        let text = self.text[start..self.at].trim_matches('"');
        self.push(start, Word::Text(text.into()));
    }

    /// Takes a number: digits in base 2, 8, 10 or 16, a width and `w` before them if need be.
    fn number(&mut self, start: usize) {
        let length = self.letters();
        self.at += length;
        let text = self.text[start..self.at].to_owned();
        let span = self.span(start);
        match parse_number(&text) {
            Ok((value, width)) => {
                if width.is_some_and(|width| width < WIDEST && value >> width != 0) {
                    let width = width.unwrap_or(0);
                    let message = format!("{value} does not fit into {width} bits");
                    let help = "write more bits before the `w`, or a smaller number";
                    self.found.push(Diagnostic::error(span, message).help(help));
                }
                self.push(start, Word::Number { value, width });
            }
            Err(why) => {
                let message = format!("`{text}` is no number: {why}");
                let help = "numbers are written 10, 0x1f, 0b101, 0o17 or with a width, 8w255";
                self.found.push(Diagnostic::error(span, message).help(help));
                self.push(start, Word::Number { value: 0, width: None });
            }
        }
    }
}

fn parse_number(text: &str) -> Result<(u128, Option<u32>), String> {
    let text = text.replace('_', "");
    let prefix = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (width, digits) = match text[prefix..].chars().next() {
        Some('w') => {
            let width = text[..prefix].parse().ok().filter(|width| (1..=WIDEST).contains(width));
            let width = width.ok_or(format!("a width is 1 to {WIDEST}"))?;
            (Some(width), &text[prefix + 1..])
        }
        Some('s') => return Err("signed numbers are not part of this P4".to_owned()),
        _ => (None, &text[..]),
    };
    let (base, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        Some("0d" | "0D") => (10, &digits[2..]),
        _ => (10, digits),
    };
    if digits.is_empty() {
        return Err("it has no digits".to_owned());
    }
    if let Some(letter) = digits.chars().find(|letter| !letter.is_digit(base)) {
        return Err(format!("`{letter}` is no digit of base {base}"));
    }
    let value = u128::from_str_radix(digits, base);
    let value = value.map_err(|_| format!("it has more than {WIDEST} bits"))?;
    Ok((value, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(text: &str) -> (Vec<Word>, usize) {
        let mut found = Diagnostics::default();
        let words = words(0, text, &mut found).into_iter().map(|token| token.word).collect();
        (words, found.errors())
    }

    #[test]
    fn numbers_have_bases_and_widths() {
        let number = |value, width| Word::Number { value, width };
        let (words, errors) = lex("10 0x1F 8w0b101 16w0xffff 1_000 0o17");
        assert_eq!(errors, 0);
        let wanted = [
            number(10, None),
            number(31, None),
            number(5, Some(8)),
            number(65535, Some(16)),
            number(1000, None),
            number(15, None),
        ];
        assert_eq!(words, wanted);
    }

    #[test]
    fn comments_and_signs_are_told_apart() {
        let (words, errors) = lex("a/*x*/>>b // c\n&&& d<<=e");
        let text: Vec<_> = words.iter().map(Word::describe).collect();
        assert_eq!(errors, 0);
        assert_eq!(text.join(" "), "`a` `>` `>` `b` `&&&` `d` `<<` `=` `e`");
    }

    #[test]
    fn what_is_no_word_is_an_error_with_its_place() {
        for text in [
            "0x",
            "8w256",
            "0b12",
            "99999999999999999999999999999999999999999",
            "\u{e4}",
            "/* x",
            "\"x",
            "12ab",
            "200w1",
            "3s1",
        ] {
            let (_, errors) = lex(text);
            assert_eq!(errors, 1, "{text}");
        }
    }
}
