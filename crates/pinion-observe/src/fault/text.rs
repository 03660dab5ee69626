//! A fault for people: a line that says what and where, and below it what led there.

use std::fmt::Write as _;

use super::explain::{Explained, Frame};
use super::packet;
use super::record::{MessageOrigin, Origin, Registers};
use crate::words::count;

/// Shows so many calls from either end of a long way.
const SHOWN_INNER: usize = 12;
const SHOWN_OUTER: usize = 4;
/// Shows so many registers in a line.
const REGISTERS_IN_LINE: usize = 8;
/// The context of a hart that runs none of its threads (SDK, `nanoKernel`).
const NANOKERNEL_CONTEXT: u16 = 0xffff;

impl Explained {
    /// Says in one line what went wrong where.
    pub fn headline(&self) -> String {
        let fault = &self.fault;
        let where_in = [self.place.as_deref(), self.source.as_deref()];
        let where_in: Vec<&str> = where_in.into_iter().flatten().collect();
        let place = match where_in.is_empty() {
            true => String::new(),
            false => format!(" ({})", where_in.join(", ")),
        };
        let whose = match &fault.origin {
            Origin::Handler(origin) => format!(
                "context {}, message {}, packet {}, cluster {} HPU {}",
                self.context, origin.message, origin.packet, origin.cluster, origin.hpu
            ),
            Origin::Thread(thread) => match thread.context {
                NANOKERNEL_CONTEXT => format!("hart {}, no thread's", thread.hart),
                context => format!("hart {}, context {context}", thread.hart),
            },
        };
        let times = match fault.count {
            1 => String::new(),
            times => format!("; {} times, the first is shown", count(times)),
        };
        let pc = match fault.registers {
            Registers::Rv64(_) => format!("{:#x}", fault.pc),
            _ => format!("{:#010x}", fault.pc),
        };
        format!("{}: {}, at pc {pc}{place}, {whose}{times}", fault.time, self.wrong.words)
    }

    /// Lists what led there and what the machine held.
    pub fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, each) in self.loops.iter().enumerate() {
            let function = each.function.as_deref().unwrap_or("?");
            // A trail says where a handler was, not who called whom.
            let is_caller = index > 0 && self.fault.trail.is_empty();
            let inside = if is_caller { "called from the loop" } else { "in the loop" };
            lines.push(format!("{inside} {} of {function}", each.lines));
        }
        self.list_calls(&mut lines);
        if let Some(instruction) = &self.instruction {
            lines.push(format!("instruction {instruction}"));
        }
        let width = if matches!(self.fault.registers, Registers::Rv32(_)) { 8 } else { 16 };
        let in_line = if width == 8 { REGISTERS_IN_LINE } else { REGISTERS_IN_LINE / 2 };
        for registers in self.registers().chunks(in_line) {
            let mut line = String::new();
            for (name, value) in registers {
                let _ = write!(line, "{name:>4} {value:0width$x}");
            }
            lines.push(line);
        }
        let packet = &self.fault.packet;
        match &self.fault.origin {
            Origin::Thread(thread) => lines.extend(thread.message.map(message)),
            Origin::Handler(_) if packet.is_empty() => {}
            Origin::Handler(_) => lines.push(format!(
                "packet of {} B: {}",
                count(packet.len() as u64),
                self.headers.join("; ")
            )),
        }
        lines.extend(packet::bytes(packet).into_iter().map(|line| format!("  {line}")));
        lines
    }

    fn list_calls(&self, lines: &mut Vec<String>) {
        let all = self.frames.len();
        let skipped = SHOWN_INNER..all.saturating_sub(SHOWN_OUTER);
        for (index, frame) in self.frames.iter().enumerate() {
            if skipped.len() > 1 && skipped.contains(&index) {
                if index == skipped.start {
                    lines.push(format!("  … {} more calls …", count(skipped.len() as u64)));
                }
                continue;
            }
            lines.push(frame.text(index));
        }
    }

    /// Writes headline and details, each line behind this indentation.
    pub fn to_text(&self, indentation: &str) -> String {
        let mut text = format!("{indentation}{}\n", self.headline());
        for line in self.details() {
            let _ = writeln!(text, "{indentation}  {}", line.trim_end());
        }
        text
    }
}

/// Says which message a thread worked on.
fn message(message: MessageOrigin) -> String {
    let MessageOrigin { address, port, bytes, is_done } = message;
    let which = if is_done { "last message, which it was done with" } else { "message" };
    format!("{which}: {} B from {address}, port {port}", count(bytes.into()))
}

impl Frame {
    fn text(&self, index: usize) -> String {
        let function = self.place.function.as_deref().unwrap_or("?");
        let source = self.place.source();
        let source = source.map_or(String::new(), |source| format!(" at {source}"));
        let inlined = if self.is_inlined { ", inlined" } else { "" };
        let times = match self.times {
            1 => String::new(),
            times => format!(", {} calls the same", count(times as u64)),
        };
        format!("#{index:<2} {:#010x} {function}{source}{inlined}{times}", self.pc)
    }
}
