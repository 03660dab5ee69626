//! Nodes live, whose time is counted in cycles: a nanoPU, or a cluster. Frames from the queue arrive one
//! behind the other; simulated time never runs ahead of the host's, and falls behind while there is more
//! work than the simulation can do in time.

use std::time::{Duration, Instant};

use pinion_observe::profile::Profile;
use pinion_observe::report::{Ending, Report};
use pinion_sim::node::{RestoreError, SaveError, Saved, flits};
use pinion_sim::{Clock, Time};

use super::guest::{Books, Lends, Lent};
use super::{Outside, SHORT_WAIT, Standing, Subject};
use crate::watch::{Observer, Progress, Seen};
use pinion_app::error::Result;
use pinion_app::tape::Played;

/// Cycles after which the device is looked at again while there is work.
const SLICE_CYCLES: u64 = 64_000;
/// Takes nodes in which nothing has moved for so many cycles for nodes that wait.
const SETTLED_CYCLES: u64 = 50_000;
/// Gives programs so many cycles to become ready.
const LONGEST_BOOT_CYCLES: u64 = 100_000_000;

/// What nodes hold that somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// Nothing.
    Nothing,
    /// Messages that it is for the other end, or for a program, to take.
    Messages,
    /// Work that goes on by itself.
    Work,
}

/// What runs behind the wire.
pub trait Inside {
    /// Takes a frame whose first flit arrives in a cycle.
    fn arrive(&mut self, first_flit: u64, frame: Vec<u8>);

    /// Does everything that happens before a cycle; what leaves goes to `sent`.
    ///
    /// # Errors
    /// When an output fails.
    fn run(&mut self, until: u64, sent: &mut dyn FnMut(&[u8])) -> Result<()>;

    /// Tells whether nothing happens until a frame comes.
    fn is_quiet(&mut self) -> bool;

    /// Tells whether programs take messages, where they need not rest to do so.
    fn is_ready(&mut self) -> bool;

    /// Says how programs have ended the run, if they have.
    fn ended(&mut self) -> Option<Ending>;

    /// Tells whether nobody wants to hear any more.
    fn is_unheard(&mut self) -> bool {
        false
    }

    /// Gives the last cycle in which something moved.
    fn moved(&mut self) -> u64;

    /// Tells what is inside.
    fn holds(&mut self) -> Holds;

    /// Tells the observer what programs printed and did wrong since it was told last.
    fn pass_on(&mut self, observer: &mut dyn Observer);

    /// Tells names and numbers of what units hold.
    fn state(&self, tell: &mut dyn FnMut(&str, u64));

    /// Listens to every instruction from now on, or no longer, where it can.
    fn listen(&mut self, _closely: bool) {}

    /// Gives where cycles went while it listened, by program.
    fn profiles(&self) -> Vec<Profile<'_>> {
        Vec::new()
    }

    /// Saves the nodes; what comes in is kept elsewhere, and so are books.
    ///
    /// # Errors
    /// When some of it lies outside the simulation.
    fn save(&self) -> std::result::Result<Saved, SaveError>;

    /// Goes to where the nodes were saved, or others that are built alike.
    ///
    /// # Errors
    /// When they were other nodes.
    fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError>;

    /// Gives books in which nothing is.
    fn blank_books(&self) -> Books;

    /// Has other books than its own from now on.
    fn exchange_books(&mut self, books: &mut Books);
}

/// Nodes behind a wire.
pub struct Cycles<I> {
    /// The nodes.
    pub inside: I,
    clock: Clock,
    /// Everything before this cycle has happened.
    pub now: u64,
    /// When programs were ready, which is when frames are taken.
    pub ready: u64,
    wire_free: u64,
    /// How a copy stands that goes on in its place, and the cycle that it has come to.
    copy: Option<(Standing, u64)>,
}

/// What is saved of nodes behind a wire.
struct State {
    inside: Saved,
    now: u64,
    ready: u64,
    wire_free: u64,
}

impl<I: Inside> Cycles<I> {
    /// Puts nodes behind a wire, whose programs are ready in a cycle.
    pub const fn new(inside: I, clock: Clock, ready: u64) -> Self {
        Self { inside, clock, now: 0, ready, wire_free: 0, copy: None }
    }

    /// Runs nodes until their programs are ready for frames.
    ///
    /// # Errors
    /// When an output fails.
    pub fn boot(
        inside: I,
        clock: Clock,
        outside: &mut Outside,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let mut cycles = Self::new(inside, clock, 0);
        cycles.get_ready(observer, |cycles, until| cycles.run(until, outside))?;
        Ok(cycles)
    }

    /// Has `run` run nodes up to a cycle, again and again, until their programs are ready for frames.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn get_ready(
        &mut self,
        observer: &mut dyn Observer,
        mut run: impl FnMut(&mut Self, u64) -> Result<()>,
    ) -> Result<()> {
        while self.now < LONGEST_BOOT_CYCLES
            && !self.inside.is_quiet()
            && self.inside.ended().is_none()
        {
            run(self, self.now + SLICE_CYCLES)?;
            self.inside.pass_on(observer);
            if self.inside.is_ready() && self.is_still() {
                break;
            }
        }
        self.ready = self.now;
        Ok(())
    }

    /// Runs nodes as they ran live, until a cycle at most: with the same frames, slice by slice; what they
    /// send goes nowhere.
    ///
    /// # Errors
    /// When the recording is damaged, or an output fails.
    pub fn play(
        inside: I,
        clock: Clock,
        (played, end): (&mut Played, u64),
        observer: &mut dyn Observer,
    ) -> Result<(Self, Duration)> {
        let start = Instant::now();
        let mut cycles = Self::new(inside, clock, played.ready);
        while let Some(until) = played.until() {
            let mut frames = Vec::new();
            while let Some((_, frame)) = played.frame()? {
                frames.push(frame);
            }
            cycles.slice(frames, until.min(end), &mut |_| {})?;
            cycles.inside.pass_on(observer);
            let progress = Progress::live(clock.time(cycles.now), start);
            let goes_on = observer.goes_on(&progress) && !cycles.inside.is_unheard();
            if !goes_on || until >= end || !played.turn() {
                break;
            }
        }
        Ok((cycles, start.elapsed()))
    }

    /// Does what a slice of a live run does: its frames come, and what they lead to before a cycle; what is
    /// sent goes to `sent`.
    ///
    /// # Errors
    /// When an output fails.
    pub fn slice(
        &mut self,
        frames: impl IntoIterator<Item = Vec<u8>>,
        until: u64,
        sent: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        for frame in frames {
            self.arrive_at(0, frame);
        }
        self.inside.run(until, sent)?;
        self.now = self.now.max(until);
        Ok(())
    }

    /// Saves nodes and times.
    ///
    /// # Errors
    /// When some of it lies outside the simulation.
    pub fn save(&self) -> std::result::Result<Saved, SaveError> {
        let Self { now, ready, wire_free, .. } = *self;
        Ok(Saved::new(State { inside: self.inside.save()?, now, ready, wire_free }))
    }

    /// Goes to where they were saved, or others that are built alike.
    ///
    /// # Errors
    /// When they were other nodes.
    pub fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError> {
        let State { inside, now, ready, wire_free } = saved.get()?;
        self.inside.restore(inside)?;
        (self.now, self.ready, self.wire_free) = (*now, *ready, *wire_free);
        Ok(())
    }

    /// Tells how it stands.
    pub fn standing(&mut self) -> Standing {
        if self.inside.ended().is_some() {
            return Standing::Ended;
        }
        if self.inside.is_quiet() {
            return Standing::Idle;
        }
        if !self.is_still() {
            return Standing::Works;
        }
        match self.inside.holds() {
            Holds::Nothing => Standing::Idle,
            Holds::Messages => Standing::Waits,
            Holds::Work => Standing::Works,
        }
    }

    /// Lets a frame arrive in a cycle, behind those before and what has happened.
    pub fn arrive_at(&mut self, cycle: u64, frame: Vec<u8>) {
        let first = self.wire_free.max(self.now + 1).max(cycle);
        self.wire_free = first + flits(frame.len());
        self.inside.arrive(first, frame);
    }

    /// Tells whether frames are still to arrive.
    pub fn awaits(&self) -> bool {
        self.wire_free > self.now
    }

    /// Tells whether nothing has moved for a while.
    fn is_still(&mut self) -> bool {
        self.now > self.inside.moved() + SETTLED_CYCLES
    }

    fn run(&mut self, until: u64, outside: &mut Outside) -> Result<()> {
        self.inside.run(until, &mut |frame| outside.device.send(frame))?;
        self.now = self.now.max(until);
        outside.queue.ran(until);
        outside.device.take_error()
    }
}

/// Nodes behind a wire, and how they are summed up.
pub(crate) struct Summed<I, F> {
    /// The nodes.
    pub cycles: Cycles<I>,
    /// Sums up what they have done so far.
    pub report: F,
}

impl<I: Inside, F: FnMut(&mut Cycles<I>) -> Box<dyn Report>> Seen for Summed<I, F> {
    fn report(&mut self) -> Box<dyn Report> {
        (self.report)(&mut self.cycles)
    }

    fn simulated(&self) -> Time {
        let Cycles { clock, now, copy, .. } = &self.cycles;
        clock.time(copy.map_or(*now, |(_, now)| now))
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.cycles.inside.state(tell);
    }

    fn listen(&mut self, closely: bool) {
        self.cycles.inside.listen(closely);
    }

    fn profiles(&self) -> Vec<Profile<'_>> {
        self.cycles.inside.profiles()
    }
}

impl<I: Inside, F: FnMut(&mut Cycles<I>) -> Box<dyn Report>> Subject for Summed<I, F> {
    fn standing(&mut self) -> Standing {
        let Cycles { copy, .. } = &self.cycles;
        copy.map_or_else(|| self.cycles.standing(), |(standing, _)| standing)
    }

    fn simulate(&mut self, outside: &mut Outside, observer: &mut dyn Observer) -> Result<()> {
        self.cycles.simulate(outside, observer)
    }

    fn lend(&mut self) -> Lent<'_> {
        Lent::Nodes(&mut self.cycles)
    }
}

impl<I: Inside> Cycles<I> {
    fn simulate(&mut self, outside: &mut Outside, observer: &mut dyn Observer) -> Result<()> {
        let host = self.ready + self.clock.cycle_at(outside.clock.now());
        if self.inside.is_quiet() {
            // Idle time costs nothing.
            self.run(host.max(self.now), outside)?;
        }
        while let Some((_, frame)) = outside.queue.take() {
            self.arrive_at(0, frame);
        }
        let standing = self.standing();
        if standing == Standing::Works || standing == Standing::Waits {
            let (started, before) = (Instant::now(), self.now);
            let until = (before + SLICE_CYCLES).min(host.max(before + SETTLED_CYCLES));
            self.run(until, outside)?;
            outside.pace.add((self.clock.time(self.now - before), started.elapsed()));
            if self.now > host && standing == Standing::Works {
                outside.device.wait(SHORT_WAIT)?;
            }
        }
        self.inside.pass_on(observer);
        Ok(())
    }
}

impl<I: Inside> Lends for Cycles<I> {
    fn save(&self) -> std::result::Result<Saved, SaveError> {
        self.save()
    }

    fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError> {
        self.restore(saved)
    }

    fn exchange_books(&mut self, books: &mut Books) {
        self.inside.exchange_books(books);
    }

    fn stand_for(&mut self, copy: Option<(Standing, u64)>) {
        self.copy = copy;
    }
}
