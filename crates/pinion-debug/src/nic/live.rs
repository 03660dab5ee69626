//! A live NIC that is lent to a debugger, turn by turn. Whoever runs it has it between turns, so a [`Loan`] has
//! two ends: one takes the NIC in and gives it back, the other one is the debugger's.
//!
//! Simulated time goes on only as the debugger lets it. What comes meanwhile is put on a tape with the moment at
//! which it was there, so the run can be gone back in and comes out the same; what the NIC does is passed
//! on when it does it for the first time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinion_app::error::{Error, Result};
use pinion_observe::fault::Fault;
use pinion_observe::report::{Collector, Sink};
use pinion_sim::node::Saved;
use pinion_sim::{Clock, Time};
use pinion_spin::{ContextId, Event, Hears as _, Offer, Units};

use super::alone::State;
use super::ears::{Interpreter, Shape};
use super::tape::{Place, Tape};
use crate::drive::Drive;
use crate::log::Log;
use crate::terms::Reached;

/// What a NIC did that concerns whoever runs it.
#[derive(Debug)]
pub enum Effect {
    /// A handler printed a line.
    Line(Time, u32, u32, String),
    /// A frame has left.
    Departed(Time, Vec<u8>),
    /// A frame fits no context.
    Unmatched(Time, Vec<u8>),
    /// A handler went wrong in a way that is new.
    Fault(Box<Fault>),
    /// A packet of a context is done.
    Done(ContextId),
    /// A handler of a context went wrong.
    Failed(ContextId),
    /// A handler of a context was ended that nobody has any more.
    LeftBehind,
}

/// What a NIC did, in order.
#[derive(Debug, Default)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// Hands on what sinks take; the rest is left to `others`.
    pub fn pass_on(self, sink: &mut dyn Sink, mut others: impl FnMut(Effect)) {
        for effect in self.0 {
            match effect {
                Effect::Line(time, cluster, hpu, text) => sink.line(time, cluster, hpu, &text),
                Effect::Departed(time, frame) => sink.departed(time, &frame),
                Effect::Unmatched(time, frame) => sink.unmatched(time, &frame),
                Effect::Fault(fault) => sink.fault(&fault),
                other => others(other),
            }
        }
    }
}

impl Sink for Effects {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.0.push(Effect::Line(time, cluster, hpu, text.to_owned()));
    }

    fn departed(&mut self, time: Time, frame: &[u8]) {
        self.0.push(Effect::Departed(time, frame.to_vec()));
    }

    fn unmatched(&mut self, time: Time, frame: &[u8]) {
        self.0.push(Effect::Unmatched(time, frame.to_vec()));
    }

    fn fault(&mut self, fault: &Fault) {
        self.0.push(Effect::Fault(Box::new(fault.clone())));
    }
}

/// A NIC and who hears it; while they are lent, what stands in for them.
pub struct Lent {
    /// The NIC.
    pub units: Units,
    /// Who hears it.
    pub collector: Collector,
}

/// What is on loan; both ends are alike.
#[derive(Clone)]
pub struct Loan(Arc<Mutex<Holding>>);

struct Holding {
    state: State,
    collector: Collector,
    tape: Tape,
    /// The last cycle that was ever run, behind which everything is new.
    edge: u64,
    effects: Effects,
    /// Contexts that somebody has; `None`: all of them.
    held: Option<Vec<ContextId>>,
    /// Why it is not saved, if it is not.
    stays: Option<String>,
}

impl Loan {
    /// Makes a loan of what stands in for a NIC that has come to a cycle; `stays` says why it cannot be gone
    /// back in, if so.
    pub fn new(shape: Arc<Shape>, lent: Lent, cycle: u64, stays: Option<String>) -> Self {
        let reached = Reached { cycle, ..Reached::default() };
        let (place, interpreter) = (Place::default(), Interpreter::new(shape));
        Self(Arc::new(Mutex::new(Holding {
            state: State { nic: lent.units, place, interpreter, reached },
            collector: lent.collector,
            tape: Tape::default(),
            edge: cycle,
            effects: Effects::default(),
            held: None,
            stays,
        })))
    }

    /// Only a thread that panics leaves it poisoned, and that ends the run anyway.
    fn lock(&self) -> MutexGuard<'_, Holding> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a NIC in or gives it back, for what is there instead.
    pub fn exchange(&self, units: &mut Units, collector: &mut Collector) {
        let mut holding = self.lock();
        std::mem::swap(&mut holding.state.nic, units);
        std::mem::swap(&mut holding.collector, collector);
    }

    /// Says what there is to know of the machine from now on.
    pub fn know(&self, shape: Shape) {
        self.lock().state.interpreter.shape = Arc::new(shape);
    }

    /// Says which contexts somebody has.
    pub fn hold(&self, held: Vec<ContextId>) {
        self.lock().held = Some(held);
    }

    /// Gives the moment up to which it was run.
    pub fn edge(&self) -> Time {
        let holding = self.lock();
        holding.clock().time(holding.edge)
    }

    /// Tells whether the NIC is where it was never before.
    pub fn is_at_edge(&self) -> bool {
        let holding = self.lock();
        holding.state.reached.cycle >= holding.edge
    }

    /// Tells whether nothing happens until a frame comes.
    pub fn rests(&self) -> bool {
        self.lock().rests()
    }

    /// Has frames come now.
    pub fn put(&self, offers: Vec<Offer>) {
        let mut holding = self.lock();
        let at = holding.clock().time(holding.edge);
        if !offers.is_empty() {
            holding.tape.put(at, offers);
        }
    }

    /// Takes what the NIC has done for the first time.
    pub fn take_effects(&self) -> Effects {
        std::mem::take(&mut self.lock().effects)
    }

    /// Tells whether frames are kept that nobody needs, or more than so many bytes of them.
    pub fn is_full(&self, most: u64) -> bool {
        let holding = self.lock();
        holding.tape.bytes() > if holding.stays.is_some() { 0 } else { most }
    }

    /// Forgets the frames that the NIC has taken; it is not gone back behind here.
    pub fn forget(&self) {
        let holding = &mut *self.lock();
        holding.state.place = holding.tape.forget(holding.state.place);
    }
}

impl Holding {
    fn clock(&self) -> Clock {
        self.state.interpreter.shape.clock
    }

    fn rests(&self) -> bool {
        self.state.reached.rests && self.tape.is_played(self.state.place)
    }

    /// Runs what was never run, and passes on what happens.
    fn run_on(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<()> {
        let Self { state, collector, tape, effects, held, .. } = self;
        let mut also = |event: &Event<'_>| {
            match event {
                Event::PacketDone(record) => effects.0.push(Effect::Done(record.context)),
                Event::HandlerFault { context, .. } => {
                    // Handlers of a context that was released are ended: that is no fault of theirs.
                    if held.as_ref().is_some_and(|held| !held.contains(context)) {
                        return effects.0.push(Effect::LeftBehind);
                    }
                    effects.0.push(Effect::Failed(*context));
                }
                _ => {}
            }
            collector.ears(effects).hear(event);
        };
        state.run(tape, cycle, log, Some(&mut also))?;
        collector.take_error().map_or(Ok(()), Err)?;
        self.edge = self.state.reached.cycle.max(self.edge);
        Ok(())
    }
}

impl Drive for Loan {
    type Node = Units;

    fn look<R>(&self, look: impl FnOnce(&Units) -> R) -> R {
        look(&self.lock().state.nic)
    }

    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached> {
        let holding = &mut *self.lock();
        let known = cycle.min(holding.edge);
        if holding.state.reached.cycle < known {
            holding.state.run(&mut holding.tape, known, log, None)?;
        }
        let has_ended = holding.state.reached.ended.is_some();
        if cycle > holding.edge && !has_ended && !holding.rests() {
            holding.run_on(cycle, log)?;
        }
        Ok(holding.state.reached.clone())
    }

    fn save(&self) -> Result<Saved> {
        let holding = self.lock();
        match &holding.stays {
            None => Ok(Saved::new(holding.state.clone())),
            Some(why) => Err(Error::Usage(why.clone())),
        }
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let state = saved.get::<State>();
        let state = state.map_err(|error| Error::part("cannot go back", error))?;
        self.lock().state.clone_from(state);
        Ok(())
    }
}
