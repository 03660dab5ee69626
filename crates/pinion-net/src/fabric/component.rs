//! One component of a fabric, with its ports. In: the frames that arrive before the end of a window.
//! Out: those it sends within it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Member;
use super::wire::Wire;
use crate::capture::CaptureError;
use crate::link::PortTap;
use crate::switch::Switch;

/// Is what a component is.
#[derive(Debug)]
pub(super) enum Kind<N> {
    /// A node.
    Node(N),
    /// A switch.
    Switch(Box<Switch>),
    /// Another rank's.
    Elsewhere,
}

/// Is a component.
pub(super) struct Component<N> {
    pub kind: Kind<N>,
    /// By port: the wire it sends into, the one it hears, and who writes both down.
    pub ports: Vec<Option<Port>>,
    pub error: Option<CaptureError>,
    /// Frames that arrived in the window at hand: cycle, port, bytes. Kept for its memory.
    arrived: Vec<(u64, usize, Vec<u8>)>,
}

/// Joins a component to its wires.
pub(super) struct Port {
    pub out: usize,
    pub into: usize,
    pub tap: Option<PortTap>,
}

/// Holds what components share: the wires, and when each has something to do.
pub(super) struct Shared {
    pub wires: Vec<Mutex<Wire>>,
    /// By wire: the component that hears it.
    pub hears: Vec<usize>,
    /// By component: its own next cycle.
    pub own_next: Vec<AtomicU64>,
    /// By component: the next cycle of its wires.
    pub inbound_next: Vec<AtomicU64>,
}

impl Shared {
    /// Gives a component's next cycle; `u64::MAX`: it has none.
    pub fn next(&self, component: usize) -> u64 {
        let own = self.own_next[component].load(Ordering::Acquire);
        own.min(self.inbound_next[component].load(Ordering::Acquire))
    }

    /// Says that a wire changed.
    pub fn announce(&self, wire: usize, next: Option<u64>) {
        if let Some(next) = next {
            self.inbound_next[self.hears[wire]].fetch_min(next, Ordering::SeqCst);
        }
    }
}

/// Locks what only panicking threads poison; their panic ends the run anyway.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl<N: Member> Component<N> {
    pub fn new(kind: Kind<N>, ports: Vec<Option<Port>>) -> Self {
        Self { kind, ports, error: None, arrived: Vec::new() }
    }

    /// Does everything before cycle `end`.
    pub fn window(&mut self, own: usize, end: u64, shared: &Shared) {
        self.collect(own, end, shared);
        let Self { kind, ports, arrived, error } = self;
        let mut send = |port: usize, first: u64, last: u64, frame: &[u8]| {
            let Some(Some(port)) = ports.get_mut(port) else { return };
            if let Some(tap) = &mut port.tap {
                tap.note(first, frame);
            }
            let mut wire = lock(&shared.wires[port.out]);
            wire.send(first, last, end, frame);
            shared.announce(port.out, wire.next());
        };
        let next = match kind {
            Kind::Node(node) => {
                for (first, _, frame) in arrived.drain(..) {
                    node.arrive(first, &frame);
                }
                node.run(end, &mut |first, last, frame| send(0, first, last, frame));
                node.next_cycle()
            }
            Kind::Switch(switch) => {
                for (first, port, frame) in arrived.drain(..) {
                    switch.arrive(port, first, frame);
                }
                switch.run(end, &mut |port, first, last, frame| send(port, first, last, &frame));
                switch.next_cycle()
            }
            Kind::Elsewhere => None,
        };
        shared.own_next[own].store(next.unwrap_or(u64::MAX), Ordering::Release);
        for tap in ports.iter_mut().flatten().filter_map(|port| port.tap.as_mut()) {
            if let Err(problem) = tap.settle(end) {
                error.get_or_insert(problem);
            }
        }
    }

    /// Takes what arrives before `end` off the wires. The order of the two steps matters: a frame
    /// that is sent meanwhile is either seen here or announced behind it.
    fn collect(&mut self, own: usize, end: u64, shared: &Shared) {
        shared.inbound_next[own].swap(u64::MAX, Ordering::SeqCst);
        for (number, port) in self.ports.iter_mut().enumerate() {
            let Some(port) = port else { continue };
            let mut wire = lock(&shared.wires[port.into]);
            wire.settle_before(end);
            while let Some((first, frame)) = wire.take_before(end) {
                if let Some(tap) = &mut port.tap {
                    tap.note(first, &frame);
                }
                self.arrived.push((first, number, frame));
            }
            shared.announce(port.into, wire.next());
        }
    }
}
