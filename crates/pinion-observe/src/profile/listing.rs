//! Source and disassembly with the cycles beside each line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use pinion_isa::disassemble;
use pinion_isa::elf::{Image, section_data};

use super::rows::Rows;
use super::text::percent;
use super::{Cause, Count, Profile};
use crate::words::{count, written};
use pinion_app::error::{Error, Result};

/// Names what is listed.
#[derive(Clone, Debug)]
pub enum Listing {
    /// The application's own files of source.
    Source,
    /// A function's instructions.
    Function(String),
}

impl Listing {
    /// Checks before a run that a program has what is to be listed.
    ///
    /// # Errors
    /// When there is no such function, or nothing tells lines of source.
    pub fn check(&self, image: &Image, elf: &Path) -> Result<()> {
        let elf_name = elf.display();
        let why = match self {
            Self::Function(name) if image.symbol(name).is_none() => format!(
                "--disassembly {name}: {elf_name} has no such function, or it was inlined everywhere"
            ),
            Self::Source if !has_lines(elf) => format!(
                "{elf_name} tells no lines of source: it was built without -g, or stripped; \
                 --disassembly FUNCTION shows its instructions"
            ),
            _ => return Ok(()),
        };
        Err(Error::Usage(why))
    }
}

fn has_lines(elf: &Path) -> bool {
    let bytes = pinion_input::bytes(elf).unwrap_or_default();
    section_data(&bytes, ".debug_line").is_some_and(|lines| !lines.is_empty())
}

impl Profile<'_> {
    /// Lists source or instructions with what each line took.
    ///
    /// # Errors
    /// When a file of source cannot be read.
    pub fn listing(&self, rows: &Rows, listing: &Listing) -> Result<String> {
        match listing {
            Listing::Source => self.source(rows),
            Listing::Function(name) => Ok(self.function(name)),
        }
    }

    fn source(&self, rows: &Rows) -> Result<String> {
        let mut counts: BTreeMap<(&str, u32), Count> = BTreeMap::new();
        for row in rows.lines.iter().filter(|row| row.line > 0) {
            counts.entry((&row.file, row.line)).or_default().add(&row.count);
        }
        let covered = self.coverage();
        let busy = self.sum().busy();
        let mut text = String::new();
        for (file, lines) in &covered {
            let source = pinion_input::text(file)
                .map_err(|error| Error::Usage(format!("cannot read {file}: {error}")))?;
            let _ = writeln!(text, "{file}\n{}", head("times"));
            for (index, line) in source.lines().enumerate() {
                let number = index as u32 + 1;
                let own = counts.get(&(file.as_str(), number)).copied().unwrap_or_default();
                let times = lines.get(&number).map(|times| count(*times));
                let row = columns(&own, busy, times.as_deref().unwrap_or(""));
                let _ = writeln!(text, "{row} {number:>5}  {line}");
            }
            text.push('\n');
        }
        Ok(text)
    }

    fn function(&self, name: &str) -> String {
        let image = self.code.image();
        let Some(symbol) = image.symbol(name) else { return String::new() };
        // What is written in assembler tells no size.
        let next = image.symbols.iter().map(|other| other.address);
        let next = next.filter(|address| *address > symbol.address).min().unwrap_or(u64::MAX);
        let end = if symbol.size > 0 { symbol.address + symbol.size } else { next };
        let mut counts: BTreeMap<u64, Count> = BTreeMap::new();
        for (key, count) in self.ledger.cells() {
            counts.entry(self.code.slot(key.slot).pc).or_default().add(count);
        }
        let busy = self.sum().busy();
        written(|text| {
            writeln!(text, "{name}\n{}", head("times"))?;
            let code = image.instructions_in(symbol.address..end, self.code.extensions());
            for (pc, instruction) in code {
                let own = counts.get(&pc).copied().unwrap_or_default();
                let row = columns(&own, busy, &count(own.instructions));
                writeln!(text, "{row} {pc:#010x}  {}", disassemble(&instruction, pc))?;
            }
            Ok(())
        })
    }
}

fn head(times: &str) -> String {
    format!("{:>14} {:>7} {times:>12} {:<22}", "cycles", "share", "waits")
}

/// Writes what a line took: cycles, their share, how often it was executed, the longest wait.
fn columns(own: &Count, all: u64, times: &str) -> String {
    let busy = own.busy();
    if busy == 0 {
        return format!("{:>14} {:>7} {times:>12} {:<22}", "", "", "");
    }
    let waits = Cause::ALL.iter().filter(|cause| !matches!(cause, Cause::Issue | Cause::Idle));
    let longest = waits.max_by_key(|cause| own.cycles[**cause as usize]);
    let wait = longest
        .filter(|cause| own.cycles[**cause as usize] > 0)
        .map(|cause| format!("{} % {}", percent(own.cycles[*cause as usize], busy), cause.name()));
    let share = format!("{} %", percent(busy, all));
    format!("{:>14} {share:>7} {times:>12} {:<22}", count(busy), wait.unwrap_or_default())
}
