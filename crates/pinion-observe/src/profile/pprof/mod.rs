//! The profile in pprof's format (google/pprof, `proto/profile.proto`): for each instruction, chain of
//! calls and cause the cycles, those at work and the times it was executed. The cycles add up to the run's.
//!
//! The file is one message, not compressed, which `go tool pprof` and others read as well.

pub mod format;

use prost::Message;
use rustc_hash::FxHashMap as HashMap;

use self::format::{Function, Label, Line, Location, Mapping, Sample, ValueType};
use super::rows::Rows;
use super::{Cause, Profile};
use crate::fault::program::Place;

/// What samples count: its name and its unit.
const VALUES: [[&str; 2]; 3] =
    [["cycles", "cycles"], ["work", "cycles"], ["instructions", "count"]];
/// What readers show unless asked for another: cycles that are not idle.
const SHOWN: usize = 1;

impl Profile<'_> {
    /// Writes it for pprof.
    pub fn to_pprof(&self, rows: &Rows) -> Vec<u8> {
        let mut book = Book::new(&self.elf.to_string_lossy());
        let cause_key = book.text("cause");
        let (handler_key, context_key) = (book.text("handler"), book.text("context"));
        for (key, count) in self.ledger.cells() {
            let class = &self.classes[key.class as usize];
            let mut labels = vec![(handler_key, book.text(&class.name))];
            if let Some(context) = &class.context {
                labels.push((context_key, book.text(context)));
            }
            let mut stack = vec![book.instruction(self, key.slot, rows)];
            // The innermost function of the chain is the instruction's own.
            let functions = self.own_functions(key.class as usize, key.chain);
            let callers = functions.iter().rev().skip(1);
            stack.extend(callers.map(|number| book.caller(self.code.function(*number))));
            for cause in Cause::ALL {
                let cycles = count.cycles[cause as usize] as i64;
                let is_issue = cause == Cause::Issue;
                let instructions = if is_issue { count.instructions as i64 } else { 0 };
                if cycles == 0 && instructions == 0 {
                    continue;
                }
                let work = if cause == Cause::Idle { 0 } else { cycles };
                let cause = (cause_key, book.text(cause.name()));
                let labels = labels.iter().copied().chain([cause]);
                book.profile.sample.push(Sample {
                    location_id: stack.clone(),
                    value: vec![cycles, work, instructions],
                    label: labels.map(|(key, text)| Label { key, str: text }).collect(),
                });
            }
        }
        book.close(&format!("{} on {}: cycles of {}s", self.app, self.machine, self.hart_word))
    }
}

/// The profile as far as it is written, and what of it has a number.
struct Book {
    profile: format::Profile,
    texts: HashMap<String, i64>,
    functions: HashMap<(String, Option<String>), u64>,
    instructions: HashMap<u32, u64>,
    callers: HashMap<String, u64>,
}

impl Book {
    /// Opens the profile of a program.
    fn new(program: &str) -> Self {
        let mut book = Self {
            profile: format::Profile::default(),
            texts: HashMap::default(),
            functions: HashMap::default(),
            instructions: HashMap::default(),
            callers: HashMap::default(),
        };
        book.text(""); // the format wants it first
        for [name, unit] in VALUES {
            let value = ValueType { r#type: book.text(name), unit: book.text(unit) };
            book.profile.sample_type.push(value);
        }
        let filename = book.text(program);
        book.profile.mapping.push(Mapping {
            id: MAPPING,
            memory_limit: u64::MAX,
            filename,
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
            ..Mapping::default()
        });
        book
    }

    /// Gives a text's number.
    fn text(&mut self, text: &str) -> i64 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.profile.string_table.len() as i64;
        self.profile.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }

    fn function(&mut self, name: &str, file: Option<&str>) -> u64 {
        let key = (name.to_owned(), file.map(str::to_owned));
        if let Some(number) = self.functions.get(&key) {
            return *number;
        }
        let id = 1 + self.profile.function.len() as u64;
        let (name, filename) = (self.text(name), self.text(file.unwrap_or_default()));
        let function = Function { id, name, system_name: name, filename, start_line: 0 };
        self.profile.function.push(function);
        self.functions.insert(key, id);
        id
    }

    /// Gives the number of an instruction's place, with the functions inlined there.
    fn instruction(&mut self, profile: &Profile<'_>, slot: u32, rows: &Rows) -> u64 {
        if let Some(number) = self.instructions.get(&slot) {
            return *number;
        }
        let at = profile.code.slot(slot);
        let symbol = profile.code.function(at.function);
        let mut line = |place: &Place| Line {
            function_id: self
                .function(place.function.as_deref().unwrap_or(symbol), place.file.as_deref()),
            line: place.line.map_or(0, i64::from),
        };
        let mut lines: Vec<Line> = rows.places[slot as usize].iter().map(&mut line).collect();
        if lines.is_empty() {
            lines.push(Line { function_id: self.function(symbol, None), line: 0 });
        }
        let number = self.location(at.pc, lines);
        self.instructions.insert(slot, number);
        number
    }

    /// Gives the number of a function that called another; where it did is not kept.
    fn caller(&mut self, name: &str) -> u64 {
        if let Some(number) = self.callers.get(name) {
            return *number;
        }
        let line = Line { function_id: self.function(name, None), line: 0 };
        let number = self.location(0, vec![line]);
        self.callers.insert(name.to_owned(), number);
        number
    }

    fn location(&mut self, address: u64, line: Vec<Line>) -> u64 {
        let id = 1 + self.profile.location.len() as u64;
        self.profile.location.push(Location { id, mapping_id: MAPPING, address, line });
        id
    }

    /// Writes the profile, with a sentence on what it is.
    fn close(mut self, comment: &str) -> Vec<u8> {
        let comment = self.text(comment);
        self.profile.comment.push(comment);
        self.profile.default_sample_type = self.text(VALUES[SHOWN][0]);
        self.profile.encode_to_vec()
    }
}

/// Number of the program among the mappings.
const MAPPING: u64 = 1;
