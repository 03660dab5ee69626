//! The hunt for the next stop: in come instructions and events as a run is repeated, out goes the one
//! to stop at: the first behind a position or, backwards, the last before it.

use crate::Position;
use crate::conditions::{Access, Conditions, Event};
use crate::harts::Step;
use crate::terms::{Command, Task};
use crate::words::Wrong;

/// Says why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was to go so far.
    Stepped,
    /// A breakpoint.
    Breakpoint,
    /// A watchpoint.
    Watchpoint {
        /// Its address as it was given.
        address: u64,
        /// The accesses it stops at.
        access: Access,
        /// Whether a unit wrote, and no hart.
        by_unit: bool,
    },
    /// Work begins that was asked for: a handler, or a message that is read.
    Entered(Task),
    /// A program went wrong.
    Fault(Wrong),
    /// A packet was dropped, and why.
    Dropped(String),
    /// A handler issues a command.
    Command(Command),
    /// Host memory changed that is watched.
    HostChanged {
        /// Its address.
        address: u64,
    },
    /// It does not go back, and why.
    NoWayBack(String),
    /// The run begins here.
    Begin,
    /// It ends here.
    End,
}

/// Where a run could stop, and why.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Where.
    pub position: Position,
    /// The hart it is about, if it is about one.
    pub hart: Option<u32>,
    /// Why.
    pub reason: Reason,
}

/// Says how far a run is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To a condition.
    Condition,
    /// An instruction of a hart; of a range that is not empty, until it is left.
    Step {
        /// The hart.
        hart: u32,
        /// The range.
        range: (u64, u64),
    },
    /// To a position.
    Position(Position),
}

/// Looks for a stop.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// What stops.
    pub conditions: Conditions,
    /// Whether forward.
    pub forward: bool,
    /// Behind it, or before it.
    pub bound: Position,
    /// The hart whose stops alone count.
    pub only: Option<u32>,
    /// The hart that steps, and the range it is to leave.
    pub step: Option<(u32, (u64, u64))>,
    /// Whether its first instruction was heard.
    pub begun: bool,
    /// A breakpoint that is out so that one hart gets past it; others stop at it.
    pub past: Option<(u32, u64)>,
    /// The best so far.
    pub best: Option<Candidate>,
    /// Watchpoints that instructions wrote, a bit each.
    pub written: u64,
}

impl Hunt {
    fn offer(&mut self, position: Position, hart: Option<u32>, reason: impl FnOnce() -> Reason) {
        if self.only.is_none() || hart == self.only {
            self.offer_any(position, hart, reason);
        }
    }

    /// Does the same though it may be another hart than the one whose stops count.
    fn offer_any(
        &mut self,
        position: Position,
        hart: Option<u32>,
        reason: impl FnOnce() -> Reason,
    ) {
        let best = self.best.as_ref().map(|best| best.position);
        let is_better = match self.forward {
            true => position > self.bound && best.is_none_or(|best| position < best),
            false => position < self.bound && best.is_none_or(|best| position > best),
        };
        if is_better {
            self.best = Some(Candidate { position, hart, reason: reason() });
        }
    }

    /// Considers an instruction of a hart.
    pub fn consider(&mut self, hart: u32, step: &Step) {
        let before = Position::before(step.cycle, hart);
        let after = Position::after(step.cycle, hart);
        if self.past.is_some_and(|(other, pc)| other != hart && pc == step.pc) {
            self.offer_any(before, Some(hart), || Reason::Breakpoint);
        }
        if self.conditions.breakpoints.contains(&step.pc) {
            self.offer(before, Some(hart), || Reason::Breakpoint);
        }
        if let Some(mcause) = step.trap
            && self.conditions.has(&Event::Fault)
        {
            self.offer(before, Some(hart), || {
                Reason::Fault(Wrong::Exception { mcause, address: step.denied })
            });
        }
        if step.enters
            && let Some(task) = step.task
            && self.conditions.event_of(step).is_some()
        {
            self.offer(before, Some(hart), || Reason::Entered(task));
        }
        if let Some(kind) = step.command
            && self.conditions.stops_at_command(step)
        {
            self.offer(before, Some(hart), || Reason::Command(kind));
        }
        if let Some(touch) = &step.touch {
            for (number, watchpoint) in self.conditions.watchpoints.iter().enumerate() {
                self.written |=
                    u64::from(touch.writes && watchpoint.is_met(touch)) << (number & 63);
            }
            if let Some(watchpoint) = self.conditions.watchpoint_of(step) {
                let (address, access) = (watchpoint.given, watchpoint.access);
                // What an access did is seen behind it, and undone before it.
                let position = if self.forward { after } else { before };
                let reason = || Reason::Watchpoint { address, access, by_unit: false };
                self.offer(position, Some(hart), reason);
            }
        }
        if let Some((stepping, (start, end))) = self.step
            && stepping == hart
        {
            match self.forward {
                false => self.offer(before, Some(hart), || Reason::Stepped),
                true if before < self.bound => {}
                true if start == end => self.offer(after, Some(hart), || Reason::Stepped),
                true if !self.begun => self.begun = true,
                true if (start..end).contains(&step.pc) => {}
                true => self.offer(before, Some(hart), || Reason::Stepped),
            }
        }
    }

    /// Considers what a unit did.
    pub fn consider_note(&mut self, note: &Note) {
        let is_wanted = match note.reason {
            Reason::Fault(_) => self.conditions.has(&Event::Fault),
            Reason::Dropped(_) => self.conditions.has(&Event::Drop),
            _ => true,
        };
        if is_wanted {
            self.offer(Position::of_units(note.cycle), note.hart, || note.reason.clone());
        }
    }

    /// Considers that watched memory changed in a cycle and no instruction did it.
    pub fn consider_change(&mut self, cycle: u64, reason: Reason) {
        let position = match self.forward {
            true => Position::of_units(cycle),
            false => Position::end(cycle.saturating_sub(1)),
        };
        self.offer(position, None, || reason);
    }
}

/// Something that a unit did and that a run can stop at.
#[derive(Clone, Debug)]
pub struct Note {
    /// When.
    pub cycle: u64,
    /// The hart it is about.
    pub hart: Option<u32>,
    /// What.
    pub reason: Reason,
}
