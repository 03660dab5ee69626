//! Follows frames from node to node: journals come in, in the order of windows and places; what happens
//! to each frame goes out, with what is kept of it. Holds frames that are on wires and in switches.

use std::collections::{HashMap, VecDeque};

use pinion_net::fabric::{Arrived, Journal, Sent};
use pinion_net::switch::{Enqueued, Step};
use pinion_net::topology::{Place, Topology};

/// Says where in a switch a frame waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The switch.
    pub switch: usize,
    /// The port that the frame leaves by; of one that leads nowhere, the one it came by.
    pub port: usize,
    /// It is the queue of control frames.
    pub control: bool,
}

/// Says how a frame was lost on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Too many bytes waited for the wire.
    NoRoom,
    /// A fault lost it.
    Fault,
    /// A fault damaged it, and the MAC at the end dropped it.
    Damaged,
}

/// Hears what happens to frames; keeps something of each.
pub trait FrameEars {
    /// What is kept of a frame.
    type Frame: Copy;

    /// Hears that a node sends its n-th frame, from 0; gives what is kept of it.
    fn leaves(&mut self, node: usize, number: u64, sent: &Sent) -> Self::Frame;

    /// Hears that a frame has crossed a wire, on which its first flit was in the first cycle.
    fn crosses(&mut self, sent: u64, arrived: &Arrived, frame: Self::Frame) -> Self::Frame;

    /// Hears that a frame is the n-th to reach a node, from 0.
    fn reaches(&mut self, node: usize, number: u64, arrived: &Arrived, frame: Self::Frame);

    /// Hears that a frame was lost on a wire, from one cycle to another.
    fn lost(&mut self, wire: usize, cycles: (u64, u64), loss: Loss, frame: Self::Frame);

    /// Hears that a frame waits in a switch from a cycle on, or is dropped there; `waiting` are the bytes
    /// of data and of control frames that wait at the port now.
    fn waits(
        &mut self,
        queue: Queue,
        at: u64,
        how: Enqueued,
        waiting: (u64, u64),
        frame: Self::Frame,
    ) -> Self::Frame;

    /// Hears that a frame that waited from one cycle to another leaves its switch.
    fn waited(
        &mut self,
        queue: Queue,
        cycles: (u64, u64),
        waiting: (u64, u64),
        frame: Self::Frame,
    ) -> Self::Frame;
}

/// Follows frames.
pub struct FrameWays<F> {
    wires: Vec<HashMap<u64, UnderWay<F>>>,
    switches: Vec<InSwitch<F>>,
    /// By node: the numbers of frames that came and that left.
    nodes: Vec<(u64, u64)>,
}

/// A frame on a wire.
struct UnderWay<F> {
    frame: F,
    first_flit: u64,
    /// Times that it still arrives.
    copies: u8,
}

/// Frames in a switch.
struct InSwitch<F> {
    /// Those that came and do not wait yet, by their places.
    coming: HashMap<u32, F>,
    /// By port, those that wait among the data and among the control frames, and since when.
    ports: Vec<[VecDeque<(u64, F)>; 2]>,
}

impl<F: Copy> FrameWays<F> {
    /// Follows the frames of a network.
    pub fn new(topology: &Topology, nodes: usize) -> Self {
        let switch = |ports: &usize| InSwitch {
            coming: HashMap::new(),
            ports: (0..*ports).map(|_| [VecDeque::new(), VecDeque::new()]).collect(),
        };
        Self {
            wires: (0..2 * topology.cables.len()).map(|_| HashMap::new()).collect(),
            switches: topology.switches.iter().map(switch).collect(),
            nodes: vec![(0, 0); nodes],
        }
    }

    /// Hears what happened at a place, and tells what happened to frames.
    pub fn tell(&mut self, place: Place, journal: &Journal, ears: &mut impl FrameEars<Frame = F>) {
        for &(at, wire, number) in &journal.damaged {
            let arrived = Arrived { wire, number, first_flit: at, bytes: 0 };
            if let Some(frame) = self.arrive(&arrived, ears) {
                ears.lost(wire, (at, at), Loss::Damaged, frame);
            }
        }
        match place {
            Place::Node(node) => self.passed_node(node, journal, ears),
            Place::Switch(switch) => self.passed_switch(switch, journal, ears),
        }
    }

    /// Takes a frame off a wire.
    fn arrive(&mut self, arrived: &Arrived, ears: &mut impl FrameEars<Frame = F>) -> Option<F> {
        let frames = &mut self.wires[arrived.wire];
        let under_way = frames.get_mut(&arrived.number)?;
        let UnderWay { frame, first_flit, .. } = *under_way;
        under_way.copies = under_way.copies.saturating_sub(1);
        if under_way.copies == 0 {
            frames.remove(&arrived.number);
        }
        Some(ears.crosses(first_flit, arrived, frame))
    }

    /// Puts a frame on a wire.
    fn send(&mut self, sent: &Sent, frame: F, ears: &mut impl FrameEars<Frame = F>) {
        let loss = match sent.onto {
            None => Loss::NoRoom,
            Some((_, 0)) => Loss::Fault,
            Some((number, copies)) => {
                let under_way = UnderWay { frame, first_flit: sent.first_flit, copies };
                self.wires[sent.wire].insert(number, under_way);
                return;
            }
        };
        ears.lost(sent.wire, (sent.first_flit, sent.last_flit + 1), loss, frame);
    }

    fn passed_node(
        &mut self,
        node: usize,
        journal: &Journal,
        ears: &mut impl FrameEars<Frame = F>,
    ) {
        for arrived in &journal.arrived {
            let frame = self.arrive(arrived, ears);
            let number = self.nodes[node].0;
            self.nodes[node].0 += 1;
            if let Some(frame) = frame {
                ears.reaches(node, number, arrived, frame);
            }
        }
        for sent in &journal.sent {
            let number = self.nodes[node].1;
            self.nodes[node].1 += 1;
            let frame = ears.leaves(node, number, sent);
            self.send(sent, frame, ears);
        }
    }

    fn passed_switch(
        &mut self,
        switch: usize,
        journal: &Journal,
        ears: &mut impl FrameEars<Frame = F>,
    ) {
        let (mut arrived, mut sent) = (journal.arrived.iter(), journal.sent.iter());
        for step in &journal.steps {
            match *step {
                Step::In { slot } => {
                    let frame = arrived.next().and_then(|arrived| self.arrive(arrived, ears));
                    let coming = &mut self.switches[switch].coming;
                    coming.extend(frame.map(|frame| (slot, frame)));
                }
                Step::Waits { at, slot, port, how, waiting } => {
                    let Some(frame) = self.switches[switch].coming.remove(&slot) else { continue };
                    let control = matches!(how, Enqueued::Control | Enqueued::Trimmed);
                    let queue = Queue { switch, port, control };
                    let frame = ears.waits(queue, at, how, waiting, frame);
                    if !matches!(how, Enqueued::Dropped(_)) {
                        let ports = &mut self.switches[switch].ports;
                        ports[port][usize::from(control)].push_back((at, frame));
                    }
                }
                Step::Out { at, port, control, waiting } => {
                    let queue = &mut self.switches[switch].ports[port][usize::from(control)];
                    let waited = queue.pop_front();
                    let (Some((from, frame)), Some(sent)) = (waited, sent.next()) else { continue };
                    let queue = Queue { switch, port, control };
                    let frame = ears.waited(queue, (from, at), waiting, frame);
                    self.send(sent, frame, ears);
                }
            }
        }
    }
}
