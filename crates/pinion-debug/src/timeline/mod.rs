//! A run that goes to any of its positions, forward and back.
//!
//! In: where to go, or what to stop at. Out: where it came to, and why. Holds the machine as it is at the
//! present position, or somewhat further, and snapshots of earlier ones. What cores have done beyond the
//! position is taken back in what is shown (`view.rs`).

mod moves;
mod snapshots;

use std::collections::VecDeque;

use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_app::traffic::Packets;

use crate::conditions::Conditions;
use crate::debuggee::Debuggee;
use crate::harts::Harts;
use crate::hunt::{Hunt, Reason};
use crate::log::{Heard, Kept, Log};
use crate::nic::Nic;
use crate::terms::Reached;
use crate::{Goal, Position};
use moves::Move;
use pinion_sim::node::Saved;
use snapshots::{Snapshot, Snapshots};

/// Where a run came to, and why.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The hart it is about, if it is about one.
    pub hart: Option<u32>,
    /// Why it stopped there.
    pub reason: Reason,
}

/// A run that can be stopped anywhere.
pub struct Timeline {
    pub(crate) debuggee: Box<dyn Debuggee>,
    /// What was heard up to where the machine is.
    pub(crate) heard: Heard,
    /// What was heard up to the position's cycle, if the machine is further.
    pub(crate) shown: Option<Heard>,
    position: Position,
    /// What it goes back by; or why it does not go back.
    snapshots: std::result::Result<Snapshots, String>,
    /// The cycle in which it was first looked at, and the last one that it has come to.
    first: u64,
    farthest: u64,
    kept: Kept,
    /// What it is doing.
    under_way: Option<Move>,
    /// Why it could not do what it was told.
    trouble: Option<Error>,
    /// What stops it.
    pub conditions: Conditions,
}

impl Timeline {
    /// Begins an application's run on packets.
    ///
    /// # Errors
    /// When program or contexts do not fit the machine.
    pub fn new(app: &App, packets: Packets) -> Result<Self> {
        Self::of(Box::new(Nic::alone(app, packets)?))
    }

    /// Begins the run of a machine that has done nothing yet.
    ///
    /// # Errors
    /// When it cannot be saved, or what comes in cannot be read.
    pub fn of(debuggee: Box<dyn Debuggee>) -> Result<Self> {
        let saved = debuggee.save()?;
        let mut timeline = Self::from(debuggee, 0, Ok(saved));
        timeline.run_to(0, None)?;
        if timeline.cycle() == 0 {
            timeline.begin_anew()?;
        }
        Ok(timeline)
    }

    /// Looks at a machine that has come to a cycle without being heard; it runs on for so many cycles, behind
    /// which no core is ahead any more with what nobody heard. Goes back to there, if it can be saved.
    ///
    /// # Errors
    /// When what comes in cannot be read.
    pub fn attach(debuggee: Box<dyn Debuggee>, cycle: u64, ahead: u64) -> Result<Self> {
        let saved = debuggee.save().map_err(|error| error.to_string());
        let mut timeline = Self::from(debuggee, cycle, saved);
        let end = cycle + ahead;
        while timeline.cycle() < end && timeline.ended().is_none() && !timeline.rests() {
            timeline.run_to(timeline.cycle() + 1, None)?;
        }
        timeline.position = Position::of_units(timeline.cycle());
        timeline.heard.settle(timeline.cycle());
        if timeline.snapshots.is_ok() {
            timeline.begin_anew()?;
        }
        Ok(timeline)
    }

    fn from(
        debuggee: Box<dyn Debuggee>,
        cycle: u64,
        saved: std::result::Result<Saved, String>,
    ) -> Self {
        let harts = Harts::new((0..debuggee.harts()).map(|hart| debuggee.registers(hart)));
        let reached = Reached { cycle, ..Reached::default() };
        let heard = Heard { harts, notes: VecDeque::new(), reached };
        let snapshots = saved.map(|saved| {
            Snapshots::new(Snapshot { heard: heard.clone(), saved }, debuggee.bytes())
        });
        Self {
            debuggee,
            heard,
            shown: None,
            position: Position::of_units(cycle),
            snapshots,
            first: cycle,
            farthest: cycle,
            kept: Kept::default(),
            under_way: None,
            trouble: None,
            conditions: Conditions::default(),
        }
    }

    /// Lets the run begin where it is: what was before is forgotten.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn begin_anew(&mut self) -> Result<()> {
        let beginning = self.snapshot()?;
        self.snapshots = Ok(Snapshots::new(beginning, self.debuggee.bytes()));
        self.first = self.cycle();
        Ok(())
    }

    /// Tells whether it is on its way to an earlier position.
    pub fn goes_back(&self) -> bool {
        matches!(self.under_way, Some(Move::Backward { .. } | Move::Seek { .. }))
    }

    /// Takes the harts' registers as they are: somebody else than the program has changed them.
    pub fn look_anew(&mut self) {
        let debuggee = &self.debuggee;
        self.heard.harts = Harts::new((0..debuggee.harts()).map(|hart| debuggee.registers(hart)));
    }

    /// Forgets what was before where it is, if it goes back at all.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn forget(&mut self) -> Result<()> {
        if self.snapshots.is_ok() { self.begin_anew() } else { Ok(()) }
    }

    /// Goes to the farthest cycle that it has come to, whatever lies between.
    ///
    /// # Errors
    /// When what comes in cannot be read.
    pub fn go_to_present(&mut self) -> Result<()> {
        self.under_way = None;
        self.load_for(self.farthest);
        self.trouble.take().map_or(Ok(()), Err)?;
        if self.cycle() < self.farthest {
            self.run_to(self.farthest, None)?;
        }
        self.position = self.position.max(Position::of_units(self.cycle()));
        Ok(())
    }

    /// Goes on behind the farthest cycle for as long as somebody wants, a million cycles at most.
    ///
    /// # Errors
    /// When what comes in cannot be read.
    pub fn go_on_while(&mut self, wanted: impl Fn() -> bool) -> Result<()> {
        for _ in 0..1_000 {
            if !wanted() || self.ended().is_some() {
                break;
            }
            // Whether it rests is known of before what is wanted came: it is asked behind a look.
            self.run_to(self.cycle() + 1_000, None)?;
            if self.rests() {
                break;
            }
        }
        self.position = self.position.max(Position::of_units(self.cycle()));
        Ok(())
    }

    /// Runs everything up to a cycle.
    fn run_to(&mut self, cycle: u64, hunt: Option<&mut Hunt>) -> Result<()> {
        self.shown = None;
        let mut log = Log { heard: &mut self.heard, kept: Some(&mut self.kept), hunt };
        self.heard.reached = self.debuggee.run(cycle, &mut log)?;
        self.farthest = self.farthest.max(self.heard.reached.cycle);
        let printed = &mut self.kept.printed;
        printed.until = printed.until.max(Some(self.heard.reached.cycle));
        Ok(())
    }

    /// Gives the last cycle in which everything has happened.
    fn cycle(&self) -> u64 {
        self.heard.reached.cycle
    }

    fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot { heard: self.heard.clone(), saved: self.debuggee.save()? })
    }

    /// Gives the present position.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Gives the machine, which may be further than the position.
    pub fn machine(&self) -> &dyn Debuggee {
        &*self.debuggee
    }

    /// Counts harts.
    pub fn harts(&self) -> u32 {
        self.debuggee.harts()
    }

    /// Tells whether it goes no further until something comes from outside.
    pub fn rests(&self) -> bool {
        self.heard.reached.rests && self.cycle() >= self.farthest
    }

    /// Says how the run has ended, if it has.
    pub fn ended(&self) -> Option<&str> {
        self.heard.reached.ended.as_deref()
    }

    /// Takes the whole lines that programs have printed for the first time.
    pub fn take_printed(&mut self) -> String {
        std::mem::take(&mut self.kept.printed.whole)
    }

    /// Goes where it is to go, for as long as it takes.
    ///
    /// # Errors
    /// When what comes in cannot be read.
    pub fn go(&mut self, forward: bool, goal: Goal) -> Result<Arrival> {
        self.begin(forward, goal, None, None);
        loop {
            if let Some(arrival) = self.advance(std::time::Duration::MAX)? {
                return Ok(arrival);
            }
        }
    }
}

/// Says that nothing was begun: a mistake of whoever calls.
fn nothing_begun() -> Error {
    Error::Usage("the run was not told where to go".to_owned())
}
