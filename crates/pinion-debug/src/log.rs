//! What is heard of a machine as it runs: a [`Log`] keeps what a position is made of, and lets a hunt look
//! for a stop in it. Both begin again at a snapshot; what is said once, however often a run is repeated,
//! is kept apart.

use std::collections::{HashMap, VecDeque};

use crate::Position;
use crate::harts::{Harts, Step};
use crate::hunt::{Candidate, Hunt, Note, Reason};
use crate::terms::Reached;
use crate::words;

/// What was heard up to where a machine is, as far as it can be asked for.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The harts' registers.
    pub harts: Harts,
    /// What units did from the base on.
    pub notes: VecDeque<Note>,
    /// How far it is.
    pub reached: Reached,
}

impl Heard {
    /// Forgets what was heard of cycles before one that nothing will be asked about.
    pub fn settle(&mut self, cycle: u64) {
        self.harts.settle(cycle);
        while self.notes.front().is_some_and(|note| note.cycle < cycle) {
            self.notes.pop_front();
        }
    }
}

/// Names what one can go to by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Where the first handler of a packet begins.
    Packet(u64),
    /// Where the first handler of a message begins, or its first word is read.
    Message(u64),
}

/// What is kept of all that was ever run.
#[derive(Debug, Default)]
pub struct Kept {
    /// What programs print.
    pub printed: Printed,
    /// Where the work at each packet and message begins that was heard of.
    pub starts: HashMap<Target, Candidate>,
}

/// What programs print, once, however often a run is repeated.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    /// The last cycle whose output is known.
    pub until: Option<u64>,
    /// By hart: its unfinished line.
    lines: Vec<Vec<u8>>,
    /// Whole lines that nobody has seen yet.
    pub whole: String,
}

/// Takes what is said of a machine.
pub trait Takes {
    /// Takes an instruction of a hart.
    fn step(&mut self, hart: u32, step: Step);

    /// Takes what a unit did.
    fn note(&mut self, cycle: u64, hart: Option<u32>, reason: Reason);

    /// Takes a byte that a hart prints; `label` stands in front of its lines.
    fn byte(&mut self, cycle: u64, hart: u32, byte: u8, label: impl FnOnce() -> String);
}

/// Hears a machine.
pub struct Log<'a> {
    /// Keeps what a position is made of.
    pub heard: &'a mut Heard,
    /// Keeps what outlasts going back; `None`: it was heard before.
    pub kept: Option<&'a mut Kept>,
    /// Looks for a stop.
    pub hunt: Option<&'a mut Hunt>,
}

impl Takes for Log<'_> {
    fn step(&mut self, hart: u32, step: Step) {
        let step = self.heard.harts.hear(hart, step);
        if let Some(kept) = &mut self.kept
            && let Some(task) = step.task.filter(|_| step.enters)
        {
            let position = Position::before(step.cycle, hart);
            let start = || Candidate { position, hart: Some(hart), reason: Reason::Entered(task) };
            if let Some(packet) = task.packet {
                kept.starts.entry(Target::Packet(packet)).or_insert_with(start);
            }
            kept.starts.entry(Target::Message(task.message)).or_insert_with(start);
        }
        if let Some(hunt) = &mut self.hunt {
            hunt.consider(hart, &step);
        }
    }

    fn note(&mut self, cycle: u64, hart: Option<u32>, reason: Reason) {
        let note = Note { cycle, hart, reason };
        if let Some(hunt) = &mut self.hunt {
            hunt.consider_note(&note);
        }
        self.heard.notes.push_back(note);
    }

    fn byte(&mut self, cycle: u64, hart: u32, byte: u8, label: impl FnOnce() -> String) {
        let Some(printed) = self.kept.as_mut().map(|kept| &mut kept.printed) else { return };
        if printed.until.is_some_and(|until| cycle <= until) {
            return;
        }
        let hart = hart as usize;
        if printed.lines.len() <= hart {
            printed.lines.resize(hart + 1, Vec::new());
        }
        if byte != b'\n' {
            return printed.lines[hart].push(byte);
        }
        let line = std::mem::take(&mut printed.lines[hart]);
        printed.whole += &format!("{}{}\n", label(), words::printable(&line));
    }
}
