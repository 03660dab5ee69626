//! A node among others: a cluster's fabric gets on, and one of its nodes is debugged. All nodes are saved and
//! restored together, with the frames between them.
//!
//! A fabric goes on in windows that nobody cuts, so it is usually somewhat further than the position. To
//! be seen in a cycle, the fabric is cut there once, and goes back to where it was: what a node does in a
//! window depends on no other node. Only where memory that units write is watched, all nodes stop in
//! every cycle.

use std::sync::Arc;

use pinion_app::error::{Error, Result};
use pinion_nanopu::node::Node;
use pinion_net::fabric::{Alone, Fabric, Outcome, Status, Watcher};
use pinion_observe::report::Ending;
use pinion_run::cluster::{End, NodeTracer, Plan, RunOptions, Target, build, ended};
use pinion_sim::node::Saved;
use pinion_sim::{Clock, Time};
use pinion_spin::Units;

use crate::debuggee::Debuggee;
use crate::drive::Drive;
use crate::hearer::Hearer;
use crate::log::Log;
use crate::tap::Tap;
use crate::terms::Reached;
use crate::{nano, nic};

/// Where what is looked at is at its place in a fabric.
pub trait Kind: Hearer {
    /// Finds it.
    fn of<'a>(end: &'a End<'_>) -> Option<&'a Self::Node>;
}

impl Kind for nano::Interpreter {
    fn of<'a>(end: &'a End<'_>) -> Option<&'a Node> {
        match end {
            End::Traced(end) => Some(end.node()),
            _ => None,
        }
    }
}

impl Kind for nic::Interpreter {
    fn of<'a>(end: &'a End<'_>) -> Option<&'a Units> {
        match end {
            End::Spin(end) => Some(end.nic()),
            _ => None,
        }
    }
}

/// Runs a fabric for one of its nodes.
pub struct Among<K: Kind> {
    fabric: Fabric<End<'static>>,
    number: usize,
    /// The clock in whose cycles the fabric counts, and that of the node.
    clock: Clock,
    own: Clock,
    watch: Watch,
    tap: Tap<K>,
    reached: Reached,
    shown: Option<K::Node>,
    dwells: bool,
}

/// What is saved of it.
struct State<K> {
    fabric: Saved,
    interpreter: K,
    reached: Reached,
}

/// Tells how far a fabric is to go, and whether it is over.
struct Watch {
    waits: bool,
    patience: u64,
    /// It stops when a window ends behind this cycle.
    behind: u64,
    ending: Option<Ending>,
}

impl Watcher for Watch {
    fn goes_on(&mut self, now: u64, status: &Status) -> bool {
        let is_stuck = now.saturating_sub(status.moved) >= self.patience;
        self.ending = ended(status, self.waits);
        if self.ending.is_none() && is_stuck {
            self.ending = Some(Ending::Stuck(String::new()));
        }
        self.ending.is_none() && now <= self.behind
    }
}

/// Debugs a node of a cluster; `None`: it runs no program.
///
/// # Errors
/// When a node cannot be made.
pub fn node(plan: &Plan, options: &RunOptions, number: usize) -> Result<Option<Box<dyn Debuggee>>> {
    let Some((group, _)) = plan.group_of(number) else { return Ok(None) };
    let label = format!("{} ", plan.names[number]);
    Ok(Some(match &group.target {
        Target::Nanoservice { service, setup, .. } => {
            let machine = &setup.machine.value;
            let interpreter = nano::Interpreter::new(machine, &service.image);
            let tap = Tap::new(interpreter);
            let tracer = NodeTracer::Nano(Box::new(tap.clone()));
            let clocks = (plan.clock, plan.clock);
            let among = Among::new(plan, options, (number, tracer), clocks, tap.clone())?;
            let contexts = machine.hart_interface.contexts;
            Box::new(nano::Nano::new(among, tap, (contexts, plan.clock), label))
        }
        Target::Handlers { app } => {
            let nic = app.nic()?;
            let shape = Arc::new(nic::shape(app, nic.machine()));
            let tap = Tap::new(nic::Interpreter::new(Arc::clone(&shape)));
            let tracer = NodeTracer::Spin(Box::new(tap.clone()));
            let clocks = (plan.clock, shape.clock);
            let among = Among::new(plan, options, (number, tracer), clocks, tap)?;
            Box::new(nic::Nic::new(app, shape, among, label))
        }
        Target::Load { .. } | Target::Frames { .. } => return Ok(None),
    }))
}

impl<K: Kind> Among<K> {
    fn new(
        plan: &Plan,
        options: &RunOptions,
        tracer: (usize, NodeTracer<'static>),
        (clock, own): (Clock, Clock),
        tap: Tap<K>,
    ) -> Result<Self> {
        let number = tracer.0;
        // One window is done at a time: threads would begin and end all the time.
        let mut fabric = build(plan, options, 1, &Alone, vec![tracer])?;
        fabric.for_each_node(|_, end| end.keep());
        let waits = plan.groups.iter().any(|group| group.ends);
        let patience = options.patience.unwrap_or(plan.patience);
        let watch = Watch { waits, patience, behind: 0, ending: None };
        let (reached, shown, dwells) = (Reached::default(), None, false);
        Ok(Self { fabric, number, clock, own, watch, tap, reached, shown, dwells })
    }

    /// Gives the cycle of the fabric before which everything of a node's cycle has happened.
    fn behind(&self, cycle: u64) -> u64 {
        self.clock.cycle_at(self.own.time(cycle)) + 1
    }

    /// Lets the fabric run until a window ends at or behind a cycle, or exactly to it.
    fn go(&mut self, until: u64, exactly: bool) -> Result<Outcome> {
        self.watch.behind = until.saturating_sub(1);
        let cut = if exactly { until } else { u64::MAX };
        let outcome = self.fabric.run(cut, &mut Alone, &mut self.watch);
        outcome.map_err(|error| Error::part("the cluster cannot run", error))
    }

    /// Notes how far it has come.
    fn arrive(&mut self, outcome: Outcome, log: &mut Log<'_>) {
        let end = Time::from_ps(self.clock.time(self.fabric.now()).ps().saturating_sub(1));
        self.reached.cycle = self.own.cycle_at(end);
        let ending = match (self.watch.ending.take(), outcome) {
            (None, Outcome::Rests) if self.watch.waits => Some(Ending::Stuck(String::new())),
            (None, Outcome::Rests) => Some(Ending::Finished),
            (ending, _) => ending,
        };
        self.reached.ended = ending.map(|ending| words(&ending).to_owned());
        if self.reached.ended.is_some() {
            let last = log.heard.harts.last_cycle().unwrap_or(0);
            self.reached.cycle = self.reached.cycle.max(last);
        }
    }
}

impl<K: Kind> Drive for Among<K> {
    type Node = K::Node;

    fn look<R>(&self, look: impl FnOnce(&K::Node) -> R) -> R {
        let found = self.fabric.look(self.number, |end| K::of(end).map(look)).flatten();
        found.expect("the node was made with what listens to it")
    }

    fn look_shown<R>(&self, look: impl FnOnce(&K::Node) -> R) -> R {
        match &self.shown {
            Some(shown) => look(shown),
            None => self.look(look),
        }
    }

    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached> {
        self.shown = None;
        let until = self.behind(cycle);
        while self.reached.ended.is_none() && self.fabric.now() < until {
            let outcome = self.go(until, self.dwells)?;
            self.tap.drain(log);
            self.arrive(outcome, log);
        }
        Ok(self.reached.clone())
    }

    fn save(&self) -> Result<Saved> {
        let fabric = self.fabric.save();
        let fabric = fabric.map_err(|error| Error::part("cannot keep the cluster", error))?;
        let (interpreter, reached) = (self.tap.save(), self.reached.clone());
        Ok(Saved::new(State { fabric, interpreter, reached }))
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let back = |error| Error::part("cannot go back", error);
        let State { fabric, interpreter, reached } = saved.get::<State<K>>().map_err(back)?;
        self.fabric.restore(fabric).map_err(back)?;
        self.tap.restore(interpreter);
        (self.reached, self.shown) = (reached.clone(), None);
        Ok(())
    }

    fn show(&mut self, from: &Saved, cycle: u64, log: &mut Log<'_>) -> Result<()> {
        let here = self.save()?;
        self.restore(from)?;
        let until = self.behind(cycle);
        while self.fabric.now() < until && self.watch.ending.is_none() {
            if self.go(until, true)? == Outcome::Rests {
                break;
            }
        }
        self.watch.ending = None;
        self.tap.drain(log);
        let shown = self.look(K::Node::clone);
        self.restore(&here)?;
        self.shown = Some(shown);
        Ok(())
    }

    fn dwell(&mut self, in_every_cycle: bool) {
        self.dwells = in_every_cycle;
    }

    fn others(&self) -> u64 {
        self.fabric.topology().nodes as u64 - 1
    }
}

/// Says how a cluster's run has ended.
fn words(ending: &Ending) -> &'static str {
    match ending {
        Ending::Finished => "the cluster is through",
        Ending::Failed => "a program of the cluster has failed",
        Ending::Stuck(_) => "nothing moves any more in the cluster",
        _ => "the cluster's run is over",
    }
}
