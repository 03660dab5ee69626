//! `monitor`: what gdb has no commands for.

use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, outputln};
use pinion_app::error::Error;

use super::Debugged;
use crate::Position;
use crate::conditions::{Event, HostRange};
use crate::log::Target;

/// What `monitor help` says.
pub const HELP: &str = "\
monitor cycle                   where the run is
monitor units                   what each HPU does
monitor queues                  what waits where
monitor packets                 the packets inside
monitor host CONTEXT[+OFFSET] BYTES
                                bytes of a context's host memory
monitor break packet N          stop where a handler begins for packet N, counted from 0
monitor break message M         ... for a packet of message M, or where a hart reads its first word
monitor break context NAME      ... in this context
monitor break fault             stop where a handler goes wrong (set from the beginning)
monitor break drop              stop where a packet is dropped
monitor break host CONTEXT[+OFFSET] BYTES
                                stop where these bytes of host memory change
monitor break                   list these
monitor delete EVENT            take one out; `monitor delete all`: all of them
monitor goto packet N           let the next `continue` lead to its first handler, ahead or behind
monitor goto message M          ... to where its first handler begins, or its first word is read
monitor goto cycle N            ... to a cycle";

impl<const BYTES: usize> MonitorCmd for Debugged<BYTES> {
    fn handle_monitor_cmd(
        &mut self,
        command: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), Error> {
        let command = String::from_utf8_lossy(command).into_owned();
        let words: Vec<&str> = command.split_whitespace().collect();
        let said = match self.obey(&words) {
            Ok(said) | Err(said) => said,
        };
        outputln!(out, "{}", said.trim_end());
        Ok(())
    }
}

impl<const BYTES: usize> Debugged<BYTES> {
    /// Does what a command says; gives what there is to say, or what is wrong with it.
    fn obey(&mut self, words: &[&str]) -> Result<String, String> {
        match words {
            [] | ["help"] => Ok(HELP.to_owned()),
            ["cycle"] => Ok(self.whereabouts()),
            ["units"] => Ok(self.timeline.units().join("\n")),
            ["queues"] => Ok(self.queues()),
            ["packets"] => Ok(self.timeline.packets()),
            ["host", place, bytes] => self.host(place, bytes),
            ["break"] => Ok(self.list()),
            ["break", event @ ..] => {
                let event = self.event(event)?;
                let conditions = &mut self.timeline.conditions;
                if !conditions.has(&event) {
                    conditions.events.push(event.clone());
                }
                Ok(format!("stops at: {}", self.name(&event)))
            }
            ["delete", "all"] => {
                self.timeline.conditions.events.clear();
                Ok("stops at no event".to_owned())
            }
            ["delete", event @ ..] if !event.is_empty() => {
                let event = self.event(event)?;
                let events = &mut self.timeline.conditions.events;
                let count = events.len();
                events.retain(|known| *known != event);
                match events.len() == count {
                    true => Err(format!("it does not stop at: {}", self.name(&event))),
                    false => Ok(format!("stops no more at: {}", self.name(&event))),
                }
            }
            ["goto", "packet", packet] => {
                let packet = self.packet(packet)?;
                (self.wanted, self.goal) = (Some(Target::Packet(packet)), None);
                Ok(format!("`continue` goes to the first handler of packet {packet}"))
            }
            ["goto", "message", message] => {
                let message = number(message)?;
                (self.wanted, self.goal) = (Some(Target::Message(message)), None);
                Ok(format!("`continue` goes to where message {message} begins"))
            }
            ["goto", "cycle", cycle] => {
                let cycle = number(cycle)?;
                (self.wanted, self.goal) = (None, Some(Position::of_units(cycle)));
                Ok(format!("`continue` goes to cycle {cycle}"))
            }
            _ => Err(format!("`{}`: no such command\n{HELP}", words.join(" "))),
        }
    }

    fn event(&self, words: &[&str]) -> Result<Event, String> {
        match words {
            ["packet", packet] => Ok(Event::Packet(self.packet(packet)?)),
            ["message", message] => Ok(Event::Message(number(message)?)),
            ["context", name] => Ok(Event::Context(self.timeline.machine().find_context(name)?)),
            ["fault"] => Ok(Event::Fault),
            ["drop"] => Ok(Event::Drop),
            ["host", place, bytes] => {
                let (address, bytes) = self.range(place, bytes)?;
                Ok(Event::Host(HostRange { address, bytes }))
            }
            _ => Err(format!(
                "`{}`: write packet N, message M, context NAME, fault, drop or host \
                 CONTEXT[+OFFSET] BYTES",
                words.join(" ")
            )),
        }
    }

    /// Reads the number of a packet, where packets have one.
    fn packet(&self, text: &str) -> Result<u64, String> {
        match self.timeline.machine().numbers_packets() {
            true => number(text),
            false => Err("harts work at messages here: write message M".to_owned()),
        }
    }

    /// Reads a range of host memory.
    fn range(&self, place: &str, bytes: &str) -> Result<(u64, u32), String> {
        let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
        self.timeline.machine().host_range(name, number(offset)?, number(bytes)?)
    }

    fn name(&self, event: &Event) -> String {
        match event {
            Event::Context(context) => {
                format!("context {}", self.timeline.machine().context_name(*context))
            }
            event => event.to_string(),
        }
    }

    fn list(&self) -> String {
        let events = &self.timeline.conditions.events;
        match events.is_empty() {
            true => "stops at no event".to_owned(),
            false => {
                let names: Vec<_> = events.iter().map(|event| self.name(event)).collect();
                format!("stops at: {}", names.join("; "))
            }
        }
    }

    fn whereabouts(&self) -> String {
        let cycle = self.timeline.position().cycle;
        let time = self.timeline.machine().clock().time(cycle);
        format!("cycle {cycle} ({time}); {}", self.timeline.describe(self.focus))
    }

    fn queues(&self) -> String {
        let mut text = String::new();
        self.timeline.state(&mut |name, value| {
            let is_register = name.split('.').any(|part| part == "core");
            if !is_register && value > 0 {
                text += &format!("{name} {value}\n");
            }
        });
        text
    }

    fn host(&self, place: &str, bytes: &str) -> Result<String, String> {
        /// Bytes of a line, and at most.
        const LINE: usize = 16;
        const MOST: u32 = 4096;
        let (address, bytes) = self.range(place, bytes)?;
        let mut data = vec![0; bytes.min(MOST) as usize];
        self.timeline.read_host(address, &mut data);
        let mut text = String::new();
        for (number, line) in data.chunks(LINE).enumerate() {
            let hex: String = line.iter().map(|byte| format!(" {byte:02x}")).collect();
            let at = address + (number * LINE) as u64;
            let letter =
                |byte: &u8| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' };
            let letters: String = line.iter().map(letter).collect();
            text += &format!("{at:#x}:{hex}  {letters}\n");
        }
        Ok(text)
    }
}

/// Reads a number, decimal or hexadecimal.
fn number(text: &str) -> Result<u64, String> {
    let digits = text.replace(['_', ','], "");
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    value.map_err(|_| format!("`{text}` is no number"))
}
