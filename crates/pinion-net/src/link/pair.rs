//! Two nodes and the link between their first ports. In: the nodes. Out: the nodes, later. Holds the
//! frames under way. A node waits at each window's end for the other.
//!
//! A pair is what a [fabric](crate::fabric) of two nodes is, for one thread: its nodes may be of two
//! types and need not be `Send`.

use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved};

use super::wire::{Wire, WireCounts};
use super::{Link, LinkError};

/// Names an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first.
    A,
    /// The second.
    B,
}

/// Runs two nodes on a link.
pub struct Pair<A, B> {
    /// The node at the first end.
    pub a: A,
    /// The node at the second end.
    pub b: B,
    from_a: Wire,
    from_b: Wire,
    window_cycles: u64,
    now: u64,
}

/// What is saved of a pair.
struct State {
    ends: [Saved; 2],
    wires: [Wire; 2],
    now: u64,
}

impl<A: Node, B: Node> Pair<A, B> {
    /// Links two nodes.
    ///
    /// # Errors
    /// When the link has no latency, or a rate without a clock.
    pub fn new(a: A, b: B, link: &Link) -> Result<Self, LinkError> {
        let window_cycles = link.latency_cycles;
        let wire = || Wire::new(link, None, window_cycles);
        Ok(Self { a, b, from_a: wire()?, from_b: wire()?, window_cycles, now: 0 })
    }

    /// Makes windows shorter than the latency; the result is the same, later.
    #[must_use]
    pub fn in_windows_of(self, cycles: u64) -> Self {
        let window_cycles = cycles.clamp(1, self.window_cycles);
        Self { window_cycles, ..self }
    }

    /// Gives the first cycle that was not run.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Gives what the wire from an end did.
    pub fn counts(&self, from: End) -> WireCounts {
        match from {
            End::A => self.from_a.counts(self.now),
            End::B => self.from_b.counts(self.now),
        }
    }

    /// Runs until `until`, until nothing can happen any more, or until `goes_on`, asked after each
    /// window, says no. Gives the first cycle that was not run.
    ///
    /// # Errors
    /// When a node cannot go on for a reason outside the simulation.
    pub fn run(
        &mut self,
        until: u64,
        mut goes_on: impl FnMut(&mut Self) -> bool,
    ) -> Result<u64, LinkError> {
        while self.now < until {
            let Some(next) = self.next_cycle() else { break };
            if next >= until {
                self.now = until;
                break;
            }
            let start = self.now.max(next);
            let end = start.saturating_add(self.window_cycles).min(until);
            self.window(end);
            self.now = end;
            if let Some(trouble) = self.a.trouble().or_else(|| self.b.trouble()) {
                return Err(LinkError::Node(trouble));
            }
            if !goes_on(self) {
                break;
            }
        }
        Ok(self.now)
    }

    /// Gives the nodes back.
    pub fn finish(self) -> (A, B) {
        (self.a, self.b)
    }

    /// Saves both nodes and the frames between them.
    ///
    /// # Errors
    /// When a node cannot be saved.
    pub fn save(&self) -> Result<Saved, SaveError> {
        let ends = [self.a.save()?, self.b.save()?];
        let wires = [self.from_a.clone(), self.from_b.clone()];
        Ok(Saved::new(State { ends, wires, now: self.now }))
    }

    /// Goes back, or forward, to where a pair of the same nodes was saved.
    ///
    /// # Errors
    /// When these are other nodes.
    pub fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        let State { ends, wires, now } = saved.get()?;
        self.a.restore(&ends[0])?;
        self.b.restore(&ends[1])?;
        [self.from_a, self.from_b] = wires.clone();
        self.now = *now;
        Ok(())
    }

    fn next_cycle(&mut self) -> Option<u64> {
        let ends = [self.a.next_cycle(), self.b.next_cycle()];
        let wires = [self.from_a.next(), self.from_b.next()];
        ends.into_iter().chain(wires).flatten().min()
    }

    /// Runs both nodes up to `end`: first what arrives before it, then the nodes, whose frames arrive
    /// after it.
    fn window(&mut self, end: u64) {
        let Self { a, b, from_a, from_b, .. } = self;
        deliver(from_b, a, end);
        deliver(from_a, b, end);
        a.run(end, &mut Into { wire: from_a, end });
        b.run(end, &mut Into { wire: from_b, end });
    }
}

fn deliver(wire: &mut Wire, to: &mut impl Node, end: u64) {
    while let Some((first, _, frame)) = wire.take_before(end) {
        to.arrive(0, first, frame);
    }
}

/// The only port of a node of a pair, in a window that ends before cycle `end`.
struct Into<'a> {
    wire: &'a mut Wire,
    end: u64,
}

impl Ports for Into<'_> {
    fn send(&mut self, port: usize, first_flit: u64, last_flit: u64, frame: Vec<u8>) {
        if port == 0 {
            self.wire.send(first_flit, last_flit, self.end, frame);
        }
    }
}
