//! A cluster's run as a trace for Perfetto: what each node says comes in, and what the fabric says of
//! frames; one file goes out, with a group of tracks for each node and one for the network.
//!
//! Nodes may run on several threads: each writes into a buffer of its own, and after every window the
//! buffers go to the file in the order of nodes. So the bytes do not depend on the number of threads, and
//! no more is held than a window's. The network's tracks follow when the frames of a window have left
//! their nodes whole: of two slices that begin in the same nanosecond the node's stands first in the file,
//! and the arrow leads the right way.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use pinion_net::fabric::{Arrived, Journal, Sent};
use pinion_net::switch::Enqueued;
use pinion_net::topology::Place;
use pinion_sim::node::flits;
use pinion_sim::{Clock, Time};

use super::plan::{Plan, Target};
use super::tracing::{NetworkTracer, NodeTracer};
use super::words::{drop_words, place_name, port_name};
use crate::nanoservice;
use crate::nanoservice::NodeTrace;
use pinion_app::error::Result;
use pinion_observe::trace::perfetto::{
    Corner, Lanes, NicTrace, Slice, Track, UNIT_BYTES, Value, Writer, written,
};
use pinion_observe::trace::{Choice, Filter, FrameEars, FrameWays, Loss, Queue, When};

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
    /// What happened at places, and from which cycle on it is written.
    held: VecDeque<(u64, Place, Journal)>,
    ways: FrameWays<Frame>,
    pen: Pen<W>,
}

/// Writes what happens to frames.
struct Pen<W> {
    clock: Clock,
    /// What is shown: frames that were sent from the first time on and before the second.
    span: (Time, Time),
    writer: Writer<W>,
    buffers: Vec<Buffer>,
    nodes: Vec<NodePins>,
    /// By wire: its slices.
    wires: Vec<Lanes>,
    switches: Vec<Vec<PortTracks>>,
}

/// A node's tracks at its cable.
struct NodePins {
    corner: Corner,
    into: Track,
    out: Track,
}

/// A frame: its flow, and its bytes.
#[derive(Clone, Copy)]
struct Frame {
    flow: u64,
    bytes: usize,
}

/// A port's tracks: its queues of data and of control frames.
struct PortTracks {
    queues: [QueueTracks; 2],
    waiting: (u64, u64),
}

struct QueueTracks {
    lanes: Lanes,
    counter: Track,
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
            nodes.push(NodePins { corner, into, out });
        }
        let (wires, switches) = network_tracks(plan, &mut writer, network);
        written(writer.check())?;
        let clock = plan.clock;
        let time = |when: Option<When>, none| when.map_or(none, |when| when.time(clock));
        let span = (time(from, Time::ZERO), time(to, Time::MAX));
        let pen = Pen { clock, span, writer, buffers, nodes, wires, switches };
        let ways = FrameWays::new(&plan.network.topology, plan.nodes());
        Ok((tracers, Self { held: VecDeque::new(), ways, pen }))
    }
}

impl<W: Write> Pen<W> {
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

    /// Writes how many bytes wait at a port.
    fn count(&mut self, switch: usize, (at, port): (u64, usize), waiting: (u64, u64)) {
        let shown = self.shows(at);
        let port = &mut self.switches[switch][port];
        let before = std::mem::replace(&mut port.waiting, waiting);
        let time = self.clock.time(at);
        let both = [(before.0, waiting.0), (before.1, waiting.1)];
        for (queue, (before, now)) in port.queues.iter().zip(both) {
            if shown && before != now {
                self.writer.count(queue.counter, time, now);
            }
        }
    }

    /// Writes a slice of a frame in a queue.
    fn queued(&mut self, queue: Queue, slice: Slice<'_>) {
        let tracks = &mut self.switches[queue.switch][queue.port];
        tracks.queues[usize::from(queue.control)].lanes.slice(&mut self.writer, slice);
    }

    /// Brings what nodes have written to the file.
    fn gather(&mut self) {
        for buffer in &self.buffers {
            buffer.empty_into(&mut self.writer);
        }
    }
}

impl<W: Write> FrameEars for Pen<W> {
    type Frame = Frame;

    fn leaves(&mut self, node: usize, number: u64, sent: &Sent) -> Frame {
        let NodePins { corner, out, .. } = &self.nodes[node];
        let (flow, track) = (corner.leaving(number), *out);
        let frame = Frame { flow, bytes: sent.bytes };
        if self.shows(sent.first_flit) {
            let mut slice = self.slice("frame", (sent.first_flit, sent.last_flit + 1), frame);
            slice.notes.push(("frame", Value::Count(number)));
            self.writer.slice(track, slice);
        }
        frame
    }

    fn crosses(&mut self, sent: u64, arrived: &Arrived, frame: Frame) -> Frame {
        if self.shows(sent) {
            let whole = arrived.first_flit + flits(arrived.bytes);
            let slice = self.slice("frame", (sent, whole), frame);
            self.wires[arrived.wire].slice(&mut self.writer, slice);
        }
        frame
    }

    fn reaches(&mut self, node: usize, number: u64, arrived: &Arrived, frame: Frame) {
        let (from, to) = (arrived.first_flit, arrived.first_flit + flits(arrived.bytes));
        if self.shows(from) {
            let mut slice = self.slice("frame", (from, to), frame);
            let NodePins { corner, into, .. } = &self.nodes[node];
            // A fault may have doubled the frame: its flow does not end.
            slice.flows.push(corner.arriving(number));
            slice.notes.push(("frame", Value::Count(number)));
            self.writer.slice(*into, slice);
        }
    }

    fn lost(&mut self, wire: usize, (from, to): (u64, u64), loss: Loss, frame: Frame) {
        let what = match loss {
            Loss::NoRoom => "frame is dropped: too much waits for the cable",
            Loss::Fault => "frame is lost: a fault of the cable",
            Loss::Damaged => "frame is dropped: damaged on the cable",
        };
        if self.shows(from) {
            let slice = self.slice(what, (from, to), frame);
            self.wires[wire].slice(&mut self.writer, slice);
        }
    }

    fn waits(
        &mut self,
        queue: Queue,
        at: u64,
        how: Enqueued,
        waiting: (u64, u64),
        mut frame: Frame,
    ) -> Frame {
        let what = match how {
            Enqueued::Data { marked: false } | Enqueued::Control => "",
            Enqueued::Data { marked: true } => "frame is marked (ECN)",
            Enqueued::Trimmed => "frame is trimmed: the data queue is full",
            Enqueued::Dropped(cause) => drop_words(cause),
        };
        if !what.is_empty() && self.shows(at) {
            let slice = self.slice(what, (at, at), frame);
            self.queued(queue, slice);
        }
        if how == Enqueued::Trimmed {
            frame.bytes = 0;
        }
        self.count(queue.switch, (at, queue.port), waiting);
        frame
    }

    fn waited(
        &mut self,
        queue: Queue,
        (from, at): (u64, u64),
        waiting: (u64, u64),
        frame: Frame,
    ) -> Frame {
        if self.shows(from) {
            let slice = self.slice("frame", (from, at), frame);
            self.queued(queue, slice);
        }
        self.count(queue.switch, (at, queue.port), waiting);
        frame
    }
}

impl<W: Write> NetworkTracer for ClusterTrace<W> {
    fn passed(&mut self, place: Place, journal: &Journal) {
        let whole = journal.sent.iter().map(|sent| sent.last_flit + 1).max();
        self.held.push_back((whole.unwrap_or(0), place, journal.clone()));
    }

    fn settle(&mut self, now: u64) -> Result<()> {
        self.pen.gather();
        while self.held.front().is_some_and(|(from, ..)| *from <= now) {
            let Some((_, place, journal)) = self.held.pop_front() else { break };
            self.ways.tell(place, &journal, &mut self.pen);
        }
        written(self.pen.writer.check())
    }

    fn finish(&mut self) -> Result<()> {
        self.settle(u64::MAX)?;
        written(self.pen.writer.flush())
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
) -> (Vec<Lanes>, Vec<Vec<PortTracks>>) {
    let topology = &plan.network.topology;
    let mut wires = Vec::new();
    for (number, cable) in topology.cables.iter().enumerate() {
        for [from, to] in [cable.ends, [cable.ends[1], cable.ends[0]]] {
            let [from, to] = [from, to].map(|jack| place_name(plan, jack.place));
            let title = format!("Cable from {from} to {to}");
            wires.push(Lanes::new(writer, network, number as u32, &title));
        }
    }
    let mut switches = Vec::new();
    for (number, ports) in topology.switches.iter().enumerate() {
        let root =
            writer.track(Some(network), (1 << 24) + number as u32, &format!("Switch {number}"));
        let mut tracks = Vec::new();
        for port in 0..*ports {
            let to = port_name(plan, number, port);
            let mut queue = |what: &str, rank: u32| QueueTracks {
                lanes: Lanes::new(writer, root, rank, &format!("To {to}: {what}")),
                counter: writer.counter(root, rank, &format!("To {to}: {what}"), UNIT_BYTES),
            };
            let rank = 4 * port as u32;
            let queues = [queue("data", rank), queue("control", rank + 1)];
            tracks.push(PortTracks { queues, waiting: (0, 0) });
        }
        switches.push(tracks);
    }
    (wires, switches)
}
