//! A run as text: a line per instruction in the columns that users of PULP's trace files know, and
//! lines for what else happens, in order of time. It holds the lines of a slice of the run.

use std::io::{ErrorKind, Write};

use pinion_sim::Time;
use pinion_spin::{Event, Hears, InstructionRecord, Interest, Spin};

use super::code::Code;
use super::events::Events;
use super::filter::clock;
use super::registers::effects;
use super::{Filter, SourceLines, Tracer};
use pinion_app::app::App;
use pinion_app::error::{Error, Result};

/// Cycles before the first one traced at which close listening begins: by so much at most, and by
/// far, cores run ahead of the rest (a program without branches and accesses would fill 16,384).
const EARLY_CYCLES: u64 = 65_536;

/// Writes a trace as text.
pub struct TextTrace<'a, W> {
    filter: Filter,
    instructions: bool,
    events: Option<Events<'a>>,
    code: Code<'a>,
    /// When close listening begins.
    begin: Time,
    /// The time up to which everything is written.
    settled: Time,
    lines: Vec<(Time, Line)>,
    /// Number of cycles of a time.
    cycle_at: Box<dyn Fn(Time) -> u64 + Send>,
    out: W,
    has_titles: bool,
    has_lines: bool,
    is_over: bool,
}

enum Line {
    Instruction(Box<InstructionRecord>),
    Event(Option<(u32, u32)>, String),
}

impl<'a, W: Write> TextTrace<'a, W> {
    /// Traces instructions, events or both of a run of an application.
    pub fn new(app: &'a App, filter: Filter, (instructions, events): (bool, bool), out: W) -> Self {
        let clock = clock(app);
        let first = clock.cycle_at(filter.from).saturating_sub(EARLY_CYCLES);
        Self {
            filter,
            instructions,
            events: events.then(|| Events::new(app)),
            code: Code::new(&app.image, SourceLines::read(&app.built.elf)),
            begin: clock.time(first),
            settled: Time::ZERO,
            lines: Vec::new(),
            cycle_at: Box::new(move |time| clock.cycle_at(time)),
            out,
            has_titles: false,
            has_lines: false,
            is_over: false,
        }
    }

    fn write_titles(&mut self) -> std::io::Result<()> {
        if std::mem::replace(&mut self.has_titles, true) {
            return Ok(());
        }
        let titles = Code::titles();
        writeln!(self.out, "{:>13} {:>12} {:>5} {titles} registers", "time ns", "cycle", "HPU")
    }

    fn write(&mut self, time: Time, line: &Line) -> std::io::Result<()> {
        self.write_titles()?;
        self.has_lines = true;
        let cycle = (self.cycle_at)(time);
        write!(self.out, "{:>13.1} {cycle:>12} ", time.ns())?;
        let name = |(cluster, hpu): (u32, u32)| format!("{cluster}.{hpu}");
        match line {
            Line::Instruction(record) => {
                let at = name((record.cluster, record.hpu));
                let columns = self.code.columns(record.pc, record.word, &record.instruction);
                let text = format!("{at:>5} {columns} {}", effects(record));
                writeln!(self.out, "{}", text.trim_end())
            }
            Line::Event(hpu, text) => {
                let at = hpu.map_or_else(|| "-".to_owned(), name);
                writeln!(self.out, "{at:>5} # {text}")
            }
        }
    }

    /// Passes an error on, but for that of a reader who has seen enough.
    fn note(&mut self, result: std::io::Result<()>) -> Result<()> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.is_over = true,
            Err(error) => return Err(Error::part("cannot write the trace", error)),
            Ok(()) => {}
        }
        Ok(())
    }
}

impl<W: Write> Hears<Spin> for TextTrace<'_, W> {
    fn interest(&self) -> Interest {
        let events = self.events.is_some();
        Interest {
            handlers: events,
            host_writes: events,
            units: events,
            instructions: self.instructions && self.settled >= self.begin,
            ..Interest::default()
        }
    }

    fn hear(&mut self, event: &Event<'_>) {
        if let Event::Instruction(record) = event {
            if self.filter.has_time(record.time)
                && self.filter.has_hpu(record.cluster, record.hpu)
                && self.filter.has_task(record.task.as_ref())
            {
                self.lines.push((record.time, Line::Instruction(Box::new(**record))));
            }
            return;
        }
        let Some(told) = self.events.as_mut().and_then(|events| events.describe(event)) else {
            return;
        };
        let by_hpu = told.hpu.is_none_or(|(cluster, hpu)| self.filter.has_hpu(cluster, hpu));
        let by_packet = match told.packet {
            Some((context, packet)) => self.filter.has_packet(context, packet),
            None => self.filter.has_task(None),
        };
        if self.filter.has_time(told.time) && by_hpu && by_packet {
            self.lines.push((told.time, Line::Event(told.hpu, told.text)));
        }
    }
}

impl<W: Write> Tracer for TextTrace<'_, W> {
    fn begin(&self) -> Time {
        self.begin
    }

    fn end(&self) -> Time {
        self.filter.to
    }

    fn settle(&mut self, until: Time) -> Result<()> {
        self.settled = until;
        // Events first, then HPU by HPU: the order of a cycle's lines depends on nothing else.
        self.lines.sort_by_key(|(time, line)| match line {
            Line::Event(..) => (*time, 0),
            Line::Instruction(record) => (*time, 1 + (record.cluster << 8 | record.hpu)),
        });
        let settled = self.lines.partition_point(|(time, _)| *time <= until);
        let lines: Vec<(Time, Line)> = self.lines.drain(..settled).collect();
        for (time, line) in lines {
            if self.is_over {
                break;
            }
            let written = self.write(time, &line);
            self.note(written)?;
        }
        Ok(())
    }

    fn finish(&mut self, _: Time) -> Result<()> {
        self.settle(Time::MAX)?;
        if self.is_over {
            return Ok(());
        }
        let finished = self.write_titles().and_then(|()| self.out.flush());
        self.note(finished)
    }

    fn is_empty(&self) -> bool {
        !self.has_lines
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}
