//! Steps by line, forward and back. A step is made of legs, each a way that the run can go by itself: an
//! instruction, a stretch of a line, to where a call returns to. After each it is looked where the hart
//! is, and whether that is where the step was to lead.

use serde::Deserialize;
use serde_json::Value;

use super::clauses::Verdict;
use super::requests::{Answer, Session, read};
use crate::hunt::Reason;
use crate::symbols::Frame;
use crate::{Arrival, Goal};

/// Says which step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To the next line, calls as one.
    Over,
    /// To the next line, into calls.
    In,
    /// To where the function was called.
    Out,
    /// To the line before, calls as one.
    Back,
}

/// Says where a hart is, as far as a step wants to know it.
#[derive(Clone, Debug)]
struct Place {
    /// File and line.
    line: Option<(u32, u32)>,
    /// Whether the line's statement begins here.
    is_start: bool,
    /// Functions that were inlined into each other here.
    level: usize,
    /// The frame's canonical address; none of code without call frame information.
    cfa: Option<u64>,
}

/// Says what a leg ends at, beside the end of the step's own instruction or stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// Whatever stops it.
    Any,
    /// The frame with this address, at a breakpoint of the leg's own.
    Frame(Option<u64>),
    /// The same, at a function's first instruction: a leg back to the call follows.
    Entry(Option<u64>),
}

/// A leg of a step.
#[derive(Clone, Debug)]
pub struct Leg {
    goal: Goal,
    /// Where it ends, too.
    ends: Vec<u64>,
    awaited: Awaited,
}

/// A step under way.
pub struct Stepper {
    kind: Kind,
    hart: u32,
    by_instruction: bool,
    start: Place,
    leg: Option<Leg>,
}

/// What becomes of a step after a leg.
pub enum Decision {
    /// Another leg follows.
    Go(Leg),
    /// It has led where it was to lead.
    Done,
    /// Something else has stopped it.
    Stopped,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    thread_id: u64,
    granularity: Option<String>,
}

impl Leg {
    fn instruction(hart: u32) -> Self {
        Self { goal: Goal::Step { hart, range: (0, 0) }, ends: Vec::new(), awaited: Awaited::Any }
    }

    fn to(address: u64, awaited: Awaited) -> Self {
        Self { goal: Goal::Condition, ends: vec![address], awaited }
    }
}

impl Stepper {
    /// Tells whether the leg that it is on ends at an address that a breakpoint has, too.
    pub fn ends_at(&self, pc: u64) -> bool {
        self.leg.as_ref().is_some_and(|leg| match leg.goal {
            Goal::Step { range: (start, end), .. } => start == end || !(start..end).contains(&pc),
            _ => leg.ends.contains(&pc),
        })
    }
}

impl Session<'_, '_> {
    pub fn next(&mut self, arguments: Value) -> Answer {
        self.begin_step(Kind::Over, arguments)
    }

    pub fn step_in(&mut self, arguments: Value) -> Answer {
        self.begin_step(Kind::In, arguments)
    }

    pub fn step_out(&mut self, arguments: Value) -> Answer {
        self.begin_step(Kind::Out, arguments)
    }

    pub fn step_back(&mut self, arguments: Value) -> Answer {
        self.begin_step(Kind::Back, arguments)
    }

    fn begin_step(&mut self, kind: Kind, arguments: Value) -> Answer {
        let Step { thread_id, granularity } = read(arguments)?;
        let hart = self.hart(thread_id)?;
        let by_instruction = granularity.as_deref() == Some("instruction") && kind != Kind::Out;
        let frames = self.calls(hart);
        let start = self.place(hart, &frames);
        let leg = match kind {
            Kind::Out if start.level <= 1 => self.leave(&frames),
            _ if by_instruction || kind == Kind::Back => Leg::instruction(hart),
            _ => self.along(hart),
        };
        let stepper = Stepper { kind, hart, by_instruction, start, leg: None };
        self.console.focus = hart;
        self.console.forget_errand();
        self.stepper = Some(Stepper { leg: Some(leg.clone()), ..stepper });
        self.go(kind != Kind::Back, leg.goal, Some(hart), &leg.ends);
        Ok(Value::Null)
    }

    /// Begins a leg.
    pub fn set_out(&mut self, stepper: &Stepper, leg: Leg) {
        self.go(stepper.kind != Kind::Back, leg.goal, Some(stepper.hart), &leg.ends);
    }

    /// Goes on with the leg that a step is on.
    pub fn set_out_again(&mut self, stepper: &Stepper) {
        if let Some(leg) = stepper.leg.clone() {
            self.set_out(stepper, leg);
        }
    }

    /// Looks where a leg has led, and what follows; the verdict is on breakpoints that are there.
    pub fn decide(
        &mut self,
        stepper: &mut Stepper,
        arrival: &Arrival,
        verdict: Verdict,
    ) -> Decision {
        let pc = self.console.timeline.pc(stepper.hart);
        let ends_here = stepper.ends_at(pc);
        let Some(leg) = stepper.leg.take() else { return Decision::Stopped };
        let is_own = match arrival.reason {
            Reason::Stepped => true,
            Reason::Breakpoint => ends_here && verdict != Verdict::Wanted,
            _ => false,
        };
        if !is_own {
            return Decision::Stopped;
        }
        let frames = self.calls(stepper.hart);
        let at = self.place(stepper.hart, &frames);
        let is_awaited = match leg.awaited {
            Awaited::Any => true,
            Awaited::Frame(cfa) | Awaited::Entry(cfa) => cfa.is_none() || at.cfa == cfa,
        };
        let next = if !is_awaited {
            Some(leg)
        } else if matches!(leg.awaited, Awaited::Entry(_)) {
            Some(Leg::instruction(stepper.hart))
        } else if stepper.kind == Kind::Back {
            self.leg_back(stepper, &at, &frames)
        } else {
            self.leg_on(stepper, &at, &frames)
        };
        match next {
            Some(leg) => {
                stepper.leg = Some(leg.clone());
                Decision::Go(leg)
            }
            None => Decision::Done,
        }
    }

    /// Gives the next leg of a step forward; `None`: it is there.
    fn leg_on(&self, stepper: &Stepper, at: &Place, frames: &[Frame]) -> Option<Leg> {
        let (hart, start) = (stepper.hart, &stepper.start);
        if is_within_call_of(start, frames) {
            if stepper.kind == Kind::In && (at.line.is_some() || stepper.by_instruction) {
                return match stepper.by_instruction {
                    true => None,
                    false => self.to_body(at, frames),
                };
            }
            return Some(self.leave(frames));
        }
        if stepper.by_instruction {
            return None;
        }
        if at.cfa.is_none() {
            return Some(self.to_next_handler());
        }
        if at.cfa != start.cfa {
            return at.line.is_none().then(|| self.along(hart)); // a call has returned
        }
        let is_deeper = at.level > start.level;
        let is_there = at.is_start
            && at.line != start.line
            && match stepper.kind {
                Kind::Out => at.level < start.level,
                Kind::In => true,
                _ => !is_deeper,
            };
        (!is_there).then(|| self.along(hart))
    }

    /// Gives the next leg of a step back.
    fn leg_back(&self, stepper: &mut Stepper, at: &Place, frames: &[Frame]) -> Option<Leg> {
        let hart = stepper.hart;
        if is_within_call_of(&stepper.start, frames) {
            // Back in through the end of a call: to its beginning, and out there.
            let entry = self.symbols.function_at(frames.first()?.within);
            return Some(match entry {
                Some(entry) => Leg::to(entry, Awaited::Entry(at.cfa)),
                None => Leg::instruction(hart),
            });
        }
        if stepper.by_instruction {
            return None;
        }
        if at.cfa != stepper.start.cfa {
            // Out through the beginning of the function: the call's line is the one before.
            stepper.start = Place { line: None, ..at.clone() };
        }
        let start = &stepper.start;
        let is_there = at.cfa.is_some()
            && at.is_start
            && at.level <= start.level
            && (at.line != start.line || !start.is_start);
        (!is_there).then(|| Leg::instruction(hart))
    }

    fn place(&self, hart: u32, frames: &[Frame]) -> Place {
        let pc = self.console.timeline.pc(hart);
        let row = self.symbols.lines().row(pc);
        Place {
            line: row.map(|row| (row.file, row.line)),
            is_start: row.is_some_and(|row| row.address == pc && row.is_statement),
            level: 1 + frames.iter().take_while(|frame| frame.is_inlined).count(),
            cfa: frames.first().and_then(|frame| frame.cfa),
        }
    }

    /// Goes along a line's stretch, or an instruction.
    fn along(&self, hart: u32) -> Leg {
        let pc = self.console.timeline.pc(hart);
        let row = self.symbols.lines().row(pc);
        let range = row.map_or((0, 0), |row| (row.address, row.end));
        Leg { goal: Goal::Step { hart, range }, ..Leg::instruction(hart) }
    }

    /// Goes to where the innermost call returns to.
    fn leave(&self, frames: &[Frame]) -> Leg {
        let caller = frames.iter().skip_while(|frame| frame.is_inlined).nth(1);
        match (frames.first().and_then(|frame| frame.returns_to), caller) {
            (Some(address), Some(caller)) => Leg::to(address, Awaited::Frame(caller.cfa)),
            _ => self.to_next_handler(),
        }
    }

    /// Goes to where the hart's next handler begins: what calls handlers is nothing to step through.
    fn to_next_handler(&self) -> Leg {
        Leg { goal: Goal::Condition, ends: self.entries.clone(), awaited: Awaited::Any }
    }

    /// Goes behind what prepares a function's frame; `None`: that is here.
    fn to_body(&self, at: &Place, frames: &[Frame]) -> Option<Leg> {
        let pc = frames.first()?.pc;
        let body = self.symbols.body_at(pc).filter(|body| *body > pc)?;
        Some(Leg::to(body, Awaited::Frame(at.cfa)))
    }
}

/// Tells whether calls lead from a place to where a hart is.
fn is_within_call_of(start: &Place, frames: &[Frame]) -> bool {
    let outer = frames.iter().skip_while(|frame| frame.is_inlined).skip(1);
    start.cfa.is_some() && outer.into_iter().any(|frame| frame.cfa == start.cfa)
}
