//! A run that goes to any of its positions, forward and back.
//!
//! In: where to go, or what to stop at. Out: where it came to, and why. Holds the NIC as it is at the
//! present position, and snapshots of earlier ones. The NIC has done everything of the position's
//! cycle; what cores have done beyond the position is taken back in what is shown (`view.rs`).

mod moves;
mod snapshots;

use std::collections::VecDeque;

use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_app::traffic::Packets;
use pinion_sim::Clock;
use pinion_spin::{Outcome, Units};

use crate::conditions::Conditions;
use crate::harts::Harts;
use crate::hunt::{Ears, Hunt, Note, Printed, Reason, Shape, Starts};
use crate::tape::{Head, Tape};
use crate::{Goal, Position};
use moves::Move;
use snapshots::Snapshots;

/// A run at the end of a cycle.
#[derive(Clone)]
pub struct State {
    /// The NIC.
    pub nic: Units,
    /// How many packets it was given.
    given: usize,
    /// The harts' registers.
    pub harts: Harts,
    /// What units did from the base on.
    notes: VecDeque<Note>,
    /// The last cycle that was run.
    pub cycle: u64,
    /// How the run has ended, if it has.
    ended: Option<Outcome>,
}

impl State {
    /// Estimates the bytes it takes.
    fn bytes(&self) -> u64 {
        let machine = self.nic.machine();
        let l1 = u64::from(machine.l1.bytes) * u64::from(machine.cluster.count);
        let l2 = u64::from(machine.l2_handler.bytes) + u64::from(machine.l2_packet.bytes);
        // A decoded instruction takes a few times the bytes of the instruction.
        let unit = l1 + l2 + 20 * u64::from(machine.program.bytes);
        unit * u64::from(machine.units.count.max(1))
    }
}

/// Where a run came to, and why.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The HPU it is about, if it is about one.
    pub hart: Option<u32>,
    /// Why it stopped there.
    pub reason: Reason,
}

/// A run that can be stopped anywhere.
pub struct Timeline {
    shape: Shape,
    tape: Tape,
    state: State,
    position: Position,
    snapshots: Snapshots,
    printed: Printed,
    starts: Starts,
    /// What it is doing.
    under_way: Option<Move>,
    /// What stops it.
    pub conditions: Conditions,
}

impl Timeline {
    /// Begins an application's run on packets.
    ///
    /// # Errors
    /// When program or contexts do not fit the machine.
    pub fn new(app: &App, packets: Packets) -> Result<Self> {
        let nic = app.nic()?;
        let machine = nic.machine();
        let handlers = app.contexts.iter().flat_map(|context| {
            let (header, payload) = (&context.header_handler, &context.payload_handler);
            [header, payload, &context.completion_handler].into_iter().flatten()
        });
        let mut entries: Vec<u32> = handlers.map(|handler| handler.address).collect();
        entries.sort_unstable();
        entries.dedup();
        let shape = Shape {
            clock: Clock::from_hz(machine.clock.frequency_mhz.max(1) * 1_000_000),
            cores: machine.cluster.cores,
            clusters: machine.cluster.count,
            entries,
        };
        let places = (0..machine.cluster.count)
            .flat_map(|cluster| (0..machine.cluster.cores).map(move |hpu| (cluster, hpu)));
        let registers = nic
            .nics()
            .iter()
            .flat_map(|nic| places.clone().map(|(cluster, hpu)| nic.hart(cluster, hpu).x));
        let harts = Harts::new(registers);
        let state = State { nic, given: 0, harts, notes: VecDeque::new(), cycle: 0, ended: None };
        let mut timeline = Self {
            shape,
            tape: Tape::new(packets.skip(app.skipped_bytes())),
            snapshots: Snapshots::new(state.clone()),
            state,
            position: Position::of_units(0),
            printed: Printed::default(),
            starts: Starts::default(),
            under_way: None,
            conditions: Conditions::default(),
        };
        timeline.run_to(0, None)?;
        timeline.snapshots = Snapshots::new(timeline.state.clone());
        Ok(timeline)
    }

    /// Runs everything up to a cycle.
    fn run_to(&mut self, cycle: u64, hunt: Option<&mut Hunt>) -> Result<()> {
        let State { nic, given, harts, notes, .. } = &mut self.state;
        let mut head = Head { tape: &mut self.tape, at: given };
        let (shape, printed, starts) = (&self.shape, &mut self.printed, &mut self.starts);
        let mut ears = Ears { shape, harts, notes, printed, starts, hunt };
        let outcome = nic.run(self.shape.clock.time(cycle), &mut head, &mut ears);
        self.printed.until = self.printed.until.max(Some(cycle));
        self.state.cycle = cycle;
        if outcome != Outcome::TimeReached {
            let last = self.shape.clock.cycle_at(self.state.nic.now());
            self.state.cycle = last.max(self.state.harts.last_cycle().unwrap_or(0));
            self.state.ended = Some(outcome);
        }
        self.tape.take_error().map_or(Ok(()), Err)
    }

    /// Forgets what was heard of cycles before one that nothing will be asked about.
    fn settle(&mut self, cycle: u64) {
        self.state.harts.settle(cycle);
        let notes = &mut self.state.notes;
        while notes.front().is_some_and(|note| note.cycle < cycle) {
            notes.pop_front();
        }
    }

    /// Gives the present position.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Gives the run as it is there.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Gives the machine's shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Counts harts.
    pub fn harts(&self) -> u32 {
        self.state.harts.count()
    }

    /// Says how the run has ended, if it has.
    pub fn ended(&self) -> Option<&Outcome> {
        self.state.ended.as_ref()
    }

    /// Takes the whole lines that handlers have printed for the first time.
    pub fn take_printed(&mut self) -> String {
        std::mem::take(&mut self.printed.whole)
    }

    /// Goes where it is to go, for as long as it takes.
    ///
    /// # Errors
    /// When the packets cannot be read.
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
