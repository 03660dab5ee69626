//! What a debugger's user asks for in words, whatever the debugger: `monitor …` in gdb, the same in an
//! editor's debug console; and what is said of a stop.
//!
//! In: words, and where the run has come to. Out: answers. Holds the run, the hart that is looked at and
//! where the next order is to lead.

use crate::conditions::{Event, HostRange};
use crate::hunt::Reason;
use crate::log::Target;
use crate::terms::{Command, Said};
use crate::words;
use crate::{Arrival, Goal, Position, Timeline};

/// What `monitor help` says.
const HELP: &str = "\
monitor cycle                   where the run is
monitor units                   what each HPU does
monitor queues                  what waits where
monitor packets                 the packets inside
monitor why                     why the packet at hand takes as long as it does, to its end
monitor why packet N            ... packet N; `monitor why message M`: a message
monitor host CONTEXT[+OFFSET] BYTES
                                bytes of a context's host memory
monitor break packet N          stop where a handler begins for packet N, counted from 0
monitor break message M         ... for a packet of message M, or where a hart reads its first word
monitor break context NAME      ... in this context
monitor break command           stop where a handler issues a command: at once, or behind it
                                `send`, `host-dma` or `host-direct`, `packet N` or both
monitor break fault             stop where a handler goes wrong (set from the beginning)
monitor break drop              stop where a packet is dropped
monitor break host CONTEXT[+OFFSET] BYTES
                                stop where these bytes of host memory change
monitor break                   list these
monitor delete EVENT            take one out; `monitor delete all`: all of them
monitor goto packet N           let the next `continue` lead to its first handler, ahead or behind
monitor goto message M          ... to where its first handler begins, or its first word is read
monitor goto cycle N            ... to a cycle";

/// Tells why a packet or message took as long as it did: a run of its own, from the beginning.
pub type Why = Box<dyn FnMut(Target) -> Said<String>>;

/// A run, and what its user wants of it.
pub struct Console {
    /// The run.
    pub timeline: Timeline,
    /// The hart that is looked at.
    pub focus: u32,
    /// Where the next order to go on leads, whatever stops on the way.
    errand: Option<Errand>,
    /// What it was sent to, until it has arrived: it may be nowhere.
    sought: Option<Target>,
    why: Why,
}

/// Where a run is to go instead of where it is ordered to.
#[derive(Clone, Copy, Debug)]
enum Errand {
    /// To a position.
    Position(Position),
    /// To where the work at a packet or message begins.
    Target(Target),
}

impl Console {
    /// Begins with a run.
    pub fn new(timeline: Timeline, why: Why) -> Self {
        Self { timeline, focus: 0, errand: None, sought: None, why }
    }

    /// Tells whether there is somewhere to go first.
    pub fn has_errand(&self) -> bool {
        self.errand.is_some()
    }

    /// Forgets where to go first.
    pub fn forget_errand(&mut self) {
        (self.errand, self.sought) = (None, None);
    }

    /// Begins to go where `goto` has said, if it has.
    pub fn run_errand(&mut self) -> bool {
        match self.errand.take() {
            None => return false,
            Some(Errand::Position(position)) => {
                self.timeline.begin(true, Goal::Position(position), None, None);
            }
            Some(Errand::Target(target)) => {
                self.sought = Some(target);
                self.timeline.begin_for(target);
            }
        }
        true
    }

    /// Says what there is to say of a stop, in lines; looks at the hart that it is about.
    pub fn words_of(&mut self, arrival: &Arrival) -> String {
        self.focus = arrival.hart.unwrap_or(self.focus);
        let sought = self.sought.take();
        let place = self.timeline.describe(self.focus);
        match &arrival.reason {
            Reason::Watchpoint { by_unit: true, .. } => {
                format!("{}\n", self.timeline.machine().who_writes())
            }
            Reason::Stepped | Reason::Breakpoint | Reason::Watchpoint { .. } | Reason::Begin => {
                String::new()
            }
            Reason::NoWayBack(why) => format!("{why}\n"),
            Reason::Entered(task) => match task.handler {
                Some(kind) => format!("{place}: message {}, {kind:?} handler\n", task.message),
                None => format!("{place}: begins\n"),
            },
            Reason::Command(kind) => {
                format!("{place}: issues a command ({})\n", kind.word())
            }
            Reason::Fault(wrong) => format!("{place}: {}\n", words::wrong(wrong)),
            Reason::Dropped(reason) => format!("a packet is dropped: {reason}\n"),
            Reason::HostChanged { address } => format!("host memory at {address:#x} has changed\n"),
            Reason::End => {
                let missed = match sought {
                    Some(Target::Packet(packet)) => {
                        format!("no handler runs for packet {packet}\n")
                    }
                    Some(Target::Message(message)) => format!("nobody begins message {message}\n"),
                    None => String::new(),
                };
                let ending = self.timeline.ended().unwrap_or_default();
                format!("{missed}the run ends here: {ending}\n")
            }
        }
    }

    /// Does what a command says; gives what there is to say, or what is wrong with it.
    pub fn obey(&mut self, words: &[&str]) -> Said<String> {
        match words {
            [] | ["help"] => Ok(HELP.to_owned()),
            ["cycle"] => Ok(self.whereabouts()),
            ["units"] => Ok(self.timeline.units().join("\n")),
            ["queues"] => Ok(self.queues()),
            ["packets"] => Ok(self.timeline.packets()),
            ["why"] => {
                let target = self.at_hand()?;
                (self.why)(target)
            }
            ["why", "packet", packet] => {
                let target = Target::Packet(self.packet(packet)?);
                (self.why)(target)
            }
            ["why", "message", message] => (self.why)(Target::Message(number(message)?)),
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
                self.errand = Some(Errand::Target(Target::Packet(packet)));
                Ok(format!("`continue` goes to the first handler of packet {packet}"))
            }
            ["goto", "message", message] => {
                let message = number(message)?;
                self.errand = Some(Errand::Target(Target::Message(message)));
                Ok(format!("`continue` goes to where message {message} begins"))
            }
            ["goto", "cycle", cycle] => {
                let cycle = number(cycle)?;
                self.errand = Some(Errand::Position(Position::of_units(cycle)));
                Ok(format!("`continue` goes to cycle {cycle}"))
            }
            _ => Err(format!("`{}`: no such command\n{HELP}", words.join(" "))),
        }
    }

    /// Gives the packet or message that the hart works at.
    fn at_hand(&self) -> Said<Target> {
        let task = self.timeline.task(self.focus).ok_or_else(|| {
            let place = self.timeline.describe(self.focus);
            format!("{place}; say which: why packet N, or why message M")
        })?;
        Ok(task.packet.map_or(Target::Message(task.message), Target::Packet))
    }

    fn event(&self, words: &[&str]) -> Said<Event> {
        match words {
            ["packet", packet] => Ok(Event::Packet(self.packet(packet)?)),
            ["message", message] => Ok(Event::Message(number(message)?)),
            ["context", name] => Ok(Event::Context(self.timeline.machine().find_context(name)?)),
            ["command", rest @ ..] => command(rest),
            ["fault"] => Ok(Event::Fault),
            ["drop"] => Ok(Event::Drop),
            ["host", place, bytes] => {
                let (address, bytes) = self.range(place, bytes)?;
                Ok(Event::Host(HostRange { address, bytes }))
            }
            _ => Err(format!(
                "`{}`: write packet N, message M, context NAME, command, fault, drop \
                 or host CONTEXT[+OFFSET] BYTES",
                words.join(" ")
            )),
        }
    }

    /// Reads the number of a packet, where packets have one.
    fn packet(&self, text: &str) -> Said<u64> {
        match self.timeline.machine().numbers_packets() {
            true => number(text),
            false => Err("harts work at messages here: write message M".to_owned()),
        }
    }

    /// Reads a range of host memory.
    fn range(&self, place: &str, bytes: &str) -> Said<(u64, u32)> {
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

    fn host(&self, place: &str, bytes: &str) -> Said<String> {
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

/// Reads which command to stop at.
fn command(words: &[&str]) -> Said<Event> {
    let (kind, rest) = match words {
        [] | ["packet", ..] => (None, words),
        [word, rest @ ..] => {
            let found = Command::ALL.into_iter().find(|kind| kind.word() == *word);
            let known = Command::ALL.map(Command::word).join(", ");
            let missing = || format!("`{word}` is no kind of command, but {known}");
            (Some(found.ok_or_else(missing)?), rest)
        }
    };
    match rest {
        [] => Ok(Event::Command { kind, packet: None }),
        ["packet", packet] => Ok(Event::Command { kind, packet: Some(number(packet)?) }),
        _ => Err(format!("`{}`: write command [KIND] [packet N]", rest.join(" "))),
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
