//! A run of a nanoservice: a program on its machine, what comes in and what is written come in; a
//! summary goes out.
//!
//! Node and outside stand at the ends of a link. Requests begin when the program is ready: when
//! nothing happens any more, because every hart polls or waits for a message. The run ends when the
//! program exits, when the requests are over and nothing happens any more, or when no message has
//! moved for a while.

use std::borrow::Borrow;
use std::time::Instant;

use pinion_nanopu::Cycle;
use pinion_nanopu::node::{self, NodeEnd};
use pinion_net::link::{Link, Pair};
use pinion_net::load::{Peer as _, PeerEnd};
use pinion_sim::node::{Node as _, RestoreError, SaveError, Saved};

use super::ears::Ears;
use super::frames::{Frames, Matching, Outputs};
use super::hang;
#[cfg(target_os = "linux")]
use super::live;
use super::outside::{Outside, Traffic};
use super::said::Said;
use super::setup::Setup;
use super::summary::{Summary, sum_up};
use super::wire::Wire;
use crate::watch::{Observer, Progress, Slice};
use pinion_app::error::{Error, Result};
use pinion_app::service::Service;
use pinion_hardware::choice::Choice;
use pinion_observe::report::Ending;
pub use pinion_observe::settling::Settling;

/// Cycles from reset to the first look at how the run stands; each look is twice as far from the one
/// before, up to [`MOST_LOOK_CYCLES`]. They are the same on every host: where cores that share memory
/// are cut, and when requests begin, must not depend on how fast it simulates.
const FIRST_LOOK_CYCLES: Cycle = 20_000;
/// Cycles between two looks at most.
const MOST_LOOK_CYCLES: Cycle = 32 * FIRST_LOOK_CYCLES;
/// The largest number of looks between two calls of the observer.
const MOST_LOOKS: u64 = 256;
/// Takes a program that goes on without a message to do for one that is ready, or through, after
/// this many cycles: programs that use a timer never rest.
const SETTLED_CYCLES: Cycle = 50_000;
/// The other end's address when nothing says otherwise (that of the published load generator).
pub const PEER_IP: u32 = 0x0a00_0001;

/// Ends a run in which no message has moved for so many cycles: 3 ms.
pub const PATIENCE_CYCLES: u64 = 10_000_000;

/// Tells how to run.
pub struct RunOptions {
    /// Supplies requests.
    pub traffic: Traffic,
    /// Acknowledges what the node sends.
    pub answers: bool,
    /// Ends the run after so many cycles from reset.
    pub cycles: Option<Cycle>,
    /// Ends it when no message has moved for so many cycles.
    pub patience: Cycle,
    /// The latency of the link, one way.
    pub link_cycles: Cycle,
    /// Begins requests in this cycle instead of when the program is ready.
    pub start: Option<Cycle>,
    /// The units that are hardware.
    pub hardware: Option<Choice>,
}

impl RunOptions {
    /// Asks a program that is acknowledged, over the published evaluation's link.
    pub fn of(traffic: Traffic) -> Self {
        Self {
            traffic,
            answers: true,
            cycles: None,
            patience: PATIENCE_CYCLES,
            link_cycles: Link::PUBLISHED_CYCLES,
            start: None,
            hardware: None,
        }
    }
}

type Ends<L> = Pair<NodeEnd<Ears<L>>, PeerEnd<Outside>>;

/// Runs a nanoservice to its end, or until the observer stops it; `listener` hears everything.
///
/// # Errors
/// When an input or an output fails; no output is then left under its final name.
pub fn run<L: Settling>(
    service: &Service,
    setup: &Setup,
    options: RunOptions,
    outputs: &Outputs,
    observer: &mut dyn Observer,
    listener: L,
) -> Result<Summary> {
    #[cfg(target_os = "linux")]
    if let Traffic::Live(recorded) = &options.traffic {
        let until = options.cycles.unwrap_or(Cycle::MAX);
        return live::replay(service, setup, (recorded, until), outputs, observer, listener);
    }
    Run::new(service, setup, options, outputs, listener)?.run(setup, observer)
}

/// A run as it goes on.
pub struct Run<S, L> {
    pair: Ends<L>,
    service: S,
    contexts: u16,
    answers: bool,
    cycles: Cycle,
    patience: Cycle,
    start: Option<Cycle>,
    said: Said,
    /// The last cycle in which something moved on, as far as seen.
    moved: Cycle,
    /// When the program was ready.
    ready: Option<Cycle>,
    /// The program goes on without a message to do.
    restless: bool,
    host: Instant,
}

/// What is saved of a run.
struct State {
    pair: Saved,
    moved: Cycle,
    ready: Option<Cycle>,
    restless: bool,
}

impl<S: Borrow<Service>, L: Settling> Run<S, L> {
    /// Puts a nanoservice and its requests at the ends of a link; nothing has happened yet.
    ///
    /// # Errors
    /// As [`run`].
    pub fn new(
        service: S,
        setup: &Setup,
        options: RunOptions,
        outputs: &Outputs,
        listener: L,
    ) -> Result<Self> {
        let mut node = setup.node(service.borrow())?;
        if let Some(hardware) = &options.hardware {
            hardware.seat_in_node(&mut node, &setup.machine.value)?;
        }
        let matching = match &options.traffic {
            Traffic::Load(spec) | Traffic::Announced(spec) => spec.matching_word(),
            _ => None,
        };
        let matching = matching.map_or(Matching::Oldest, Matching::Word);
        let frames = Frames::new(outputs, Wire::new(setup, PEER_IP), matching, setup.clock)?;
        let outside =
            Outside::new(options.traffic, Wire::new(setup, PEER_IP), options.answers, setup.clock)?;
        let link = Link::new(options.link_cycles);
        let ears = Ears::new(node.harts(), frames, listener);
        let pair = Pair::new(NodeEnd::new(node, ears), PeerEnd::new(outside), &link);
        Ok(Self {
            pair: pair.map_err(|error| Error::part("cannot link node and traffic", error))?,
            service,
            contexts: setup.machine.value.hart_interface.contexts,
            answers: options.answers,
            cycles: options.cycles.unwrap_or(Cycle::MAX),
            patience: options.patience,
            start: options.start,
            moved: 0,
            said: Said::new(setup.machine.value.core.count as usize),
            ready: None,
            restless: false,
            host: Instant::now(),
        })
    }

    /// Keeps what comes in, so that the run can be saved.
    pub fn keep(&mut self) {
        self.pair.b.peer_mut().keep();
    }

    /// Gives the node.
    pub fn node(&self) -> &node::Node {
        &self.pair.a.node
    }

    /// Gives the first cycle that was not run.
    pub fn now(&self) -> Cycle {
        self.pair.now()
    }

    /// Runs up to a cycle, wherever that cuts a window. What happens from then on may be another run's
    /// where harts share memory: it is for looking at the node there.
    ///
    /// # Errors
    /// As [`run`].
    pub fn cut(&mut self, until: Cycle, observer: &mut dyn Observer) -> Result<()> {
        while self.next_stop() < until {
            if self.run_to_next_look(Cycle::MAX, observer)?.is_some() {
                return Ok(());
            }
        }
        let cut = self.pair.run(until, |pair| !pair.a.has_ended());
        cut.map(drop).map_err(|error| Error::part("cannot write frames", error))
    }

    /// Saves the run; who listens to it is not part of that.
    ///
    /// # Errors
    /// When what comes in is not kept.
    pub fn save(&self) -> std::result::Result<Saved, SaveError> {
        let (moved, ready, restless) = (self.moved, self.ready, self.restless);
        Ok(Saved::new(State { pair: self.pair.save()?, moved, ready, restless }))
    }

    /// Goes to where the run was saved.
    ///
    /// # Errors
    /// When it was another run.
    pub fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError> {
        let State { pair, moved, ready, restless } = saved.get()?;
        self.pair.restore(pair)?;
        (self.moved, self.ready, self.restless) = (*moved, *ready, *restless);
        Ok(())
    }

    fn run(mut self, setup: &Setup, observer: &mut dyn Observer) -> Result<Summary> {
        let mut looks = Slice::new(1, MOST_LOOKS);
        let ending = loop {
            let ended = (0..looks.begin())
                .find_map(|_| self.run_to_next_look(Cycle::MAX, observer).transpose());
            if let Some(ending) = ended.transpose()? {
                break ending;
            }
            looks.end();
            // What is worth seeing early comes early.
            let (done, total) = self.pair.b.peer().progress();
            let simulated = setup.clock.time(self.pair.now());
            let progress = Progress { done, total, simulated, host: self.host.elapsed() };
            if !observer.goes_on(&progress) {
                break Ending::Interrupted;
            }
        };
        self.said.print(&self.pair.a.node, observer, true);
        self.conclude(setup, ending)
    }

    /// Runs to the next look, or only until a window ends behind a cycle, and says whether the run is over
    /// there. It is cut nowhere else, and so is the same however often it stops.
    ///
    /// # Errors
    /// As [`run`].
    pub fn run_to_next_look(
        &mut self,
        behind: Cycle,
        observer: &mut dyn Observer,
    ) -> Result<Option<Ending>> {
        let until = self.next_stop();
        let (mut error, mut stopped) = (None, false);
        let reached = self.pair.run(until, |pair| {
            let now = pair.now();
            error = pair.a.ears.other.settle(now).err();
            let goes_on = error.is_none() && !pair.a.has_ended() && !pair.a.ears.other.is_over();
            stopped = goes_on && now > behind;
            goes_on && !stopped
        });
        if let Some(error) = error {
            return Err(error);
        }
        if let Some(failure) = self.pair.a.node.hardware_failure() {
            return Err(Error::Other(failure.into()));
        }
        if self.pair.a.ears.other.is_over() {
            return Ok(Some(Ending::Interrupted));
        }
        let reached = reached.map_err(|error| Error::part("cannot write frames", error))?;
        if stopped && reached < until {
            return Ok(None);
        }
        self.after_look(reached, observer)?;
        let rests = reached < until && !self.pair.a.has_ended();
        let ending = self.ending(reached, rests);
        match self.pair.b.peer_mut().take_error() {
            Some(error) => Err(error),
            None => Ok(ending),
        }
    }

    /// Gives the cycle up to which the run goes before anything is decided about it.
    fn next_stop(&self) -> Cycle {
        let now = self.pair.now();
        let start = self.start.filter(|_| self.ready.is_none()).unwrap_or(Cycle::MAX);
        next_look(now).min(self.cycles).min(start.max(now + 1))
    }

    /// Passes on what happened since the last look.
    fn after_look(&mut self, now: Cycle, observer: &mut dyn Observer) -> Result<()> {
        let end = &mut self.pair.a;
        end.ears.frames.settle(now)?;
        self.moved = self.moved.max(self.pair.a.moved().min(now));
        if self.said.print(&self.pair.a.node, observer, false) {
            self.moved = now;
        }
        self.said.warn(&self.pair.a.node, self.service.borrow(), observer);
        Ok(())
    }

    /// Decides whether the run is over, or its requests begin.
    fn ending(&mut self, now: Cycle, rests: bool) -> Option<Ending> {
        match self.pair.a.progress {
            node::Progress::Exited { code, at } => return Some(Ending::Exited { code, at }),
            node::Progress::Stopped { why, at } => {
                return Some(Ending::Stopped { why: why.to_owned(), at });
            }
            node::Progress::Running | node::Progress::Quiet => {}
        }
        let still = now.saturating_sub(self.moved);
        if self.ready.is_none() {
            let settled = || still >= SETTLED_CYCLES && self.serves() && self.is_empty();
            if rests || self.start.map_or_else(settled, |start| now >= start) {
                // What rests does so until then.
                let begin = self.start.unwrap_or(now).max(now);
                self.ready = Some(begin);
                self.moved = self.moved.max(begin);
                self.pair.b.peer_mut().start(begin);
                let has_requests = !self.pair.b.peer().is_done(begin);
                return (rests && !has_requests).then(|| self.rest());
            }
        } else if rests {
            return Some(self.rest());
        } else if still >= SETTLED_CYCLES && self.is_through(now) {
            self.restless = true;
            return Some(self.rest());
        }
        if now >= self.cycles {
            return Some(Ending::CycleLimit);
        }
        // A program that has nothing to do until the next request comes does not hang.
        let awaits = self.pair.a.is_quiet() && self.ready.is_some()
            || self.is_empty() && self.ready.is_some() && !self.pair.b.peer().is_done(now);
        (still >= self.patience && !awaits).then(|| self.stuck())
    }

    /// Tells whether a hart serves a context.
    fn serves(&self) -> bool {
        (0..self.contexts).any(|context| self.pair.a.node.receive().serves(context))
    }

    /// Tells whether no message is inside the node, as far as programs can help it.
    fn is_empty(&self) -> bool {
        self.is_read() && self.pair.a.begun(self.contexts) == 0
    }

    /// Tells whether every message has been read, and every one that was begun has been sent.
    fn is_read(&self) -> bool {
        let end = &self.pair.a;
        let undelivered = end.node.transmit().resident();
        let mut undelivered = undelivered.filter(|m| self.answers || m.words_missing > 0);
        end.node.receive().is_empty()
            && end.unread_words(self.contexts) == 0
            && undelivered.next().is_none()
    }

    /// Tells whether the requests are over and the program has nothing to do. A script's are when the
    /// answers are there: programs need not tell the NIC that they are done with a message.
    fn is_through(&self, now: Cycle) -> bool {
        let peer = self.pair.b.peer();
        peer.is_done(now) && (self.is_empty() || peer.is_script() && self.is_read())
    }

    /// Gives the ending of a run in which nothing happens any more.
    fn rest(&self) -> Ending {
        let end = &self.pair.a;
        let is_written = |m: pinion_nanopu::nic::transmit::counters::Resident| {
            m.words_missing > 0 || self.answers
        };
        let holds = !end.node.receive().is_empty()
            || end.unread_words(self.contexts) > 0
            || end.node.transmit().resident().any(is_written);
        if holds { self.stuck() } else { Ending::Finished }
    }

    fn stuck(&self) -> Ending {
        Ending::Stuck(hang::describe(
            &self.pair.a.node,
            &self.service.borrow().image,
            self.contexts,
        ))
    }

    fn conclude(self, setup: &Setup, ending: Ending) -> Result<Summary> {
        let now = self.pair.now();
        let ready = self.ready.filter(|ready| *ready <= now);
        let (mut end, peer) = self.pair.finish();
        end.ears.other.settle(Cycle::MAX)?;
        let peer = peer.into_peer();
        let why_nothing = peer.why_nothing(now);
        let (load, differences) = peer.finish();
        let (counts, latency) = end.ears.frames.finish()?;
        let at = (now, ready);
        let mut summary =
            sum_up(self.service.borrow(), setup, &end, ending, at, (counts, &latency));
        summary.host = self.host.elapsed();
        summary.section.load = load;
        summary.differences = differences;
        if self.restless {
            let remark = "the program goes on, but has nothing to do: the run ends here";
            summary.remarks.push(remark.to_owned());
        }
        let why = summary.section.why_silent(&summary.ending, &why_nothing);
        summary.remarks.extend(why);
        Ok(summary)
    }
}

/// Gives the cycle of the first look after `now`.
fn next_look(now: Cycle) -> Cycle {
    let mut step = FIRST_LOOK_CYCLES;
    while step < MOST_LOOK_CYCLES && 2 * step - FIRST_LOOK_CYCLES <= now {
        step *= 2;
    }
    let last = step - FIRST_LOOK_CYCLES;
    last + (now.saturating_sub(last) / step + 1) * step
}

/// Describes a hart's first read of an empty queue.
pub fn empty_read(node: &node::Node, service: &Service, hart: usize) -> Option<String> {
    let (pc, cycle) = node.core(hart).first_empty_read?;
    let context = node.interface(hart).misuse().first_empty_context.unwrap_or(0);
    Some(format!(
        "hart {hart} read x30 and nothing was there, at {} in the thread of context {context}, \
         cycle {cycle}; what such a read gives is undefined: wait for a message, and read no more \
         words than its header announces",
        hang::at(&service.image, pc)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_often_at_first() {
        let looks = std::iter::successors(Some(0), |now| Some(next_look(*now)));
        let looks: Vec<Cycle> = looks.skip(1).take(9).map(|cycle| cycle / 1000).collect();
        assert_eq!(looks, [20, 60, 140, 300, 620, 1_260, 1_900, 2_540, 3_180]);
        // A run that was cut goes on to the same looks.
        for now in [1, 19_999] {
            assert_eq!(next_look(now), 20_000);
        }
        assert_eq!(next_look(59_999), 60_000);
        assert_eq!(next_look(1_260_001), 1_900_000);
    }
}
