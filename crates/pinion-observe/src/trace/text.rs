//! A run as text: a line per instruction in the columns that users of PULP's trace files know, and
//! lines for what else happens, in order of time. It holds the lines of a slice of the run.

use std::io::{ErrorKind, Write};

use pinion_sim::{Clock, Time};
use pinion_spin::{Event, Hears, InstructionRecord, Interest, Spin};

use super::code::Code;
use super::events::{Events, Told};
use super::filter::clock;
use super::registers::push_effects;
use super::{Filter, SourceLines, Tracer};
use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_sim::digits::{Ns, Row, push_number};
use pinion_sim::order::in_order;

/// Cycles before the first one traced at which close listening begins: by so much at most, and by
/// far, cores run ahead of the rest (a program without branches and accesses would fill 16,384).
pub const EARLY_CYCLES: u64 = 65_536;

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
    lines: Vec<Line>,
    /// Room to put them in order.
    ordered: Vec<Line>,
    /// How lines of some moments begin, by [`slot`].
    moments: Vec<Moment>,
    /// What the instruction under way did.
    effects: Row,
    /// The lines' characters, in the order they were heard.
    text: Vec<u8>,
    /// An event's words, until its line is known.
    words: String,
    clock: Clock,
    out: W,
    has_titles: bool,
    has_lines: bool,
    is_over: bool,
}

/// Characters of a line's columns with time and cycle.
const MOMENT_WIDTH: usize = 13 + 1 + 12 + 1;

/// Moments whose columns are kept: cores do something in the same cycles.
const MOMENTS: usize = 1024;

/// A moment, and how its lines begin if that is as wide as the columns.
#[derive(Clone, Copy)]
struct Moment {
    time: Time,
    columns: Option<[u8; MOMENT_WIDTH]>,
}

/// Gives the slot of a moment.
fn slot(time: Time) -> usize {
    (time.ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % MOMENTS
}

/// A line that waits until nothing earlier can come.
#[derive(Clone, Copy)]
struct Line {
    time: Time,
    /// Events first, then HPU by HPU: the order of a cycle's lines depends on nothing else.
    rank: u32,
    /// Where its characters begin, and how many they are.
    begin: usize,
    bytes: u32,
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
            ordered: Vec::new(),
            moments: vec![Moment { time: Time::MAX, columns: None }; MOMENTS],
            effects: Row::new(),
            text: Vec::new(),
            words: String::new(),
            clock,
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

    /// Begins a line with its time and who it is about.
    fn begin_line(&mut self, time: Time, hpu: Option<(u32, u32)>) {
        match self.moments[slot(time)] {
            Moment { time: known, columns: Some(columns) } if known == time => {
                self.text.extend_from_slice(&columns);
            }
            _ => self.begin_moment(time),
        }
        match hpu {
            Some((cluster @ ..10, hpu @ ..10)) => {
                let [cluster, hpu] = [cluster, hpu].map(|number| b'0' + number as u8);
                self.text.extend_from_slice(&[b' ', b' ', cluster, b'.', hpu]);
            }
            // As wide as the title `HPU` is.
            Some((cluster, hpu)) => {
                let digits = hpu.checked_ilog10().unwrap_or(0) as usize + 1;
                push_number(&mut self.text, u64::from(cluster), 4_usize.saturating_sub(digits));
                self.text.push(b'.');
                push_number(&mut self.text, u64::from(hpu), 0);
            }
            None => self.text.extend_from_slice(b"    -"),
        }
        self.text.push(b' ');
    }

    /// Begins the first line of a moment.
    fn begin_moment(&mut self, time: Time) {
        let begin = self.text.len();
        Ns(time).push(&mut self.text, 13);
        self.text.push(b' ');
        push_number(&mut self.text, self.clock.cycle_at(time), 12);
        self.text.push(b' ');
        let columns = self.text[begin..].try_into().ok();
        self.moments[slot(time)] = Moment { time, columns };
    }

    /// Ends the line that began at `begin`.
    fn end_line(&mut self, time: Time, rank: u32, begin: usize) {
        let bytes = self.text[begin..].trim_ascii_end().len();
        self.text.truncate(begin + bytes);
        self.text.push(b'\n');
        self.lines.push(Line { time, rank, begin, bytes: bytes as u32 + 1 });
    }

    fn instruction(&mut self, record: &InstructionRecord) {
        let begin = self.text.len();
        self.begin_line(record.time, Some((record.cluster, record.hpu)));
        let columns = self.code.columns(record.pc, record.word, &record.instruction);
        self.text.extend_from_slice(columns.as_bytes());
        self.text.push(b' ');
        self.effects.clear();
        push_effects(&mut self.effects, record);
        self.text.extend_from_slice(self.effects.bytes());
        self.end_line(record.time, 1 + (record.cluster << 8 | record.hpu), begin);
    }

    fn event(&mut self, told: &Told) {
        let begin = self.text.len();
        self.begin_line(told.time, told.hpu);
        self.text.extend_from_slice(b"# ");
        self.text.extend_from_slice(self.words.as_bytes());
        self.text.push(b'\n');
        let bytes = (self.text.len() - begin) as u32;
        self.lines.push(Line { time: told.time, rank: 0, begin, bytes });
    }

    fn write_lines(&mut self, count: usize) -> std::io::Result<()> {
        self.write_titles()?;
        for line in &self.lines[..count] {
            let end = line.begin + line.bytes as usize;
            self.out.write_all(&self.text[line.begin..end])?;
        }
        Ok(())
    }

    /// Forgets lines that are written, and their characters once most are such.
    fn forget(&mut self, count: usize) {
        self.lines.drain(..count);
        let left: usize = self.lines.iter().map(|line| line.bytes as usize).sum();
        if left == 0 {
            self.text.clear();
        } else if left < self.text.len() / 2 {
            let mut text = Vec::with_capacity(2 * left);
            for line in &mut self.lines {
                let end = line.begin + line.bytes as usize;
                let begin = text.len();
                text.extend_from_slice(&self.text[line.begin..end]);
                line.begin = begin;
            }
            self.text = text;
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
                self.instruction(record);
            }
            return;
        }
        self.words.clear();
        let (events, words) = (self.events.as_mut(), &mut self.words);
        let Some(told) = events.and_then(|events| events.describe(event, words)) else {
            return;
        };
        let by_hpu = told.hpu.is_none_or(|(cluster, hpu)| self.filter.has_hpu(cluster, hpu));
        let by_packet = match told.packet {
            Some((context, packet)) => self.filter.has_packet(context, packet),
            None => self.filter.has_task(None),
        };
        if self.filter.has_time(told.time) && by_hpu && by_packet {
            self.event(&told);
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
        in_order(&mut self.lines, &mut self.ordered, |line| (line.time.ps(), line.rank));
        let settled = self.lines.partition_point(|line| line.time <= until);
        if settled == 0 {
            return Ok(());
        }
        self.has_lines = true;
        if !self.is_over {
            let written = self.write_lines(settled);
            self.note(written)?;
        }
        self.forget(settled);
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
