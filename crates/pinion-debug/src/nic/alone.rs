//! A NIC alone on its packets, which it takes when it has room.

use std::sync::Arc;

use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_app::traffic::Packets;
use pinion_sim::Time;
use pinion_sim::node::Saved;
use pinion_spin::{Listener, Outcome, Units};

use super::ears::{Also, Ears, Interpreter, Shape};
use super::tape::{Head, Place, Tape, Written};
use crate::drive::Drive;
use crate::log::Log;
use crate::terms::Reached;

/// Runs a NIC on packets.
pub struct Alone {
    tape: Tape,
    state: State,
}

/// What is saved of it.
#[derive(Clone)]
pub struct State {
    pub nic: Units,
    /// The packets that it was given.
    pub place: Place,
    pub interpreter: Interpreter,
    pub reached: Reached,
}

impl State {
    /// Goes on with a tape's packets until everything up to a cycle has happened; `also` hears it, too.
    pub fn run(
        &mut self,
        tape: &mut Tape,
        cycle: u64,
        log: &mut Log<'_>,
        also: Option<&mut Also<'_>>,
    ) -> Result<()> {
        let Self { nic, place, interpreter, reached } = self;
        let clock = interpreter.shape.clock;
        let mut ears = Ears { interpreter, log, also };
        let (ended, rests) = play(nic, (tape, place), clock.time(cycle), &mut ears);
        *reached = match ended {
            None => Reached { cycle, ended, rests },
            Some(_) => {
                let last = ears.log.heard.harts.last_cycle().unwrap_or(0);
                Reached { cycle: clock.cycle_at(nic.now()).max(last), ended, rests: false }
            }
        };
        tape.take_error().map_or(Ok(()), Err)
    }
}

/// Has a NIC go on with a tape's packets until everything up to a moment has happened; says how the run has
/// ended, if it has, and whether nothing happens until something comes.
pub fn play(
    nic: &mut Units,
    (tape, place): (&mut Tape, &mut Place),
    to: Time,
    listener: &mut dyn Listener,
) -> (Option<String>, bool) {
    loop {
        let end = tape.slice_end(*place);
        let until = end.map_or(to, |end| end.min(to));
        let outcome = nic.run(until, &mut Head { tape, place }, listener);
        let is_through = outcome != Outcome::TimeReached;
        let is_stuck = matches!(outcome, Outcome::Stuck(_));
        let ended = match end.filter(|_| !is_stuck) {
            // A live run is repeated slice by slice.
            Some(end) if until >= end || is_through && !tape.is_open() => {
                for Written { address, bytes } in tape.written(*place) {
                    let is_there = nic.write_memory(*address, bytes);
                    debug_assert!(is_there, "it was written there before");
                }
                match tape.turn(place) {
                    true => continue,
                    false => Some("the recording ends here".to_owned()),
                }
            }
            Some(_) => None,
            None if tape.is_open() => is_stuck.then(|| ending(&outcome)),
            None => is_through.then(|| ending(&outcome)),
        };
        return (ended, tape.is_open() && is_through);
    }
}

impl Alone {
    /// Puts a NIC before packets.
    pub fn new(app: &App, nic: Units, shape: Arc<Shape>, packets: Packets) -> Self {
        let tape = Tape::new(packets.skip(app.skipped_bytes()));
        let interpreter = Interpreter::new(shape);
        let (place, reached) = (Place::default(), Reached::default());
        Self { tape, state: State { nic, place, interpreter, reached } }
    }
}

impl Drive for Alone {
    type Node = Units;

    fn look<R>(&self, look: impl FnOnce(&Units) -> R) -> R {
        look(&self.state.nic)
    }

    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached> {
        self.state.run(&mut self.tape, cycle, log, None)?;
        Ok(self.state.reached.clone())
    }

    fn save(&self) -> Result<Saved> {
        Ok(Saved::new(self.state.clone()))
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let state = saved.get::<State>();
        self.state.clone_from(state.map_err(|error| Error::part("cannot go back", error))?);
        Ok(())
    }
}

/// Says how a run has ended.
fn ending(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Stuck(report) => report.clone(),
        _ => "all packets are through".to_owned(),
    }
}
