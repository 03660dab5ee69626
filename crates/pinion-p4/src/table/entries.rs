//! The language in which entries of tables are written, in a file or to whoever controls the NIC: a line
//! for each change.
//!
//! ```text
//! add servers 3 -> forward(10.0.0.4, 02:00:00:00:00:04)
//! add routes 10.1.0.0/16 -> tunnel(192.0.2.1, 77)
//! add filter 10.0.0.0 &&& 255.0.0.0, _ -> deny() priority 5
//! at 20000 remove servers 3
//! at 20000 default servers -> refuse()
//! ```
//!
//! `at` says the cycle of the change; without, it is there from the beginning. Numbers are decimal, `0x…`,
//! `0b…`, IPv4 or MAC addresses; `_` fits everything. In: a text, and the tables there are. Out: changes,
//! or what is wrong with them, with line and column.

use std::sync::Arc;

use super::{Match, Problem, Table, What};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::program::{KeyKind, KeyShape, Row, TableShape, mask};
use crate::source::{Sources, Span};

/// Most changes in a file.
const MOST_CHANGES: usize = 1 << 20;
/// What a line looks like.
const LINE: &str = "a line is add TABLE KEY, … -> ACTION(ARGUMENT, …), remove TABLE KEY, … or \
                    default TABLE -> ACTION(…), perhaps behind at CYCLE";

/// A change of a table.
#[derive(Clone, Debug)]
pub struct Change {
    /// When it is there, in cycles.
    pub at: u64,
    /// Number of the table.
    pub table: usize,
    /// What is changed.
    pub what: What,
    /// Where it is written.
    span: Span,
}

/// Reads changes of tables; those of one cycle stay in the order of the text.
///
/// # Errors
/// What is wrong, with the lines it stands in: also entries that would be there twice, that are not there
/// when they are removed, or for which there is no room.
pub fn read(name: &str, text: &str, shapes: &[Arc<TableShape>]) -> Result<Vec<Change>, String> {
    let tables: Vec<Table> = shapes.iter().map(Table::new).collect();
    read_for(name, text, tables)
}

/// Reads changes of tables that have entries already, as [`read`] does.
///
/// # Errors
/// As [`read`].
pub fn read_for(name: &str, text: &str, tables: Vec<Table>) -> Result<Vec<Change>, String> {
    let (mut sources, mut found) = (Sources::default(), Diagnostics::default());
    let file = sources.add(name.to_owned(), text.to_owned());
    let mut changes = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = words(file, start, line);
        start += line.len();
        if !words.is_empty() {
            Line { words: &words, at: 0, found: &mut found, tables: &tables }.read(&mut changes);
        }
        if found.is_hopeless() || changes.len() > MOST_CHANGES {
            break;
        }
    }
    if changes.len() > MOST_CHANGES {
        return Err(format!("{name} has more than {MOST_CHANGES} changes"));
    }
    changes.sort_by_key(|change| change.at);
    rehearse(&changes, tables, &mut found);
    match found.errors() {
        0 => Ok(changes),
        _ => Err(found.to_text(&sources, false).trim_end().to_owned()),
    }
}

/// Tries changes one after the other, and tells what goes wrong.
fn rehearse(changes: &[Change], mut tables: Vec<Table>, found: &mut Diagnostics) {
    let mut added: Vec<(usize, &Change)> = Vec::new();
    // Tables of which it is told already that they are full.
    let mut full: Vec<usize> = Vec::new();
    for change in changes {
        let table = &mut tables[change.table];
        let problem = match table.change(&change.what) {
            Ok(()) => {
                added.push((change.table, change));
                continue;
            }
            Err(problem) => problem,
        };
        let name = &table.shape().name;
        let error = |message: String| Diagnostic::error(change.span, message);
        let error = match problem {
            Problem::Twice => {
                let is_same = |other: &&(usize, &Change)| match (&other.1.what, &change.what) {
                    (
                        What::Add { keys, priority, .. },
                        What::Add { keys: own, priority: rank, .. },
                    ) => other.0 == change.table && (keys, priority) == (own, rank),
                    _ => false,
                };
                let first = added.iter().rev().find(is_same).map(|(_, first)| first.span);
                let error = error(format!("{name} has an entry for this key"));
                let error = match first {
                    Some(first) => error.label("again here").related(first, "first here"),
                    None => error,
                };
                error.help("remove the first before, or leave one of them out")
            }
            Problem::Missing => error(format!("{name} has no entry for this key to remove"))
                .help("an entry is named by its whole key, and by its priority if it has one"),
            Problem::Full if full.contains(&change.table) => continue,
            Problem::Full => {
                full.push(change.table);
                let size = table.shape().size;
                error(format!("{name} is full: it has room for {size} entries"))
                    .help("remove others before, or give the table a larger size in the program")
            }
        };
        found.push(error);
    }
}

/// A word of a line.
#[derive(Clone, Copy, Debug)]
struct Word<'t> {
    text: &'t str,
    span: Span,
}

/// Takes a line apart.
fn words(file: u32, start: usize, line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':');
    while let Some(letter) = line[at..].chars().next() {
        let rest = &line[at..];
        if letter == '#' || rest.starts_with("//") {
            break;
        }
        let length = match letter {
            _ if letter.is_whitespace() => {
                at += letter.len_utf8();
                continue;
            }
            _ if is_part(letter) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("&&&") => 3,
            _ if rest.starts_with("->") => 2,
            _ => letter.len_utf8(),
        };
        let (from, to) = ((start + at) as u32, (start + at + length) as u32);
        let span = Span { file, start: from, end: to };
        words.push(Word { text: &rest[..length], span });
        at += length;
    }
    words
}

/// A line that is read.
struct Line<'a, 't> {
    words: &'a [Word<'t>],
    at: usize,
    found: &'a mut Diagnostics,
    tables: &'a [Table],
}

impl<'t> Line<'_, 't> {
    fn peek(&self) -> Option<Word<'t>> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self, text: &str) -> bool {
        let is_it = self.peek().is_some_and(|word| word.text == text);
        self.at += usize::from(is_it);
        is_it
    }

    /// Gives the place at hand, or behind the line's end.
    fn span(&self) -> Span {
        let last = self.words.last().map_or(Span::default(), |word| word.span.behind());
        self.peek().map_or(last, |word| word.span)
    }

    fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.found.push(Diagnostic::error(span, message).help(help));
    }

    fn next(&mut self, what: &str) -> Option<Word<'t>> {
        match self.peek() {
            Some(word) => {
                self.at += 1;
                Some(word)
            }
            None => {
                self.error(self.span(), format!("{what} expected, but the line ends"), LINE);
                None
            }
        }
    }

    fn expect(&mut self, text: &str, help: &str) -> Option<()> {
        if self.take(text) {
            return Some(());
        }
        let is =
            self.peek().map_or("the line ends".to_owned(), |w| format!("this is `{}`", w.text));
        self.error(self.span(), format!("`{text}` expected, but {is}"), help);
        None
    }

    /// Reads the line; adds a change for each table of the name.
    fn read(mut self, changes: &mut Vec<Change>) {
        if let Some((at, named, what)) = self.change() {
            let start = self.words[0].span;
            let span = self.words.last().map_or(start, |last| start.to(last.span));
            let tables = self.tables.iter().enumerate();
            let named = tables.filter(|(_, table)| table.shape().name == named);
            changes.extend(named.map(|(table, _)| Change { at, table, what: what.clone(), span }));
        }
    }

    fn change(&mut self) -> Option<(u64, &'t str, What)> {
        let mut at = 0;
        if self.take("at") {
            let word = self.next("a cycle")?;
            at = match number(word.text).and_then(|(value, _)| u64::try_from(value).ok()) {
                Some(at) => at,
                None => {
                    let message = format!("`{}` is no cycle", word.text);
                    self.error(word.span, message, "write a number of cycles: at 20000");
                    return None;
                }
            };
        }
        let verb = self.next("add, remove or default")?;
        let table = self.next("the name of a table")?;
        let shape = self.shape(table)?;
        let what = match verb.text {
            "add" => {
                let keys = self.keys(&shape)?;
                self.expect("->", "behind the key stands -> and an action")?;
                let row = self.row(&shape)?;
                What::Add { keys, row, priority: self.priority(&shape)? }
            }
            "remove" => {
                let keys = self.keys(&shape)?;
                What::Remove { keys, priority: self.priority(&shape)? }
            }
            "default" => {
                self.expect("->", "behind the table stands -> and an action")?;
                What::Default(self.row(&shape)?)
            }
            other => {
                self.error(verb.span, format!("`{other}` changes no table"), LINE);
                return None;
            }
        };
        if let Some(word) = self.peek() {
            self.error(word.span, format!("`{}` behind the end", word.text), LINE);
            return None;
        }
        Some((at, table.text, what))
    }

    fn shape(&mut self, word: Word<'_>) -> Option<TableShape> {
        let named = self.tables.iter().find(|table| table.shape().name == word.text);
        if let Some(table) = named {
            return Some(table.shape().clone());
        }
        let names: Vec<_> = self.tables.iter().map(|table| table.shape().name.as_str()).collect();
        let help = match names.is_empty() {
            true => "the programs have no tables".to_owned(),
            false => format!("the programs have {}", names.join(", ")),
        };
        self.error(word.span, format!("there is no table `{}`", word.text), help);
        None
    }

    fn keys(&mut self, shape: &TableShape) -> Option<Vec<Match>> {
        let mut keys = Vec::new();
        let from = self.span();
        loop {
            let key = shape.keys.get(keys.len());
            let none = KeyShape { name: String::new(), width: 128, kind: KeyKind::Ternary };
            keys.push(self.key(key.unwrap_or(&none))?);
            if !self.take(",") {
                break;
            }
        }
        if keys.len() != shape.keys.len() {
            let names: Vec<_> = shape.keys.iter().map(|key| key.name.as_str()).collect();
            let message = format!(
                "{} for the {} that {} compares",
                count(keys.len(), "value"),
                names.len(),
                shape.name
            );
            let before = self.words[self.at.saturating_sub(1)].span;
            self.error(from.to(before), message, format!("it compares {}", names.join(", ")));
            return None;
        }
        Some(keys)
    }

    fn key(&mut self, shape: &KeyShape) -> Option<Match> {
        let all = mask(u128::MAX, shape.width);
        let start = self.span();
        if self.take("_") {
            if shape.kind == KeyKind::Exact {
                let help = "write the value, or make the key ternary in the program";
                self.error(start, format!("{} is compared as a whole", shape.name), help);
                return None;
            }
            return Some(Match { value: 0, mask: 0 });
        }
        let value = self.value(&shape.name, shape.width)?;
        let sign = self.span();
        if self.take("/") {
            if shape.kind == KeyKind::Exact {
                let help = "write the value alone, or make the key lpm in the program";
                self.error(sign, format!("{} is compared as a whole", shape.name), help);
                return None;
            }
            let word = self.next("the bits of the prefix")?;
            let bits = number(word.text).and_then(|(bits, _)| u32::try_from(bits).ok());
            let Some(bits) = bits.filter(|bits| *bits <= shape.width) else {
                let message = format!("a prefix of {} bits of {}", word.text, shape.width);
                self.error(word.span, message, "a prefix has no more bits than the key");
                return None;
            };
            let low = mask(u128::MAX, shape.width - bits);
            return self.masked(start, value, all & !low);
        }
        if self.take("&&&") {
            if shape.kind != KeyKind::Ternary {
                let help = "make the key ternary in the program; a prefix is written value/bits";
                self.error(sign, format!("{} has no mask", shape.name), help);
                return None;
            }
            let bits = self.value("the mask", shape.width)?;
            return self.masked(start, value, bits);
        }
        Some(Match { value, mask: all })
    }

    /// Refuses a value with bits that do not count.
    fn masked(&mut self, start: Span, value: u128, mask: u128) -> Option<Match> {
        if value & !mask != 0 {
            let before = self.words[self.at.saturating_sub(1)].span;
            let message = "the value has bits that do not count";
            self.error(start.to(before), message, "set the bits outside of the mask to 0");
            return None;
        }
        Some(Match { value, mask })
    }

    /// Reads a number of so many bits.
    fn value(&mut self, name: &str, width: u32) -> Option<u128> {
        let word = self.next("a value")?;
        let Some((value, bits)) = number(word.text) else {
            let help = "write a number (10, 0x0a, 0b1010), an IPv4 or a MAC address";
            self.error(word.span, format!("`{}` is no value", word.text), help);
            return None;
        };
        let is_address = bits.is_some_and(|bits| bits != width);
        if is_address || value > mask(u128::MAX, width) {
            let own = bits.unwrap_or(128 - value.leading_zeros());
            let message = format!("{own} bits for {name}, which has {width}");
            self.error(word.span, message, format!("write a value of {width} bits"));
            return None;
        }
        Some(value)
    }

    fn row(&mut self, shape: &TableShape) -> Option<Row> {
        let name = self.next("an action")?;
        let found = shape.actions.iter().position(|action| action.name == name.text);
        let Some(number) = found else {
            let names: Vec<_> = shape.actions.iter().map(|action| action.name.as_str()).collect();
            let message = format!("{} has no action `{}`", shape.name, name.text);
            self.error(name.span, message, format!("it has {}", names.join(", ")));
            return None;
        };
        let parameters = &shape.actions[number].parameters;
        let mut arguments = Vec::new();
        self.expect("(", "an action's arguments stand in brackets")?;
        while !self.take(")") {
            if !arguments.is_empty() {
                self.expect(",", "arguments stand in brackets, with commas")?;
            }
            let (name, width) = parameters.get(arguments.len()).map_or(("", 128), |p| (&p.0, p.1));
            arguments.push(self.value(name, width)?);
        }
        if arguments.len() != parameters.len() {
            let names: Vec<_> = parameters.iter().map(|(name, _)| name.as_str()).collect();
            let before = self.words[self.at - 1].span;
            let message = format!(
                "{} for the {} of {}",
                count(arguments.len(), "argument"),
                count(parameters.len(), "parameter"),
                name.text
            );
            let help = match names.is_empty() {
                true => format!("write {}()", name.text),
                false => format!("it wants {}", names.join(", ")),
            };
            self.error(name.span.to(before), message, help);
            return None;
        }
        Some(Row { action: number as u32, arguments })
    }

    fn priority(&mut self, shape: &TableShape) -> Option<u32> {
        let place = self.span();
        if !self.take("priority") {
            return Some(0);
        }
        let word = self.next("a priority")?;
        if shape.keys.iter().all(|key| key.kind != KeyKind::Ternary) {
            let help = "leave it out: priorities are for tables with ternary keys";
            self.error(place, format!("entries of {} have no priority", shape.name), help);
            return None;
        }
        let priority = number(word.text).and_then(|(value, _)| u32::try_from(value).ok());
        if priority.is_none() {
            let message = format!("`{}` is no priority", word.text);
            self.error(word.span, message, "write a number; the highest counts");
        }
        priority
    }
}

/// Reads a number; of an address with its bits.
fn number(text: &str) -> Option<(u128, Option<u32>)> {
    if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
        return Some((address.to_bits().into(), Some(32)));
    }
    if text.contains(':') {
        let bytes: Vec<&str> = text.split(':').collect();
        let hex = |byte: &&str| byte.len() <= 2 && byte.chars().all(|c| c.is_ascii_hexdigit());
        if bytes.len() != 6 || !bytes.iter().all(hex) {
            return None;
        }
        let add = |sum: Option<u128>, byte: &&str| {
            Some(sum? << 8 | u128::from(u8::from_str_radix(byte, 16).ok()?))
        };
        return Some((bytes.iter().fold(Some(0), add)?, Some(48)));
    }
    let digits = text.replace('_', "");
    let (digits, radix) = match digits.get(..2) {
        Some("0x" | "0X") => (&digits[2..], 16),
        Some("0b" | "0B") => (&digits[2..], 2),
        _ => (&digits[..], 10),
    };
    if digits.starts_with('+') {
        return None;
    }
    u128::from_str_radix(digits, radix).ok().map(|value| (value, None))
}

/// Writes a number of things.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
