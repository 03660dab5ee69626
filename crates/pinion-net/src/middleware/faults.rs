//! Faults at the ports of a node. In: frames that pass a port, either way. Out: those that are not
//! lost, as they are when others have overtaken them or they came twice; damaged ones are dropped by
//! the MAC that checks them. Holds the frames that others overtake.
//!
//! The cables of a [fabric](crate::fabric) have faults of their own; this is for one node alone.

use pinion_sim::Clock;
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, Trouble, flits, tell_part};

use crate::fault::{FaultCounts, FaultLane, FaultSpec, FaultyWay, Through};

/// A node whose ports lose, repeat, reorder and damage frames.
pub struct Faulty<N> {
    inner: N,
    spec: FaultSpec,
    clock: Clock,
    ports: Vec<Port>,
}

/// Both ways through a port.
#[derive(Clone, Debug)]
struct Port {
    inward: FaultyWay,
    outward: FaultyWay,
    damaged: u64,
}

/// What is saved of a faulty node.
struct State {
    inner: Saved,
    ports: Vec<Port>,
}

impl<N: Node> Faulty<N> {
    /// Wraps a node whose cycles are those of a clock.
    pub fn new(inner: N, spec: &FaultSpec, clock: Clock) -> Self {
        Self { inner, spec: spec.clone(), clock, ports: Vec::new() }
    }

    /// Gives the node inside.
    pub fn inner(&self) -> &N {
        &self.inner
    }

    /// Gives the node back.
    pub fn into_inner(self) -> N {
        self.inner
    }

    /// Gives what happened on a port's way in and on its way out.
    pub fn counts(&self, port: usize) -> [FaultCounts; 2] {
        let counts = |port: &Port| [port.inward.counts(), port.outward.counts()];
        self.ports.get(port).map(counts).unwrap_or_default()
    }

    /// Gives a port; those that nothing has passed yet are made. Each way has random numbers of its
    /// own.
    fn port(&mut self, number: usize) -> &mut Port {
        while self.ports.len() <= number {
            let stream = 2 * self.ports.len() as u64;
            let way = |stream| FaultyWay::new(FaultLane::new(&self.spec, stream), self.clock);
            self.ports.push(Port { inward: way(stream), outward: way(stream + 1), damaged: 0 });
        }
        &mut self.ports[number]
    }

    /// Hands over what came through a port's way in.
    fn let_in(&mut self, number: usize) {
        let Self { inner, ports, .. } = self;
        let port = &mut ports[number];
        while let Some((first, _, through)) = port.inward.take() {
            match through {
                Through::Whole(frame) => inner.arrive(number, first, frame),
                Through::Damaged => port.damaged += 1,
            }
        }
    }

    /// Sends what came through a port's way out.
    fn let_out(&mut self, number: usize, ports: &mut dyn Ports) {
        let port = &mut self.ports[number];
        while let Some((first, _, through)) = port.outward.take() {
            match through {
                Through::Whole(frame) => {
                    ports.send(number, first, first + flits(frame.len()) - 1, frame);
                }
                Through::Damaged => port.damaged += 1,
            }
        }
    }
}

impl<N: Node> Node for Faulty<N> {
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
        self.port(port).inward.push(first_flit, frame);
        self.let_in(port);
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        for number in 0..self.ports.len() {
            self.ports[number].inward.release_before(until);
            self.let_in(number);
        }
        let mut sent = Vec::new();
        self.inner.run(until, &mut |port: usize, first: u64, _: u64, frame: Vec<u8>| {
            sent.push((port, first, frame));
        });
        for (number, first, frame) in sent {
            self.port(number).outward.push(first, frame);
            self.let_out(number, ports);
        }
        for number in 0..self.ports.len() {
            self.ports[number].outward.release_before(until);
            self.let_out(number, ports);
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        let ways = self.ports.iter().flat_map(|port| [&port.inward, &port.outward]);
        let held = ways.filter_map(FaultyWay::next_cycle).min();
        self.inner.next_cycle().into_iter().chain(held).min()
    }

    fn moved(&self) -> u64 {
        self.inner.moved()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    fn has_failed(&self) -> bool {
        self.inner.has_failed()
    }

    fn rests(&mut self, now: u64) {
        self.inner.rests(now);
    }

    fn trouble(&mut self) -> Option<Trouble> {
        self.inner.trouble()
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        for (number, port) in self.ports.iter().enumerate() {
            tell_part(&format!("faults.{number}"), tell, |tell| {
                tell("in.held", port.inward.held() as u64);
                tell("out.held", port.outward.held() as u64);
                tell("damaged", port.damaged);
            });
        }
        self.inner.state(tell);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Ok(Saved::new(State { inner: self.inner.save()?, ports: self.ports.clone() }))
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        let State { inner, ports } = saved.get()?;
        self.inner.restore(inner)?;
        self.ports.clone_from(ports);
        Ok(())
    }
}
