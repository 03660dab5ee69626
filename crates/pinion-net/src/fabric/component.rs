//! One component of a fabric, with its ports. In: the frames that arrive before the end of a window.
//! Out: those it sends within it.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, Trouble};

use super::journal::{Arrived, Journal, Sent};
use super::shared::Shared;
use crate::middleware::Tapped;
use crate::switch::Switch;

/// What a component is. All are nodes; a switch has a name here because the fabric makes it.
#[derive(Debug)]
pub(super) enum Kind<N> {
    /// A node.
    Node(N),
    /// A switch.
    Switch(Box<Switch>),
    /// Another rank's.
    Elsewhere,
}

/// A component.
pub(super) struct Component<N> {
    pub node: Tapped<Kind<N>>,
    /// By port: the wires that lead out of it and into it.
    pub ports: Vec<Option<Port>>,
    pub error: Option<Trouble>,
    /// What happened in the last window, if somebody follows frames.
    pub journal: Option<Box<Journal>>,
}

/// Joins a component to its wires.
pub(super) struct Port {
    pub out: usize,
    pub into: usize,
}

/// Locks what only panicking threads poison; their panic ends the run anyway.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl<N: Node> Component<N> {
    pub fn new(kind: Kind<N>, ports: Vec<Option<Port>>) -> Self {
        Self { node: Tapped::new(kind), ports, error: None, journal: None }
    }

    /// Does everything before cycle `end`.
    pub fn window(&mut self, own: usize, end: u64, shared: &Shared) {
        self.note_damaged(end, shared);
        self.collect(end, shared);
        let Self { node, ports, error, journal } = self;
        node.run(end, &mut Out { ports, end, shared, journal: journal.as_deref_mut() });
        if let (Some(journal), Kind::Switch(switch)) = (journal, node.inner_mut()) {
            journal.steps = switch.take_steps();
        }
        shared.note(own, node);
        shared.acts(own, node.next_cycle());
        if let Some(trouble) = node.trouble() {
            error.get_or_insert(trouble);
            shared.troubled.store(true, Ordering::Release);
        }
    }

    /// Notes damaged frames that came before `end`, if somebody follows frames.
    pub fn note_damaged(&mut self, end: u64, shared: &Shared) {
        let Some(journal) = &mut self.journal else { return };
        for port in self.ports.iter().flatten() {
            while let Some((at, number)) = lock(&shared.wires[port.into]).take_damaged(end) {
                journal.damaged.push((at, port.into, number));
            }
        }
    }

    /// Takes what arrives before `end` off the wires.
    fn collect(&mut self, end: u64, shared: &Shared) {
        for (number, port) in self.ports.iter().enumerate() {
            let Some(port) = port else { continue };
            if shared.wire_next(port.into) >= end {
                continue;
            }
            let mut wire = lock(&shared.wires[port.into]);
            wire.settle_before(end);
            while let Some((first, count, frame)) = wire.take_before(end) {
                if let Some(journal) = &mut self.journal {
                    let (wire, bytes) = (port.into, frame.len());
                    let (number, first_flit) = (count, first);
                    journal.arrived.push(Arrived { wire, number, first_flit, bytes });
                }
                self.node.arrive(number, first, frame);
            }
            shared.announce(port.into, wire.next());
        }
    }
}

/// The ports of a component in a window that ends before cycle `end`.
struct Out<'a> {
    ports: &'a [Option<Port>],
    end: u64,
    shared: &'a Shared,
    journal: Option<&'a mut Journal>,
}

impl Ports for Out<'_> {
    fn send(&mut self, port: usize, first_flit: u64, last_flit: u64, frame: Vec<u8>) {
        let Some(Some(port)) = self.ports.get(port) else { return };
        let mut wire = lock(&self.shared.wires[port.out]);
        let bytes = frame.len();
        let onto = wire.send(first_flit, last_flit, self.end, frame);
        if let Some(journal) = &mut self.journal {
            journal.sent.push(Sent { wire: port.out, onto, first_flit, last_flit, bytes });
        }
        self.shared.announce(port.out, wire.next());
    }
}

impl<N: Node> Node for Kind<N> {
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
        match self {
            Self::Node(node) => node.arrive(port, first_flit, frame),
            Self::Switch(switch) => switch.arrive(port, first_flit, frame),
            Self::Elsewhere => {}
        }
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        match self {
            Self::Node(node) => node.run(until, ports),
            Self::Switch(switch) => switch.run(until, ports),
            Self::Elsewhere => {}
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        match self {
            Self::Node(node) => node.next_cycle(),
            Self::Switch(switch) => switch.next_cycle(),
            Self::Elsewhere => None,
        }
    }

    fn moved(&self) -> u64 {
        self.node().map_or(0, Node::moved)
    }

    fn is_open(&self) -> bool {
        self.node().is_some_and(Node::is_open)
    }

    fn has_failed(&self) -> bool {
        self.node().is_some_and(Node::has_failed)
    }

    fn rests(&mut self, now: u64) {
        if let Self::Node(node) = self {
            node.rests(now);
        }
    }

    fn trouble(&mut self) -> Option<Trouble> {
        match self {
            Self::Node(node) => node.trouble(),
            Self::Switch(_) | Self::Elsewhere => None,
        }
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        match self {
            Self::Node(node) => node.state(tell),
            Self::Switch(switch) => switch.state(tell),
            Self::Elsewhere => {}
        }
    }

    fn save(&self) -> Result<Saved, SaveError> {
        match self {
            Self::Node(node) => node.save(),
            Self::Switch(switch) => switch.save(),
            Self::Elsewhere => Ok(Saved::new(())),
        }
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        match self {
            Self::Node(node) => node.restore(saved),
            Self::Switch(switch) => switch.restore(saved),
            Self::Elsewhere => saved.get::<()>().copied(),
        }
    }
}

impl<N> Kind<N> {
    fn node(&self) -> Option<&N> {
        match self {
            Self::Node(node) => Some(node),
            Self::Switch(_) | Self::Elsewhere => None,
        }
    }
}
