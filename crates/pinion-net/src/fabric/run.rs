//! A fabric's run: windows, one after the other, until nothing happens any more or somebody has seen
//! enough.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use pinion_sim::Clock;
use pinion_sim::node::Node;

use super::component::{Component, Kind, Port, lock};
use super::crew::Crew;
use super::homes::homes;
use super::ranks::{Ranks, Status};
use super::shared::{FAILED, OPEN, Shared};
use super::{FabricError, Journal, parcel};
use crate::fault::{FaultLane, FaultSpec, FaultyWay};
use crate::link::{Wire, WireCounts};
use crate::middleware::PortTap;
use crate::switch::{Directory, Routes, Switch, SwitchSpec};
use crate::topology::{Place, Topology};

/// Says how a fabric is built and run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of threads; results are the same with any number.
    pub threads: usize,
    /// The clock in whose cycles the fabric counts.
    pub clock: Clock,
    /// The faults of every cable, both ways; `None`: it has none.
    pub faults: Option<FaultSpec>,
    /// The nodes' IPv4 addresses, in their order.
    pub addresses: Vec<u32>,
}

/// Watches a run.
pub trait Watcher {
    /// Tells whether this rank wants to stop; may differ from rank to rank and run to run.
    fn stops(&mut self) -> bool {
        false
    }

    /// Hears, after a window, what happened to frames at one place, if the fabric
    /// [follows](Fabric::follow) them: places come in the order of their numbers, nodes first.
    fn passed(&mut self, _place: Place, _journal: &Journal) {}

    /// Tells, after a window, whether the run goes on. It must depend on nothing but what it is
    /// given, so that all ranks answer the same.
    fn goes_on(&mut self, now: u64, status: &Status) -> bool;
}

/// Tells how a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing happens any more.
    Rests,
    /// The watcher has seen enough.
    Stopped,
    /// The cycle it was to run to is reached.
    Reached,
}

/// A fabric.
pub struct Fabric<N> {
    pub(super) topology: Topology,
    pub(super) components: Vec<Mutex<Component<N>>>,
    pub(super) shared: Shared,
    /// By component: the rank it lives at.
    homes: Vec<usize>,
    threads: usize,
    window_cycles: u64,
    pub(super) now: u64,
    pub(super) windows: u64,
    is_followed: bool,
}

impl<N: Node + Send> Fabric<N> {
    /// Builds a fabric. `nodes` are this rank's, `None` for those of others; [`super::home`] says
    /// which rank's each is.
    ///
    /// # Errors
    /// When the topology or a cable is none.
    pub fn new(
        topology: Topology,
        switch: &SwitchSpec,
        nodes: Vec<Option<N>>,
        options: &Options,
        ranks: &dyn Ranks,
    ) -> Result<Self, FabricError> {
        topology.check()?;
        let latencies = topology.cables.iter().map(|cable| cable.link.latency_cycles);
        let window_cycles = latencies.min().unwrap_or(1);
        let mut wires = Vec::new();
        for (number, cable) in topology.cables.iter().enumerate() {
            for way in 0..2 {
                let stream = 2 * number as u64 + way;
                let faults = options.faults.as_ref();
                let faults =
                    faults.map(|spec| FaultyWay::new(FaultLane::new(spec, stream), options.clock));
                wires.push(Mutex::new(Wire::new(&cable.link, faults, window_cycles)?));
            }
        }
        let homes = homes(&topology, ranks.count());
        let directory = Arc::new(Directory::new(options.addresses.iter().copied()));
        let is_here = |switch| homes[topology.index(Place::Switch(switch))] == ranks.rank();
        let mut routes = Routes::of(&topology, is_here).into_iter();
        let links = topology.switch_links();
        let mut nodes = nodes.into_iter();
        let mut components = Vec::new();
        for (index, &home) in homes.iter().enumerate() {
            let kind = match topology.place(index) {
                Place::Node(_) => match nodes.next().flatten() {
                    Some(node) => Kind::Node(node),
                    None => Kind::Elsewhere,
                },
                Place::Switch(number) => {
                    let Some(routes) = routes.next() else { break };
                    let seed = switch.seed.wrapping_add(number as u64);
                    let spec = SwitchSpec { seed, ..switch.clone() };
                    if home == ranks.rank() {
                        let links = &links[number];
                        let switch = Switch::new(&spec, links, routes, directory.clone())?;
                        Kind::Switch(Box::new(switch))
                    } else {
                        Kind::Elsewhere
                    }
                }
            };
            components.push((kind, Vec::<Option<Port>>::new()));
        }
        let mut hears = Vec::new();
        for (number, cable) in topology.cables.iter().enumerate() {
            for (end, jack) in cable.ends.into_iter().enumerate() {
                let (out, into) = (2 * number + end, 2 * number + 1 - end);
                let ports = &mut components[topology.index(jack.place)].1;
                if ports.len() <= jack.port {
                    ports.resize_with(jack.port + 1, || None);
                }
                ports[jack.port] = Some(Port { out, into });
            }
            let [a, b] = cable.ends.map(|jack| topology.index(jack.place));
            hears.extend([b, a]);
        }
        let is_here = |(kind, _): &(Kind<N>, _)| !matches!(kind, Kind::Elsewhere);
        let shared = Shared::new(wires, hears, components.iter().map(is_here).collect());
        let components =
            components.into_iter().map(|(kind, ports)| Mutex::new(Component::new(kind, ports)));
        let components = components.collect();
        let threads = options.threads.max(1);
        let (now, windows, is_followed) = (0, 0, false);
        Ok(Self {
            topology,
            components,
            shared,
            homes,
            threads,
            window_cycles,
            now,
            windows,
            is_followed,
        })
    }

    /// Writes down what passes a cable, at its first end: when frames leave there and when they
    /// arrive there. Only the rank of that end can.
    pub fn tap(&mut self, cable: usize, tap: PortTap) {
        let jack = self.topology.cables[cable].ends[0];
        let component = &mut self.components[self.topology.index(jack.place)];
        let component = component.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        component.node.tap(jack.port, tap);
    }

    /// Has every component of this rank tell the run's watcher what happens to each frame.
    pub fn follow(&mut self) {
        for component in &mut self.components {
            let component = component.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            component.journal.get_or_insert_default();
            if let Kind::Switch(switch) = component.node.inner_mut() {
                switch.follow();
            }
        }
        self.is_followed = true;
    }

    /// Runs until nothing happens any more, the watcher has seen enough, or before cycle `until`.
    ///
    /// # Errors
    /// When a capture cannot be written or another rank fails.
    pub fn run(
        &mut self,
        until: u64,
        ranks: &mut dyn Ranks,
        watcher: &mut dyn Watcher,
    ) -> Result<Outcome, FabricError> {
        let mut leader = Leader {
            components: &self.components,
            topology: self.is_followed.then_some(&self.topology),
            shared: &self.shared,
            homes: &self.homes,
            window_cycles: self.window_cycles,
            now: self.now,
            windows: 0,
            active: Vec::new(),
            leaving: Vec::new(),
            status: Status::NONE,
            standing: Vec::new(),
        };
        let outcome = Crew::led(&self.components, &self.shared, self.threads, |crew| {
            leader.run(crew, until, ranks, watcher)
        });
        (self.now, self.windows) = (leader.now, self.windows + leader.windows);
        // Behind the last frame that arrived, damaged ones may have come.
        leader.active = (0..self.components.len() as u32).collect();
        leader.active.iter().for_each(|&index| {
            lock(&self.components[index as usize]).note_damaged(leader.now, &self.shared);
        });
        leader.tell_passed(watcher);
        outcome
    }

    /// Gives the cycle before which everything has happened.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Counts windows so far.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// Gives the longest window, in cycles: the shortest cable's latency.
    pub fn window_cycles(&self) -> u64 {
        self.window_cycles
    }

    /// Gives the network.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Gives a node, if it is this rank's.
    pub fn node_mut(&mut self, number: usize) -> Option<&mut N> {
        let component = self.components[..self.topology.nodes].get_mut(number)?;
        let component = component.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        match component.node.inner_mut() {
            Kind::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Looks at a node, if it is this rank's.
    pub fn look<R>(&self, number: usize, look: impl FnOnce(&N) -> R) -> Option<R> {
        let component = lock(self.components[..self.topology.nodes].get(number)?);
        match component.node.inner() {
            Kind::Node(node) => Some(look(node)),
            _ => None,
        }
    }

    /// Looks at this rank's nodes, in order.
    pub fn for_each_node(&mut self, mut look: impl FnMut(usize, &mut N)) {
        let nodes = self.topology.nodes;
        for (number, component) in self.components[..nodes].iter_mut().enumerate() {
            let component = component.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Kind::Node(node) = component.node.inner_mut() {
                look(number, node);
            }
        }
    }

    /// Looks at this rank's switches, in order.
    pub fn for_each_switch(&mut self, mut look: impl FnMut(usize, &mut Switch)) {
        let nodes = self.topology.nodes;
        for (number, component) in self.components[nodes..].iter_mut().enumerate() {
            let component = component.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Kind::Switch(switch) = component.node.inner_mut() {
                look(number, switch);
            }
        }
    }

    /// Gives what passed the wires whose sender lives at this rank: cable, whether from its second
    /// end, counts.
    pub fn wire_counts(&self) -> Vec<(usize, bool, WireCounts)> {
        let is_ours = |wire: &usize| {
            let sender = self.shared.hears[wire ^ 1];
            !matches!(lock(&self.components[sender]).node.inner(), Kind::Elsewhere)
        };
        let wires = (0..self.shared.wires.len()).filter(is_ours);
        wires
            .map(|wire| (wire / 2, wire % 2 == 1, lock(&self.shared.wires[wire]).counts(self.now)))
            .collect()
    }

    /// Ends the captures and gives this rank's nodes back.
    ///
    /// # Errors
    /// When a capture cannot be written.
    pub fn finish(self) -> Result<Vec<Option<N>>, FabricError> {
        let mut nodes = Vec::new();
        for (index, component) in self.components.into_iter().enumerate() {
            let component =
                component.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            let kind = component.node.finish()?;
            if index < self.topology.nodes {
                nodes.push(match kind {
                    Kind::Node(node) => Some(node),
                    _ => None,
                });
            }
        }
        Ok(nodes)
    }
}

/// Leads the run.
struct Leader<'a, N> {
    components: &'a [Mutex<Component<N>>],
    /// Where components are, if their frames are followed.
    topology: Option<&'a Topology>,
    shared: &'a Shared,
    homes: &'a [usize],
    window_cycles: u64,
    now: u64,
    windows: u64,
    /// The components of the last window.
    active: Vec<u32>,
    /// The wires into other ranks, and whose they are.
    leaving: Vec<(usize, usize)>,
    /// How this rank stood after the last window, and by component.
    status: Status,
    standing: Vec<u8>,
}

impl<N: Node + Send> Leader<'_, N> {
    fn run(
        &mut self,
        crew: &Crew<'_, N>,
        until: u64,
        ranks: &mut dyn Ranks,
        watcher: &mut dyn Watcher,
    ) -> Result<Outcome, FabricError> {
        let leaves = |&(wire, to): &(usize, usize)| {
            to != ranks.rank() && self.homes[self.shared.hears[wire ^ 1]] == ranks.rank()
        };
        let homes = self.shared.hears.iter().map(|&component| self.homes[component]);
        self.leaving = homes.enumerate().filter(leaves).collect();
        self.look_at_all();
        let mut status = self.exchange(ranks, watcher)?;
        loop {
            if status.next == u64::MAX {
                self.rest();
                status = self.exchange(ranks, watcher)?;
                if status.next == u64::MAX {
                    return Ok(Outcome::Rests);
                }
            }
            if status.stop {
                return Ok(Outcome::Stopped);
            }
            let start = self.now.max(status.next);
            if start >= until {
                self.now = self.now.max(until);
                return Ok(Outcome::Reached);
            }
            let end = start.saturating_add(self.window_cycles).min(until);
            self.shared.list_active(end, &mut self.active);
            crew.window(end, &self.active);
            (self.now, self.windows) = (end, self.windows + 1);
            self.tell_passed(watcher);
            self.note_active();
            status = self.exchange(ranks, watcher)?;
            if !watcher.goes_on(self.now, &status) {
                return Ok(Outcome::Stopped);
            }
        }
    }

    /// Asks every component how it stands and when it has something to do.
    fn look_at_all(&mut self) {
        (self.status, self.standing) = (Status::NONE, vec![0; self.components.len()]);
        for (index, component) in self.components.iter().enumerate() {
            let node = &mut lock(component).node;
            self.shared.note(index, node);
            self.shared.acts(index, node.next_cycle());
        }
        self.active = (0..self.components.len() as u32).collect();
        self.note_active();
    }

    /// Brings this rank's status up to date with what the last window's components noted.
    fn note_active(&mut self) {
        for &index in &self.active {
            self.shared.settle(index as usize);
            let (moved, standing) = self.shared.noted(index as usize);
            self.status.moved = self.status.moved.max(moved);
            let before = std::mem::replace(&mut self.standing[index as usize], standing);
            if before != standing {
                let count = |standing: u8, bit: u8| u64::from(standing & bit != 0);
                let change = |total: u64, bit| total + count(standing, bit) - count(before, bit);
                self.status.open = change(self.status.open, OPEN);
                self.status.failed = change(self.status.failed, FAILED);
            }
        }
    }

    /// Tells the watcher what happened to frames in the last window.
    fn tell_passed(&self, watcher: &mut dyn Watcher) {
        let Some(topology) = self.topology else { return };
        for &index in &self.active {
            let index = index as usize;
            if let Some(journal) = &mut lock(&self.components[index]).journal {
                if !journal.is_empty() {
                    watcher.passed(topology.place(index), journal);
                }
                journal.clear();
            }
        }
    }

    fn rest(&mut self) {
        for component in self.components {
            lock(component).node.rests(self.now);
        }
        self.look_at_all();
    }

    /// Hands over what other ranks hear, and learns how all stand.
    fn exchange(
        &mut self,
        ranks: &mut dyn Ranks,
        watcher: &mut dyn Watcher,
    ) -> Result<Status, FabricError> {
        self.look_for_trouble()?;
        let next = self.shared.next_of_all();
        let mut status = Status { next, stop: watcher.stops(), ..self.status };
        if ranks.count() == 1 {
            return Ok(status);
        }
        let mut parcels = vec![Vec::new(); ranks.count()];
        for &(number, to) in &self.leaving {
            let next = self.shared.wire_next(number);
            if next == u64::MAX {
                continue;
            }
            // What one rank alone would wait for: windows begin in the same cycles with any number.
            status.next = status.next.min(next);
            let mut wire = lock(&self.shared.wires[number]);
            // Whatever is sent from now on arrives a window later at the earliest.
            wire.settle_before(self.now.saturating_add(self.window_cycles));
            while let Some((arrival, frame)) = wire.take_ahead(self.now) {
                parcel::add(&mut parcels[to], number, arrival, &frame);
            }
            self.shared.announce(number, wire.next());
        }
        let (parcels, together) = ranks.exchange(parcels, status)?;
        for (rank, parcel) in parcels.iter().enumerate().filter(|(rank, _)| *rank != ranks.rank()) {
            self.unpack(rank, parcel)?;
        }
        Ok(together)
    }

    /// Puts another rank's frames on their wires.
    fn unpack(&self, rank: usize, mut parcel: &[u8]) -> Result<(), FabricError> {
        while let Some(frame) = parcel::take(&mut parcel) {
            let known = frame.filter(|(wire, ..)| *wire < self.shared.wires.len());
            let Some((number, arrival, frame)) = known else {
                let problem = "it sent bytes that are no frames".to_owned();
                return Err(FabricError::Rank { rank, problem });
            };
            let mut wire = lock(&self.shared.wires[number]);
            wire.put(arrival, frame);
            self.shared.announce(number, wire.next());
        }
        Ok(())
    }

    /// Gives the error of the first component that has one.
    fn look_for_trouble(&self) -> Result<(), FabricError> {
        if self.shared.troubled.load(Ordering::Acquire) {
            let mut errors = self.components.iter().filter_map(|one| lock(one).error.take());
            if let Some(trouble) = errors.next() {
                return Err(FabricError::Node(trouble));
            }
        }
        Ok(())
    }
}
