//! A NIC alone on its packets, which it takes when it has room.

use std::sync::Arc;

use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_app::traffic::Packets;
use pinion_sim::node::Saved;
use pinion_spin::{Outcome, Units};

use super::ears::{Ears, Interpreter, Shape};
use super::tape::{Head, Tape};
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
struct State {
    nic: Units,
    /// How many packets it was given.
    given: usize,
    interpreter: Interpreter,
    reached: Reached,
}

impl Alone {
    /// Puts a NIC before packets.
    pub fn new(app: &App, nic: Units, shape: Arc<Shape>, packets: Packets) -> Self {
        let tape = Tape::new(packets.skip(app.skipped_bytes()));
        let interpreter = Interpreter::new(shape);
        Self { tape, state: State { nic, given: 0, interpreter, reached: Reached::default() } }
    }
}

impl Drive for Alone {
    type Node = Units;

    fn node(&self) -> &Units {
        &self.state.nic
    }

    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached> {
        let State { nic, given, interpreter, reached } = &mut self.state;
        let clock = interpreter.shape.clock;
        let mut head = Head { tape: &mut self.tape, at: given };
        let outcome = nic.run(clock.time(cycle), &mut head, &mut Ears { interpreter, log });
        *reached = match outcome {
            Outcome::TimeReached => Reached { cycle, ended: None },
            outcome => {
                let last = log.heard.harts.last_cycle().unwrap_or(0);
                let cycle = clock.cycle_at(nic.now()).max(last);
                Reached { cycle, ended: Some(ending(&outcome)) }
            }
        };
        self.tape.take_error().map_or(Ok(()), Err)?;
        Ok(reached.clone())
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
