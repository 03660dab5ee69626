//! A live NIC that is lent to a debugger, turn by turn. Whoever runs it has it between turns, so a [`Loan`] has
//! two ends: one takes the NIC in and gives it back, the other one is the debugger's.
//!
//! Simulated time goes on only as the debugger lets it. What comes meanwhile is put on a tape with the moment at
//! which it was there, and what host programs write into memory that they share is kept as the NIC reads it; so
//! the run can be gone back in and comes out the same. A copy of the NIC goes back: the NIC itself stays where
//! it was never before, with what other processes see of it. What it does is passed on when it does it for the
//! first time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinion_app::error::{Error, Result};
use pinion_host::{Exchange, Known};
use pinion_observe::fault::Fault;
use pinion_observe::report::{Collector, Sink};
use pinion_observe::trace::Tracer;
use pinion_sim::node::Saved;
use pinion_sim::{Clock, Time};
use pinion_spin::{ContextId, Event, Hears as _, Offer, Units};

use super::alone::{State, play};
use super::ears::{Interpreter, Shape};
use super::tape::{Place, Tape, Written};
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
    /// The NIC, or the copy of it that has gone back.
    state: State,
    /// The NIC itself, while a copy of it is somewhere behind.
    away: Option<Away>,
    /// Keeps what host programs write.
    exchange: Exchange,
    /// Where it cannot be gone back behind.
    beginning: Option<Moment>,
    collector: Collector,
    tape: Tape,
    /// The last cycle that was ever run, behind which everything is new.
    edge: u64,
    effects: Effects,
    /// Contexts that somebody has; `None`: all of them.
    held: Option<Vec<ContextId>>,
    /// It is not to go on, for host programs have changed it while a copy was behind.
    halts: bool,
}

/// A NIC that stays while a copy of it is behind, and what the copy knows of host programs.
struct Away {
    present: State,
    exchange: Exchange,
}

/// A NIC as it was, and what it knew of memory that it shares.
#[derive(Clone)]
struct Moment {
    state: State,
    known: Known,
}

/// Cycles for which a NIC goes on, where somebody wants to hear what comes of packets that are inside.
const FURTHER_CYCLES: u64 = 1_000_000;

impl Loan {
    /// Makes a loan of what stands in for a NIC that has come to a cycle.
    pub fn new(shape: Arc<Shape>, lent: Lent, cycle: u64) -> Self {
        let reached = Reached { cycle, ..Reached::default() };
        let (place, interpreter) = (Place::default(), Interpreter::new(shape));
        Self(Arc::new(Mutex::new(Holding {
            state: State { nic: lent.units, place, interpreter, reached },
            away: None,
            exchange: Exchange::keeping(),
            beginning: None,
            collector: lent.collector,
            tape: Tape::default(),
            edge: cycle,
            effects: Effects::default(),
            held: None,
            halts: false,
        })))
    }

    /// Only a thread that panics leaves it poisoned, and that ends the run anyway.
    fn lock(&self) -> MutexGuard<'_, Holding> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a NIC in or gives it back, for what is there instead.
    pub fn exchange(&self, units: &mut Units, collector: &mut Collector) {
        let mut holding = self.lock();
        std::mem::swap(&mut holding.present().nic, units);
        std::mem::swap(&mut holding.collector, collector);
    }

    /// Begins to keep what is needed to go back, from here on.
    pub fn begin(&self) {
        let holding = &mut *self.lock();
        let exchange = holding.exchange.clone();
        holding.state.nic.keep_host(Some(exchange));
        holding.begin_anew();
    }

    /// Ends that; a copy that is behind is given up.
    pub fn end(&self) {
        let holding = &mut *self.lock();
        holding.come_home();
        holding.state.nic.keep_host(None);
    }

    /// Says what there is to know of the machine from now on: host programs have changed it. It is not to go on
    /// until what was before is forgotten.
    pub fn know(&self, shape: Shape) {
        let holding = &mut *self.lock();
        holding.present().interpreter.shape = Arc::new(shape);
        holding.halts = true;
    }

    /// Tells whether it is not to go on.
    pub fn halts(&self) -> bool {
        self.lock().halts
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

    /// Tells whether the NIC has taken all frames that have come.
    pub fn has_taken_all(&self) -> bool {
        let holding = self.lock();
        holding.tape.is_played(holding.state.place)
    }

    /// Has frames come now, behind what host programs have written.
    pub fn put(&self, offers: Vec<Offer>, written: Vec<Written>) {
        let mut holding = self.lock();
        let at = holding.clock().time(holding.edge);
        if !offers.is_empty() || !written.is_empty() {
            holding.tape.put(at, offers, written);
        }
    }

    /// Takes what the NIC has done for the first time.
    pub fn take_effects(&self) -> Effects {
        std::mem::take(&mut self.lock().effects)
    }

    /// Tells whether more than so many bytes are kept to go back by.
    pub fn is_full(&self, most: u64) -> bool {
        let holding = self.lock();
        holding.tape.bytes() + holding.exchange.bytes() > most
    }

    /// Forgets the frames that the NIC has taken; it is not gone back behind here.
    pub fn forget(&self) {
        let holding = &mut *self.lock();
        holding.state.place = holding.tape.forget(holding.state.place);
        holding.exchange.take();
        holding.halts = false;
        holding.begin_anew();
    }

    /// Has somebody hear all that is kept of the run, and how it would go on if nothing more came.
    ///
    /// # Errors
    /// When what is heard cannot be written.
    pub fn repeat(&self, tracer: &mut (dyn Tracer + Send)) -> Result<()> {
        let holding = &mut *self.lock();
        let Some(Moment { state, known }) = holding.beginning.clone() else { return Ok(()) };
        let State { mut nic, mut place, .. } = state;
        nic.keep_host(Some(holding.exchange.again(&known)));
        let clock = holding.clock();
        let end = tracer.end().min(clock.time(holding.edge + FURTHER_CYCLES));
        let mut now = nic.now();
        while now < end {
            now = end.min(now + clock.time(SETTLE_CYCLES));
            let (ended, rests) = play(&mut nic, (&mut holding.tape, &mut place), now, tracer);
            tracer.settle(now)?;
            if ended.is_some() || rests && holding.tape.is_played(place) {
                break;
            }
        }
        tracer.settle(Time::MAX)
    }
}

/// Cycles after which whoever hears a run again is told that it has come so far.
const SETTLE_CYCLES: u64 = 1_000;

impl Holding {
    fn clock(&self) -> Clock {
        self.state.interpreter.shape.clock
    }

    fn rests(&self) -> bool {
        self.state.reached.rests && self.tape.is_played(self.state.place)
    }

    /// Gives the NIC itself.
    fn present(&mut self) -> &mut State {
        self.away.as_mut().map_or(&mut self.state, |away| &mut away.present)
    }

    /// Gives the copy up that was behind, if one was.
    fn come_home(&mut self) {
        if let Some(away) = self.away.take() {
            self.state = away.present;
        }
    }

    /// Gives the NIC or its copy as it is.
    fn moment(&self) -> Moment {
        let exchange = self.away.as_ref().map_or(&self.exchange, |away| &away.exchange);
        Moment { state: self.state.clone(), known: exchange.known() }
    }

    /// Lets the way back begin here.
    fn begin_anew(&mut self) {
        self.beginning = Some(self.moment());
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
        if holding.state.reached.cycle >= holding.edge {
            holding.come_home();
        }
        let has_ended = holding.state.reached.ended.is_some();
        if cycle > holding.edge && !has_ended && !holding.rests() && !holding.halts {
            holding.run_on(cycle, log)?;
        }
        let reached = holding.state.reached.clone();
        let halts = holding.halts && holding.away.is_none();
        Ok(Reached { rests: reached.rests || halts, ..reached })
    }

    fn save(&self) -> Result<Saved> {
        Ok(Saved::new(self.lock().moment()))
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let moment = saved.get::<Moment>();
        let Moment { state, known } =
            moment.map_err(|error| Error::part("cannot go back", error))?;
        let holding = &mut *self.lock();
        if state.reached.cycle >= holding.edge {
            holding.come_home();
            return Ok(());
        }
        let exchange = holding.exchange.again(known);
        let mut copy = state.clone();
        copy.nic.keep_host(Some(exchange.clone()));
        let before = std::mem::replace(&mut holding.state, copy);
        let present = holding.away.take().map_or(before, |away| away.present);
        holding.away = Some(Away { present, exchange });
        Ok(())
    }
}
