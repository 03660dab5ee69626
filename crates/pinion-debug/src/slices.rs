//! Nodes whose run comes slice by slice, as it came live: frames at the beginning of each, and the cycle that it
//! ends in front of. What came in is kept, so it can come as often as somebody goes back.
//!
//! Nobody cuts a slice, for where cores share memory that may be another run: a node is usually somewhat further
//! than the position. To be seen in a cycle it is cut there once, and goes back to where it was. The slices are
//! all there, in a recording; or the run goes on, with what comes next.

mod again;
mod ongoing;
mod places;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinion_app::error::{Error, Result};
use pinion_app::tape::Played;
use pinion_run::live::{Cycles, Inside};
use pinion_sim::node::Saved;
use pinion_sim::{Clock, Time};

use crate::drive::Drive;
use crate::hearer::Hearer;
use crate::log::Log;
use crate::nano;
use crate::tap::Tap;
use crate::terms::Reached;

pub use again::{Kept, Origins};
use ongoing::Ongoing;
pub use ongoing::{Done, GoesOn, Passed, Said};
pub use places::{Begun, Origin, node, service};

/// Nodes behind a wire, one of which is looked at.
pub trait Place<K: Hearer>: Inside {
    /// Looks at it.
    fn look<R>(&self, number: usize, look: impl FnOnce(&K::Node) -> R) -> R;

    /// Counts the others.
    fn others(&self) -> u64;
}

/// A slice: the frames that come at its beginning, and the cycle that it ends in front of.
struct Slice {
    frames: Vec<Vec<u8>>,
    until: u64,
}

/// A run in slices; both ends of it are alike, the debugger's and that of whoever runs it live.
pub struct Slices<I, K: Hearer>(Arc<Mutex<Course<I, K>>>);

impl<I, K: Hearer> Clone for Slices<I, K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Course<I, K: Hearer> {
    cycles: Cycles<I>,
    /// The node that is looked at; the clock in whose cycles slices are counted, and its own.
    number: usize,
    clock: Clock,
    own: Clock,
    tap: Tap<K>,
    slices: Vec<Slice>,
    /// Slices that are over, and whether the frames of the next one have come.
    over: usize,
    begun: bool,
    reached: Reached,
    shown: Option<K::Node>,
    dwells: bool,
    /// `None`: the slices are all there.
    ongoing: Option<Ongoing>,
}

/// What is saved of it.
struct State<K> {
    cycles: Saved,
    over: usize,
    begun: bool,
    interpreter: K,
    reached: Reached,
}

impl<I: Place<K>, K: Hearer> Slices<I, K> {
    /// Puts nodes that have done nothing before what came in.
    ///
    /// # Errors
    /// When the recording is damaged.
    fn recorded(
        inside: I,
        number: usize,
        (clock, own): (Clock, Clock),
        tap: Tap<K>,
        mut played: Played,
    ) -> Result<Self> {
        let mut slices = Vec::new();
        while let Some(until) = played.until() {
            let mut frames = Vec::new();
            while let Some((_, frame)) = played.frame()? {
                frames.push(frame);
            }
            slices.push(Slice { frames, until });
            if !played.turn() {
                break;
            }
        }
        let cycles = Cycles::new(inside, clock, played.ready);
        let course = Course::new(cycles, number, (clock, own), tap);
        Ok(Self(Arc::new(Mutex::new(Course { slices, ..course }))))
    }

    /// Only a thread that panics leaves it poisoned, and that ends the run anyway.
    fn lock(&self) -> MutexGuard<'_, Course<I, K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I: Place<K>, K: Hearer> Course<I, K> {
    fn new(cycles: Cycles<I>, number: usize, (clock, own): (Clock, Clock), tap: Tap<K>) -> Self {
        Self {
            cycles,
            number,
            clock,
            own,
            tap,
            slices: Vec::new(),
            over: 0,
            begun: false,
            reached: Reached::default(),
            shown: None,
            dwells: false,
            ongoing: None,
        }
    }

    fn look<R>(&self, look: impl FnOnce(&K::Node) -> R) -> R {
        self.cycles.inside.look(self.number, look)
    }

    /// Gives the cycle before which everything of a node's cycle has happened.
    fn behind(&self, cycle: u64) -> u64 {
        self.clock.cycle_at(self.own.time(cycle)) + 1
    }

    /// Does what the next slice did, or the rest of it, until a cycle at most if it may be cut; `false`: there
    /// is none.
    fn repeat(&mut self, cut: Option<u64>) -> Result<bool> {
        let Some(slice) = self.slices.get(self.over) else { return Ok(false) };
        let until = cut.map_or(slice.until, |cut| cut.min(slice.until));
        let frames = if self.begun { Vec::new() } else { slice.frames.clone() };
        self.begun = until < slice.until;
        self.over += usize::from(!self.begun);
        self.cycles.slice(frames, until, &mut |_| {})?;
        Ok(true)
    }

    /// Goes on by a slice; `false`: it does not.
    fn go_on(&mut self, until: u64) -> Result<bool> {
        let cut = self.dwells.then_some(until);
        if self.repeat(cut)? {
            self.reached.rests = false;
        } else if self.ongoing.is_some() {
            if !self.go_further()? {
                self.reached.rests = true;
                return Ok(false);
            }
            self.reached.rests = false;
        } else {
            self.reached.ended = Some("the recording ends here".to_owned());
            return Ok(false);
        }
        let (inside, number) = (&mut self.cycles.inside, self.number);
        self.tap.hear(|interpreter, _| inside.look(number, |node| interpreter.learn(node)));
        self.reached.ended = inside.ended().as_ref().map(nano::words);
        Ok(true)
    }

    /// Notes how far it has come.
    fn arrive(&mut self, log: &mut Log<'_>) {
        let end = Time::from_ps(self.clock.time(self.cycles.now).ps().saturating_sub(1));
        self.reached.cycle = self.own.cycle_at(end);
        if self.reached.ended.is_some() {
            let last = log.heard.harts.last_cycle().unwrap_or(0);
            self.reached.cycle = self.reached.cycle.max(last);
        }
    }

    fn save(&self) -> Result<Saved> {
        let cycles = self.cycles.save();
        let cycles = cycles.map_err(|error| Error::part("cannot keep the run", error))?;
        let Self { over, begun, .. } = *self;
        let (interpreter, reached) = (self.tap.save(), self.reached.clone());
        Ok(Saved::new(State { cycles, over, begun, interpreter, reached }))
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let back = |error| Error::part("cannot go back", error);
        let state = saved.get::<State<K>>().map_err(back)?;
        self.cycles.restore(&state.cycles).map_err(back)?;
        self.tap.restore(&state.interpreter);
        (self.over, self.begun) = (state.over, state.begun);
        (self.reached, self.shown) = (state.reached.clone(), None);
        Ok(())
    }
}

impl<I: Place<K>, K: Hearer> Drive for Slices<I, K> {
    type Node = K::Node;

    fn look<R>(&self, look: impl FnOnce(&K::Node) -> R) -> R {
        self.lock().look(look)
    }

    fn look_shown<R>(&self, look: impl FnOnce(&K::Node) -> R) -> R {
        let course = self.lock();
        match &course.shown {
            Some(shown) => look(shown),
            None => course.look(look),
        }
    }

    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached> {
        let course = &mut *self.lock();
        course.shown = None;
        let until = course.behind(cycle);
        while course.reached.ended.is_none() && course.cycles.now < until {
            let goes_on = course.go_on(until)?;
            course.tap.drain(log);
            course.arrive(log);
            if !goes_on {
                break;
            }
        }
        Ok(course.reached.clone())
    }

    fn save(&self) -> Result<Saved> {
        self.lock().save()
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        self.lock().restore(saved)
    }

    fn show(&mut self, from: &Saved, cycle: u64, log: &mut Log<'_>) -> Result<()> {
        let course = &mut *self.lock();
        let here = course.save()?;
        course.restore(from)?;
        let until = course.behind(cycle);
        while course.cycles.now < until && course.repeat(Some(until))? {}
        course.tap.drain(log);
        let shown = course.look(K::Node::clone);
        course.restore(&here)?;
        course.shown = Some(shown);
        Ok(())
    }

    fn dwell(&mut self, in_every_cycle: bool) {
        self.lock().dwells = in_every_cycle;
    }

    fn others(&self) -> u64 {
        self.lock().cycles.inside.others()
    }
}
