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
    snapshots: Snapshots,
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
        let harts = Harts::new((0..debuggee.harts()).map(|hart| debuggee.registers(hart)));
        let heard = Heard { harts, notes: VecDeque::new(), reached: Reached::default() };
        let beginning = Snapshot { heard: heard.clone(), saved: debuggee.save()? };
        let snapshots = Snapshots::new(beginning, debuggee.bytes());
        let mut timeline = Self {
            debuggee,
            heard,
            shown: None,
            position: Position::of_units(0),
            snapshots,
            kept: Kept::default(),
            under_way: None,
            trouble: None,
            conditions: Conditions::default(),
        };
        timeline.run_to(0, None)?;
        if timeline.cycle() == 0 {
            let beginning = timeline.snapshot()?;
            timeline.snapshots = Snapshots::new(beginning, timeline.debuggee.bytes());
        }
        Ok(timeline)
    }

    /// Runs everything up to a cycle.
    fn run_to(&mut self, cycle: u64, hunt: Option<&mut Hunt>) -> Result<()> {
        self.shown = None;
        let mut log = Log { heard: &mut self.heard, kept: Some(&mut self.kept), hunt };
        self.heard.reached = self.debuggee.run(cycle, &mut log)?;
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
