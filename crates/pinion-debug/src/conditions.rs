//! What stops a run: what gdb asks for, breakpoints and watchpoints, and what `monitor break` does.

use std::fmt;

use crate::harts::{Step, Touch};
use crate::terms::Command;

/// Names the kinds of accesses that a watchpoint stops at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Writes.
    Write,
    /// Reads.
    Read,
    /// Both.
    Any,
}

/// Watches a range of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    /// Its address as it was given.
    pub given: u64,
    /// Bytes.
    pub bytes: u32,
    /// Accesses that stop.
    pub access: Access,
    /// Where these bytes lie, by the address that all harts have in common: several places if the
    /// address means each cluster's own.
    pub places: Vec<u64>,
}

/// Watches a range of host memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRange {
    /// Host address.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
}

/// Names what `monitor break` stops at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A handler begins for this packet.
    Packet(u64),
    /// A handler begins for a packet of this message, or a hart reads its first word.
    Message(u64),
    /// The same, for any of this context.
    Context(u32),
    /// A program goes wrong.
    Fault,
    /// A packet is dropped.
    Drop,
    /// Host memory changes.
    Host(HostRange),
    /// A handler issues a command.
    Command {
        /// Of this kind; `None`: of any.
        kind: Option<Command>,
        /// For this packet; `None`: for any.
        packet: Option<u64>,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(packet) => write!(f, "packet {packet}"),
            Self::Message(message) => write!(f, "message {message}"),
            Self::Context(context) => write!(f, "context {context}"),
            Self::Fault => f.write_str("fault"),
            Self::Drop => f.write_str("drop"),
            Self::Command { kind, packet } => {
                let kind = kind.map(|kind| format!(" {}", kind.word()));
                let packet = packet.map(|packet| format!(" packet {packet}"));
                write!(f, "command{}{}", kind.unwrap_or_default(), packet.unwrap_or_default())
            }
            Self::Host(range) => write!(f, "host {:#x} {}", range.address, range.bytes),
        }
    }
}

/// Everything that stops a run.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Addresses of instructions.
    pub breakpoints: Vec<u64>,
    /// Memory that is watched.
    pub watchpoints: Vec<Watchpoint>,
    /// Events.
    pub events: Vec<Event>,
}

impl Default for Conditions {
    /// Stops where a program goes wrong, as gdb does at a signal.
    fn default() -> Self {
        Self { breakpoints: Vec::new(), watchpoints: Vec::new(), events: vec![Event::Fault] }
    }
}

impl Watchpoint {
    /// Tells whether an access is one that it stops at.
    fn stops_at(&self, touch: &Touch) -> bool {
        let by_kind = match self.access {
            Access::Write => touch.writes,
            Access::Read => touch.reads,
            Access::Any => true,
        };
        by_kind && self.is_met(touch)
    }

    /// Tells whether an access touches it.
    pub fn is_met(&self, touch: &Touch) -> bool {
        self.places.iter().any(|place| touch.meets(*place, self.bytes))
    }
}

impl Conditions {
    /// Tells whether there is one of an event.
    pub fn has(&self, event: &Event) -> bool {
        self.events.contains(event)
    }

    /// Gives the event that an instruction is, if one was asked for: a handler's first one.
    pub fn event_of(&self, step: &Step) -> Option<&Event> {
        let task = step.task.filter(|_| step.enters)?;
        self.events.iter().find(|event| match event {
            Event::Packet(packet) => Some(*packet) == task.packet,
            Event::Message(message) => *message == task.message,
            Event::Context(context) => *context == task.context,
            _ => false,
        })
    }

    /// Tells whether an instruction issues a command that was asked for.
    pub fn stops_at_command(&self, step: &Step) -> bool {
        let issued = step.command.zip(step.task);
        issued.is_some_and(|(issued, task)| {
            self.events.iter().any(|event| match event {
                Event::Command { kind, packet } => {
                    kind.is_none_or(|kind| kind == issued)
                        && (packet.is_none() || *packet == task.packet)
                }
                _ => false,
            })
        })
    }

    /// Gives the watchpoint that an instruction stops at.
    pub fn watchpoint_of(&self, step: &Step) -> Option<&Watchpoint> {
        let touch = step.touch.as_ref()?;
        self.watchpoints.iter().find(|watchpoint| watchpoint.stops_at(touch))
    }

    /// Tells whether memory has to be compared cycle by cycle: units write it, too.
    pub fn compare_memory(&self) -> bool {
        self.watchpoints.iter().any(|watchpoint| watchpoint.access != Access::Read)
            || self.events.iter().any(|event| matches!(event, Event::Host(_)))
    }
}
