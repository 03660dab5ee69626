//! One component of a fabric, with its ports. In: the frames that arrive before the end of a window.
//! Out: those it sends within it.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use super::Member;
use super::shared::Shared;
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
    /// Some port has a tap.
    is_tapped: bool,
    /// Frames that arrived in the window at hand: cycle, port, bytes. Kept for its memory.
    arrived: Vec<(u64, usize, Vec<u8>)>,
}

/// Joins a component to its wires.
pub(super) struct Port {
    pub out: usize,
    pub into: usize,
    pub tap: Option<Box<PortTap>>,
}

/// Locks what only panicking threads poison; their panic ends the run anyway.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl<N: Member> Component<N> {
    pub fn new(kind: Kind<N>, ports: Vec<Option<Port>>) -> Self {
        Self { kind, ports, error: None, is_tapped: false, arrived: Vec::new() }
    }

    /// Writes down what passes a port.
    pub fn tap(&mut self, port: usize, tap: PortTap) {
        if let Some(Some(port)) = self.ports.get_mut(port) {
            port.tap = Some(Box::new(tap));
            self.is_tapped = true;
        }
    }

    /// Does everything before cycle `end`.
    pub fn window(&mut self, own: usize, end: u64, shared: &Shared) {
        self.collect(end, shared);
        let Self { kind, ports, arrived, .. } = self;
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
                shared.note(own, node);
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
        shared.acts(own, next);
        if self.is_tapped {
            self.settle_taps(end, shared);
        }
    }

    fn settle_taps(&mut self, end: u64, shared: &Shared) {
        for tap in self.ports.iter_mut().flatten().filter_map(|port| port.tap.as_mut()) {
            if let Err(problem) = tap.settle(end) {
                self.error.get_or_insert(problem);
                shared.troubled.store(true, Ordering::Release);
            }
        }
    }

    /// Takes what arrives before `end` off the wires.
    fn collect(&mut self, end: u64, shared: &Shared) {
        for (number, port) in self.ports.iter_mut().enumerate() {
            let Some(port) = port else { continue };
            if shared.wire_next(port.into) >= end {
                continue;
            }
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
