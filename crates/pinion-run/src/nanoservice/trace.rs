//! What happens in a node, instruction by instruction, as text: what a node says comes in, a line for
//! each instruction and event goes out, in order of time. It holds the lines of a window.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write};

use pinion_isa::elf::Image;
use pinion_isa::{Extensions, decode, disassemble};
use pinion_nanopu::Cycle;
use pinion_nanopu::event::{Event, NanoPu, Retirements, Told};
use pinion_sim::Clock;
use pinion_sim::digits::{Ns, push_number};
use pinion_sim::probe::Hears;
use rustc_hash::FxHashMap;

use super::hang::place;
use super::run::Settling;
use pinion_app::error::{Error, Result};
use pinion_observe::trace::SourceLines;
use pinion_observe::trace::nano::{hart_of, push_event, push_who};

/// Chooses what is traced.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Names harts; none means all. Events that belong to no hart are always there.
    pub harts: Vec<u8>,
    /// The first cycle.
    pub from: Cycle,
    /// The cycle behind the last one.
    pub to: Option<Cycle>,
    /// Leaves instructions out.
    pub no_instructions: bool,
    /// Leaves events out.
    pub no_events: bool,
}

impl Filter {
    pub(super) fn has(&self, hart: Option<u8>, at: Cycle) -> bool {
        at >= self.from
            && self.to.is_none_or(|to| at < to)
            && (self.harts.is_empty() || hart.is_none_or(|hart| self.harts.contains(&hart)))
    }
}

/// Writes a trace.
pub struct Trace<'a, W> {
    image: &'a Image,
    sources: SourceLines,
    clock: Clock,
    filter: Filter,
    /// What is written of instructions, by their address.
    code: FxHashMap<u64, String>,
    lines: Vec<(Cycle, Line)>,
    /// The line that is written.
    text: Vec<u8>,
    out: W,
    is_over: bool,
}

#[derive(Debug, Clone, Copy)]
enum Line {
    Instruction { hart: u8, pc: u64 },
    Event(Event),
}

impl<'a, W: Write> Trace<'a, W> {
    /// Traces a run of a program in a node with a clock.
    pub fn new(
        image: &'a Image,
        sources: SourceLines,
        clock: Clock,
        filter: Filter,
        out: W,
    ) -> Self {
        let (code, lines) = (FxHashMap::default(), Vec::new());
        Self { image, sources, clock, filter, code, lines, text: Vec::new(), out, is_over: false }
    }

    fn write(&mut self, at: Cycle, line: Line) -> std::io::Result<()> {
        let text = &mut self.text;
        text.clear();
        push_number(text, at, 12);
        text.push(b' ');
        Ns(self.clock.time(at)).push(text, 14);
        text.extend_from_slice(b" ns  ");
        match line {
            Line::Instruction { hart, pc } => {
                let (image, sources) = (self.image, &self.sources);
                let code = self.code.entry(pc).or_insert_with(|| describe(image, sources, pc));
                push_who(text, Some(hart));
                text.extend_from_slice(code.as_bytes());
            }
            Line::Event(event) => push_event(text, event),
        }
        text.push(b'\n');
        self.out.write_all(text)
    }
}

impl<W: Write> Hears<NanoPu> for Trace<'_, W> {
    fn interest(&self) -> Retirements {
        Retirements { retired: !self.filter.no_instructions, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Event { at, event }
                if !self.filter.no_events && self.filter.has(hart_of(event), at) =>
            {
                self.lines.push((at, Line::Event(event)));
            }
            Told::Retired { hart, at, pc, .. }
                if !self.filter.no_instructions && self.filter.has(Some(hart), at) =>
            {
                self.lines.push((at, Line::Instruction { hart, pc }));
            }
            _ => {}
        }
    }
}

impl<W: Write> Settling for Trace<'_, W> {
    fn settle(&mut self, cycle: Cycle) -> Result<()> {
        self.lines.sort_by_key(|(at, _)| *at);
        let settled = self.lines.partition_point(|(at, _)| *at < cycle);
        for index in 0..settled {
            if self.is_over {
                break;
            }
            let (at, line) = self.lines[index];
            match self.write(at, line) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.is_over = true,
                Err(error) => return Err(Error::part("cannot write the trace", error)),
                Ok(()) => {}
            }
        }
        self.lines.drain(..settled);
        if cycle == Cycle::MAX && !self.is_over {
            let flushed = self.out.flush();
            let flushed = flushed.or_else(|error| match error.kind() {
                ErrorKind::BrokenPipe => Ok(()),
                _ => Err(error),
            });
            flushed.map_err(|error| Error::part("cannot write the trace", error))?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Describes the instruction at an address as the program's file has it.
fn describe(image: &Image, sources: &SourceLines, pc: u64) -> String {
    let function = place(image, pc).unwrap_or_else(|| "?".to_owned());
    let source = sources.at(pc).unwrap_or("-");
    let mut text = format!("{function:<32} {source:<20} {pc:#012x}  ");
    match image.word_at(pc) {
        Some(word) => {
            let instruction = decode(word, Extensions::RV64GC);
            let _ = write!(text, "{}", disassemble(&instruction, pc));
        }
        None => text.push_str("(not in the program's file)"),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_choose() {
        let filter = Filter { harts: vec![1], from: 10, to: Some(20), ..Filter::default() };
        assert!(filter.has(Some(1), 10) && filter.has(None, 19));
        assert!(!filter.has(Some(0), 10) && !filter.has(Some(1), 20) && !filter.has(None, 9));
    }
}
