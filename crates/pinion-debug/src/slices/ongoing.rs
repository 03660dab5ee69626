//! A run in slices that goes on: it takes the place of one that is live, for as long as a debugger is there. What
//! comes is put in its way, and what it does for the first time is passed on.

use std::collections::VecDeque;

use pinion_app::error::{Error, Result};
use pinion_observe::report::Sink;
use pinion_run::live::guest::{Books, Lends};
use pinion_run::live::{Cycles, Standing};
use pinion_run::watch::Observer;
use pinion_sim::node::Saved;
use pinion_sim::{Clock, Time};

use super::{Course, Kept, Place, Slice, Slices};
use crate::hearer::Hearer;
use crate::tap::Tap;

/// Cycles of a slice.
const SLICE_CYCLES: u64 = 1_000;
/// Estimate of the bytes that a slice takes beside its frames.
const SLICE_BYTES: u64 = 64;

/// What belongs to a run that goes on.
pub struct Ongoing {
    /// The run where it cannot be gone back behind.
    beginning: Saved,
    /// The books of the run in whose place it goes on. They are its own only where it was never before.
    books: Books,
    /// Frames that have come and go with the next slice.
    coming: Vec<Vec<u8>>,
    /// The cycle before which everything has happened at least once.
    edge: u64,
    /// While it only waits for others, it goes no further.
    limit: u64,
    /// Bytes of what is kept to go back by.
    bytes: u64,
    /// Where slices ended that nobody was told of.
    ends: Vec<u64>,
    /// What slices did that nobody was told of, with their ends: the debugger may stop in the last one.
    done: VecDeque<(u64, Done)>,
}

/// How much of what was done the debugger has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// All of it.
    Everything,
    /// All but the last slice, in which it may stop.
    AllButLast,
    /// What happened up to a cycle of the node.
    UpTo(u64),
}

/// What a run did for the first time.
#[derive(Default)]
pub struct Done {
    /// Frames that left.
    pub left: Vec<Vec<u8>>,
    /// What programs printed, and what is wrong with them.
    pub said: Vec<Said>,
}

/// Something that an observer is told.
pub enum Said {
    /// Lines that were printed.
    Printed(String),
    /// A remark.
    Notice(String),
}

impl Sink for Done {}

impl Observer for Done {
    fn console(&mut self, text: &str) {
        self.said.push(Said::Printed(text.to_owned()));
    }

    fn notice(&mut self, text: &str) {
        self.said.push(Said::Notice(text.to_owned()));
    }
}

/// A run that goes on, for whoever had it go on.
pub trait GoesOn {
    /// Has frames come next.
    fn put(&self, frames: Vec<Vec<u8>>);

    /// Tells whether all frames that were put have come.
    fn has_taken_all(&self) -> bool;

    /// Lets it wait for others until a moment, not further.
    fn wait_until(&self, limit: Time);

    /// Tells whether it is where it was never before.
    fn is_at_edge(&self) -> bool;

    /// Gives the moment that it has come to at most, counted from when frames were taken first; and in cycles.
    fn edge(&self) -> (Time, u64);

    /// Takes the cycles in which slices ended for the first time.
    fn take_ends(&self) -> Vec<u64>;

    /// Takes what it has done for the first time, slice by slice, as far as the debugger has passed it.
    fn take_done(&self, passed: Passed) -> Vec<Done>;

    /// Tells whether more than so many bytes are kept to go back by.
    fn is_full(&self, most: u64) -> bool;

    /// Forgets what it would go back by: it does not go back behind here.
    ///
    /// # Errors
    /// When some of it lies outside the simulation.
    fn forget(&self) -> Result<()>;

    /// Gives what is kept of the run.
    fn kept(&self) -> Kept;

    /// Gives back what it came to.
    ///
    /// # Errors
    /// When it is no copy of that.
    fn give_back(&self, nodes: &mut dyn Lends) -> Result<()>;
}

impl<I: Place<K>, K: Hearer> Slices<I, K> {
    /// Goes on in the place of nodes, of which it is a copy.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn ongoing(
        inside: I,
        number: usize,
        (clock, own): (Clock, Clock),
        tap: Tap<K>,
        nodes: &mut dyn Lends,
    ) -> Result<Self> {
        let mut cycles = Cycles::new(inside, clock, 0);
        let saved = nodes.save().map_err(|error| Error::part("cannot go on in a copy", error))?;
        cycles.restore(&saved).map_err(|error| Error::part("cannot go on in a copy", error))?;
        let mut books = cycles.inside.blank_books();
        nodes.exchange_books(&mut books);
        let edge = cycles.now;
        tap.hear(|interpreter, _| cycles.inside.look(number, |node| interpreter.meet(node)));
        let mut course = Course::new(cycles, number, (clock, own), tap);
        let end = Time::from_ps(clock.time(edge).ps().saturating_sub(1));
        course.reached.cycle = own.cycle_at(end);
        let (coming, ends, done) = (Vec::new(), Vec::new(), VecDeque::new());
        let beginning = saved;
        let ongoing = Ongoing { beginning, books, coming, edge, limit: 0, bytes: 0, ends, done };
        course.ongoing = Some(ongoing);
        Ok(Self(std::sync::Arc::new(std::sync::Mutex::new(course))))
    }

    /// Gives the cycle of its own that it has come to.
    pub fn cycle(&self) -> u64 {
        self.lock().reached.cycle
    }

    /// Does something with what belongs to a run that goes on.
    fn with<R>(&self, with: impl FnOnce(&mut Course<I, K>, &mut Ongoing) -> R) -> R {
        let course = &mut *self.lock();
        let mut ongoing = course.ongoing.take().expect("it was made to go on");
        let given = with(course, &mut ongoing);
        course.ongoing = Some(ongoing);
        given
    }
}

impl<I: Place<K>, K: Hearer> Course<I, K> {
    /// Runs a slice that was never run; `false`: nothing happens until something comes.
    pub(super) fn go_further(&mut self) -> Result<bool> {
        let Some(ongoing) = &mut self.ongoing else { return Ok(false) };
        let Ongoing { books, coming, edge, limit, bytes, ends, done, .. } = ongoing;
        let stands = match self.cycles.standing() {
            Standing::Works => false,
            Standing::Waits => self.cycles.now >= *limit,
            Standing::Idle | Standing::Ended => true,
        };
        if stands && coming.is_empty() {
            return Ok(false);
        }
        let until = self.cycles.now + if self.dwells { 1 } else { SLICE_CYCLES };
        let frames = std::mem::take(coming);
        *bytes += SLICE_BYTES + frames.iter().map(|frame| frame.len() as u64).sum::<u64>();
        self.cycles.inside.exchange_books(books);
        let mut own = Done::default();
        let left = &mut own.left;
        let ran = self.cycles.slice(frames.clone(), until, &mut |frame| left.push(frame.to_vec()));
        self.cycles.inside.pass_on(&mut own);
        self.cycles.inside.exchange_books(books);
        ends.push(until);
        done.push_back((until, own));
        self.slices.push(Slice { frames, until });
        self.over += 1;
        *edge = until;
        ran.map(|()| true)
    }
}

impl<I: Place<K>, K: Hearer> GoesOn for Slices<I, K> {
    fn put(&self, frames: Vec<Vec<u8>>) {
        self.with(|_, ongoing| ongoing.coming.extend(frames));
    }

    fn has_taken_all(&self) -> bool {
        self.with(|_, ongoing| ongoing.coming.is_empty())
    }

    fn wait_until(&self, limit: Time) {
        self.with(|course, ongoing| {
            ongoing.limit = course.cycles.ready + course.clock.cycle_at(limit);
        });
    }

    fn is_at_edge(&self) -> bool {
        self.with(|course, ongoing| course.cycles.now >= ongoing.edge)
    }

    fn edge(&self) -> (Time, u64) {
        self.with(|course, ongoing| {
            let since = ongoing.edge.saturating_sub(course.cycles.ready);
            (course.clock.time(since), ongoing.edge)
        })
    }

    fn take_ends(&self) -> Vec<u64> {
        self.with(|_, ongoing| std::mem::take(&mut ongoing.ends))
    }

    fn take_done(&self, passed: Passed) -> Vec<Done> {
        self.with(|course, ongoing| {
            let is_passed = |until: u64| match passed {
                Passed::Everything => true,
                Passed::AllButLast => until < ongoing.edge,
                Passed::UpTo(cycle) => until <= course.behind(cycle),
            };
            let count = ongoing.done.partition_point(|(until, _)| is_passed(*until));
            ongoing.done.drain(..count).map(|(_, done)| done).collect()
        })
    }

    fn is_full(&self, most: u64) -> bool {
        self.with(|_, ongoing| ongoing.bytes > most)
    }

    fn forget(&self) -> Result<()> {
        self.with(|course, ongoing| {
            let saved = course.cycles.save();
            ongoing.beginning = saved.map_err(|error| Error::part("cannot keep the run", error))?;
            course.slices.drain(..course.over);
            (course.over, ongoing.bytes) = (0, 0);
            Ok(())
        })
    }

    fn kept(&self) -> Kept {
        self.with(|course, ongoing| Kept {
            beginning: ongoing.beginning.clone(),
            slices: course.slices.iter().map(|it| (it.frames.clone(), it.until)).collect(),
        })
    }

    fn give_back(&self, nodes: &mut dyn Lends) -> Result<()> {
        self.with(|course, ongoing| {
            let failed = |error| Error::part("cannot give the nodes back", error);
            let saved = course.cycles.save();
            let saved = saved.map_err(|error| Error::part("cannot give the nodes back", error))?;
            nodes.restore(&saved).map_err(failed)?;
            nodes.exchange_books(&mut ongoing.books);
            nodes.stand_for(None);
            Ok(())
        })
    }
}
