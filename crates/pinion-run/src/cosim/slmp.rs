//! Senders of SLMP messages: threads of a program, each with a window of packets that are not yet
//! acknowledged.
//!
//! A message's first packet goes alone, then its threads send a part each, then the last packet goes
//! alone, as sPIN wants it. A thread sends as long as its window is open, then waits for
//! acknowledgements; each opens the window for one packet more. All threads' acknowledgements come
//! through one interrupt.

use std::collections::BTreeSet;
use std::sync::Arc;

use pinion_host::HostModel;
use pinion_host::model::{Server, to_ps};
use pinion_net::frame::{Endpoints, SlmpHeader, build_slmp_frame};

use super::receive::ReceivePath;
use super::world::{Actor, World};

/// The first thread's port.
const FIRST_PORT: u16 = 40_000;
/// The token of the interrupt; threads' tokens are their numbers.
const RECEIVED: u64 = u64::MAX;
/// Added to a flow's number in the token that starts it.
const BEGIN: u64 = 1 << 32;
/// Bytes of the headers in front of SLMP's.
const HEADER_BYTES: usize = 42;

/// A message and who sends it.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name of the message.
    pub message_id: u32,
    /// The message.
    pub message: Arc<[u8]>,
    /// How many threads send it; the first of them also sends its first and last packet.
    pub threads: u32,
}

/// Says how messages are sent.
#[derive(Clone, Debug)]
pub struct SendersPlan {
    /// The messages, which are sent at the same time.
    pub flows: Vec<Flow>,
    /// When the program starts, in ps.
    pub begin_ps: u64,
    /// How many packets of a message may be under way: its threads share them evenly.
    pub window: u32,
    /// How many bytes of a message a packet carries.
    pub payload_bytes: usize,
    /// Whether all cores compute meanwhile.
    pub all_compute: bool,
}

/// Sends messages.
#[derive(Debug)]
pub struct Senders {
    model: HostModel,
    plan: SendersPlan,
    ends: Endpoints,
    threads: Vec<Thread>,
    phases: Vec<Phase>,
    unfinished: usize,
    path: ReceivePath,
    transmit: Server,
    finished_ps: u64,
    unexpected: u64,
}

#[derive(Debug)]
struct Thread {
    /// The flow that it is of.
    flow: usize,
    /// What it has to send now.
    next: usize,
    end: usize,
    window: u32,
    /// Offsets that are under way.
    open: BTreeSet<usize>,
    /// Acknowledgements in the socket that the thread has not seen.
    arrived: u32,
    /// Packets under way, as far as the thread knows.
    in_flight: u32,
    asleep: bool,
}

impl Thread {
    fn new(flow: usize, window: u32) -> Self {
        Self {
            flow,
            next: 0,
            end: 0,
            window,
            open: BTreeSet::new(),
            arrived: 0,
            in_flight: 0,
            asleep: false,
        }
    }
}

/// Says how far a flow is.
#[derive(Clone, Copy, Debug, Default)]
struct Phase {
    number: u32,
    /// Threads that are not done with it.
    working: usize,
}

impl Senders {
    /// Makes senders.
    pub fn new(model: &HostModel, plan: SendersPlan) -> Self {
        let mut threads = Vec::new();
        for (index, flow) in plan.flows.iter().enumerate() {
            let count = flow.threads.max(1);
            let window = (plan.window / count).max(1);
            threads.extend((0..count).map(|_| Thread::new(index, window)));
        }
        Self {
            model: model.clone(),
            phases: vec![Phase::default(); plan.flows.len()],
            unfinished: plan.flows.len(),
            plan,
            ends: Endpoints::default(),
            threads,
            path: ReceivePath::default(),
            transmit: Server::default(),
            finished_ps: 0,
            unexpected: 0,
        }
    }

    /// Gives when the last thread was done, in ps; `None`: one waits for ever.
    pub fn finished_ps(&self) -> Option<u64> {
        (self.unfinished == 0).then_some(self.finished_ps)
    }

    /// Counts the bytes of all flows.
    pub fn bytes(&self) -> u64 {
        self.plan.flows.iter().map(|flow| flow.message.len() as u64).sum()
    }

    /// Counts acknowledgements of packets that were not under way.
    pub fn unexpected(&self) -> u64 {
        self.unexpected
    }

    /// Lets a thread do the next thing.
    fn go_on(&mut self, index: usize, world: &mut World<'_>) {
        let kernel = &self.model.kernel;
        let now_ps = world.now_ps();
        let thread = &mut self.threads[index];
        if thread.next < thread.end && thread.in_flight < thread.window {
            let sent_ps = self.send(index, world);
            world.at(sent_ps, index as u64);
        } else if thread.arrived > 0 {
            thread.arrived -= 1;
            thread.in_flight -= 1;
            world.at(now_ps + to_ps(kernel.receive_ns), index as u64);
        } else if thread.in_flight == 0 {
            self.finish_part(index, world);
        } else {
            thread.asleep = true;
        }
    }

    /// Goes on with a flow's next phase when all its threads are done with theirs.
    fn finish_part(&mut self, index: usize, world: &mut World<'_>) {
        let flow = self.threads[index].flow;
        let phase = &mut self.phases[flow];
        phase.working -= 1;
        if phase.working == 0 {
            self.begin_phase(flow, world);
        }
    }

    /// Hands out a flow's first packet, then those between to all threads, then its last one.
    fn begin_phase(&mut self, flow: usize, world: &mut World<'_>) {
        let (now_ps, piece) = (world.now_ps(), self.plan.payload_bytes.max(1));
        let (bytes, count) = (self.plan.flows[flow].message.len(), self.plan.flows[flow].threads);
        let packets = bytes.div_ceil(piece).max(1);
        let phase = &mut self.phases[flow];
        phase.number += 1;
        let (packets, threads) = match (phase.number, packets) {
            (1, _) => (0..1, 1),
            (2, 3..) => (1..packets - 1, count.max(1) as usize),
            (2, 2) | (3, 3..) => (packets - 1..packets, 1),
            _ => {
                self.unfinished -= 1;
                self.finished_ps = now_ps;
                return;
            }
        };
        let share = |part: usize| packets.start + packets.len() * part / threads;
        phase.working = threads;
        let first = self.threads.iter().position(|thread| thread.flow == flow).unwrap_or(0);
        let start_ps =
            if packets.start > 0 && threads > 1 { self.model.program.thread_ns } else { 0.0 };
        for part in 0..threads {
            let thread = &mut self.threads[first + part];
            (thread.next, thread.end) = (share(part) * piece, (share(part + 1) * piece).min(bytes));
            world.at(now_ps + to_ps(start_ps * part as f64), (first + part) as u64);
        }
    }

    /// Sends a thread's next packet; gives when its call returns.
    fn send(&mut self, index: usize, world: &mut World<'_>) -> u64 {
        let thread = &mut self.threads[index];
        let flow = &self.plan.flows[thread.flow];
        let from = thread.next;
        let to = (from + self.plan.payload_bytes.max(1)).min(thread.end);
        let mut flags = SlmpHeader::SYN;
        if to == flow.message.len() {
            flags |= SlmpHeader::EOM;
        }
        let header = SlmpHeader { flags, message_id: flow.message_id, offset_bytes: from as u32 };
        thread.next = to;
        thread.in_flight += 1;
        thread.open.insert(from);
        let port = FIRST_PORT + index as u16;
        let frame = build_slmp_frame(&self.ends, port, header, &flow.message[from..to]);
        let frame = frame.expect("a packet's payload fits a datagram");
        let doorbell_ps = world.now_ps() + self.model.kernel.send_ps(frame.len());
        let gap_ps = to_ps(self.model.nic.transmit_gap_ns);
        let taken_ps = self.transmit.serve(doorbell_ps, gap_ps) - gap_ps;
        world.send(taken_ps + self.model.nic.transmit_ps(frame.len()), frame);
        doorbell_ps
    }

    /// Gives the thread whose packet a frame acknowledges.
    fn acknowledged(&mut self, frame: &[u8]) -> Option<usize> {
        let (header, _) = SlmpHeader::split(frame.get(HEADER_BYTES..)?)?;
        let port = u16::from_be_bytes([frame[36], frame[37]]);
        let index = usize::from(port.checked_sub(FIRST_PORT)?);
        let thread = self.threads.get_mut(index)?;
        let is_own = header.message_id == self.plan.flows[thread.flow].message_id;
        let is_ack = header.flags & SlmpHeader::ACK != 0;
        (is_own && is_ack && thread.open.remove(&(header.offset_bytes as usize))).then_some(index)
    }
}

impl Actor for Senders {
    fn start(&mut self, world: &mut World<'_>) {
        let program = &self.model.program;
        let further = if self.plan.window > 1 { program.start_window_ns } else { 0.0 };
        let start_ps = self.plan.begin_ps + to_ps(program.start_ns + further);
        for flow in 0..self.plan.flows.len() {
            world.at(start_ps, BEGIN | flow as u64);
        }
    }

    fn timer(&mut self, token: u64, world: &mut World<'_>) {
        match token {
            RECEIVED => {}
            flow if flow & BEGIN != 0 => return self.begin_phase((flow & !BEGIN) as usize, world),
            thread => return self.go_on(thread as usize, world),
        }
        let Some(frame) = self.path.finish() else { return };
        match self.acknowledged(&frame) {
            None => self.unexpected += 1,
            Some(index) => {
                let thread = &mut self.threads[index];
                thread.arrived += 1;
                if std::mem::take(&mut thread.asleep) {
                    let kernel = &self.model.kernel;
                    let woken = self.path.work(world.now_ps(), kernel.wake_call_ns);
                    let wake = kernel.wake_ps(self.path.was_asleep(), self.plan.all_compute);
                    world.at(woken + wake, index as u64);
                }
            }
        }
        if let Some(done) = self.path.begin(&self.model) {
            world.at(done, RECEIVED);
        }
    }

    fn frame(&mut self, frame: Vec<u8>, world: &mut World<'_>) {
        if let Some(done) = self.path.arrive(world.now_ps(), frame, &self.model) {
            world.at(done, RECEIVED);
        }
    }
}
