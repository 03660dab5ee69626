//! A cluster's run as a trace for Perfetto: what each node says comes in, and what the fabric says of
//! frames; one file goes out, with a group of tracks for each node and one for the network.
//!
//! Nodes may run on several threads: each writes into a buffer of its own, and after every window the
//! buffers go to the file in the order of nodes. So the bytes do not depend on the number of threads, and
//! no more is held than a window's. The network's tracks follow when the frames of a window have left
//! their nodes whole: of two slices that begin in the same nanosecond the node's stands first in the file,
//! and the arrow leads the right way.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use pinion_net::fabric::{Arrived, Journal, Sent};
use pinion_net::switch::{Enqueued, Step};
use pinion_net::topology::Place;
use pinion_sim::node::flits;
use pinion_sim::{Clock, Time};

use super::plan::{Plan, Target};
use super::tracing::{NetworkTracer, NodeTracer};
use super::words::drop_words;
use crate::nanoservice;
use crate::nanoservice::NodeTrace;
use pinion_app::error::Result;
use pinion_observe::trace::perfetto::{
    Corner, Lanes, NicTrace, Slice, Track, UNIT_BYTES, Value, Writer,
};
use pinion_observe::trace::{Choice, Filter, When};

/// What a node's tracks are written to until the window is over.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn empty_into<W: Write>(&self, writer: &mut Writer<W>) {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer.append(&bytes);
        bytes.clear();
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes a cluster's run as a trace for Perfetto.
pub struct ClusterTrace<W> {
    clock: Clock,
    /// What is shown: frames that were sent from the first time on and before the second.
    span: (Time, Time),
    writer: Writer<W>,
    buffers: Vec<Buffer>,
    /// What happened at places, and from which cycle on it is written.
    held: VecDeque<(u64, Place, Journal)>,
    nodes: Vec<NodePins>,
    wires: Vec<Wire>,
    switches: Vec<SwitchTracks>,
}

/// A node's tracks at its cable.
struct NodePins {
    corner: Corner,
    into: Track,
    out: Track,
    came: u64,
    left: u64,
}

/// A direction of a cable.
struct Wire {
    lanes: Lanes,
    /// Frames under way, by their numbers.
    frames: HashMap<u64, UnderWay>,
}

/// A frame on a wire.
#[derive(Clone, Copy)]
struct UnderWay {
    frame: Frame,
    first_flit: u64,
    /// Times that it still arrives.
    copies: u8,
}

/// A frame: its flow, and its bytes.
#[derive(Clone, Copy)]
struct Frame {
    flow: u64,
    bytes: usize,
}

/// A switch's tracks.
struct SwitchTracks {
    /// Frames that came and do not wait yet, by their places.
    coming: HashMap<u32, Frame>,
    ports: Vec<PortTracks>,
}

/// A port's tracks: its queues of data and of control frames.
struct PortTracks {
    queues: [Queue; 2],
    waiting: (u64, u64),
}

struct Queue {
    lanes: Lanes,
    counter: Track,
    frames: VecDeque<(u64, Frame)>,
}

/// Who hears the nodes, and who hears the network and has the file.
pub type Parts<'a, W> = (Vec<(usize, NodeTracer<'a>)>, ClusterTrace<W>);

impl<W: Write> ClusterTrace<W> {
    /// Begins the trace of a cluster, from a time on and until one.
    ///
    /// # Errors
    /// When there is no time between them, or the trace cannot be written.
    pub fn begin<'a>(
        plan: &'a Plan,
        (from, to): (Option<When>, Option<When>),
        out: W,
    ) -> Result<Parts<'a, W>> {
        let mut writer = Writer::new(out, &Corner { name: None, sequence: 1 });
        let network = writer.track(None, u32::MAX >> 1, "Network");
        let (mut tracers, mut buffers, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for (node, name) in plan.names.iter().enumerate() {
            let corner = Corner::of_node(node, name);
            let buffer = Buffer::default();
            let tracer = tracer(plan, node, (from, to), corner.clone(), buffer.clone())?;
            let root = match tracer {
                Some(_) => corner.root(),
                None => writer.track(None, 0, name),
            };
            buffer.empty_into(&mut writer);
            tracers.extend(tracer.map(|tracer| (node, tracer)));
            buffers.push(buffer);
            let into = writer.track(Some(root), 0, "Pins, in");
            let out = writer.track(Some(root), u32::MAX >> 1, "Pins, out");
            nodes.push(NodePins { corner, into, out, came: 0, left: 0 });
        }
        let (wires, switches) = network_tracks(plan, &mut writer, network);
        writer.check()?;
        let clock = plan.clock;
        let time = |when: Option<When>, none| when.map_or(none, |when| when.time(clock));
        let span = (time(from, Time::ZERO), time(to, Time::MAX));
        let held = VecDeque::new();
        Ok((tracers, Self { clock, span, writer, buffers, held, nodes, wires, switches }))
    }

    fn shows(&self, cycle: u64) -> bool {
        let time = self.clock.time(cycle);
        time >= self.span.0 && time < self.span.1
    }

    /// Makes a slice of a frame.
    fn slice(&self, name: &'static str, (from, to): (u64, u64), frame: Frame) -> Slice<'static> {
        let (begin, end) = (self.clock.time(from), self.clock.time(to));
        let notes = vec![("bytes", Value::Count(frame.bytes as u64))];
        Slice { name, begin, end, flows: vec![frame.flow], ends: Vec::new(), notes }
    }

    /// Writes a frame's way along a cable, and gives the frame.
    fn arrive(&mut self, arrived: &Arrived) -> Frame {
        let Arrived { wire, number, first_flit, bytes } = *arrived;
        let frames = &mut self.wires[wire].frames;
        let Some(under_way) = frames.get_mut(&number) else {
            return Frame { flow: 0, bytes };
        };
        let UnderWay { frame, first_flit: sent, .. } = *under_way;
        under_way.copies = under_way.copies.saturating_sub(1);
        if under_way.copies == 0 {
            frames.remove(&number);
        }
        if self.shows(sent) {
            let slice = self.slice("frame", (sent, first_flit + flits(bytes)), frame);
            self.wires[wire].lanes.slice(&mut self.writer, slice);
        }
        frame
    }

    /// Puts a frame on a wire.
    fn send(&mut self, sent: &Sent, flow: u64) {
        let frame = Frame { flow, bytes: sent.bytes };
        let what = match sent.onto {
            None => "frame is dropped: too much waits for the cable",
            Some((_, 0)) => "frame is lost: a fault of the cable",
            Some((number, copies)) => {
                let under_way = UnderWay { frame, first_flit: sent.first_flit, copies };
                self.wires[sent.wire].frames.insert(number, under_way);
                return;
            }
        };
        if self.shows(sent.first_flit) {
            let slice = self.slice(what, (sent.first_flit, sent.last_flit + 1), frame);
            self.wires[sent.wire].lanes.slice(&mut self.writer, slice);
        }
    }

    fn damaged(&mut self, at: u64, wire: usize, number: u64) {
        let arrived = Arrived { wire, number, first_flit: at, bytes: 0 };
        let frame = self.arrive(&arrived);
        if self.shows(at) {
            let slice = self.slice("frame is dropped: damaged on the cable", (at, at), frame);
            self.wires[wire].lanes.slice(&mut self.writer, slice);
        }
    }

    fn passed_node(&mut self, node: usize, journal: &Journal) {
        for arrived in &journal.arrived {
            let frame = self.arrive(arrived);
            let (from, to) = (arrived.first_flit, arrived.first_flit + flits(arrived.bytes));
            let mut slice = self.slice("frame", (from, to), frame);
            let pins = &mut self.nodes[node];
            // A fault may have doubled the frame: its flow does not end.
            slice.flows.push(pins.corner.arriving(pins.came));
            slice.notes.push(("frame", Value::Count(pins.came)));
            pins.came += 1;
            let track = pins.into;
            if self.shows(from) {
                self.writer.slice(track, slice);
            }
        }
        for sent in &journal.sent {
            let pins = &mut self.nodes[node];
            let (flow, number, track) = (pins.corner.leaving(pins.left), pins.left, pins.out);
            pins.left += 1;
            let frame = Frame { flow, bytes: sent.bytes };
            if self.shows(sent.first_flit) {
                let mut slice = self.slice("frame", (sent.first_flit, sent.last_flit + 1), frame);
                slice.notes.push(("frame", Value::Count(number)));
                self.writer.slice(track, slice);
            }
            self.send(sent, flow);
        }
    }

    fn passed_switch(&mut self, number: usize, journal: &Journal) {
        let (mut arrived, mut sent) = (journal.arrived.iter(), journal.sent.iter());
        for step in &journal.steps {
            match *step {
                Step::In { slot } => {
                    let Some(arrived) = arrived.next() else { continue };
                    let frame = self.arrive(arrived);
                    self.switches[number].coming.insert(slot, frame);
                }
                Step::Waits { at, slot, port, how, waiting } => {
                    let Some(frame) = self.switches[number].coming.remove(&slot) else { continue };
                    self.wait(number, (at, port), how, frame);
                    self.count(number, (at, port), waiting);
                }
                Step::Out { at, port, control, waiting } => {
                    let queue = &mut self.switches[number].ports[port].queues[usize::from(control)];
                    let waited = queue.frames.pop_front();
                    let (Some((from, frame)), Some(sent)) = (waited, sent.next()) else { continue };
                    if self.shows(from) {
                        let slice = self.slice("frame", (from, at), frame);
                        let queue =
                            &mut self.switches[number].ports[port].queues[usize::from(control)];
                        queue.lanes.slice(&mut self.writer, slice);
                    }
                    self.count(number, (at, port), waiting);
                    self.send(sent, frame.flow);
                }
            }
        }
    }

    /// Puts a frame into a port's queue, or tells why it goes no further.
    fn wait(&mut self, switch: usize, (at, port): (u64, usize), how: Enqueued, mut frame: Frame) {
        let what = match how {
            Enqueued::Data { marked: false } | Enqueued::Control => "",
            Enqueued::Data { marked: true } => "frame is marked (ECN)",
            Enqueued::Trimmed => "frame is trimmed: the data queue is full",
            Enqueued::Dropped(cause) => drop_words(cause),
        };
        let is_control = matches!(how, Enqueued::Control | Enqueued::Trimmed);
        if !what.is_empty() && self.shows(at) {
            let slice = self.slice(what, (at, at), frame);
            let queue = &mut self.switches[switch].ports[port].queues[usize::from(is_control)];
            queue.lanes.slice(&mut self.writer, slice);
        }
        if !matches!(how, Enqueued::Dropped(_)) {
            if how == Enqueued::Trimmed {
                frame.bytes = 0;
            }
            let queue = &mut self.switches[switch].ports[port].queues[usize::from(is_control)];
            queue.frames.push_back((at, frame));
        }
    }

    /// Writes how many bytes wait at a port.
    fn count(&mut self, switch: usize, (at, port): (u64, usize), waiting: (u64, u64)) {
        let shown = self.shows(at);
        let port = &mut self.switches[switch].ports[port];
        let before = std::mem::replace(&mut port.waiting, waiting);
        let time = self.clock.time(at);
        let both = [(before.0, waiting.0), (before.1, waiting.1)];
        for (queue, (before, now)) in port.queues.iter().zip(both) {
            if shown && before != now {
                self.writer.count(queue.counter, time, now);
            }
        }
    }

    /// Writes what happened at a place.
    fn tell(&mut self, place: Place, journal: &Journal) {
        for &(at, wire, number) in &journal.damaged {
            self.damaged(at, wire, number);
        }
        match place {
            Place::Node(node) => self.passed_node(node, journal),
            Place::Switch(switch) => self.passed_switch(switch, journal),
        }
    }

    /// Brings what nodes have written to the file.
    fn gather(&mut self) {
        for buffer in &self.buffers {
            buffer.empty_into(&mut self.writer);
        }
    }
}

impl<W: Write> NetworkTracer for ClusterTrace<W> {
    fn passed(&mut self, place: Place, journal: &Journal) {
        let whole = journal.sent.iter().map(|sent| sent.last_flit + 1).max();
        self.held.push_back((whole.unwrap_or(0), place, journal.clone()));
    }

    fn settle(&mut self, now: u64) -> Result<()> {
        self.gather();
        while self.held.front().is_some_and(|(from, ..)| *from <= now) {
            let Some((_, place, journal)) = self.held.pop_front() else { break };
            self.tell(place, &journal);
        }
        self.writer.check()
    }

    fn finish(&mut self) -> Result<()> {
        self.settle(u64::MAX)?;
        self.writer.flush()
    }
}

/// Makes who hears a node, if it runs a program.
fn tracer<'a>(
    plan: &'a Plan,
    node: usize,
    (from, to): (Option<When>, Option<When>),
    corner: Corner,
    out: Buffer,
) -> Result<Option<NodeTracer<'a>>> {
    let Some((group, _)) = plan.group_of(node) else { return Ok(None) };
    Ok(match &group.target {
        Target::Nanoservice { setup, .. } => {
            let cycle = |when: When| when.cycle(setup.clock);
            let (from, to) = (from.map_or(0, cycle), to.map(cycle));
            let filter = nanoservice::Filter { from, to, ..nanoservice::Filter::default() };
            let harts = setup.machine.value.core.count;
            let tracer = NodeTrace::new(setup.clock, filter, harts, corner, out)?;
            Some(NodeTracer::Nano(Box::new(tracer)))
        }
        Target::Handlers { app } => {
            let filter = Filter::new(app, &Choice { from, to, ..Choice::default() })?;
            Some(NodeTracer::Spin(Box::new(NicTrace::new(app, filter, corner, out)?)))
        }
        Target::Load { .. } | Target::Frames { .. } => None,
    })
}

/// Makes the network's tracks: cables, and the ports of switches.
fn network_tracks<W: Write>(
    plan: &Plan,
    writer: &mut Writer<W>,
    network: Track,
) -> (Vec<Wire>, Vec<SwitchTracks>) {
    let topology = &plan.network.topology;
    let name = |place: Place| match place {
        Place::Node(node) => plan.names[node].clone(),
        Place::Switch(switch) => format!("switch {switch}"),
    };
    let mut wires = Vec::new();
    for (number, cable) in topology.cables.iter().enumerate() {
        for [from, to] in [cable.ends, [cable.ends[1], cable.ends[0]]] {
            let title = format!("Cable from {} to {}", name(from.place), name(to.place));
            let lanes = Lanes::new(writer, network, number as u32, &title);
            wires.push(Wire { lanes, frames: HashMap::new() });
        }
    }
    let mut switches = Vec::new();
    for (number, ports) in topology.switches.iter().enumerate() {
        let root =
            writer.track(Some(network), (1 << 24) + number as u32, &format!("Switch {number}"));
        let mut tracks = Vec::new();
        for port in 0..*ports {
            let jack = |place| pinion_net::topology::Jack { place, port };
            let own = jack(Place::Switch(number));
            let cable = topology.cables.iter().find(|cable| cable.ends.contains(&own));
            let other = cable.map(|cable| cable.ends[usize::from(cable.ends[0] == own)].place);
            let to = other.map_or_else(|| "nobody".to_owned(), name);
            let mut queue = |what: &str, rank: u32| Queue {
                lanes: Lanes::new(writer, root, rank, &format!("To {to}: {what}")),
                counter: writer.counter(root, rank, &format!("To {to}: {what}"), UNIT_BYTES),
                frames: VecDeque::new(),
            };
            let rank = 4 * port as u32;
            let queues = [queue("data", rank), queue("control", rank + 1)];
            tracks.push(PortTracks { queues, waiting: (0, 0) });
        }
        switches.push(SwitchTracks { coming: HashMap::new(), ports: tracks });
    }
    (wires, switches)
}
