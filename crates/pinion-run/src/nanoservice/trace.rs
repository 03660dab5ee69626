//! What happens in a node, instruction by instruction, as text: what a node says comes in, a line for
//! each instruction and event goes out, in order of time. It holds the lines of a window.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write};

use pinion_isa::elf::Image;
use pinion_isa::{Extensions, decode, disassemble};
use pinion_nanopu::Cycle;
use pinion_nanopu::event::{Event, NanoPu, Retirements, Told};
use pinion_sim::Clock;
use pinion_sim::probe::Hears;

use super::hang::place;
use super::run::Settling;
use pinion_app::error::{Error, Result};
use pinion_observe::trace::{Ns, SourceLines};

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
    code: HashMap<u64, String>,
    lines: Vec<(Cycle, Line)>,
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
        let (code, lines) = (HashMap::new(), Vec::new());
        Self { image, sources, clock, filter, code, lines, out, is_over: false }
    }

    fn write(&mut self, at: Cycle, line: Line) -> std::io::Result<()> {
        let ns = Ns(self.clock.time(at));
        match line {
            Line::Instruction { hart, pc } => {
                let (image, sources) = (self.image, &self.sources);
                let text = self.code.entry(pc).or_insert_with(|| describe(image, sources, pc));
                writeln!(self.out, "{at:>12} {ns:>14} ns  hart {hart:<2} {text}")
            }
            Line::Event(event) => {
                let text = event_text(event);
                writeln!(self.out, "{at:>12} {ns:>14} ns  {text}")
            }
        }
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
        let lines: Vec<(Cycle, Line)> = self.lines.drain(..settled).collect();
        for (at, line) in lines {
            if self.is_over {
                break;
            }
            match self.write(at, line) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.is_over = true,
                Err(error) => return Err(Error::part("cannot write the trace", error)),
                Ok(()) => {}
            }
        }
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

pub(super) fn hart_of(event: Event) -> Option<u8> {
    match event {
        Event::GlobalReceiveOut { hart, .. }
        | Event::ReceiveWord { hart, .. }
        | Event::ReceivePop { hart }
        | Event::TransmitWord { hart }
        | Event::PacketizeIn { hart }
        | Event::MessageDone { hart }
        | Event::ThreadInterrupt { hart, .. }
        | Event::Trap { hart } => Some(hart),
        _ => None,
    }
}

fn event_text(event: Event) -> String {
    let end =
        |last: bool, of: &str| if last { format!(", last of its {of}") } else { String::new() };
    match event {
        Event::IngressIn { last } => {
            format!("NIC     a word entered ingress{}", end(last, "frame"))
        }
        Event::IngressOut { last } => format!("NIC     a word left ingress{}", end(last, "packet")),
        Event::ReassemblyOut { last } => {
            format!("NIC     a word left reassembly{}", end(last, "message"))
        }
        Event::GlobalReceiveOut { hart, last } => format!(
            "NIC     a word left the global receive queues for hart {hart}{}",
            end(last, "message")
        ),
        Event::ReceiveWord { hart, context, last } => format!(
            "hart {hart:<2} a word entered the receive queue of context {context}{}",
            end(last, "message")
        ),
        Event::ReceivePop { hart } => format!("hart {hart:<2} x30 read"),
        Event::TransmitWord { hart } => format!("hart {hart:<2} x31 written"),
        Event::PacketizeIn { hart } => {
            format!("NIC     a word of hart {hart} entered packetization")
        }
        Event::PacketizeOut { last } => {
            format!("NIC     a word left packetization{}", end(last, "packet"))
        }
        Event::EgressIn { last } => format!("NIC     a word entered egress{}", end(last, "packet")),
        Event::EgressOut { last: false } => "NIC     the first flit of a frame left".to_owned(),
        Event::EgressOut { last: true } => "NIC     the last flit of a frame left".to_owned(),
        Event::MessageDone { hart } => format!("hart {hart:<2} done with a message"),
        Event::ThreadInterrupt { hart, running, target } => {
            format!("hart {hart:<2} interrupt: context {target} should run instead of {running}")
        }
        Event::Trap { hart } => format!("hart {hart:<2} trap"),
        Event::ControlRequest => "NIC     a control frame was asked for".to_owned(),
        Event::Delivered => "NIC     a packet was acknowledged".to_owned(),
        Event::Credit => "NIC     credit arrived".to_owned(),
        Event::Timeout => "NIC     a message timed out".to_owned(),
        Event::TimerCancel => "NIC     a message is delivered".to_owned(),
    }
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
