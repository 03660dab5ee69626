//! The profile for people: tables of handlers, functions, lines, packets and harts.

use std::fmt::{Result, Write as _};

use super::rows::Rows;
use super::{Cause, Count, Profile};
use crate::words::{count, written};

impl Profile<'_> {
    /// Writes it for people: at most `top` functions and lines; with a row per hart if asked.
    pub fn to_text(&self, rows: &Rows, top: usize, harts: bool) -> String {
        written(|text| self.write(text, rows, top, harts))
    }

    fn write(&self, text: &mut String, rows: &Rows, top: usize, harts: bool) -> Result {
        let sum = self.sum();
        let share = |cycles: u64| percent(cycles, self.total());
        let (many, word) = (self.harts.len(), self.hart_word);
        let plural = if many == 1 { "" } else { "s" };
        writeln!(
            text,
            "{} on {}: {} cycles of {many} {word}{plural}, {} in all: {} % at work, {} % with nothing to do.\n\
             Shares are in percent of the work, causes in percent of their row.",
            self.app,
            self.machine,
            count(self.cycles),
            count(self.total()),
            share(sum.busy()),
            share(sum.cycles[Cause::Idle as usize]),
        )?;
        let table = Table::new(&sum);
        let busy = sum.busy();
        table.head(text, "by handler", "runs")?;
        for (index, class) in self.classes.iter().enumerate() {
            let of_class = self.of_class(index);
            if of_class.total() > 0 {
                let name = match (&class.context, class.kind) {
                    (Some(context), Some(kind)) => format!("{} ({kind} of {context})", class.name),
                    _ => class.name.clone(),
                };
                let runs = class.context.as_ref().map_or_else(String::new, |_| count(class.runs));
                table.row(text, &name, &of_class, busy, &runs)?;
            }
        }
        table.head(text, "by function", "instructions")?;
        for row in rows.functions.iter().filter(|row| row.count.busy() > 0).take(top) {
            table.row(text, &row.name, &row.count, busy, &count(row.count.instructions))?;
        }
        table.head(text, "by line", "instructions")?;
        for row in rows.lines.iter().filter(|row| row.count.busy() > 0).take(top) {
            let name = match row.line {
                0 => row.function.clone(),
                _ => format!("{}  {}", row.place(), row.function),
            };
            table.row(text, &name, &row.count, busy, &count(row.count.instructions))?;
        }
        if !self.packets.is_empty() {
            table.head(text, "by packet: context, size", "packets")?;
            for row in &self.packets {
                let from = if row.to_bytes <= 1 { 0 } else { row.to_bytes / 2 + 1 };
                let name = format!("{}, {from} to {} B", row.context, row.to_bytes);
                table.row(text, &name, &row.count, busy, &count(row.packets))?;
            }
        }
        if harts {
            table.head(text, &format!("by {word}"), "instructions")?;
            for (index, hart) in self.harts.iter().enumerate() {
                let of_hart = self.of_hart(index);
                table.row(text, &hart.name, &of_hart, busy, &count(of_hart.instructions))?;
            }
        }
        Ok(())
    }
}

/// Gives the width of a cause's column.
fn width(cause: Cause) -> usize {
    cause.name().len().max(LEAST_WIDTH)
}

/// Width of a cause's column at least.
const LEAST_WIDTH: usize = 6;
/// Width of the names.
const NAME_WIDTH: usize = 36;

/// Columns of the causes that there are; what harts do not do is no column.
struct Table {
    causes: Vec<Cause>,
}

impl Table {
    fn new(sum: &Count) -> Self {
        let has = |cause: &Cause| *cause != Cause::Idle && sum.cycles[*cause as usize] > 0;
        Self { causes: Cause::ALL.into_iter().filter(has).collect() }
    }

    fn head(&self, text: &mut String, what: &str, last: &str) -> Result {
        write!(text, "\n{what:<NAME_WIDTH$} {:>13} {:>6}", "cycles", "%")?;
        for cause in &self.causes {
            write!(text, " {:>1$}", cause.name(), width(*cause))?;
        }
        writeln!(text, " {last:>13}")
    }

    fn row(&self, text: &mut String, name: &str, row: &Count, all: u64, last: &str) -> Result {
        let short: String = match name.chars().count() {
            long if long > NAME_WIDTH => name.chars().take(NAME_WIDTH - 1).chain(['…']).collect(),
            _ => name.to_owned(),
        };
        let busy = row.busy();
        write!(text, "{short:<NAME_WIDTH$} {:>13} {:>6}", count(busy), percent(busy, all))?;
        for cause in &self.causes {
            let cycles = row.cycles[*cause as usize];
            match cycles {
                0 => write!(text, " {:>1$}", ".", width(*cause))?,
                _ => write!(text, " {:>1$}", percent(cycles, busy), width(*cause))?,
            }
        }
        writeln!(text, " {last:>13}")
    }
}

/// Writes a share in percent.
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", part as f64 * 100.0 / whole.max(1) as f64)
}
