//! The reference: NDP and its switch once more, slowly and on their own. It shares no code with what
//! it is compared with: packets are not bytes here, time is one list of events, and every rule is
//! written from the description of the published hardware (nanoPU paper, §3.1 and appendix; cycles
//! as measured on its RTL).
//!
//! Cycles within a NIC, from the first flit of a frame at its pins: after 15 the header is decided
//! about; a control frame it asks for passes the arbiter 2 later and is on the pins 2 after that
//! (19 in all). Credit takes effect 2 cycles after it is decided, and a packet it releases passes the
//! arbiter 2 after that. A packet whose last word is written to the register passes it 3 later.

mod network;
mod switching;
mod transport;

use std::collections::{BTreeMap, VecDeque};

pub use network::{Network, Peer};

const HEADER_BYTES: u64 = 64;
const PACKET_BYTES: u64 = 1024;
const CONTROL_BYTES: u64 = 128;
const TRIMMED_BYTES: u64 = 72;
const DECIDE: u64 = 15;
const NOTICE: u64 = 2;
const RELEASE: u64 = 2;
const GENERATE: u64 = 2;
const WRITE: u64 = 3;
const EGRESS: u64 = 2;
/// Words of 64 B between arbiter and pins: two queues of 34.
const EGRESS_WORDS: usize = 68;
/// From one PULL to the next: the token's cycle and 122 until it is back.
const TOKEN: u64 = 123;
/// PULLs that wait for the token at most; one that finds no room goes at once (the published NIC
/// stops there).
const PULLS: usize = 256;
/// The timers of 128 ids are looked at in turn, each for 2 cycles.
const SCAN: u64 = 256;

/// Cycles a frame of so many bytes is on the pins.
fn flits(bytes: u64) -> u64 {
    bytes.div_ceil(8)
}

/// A message to send: who to whom, bytes, and the cycle of its first word.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub from: usize,
    pub to: usize,
    pub bytes: u64,
    pub start: u64,
}

impl Flow {
    fn packets(&self) -> u64 {
        self.bytes.div_ceil(PACKET_BYTES)
    }

    fn payload(&self, packet: u64) -> u64 {
        (self.bytes - packet * PACKET_BYTES).min(PACKET_BYTES)
    }
}

/// The numbers of a run.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub rtt_packets: u64,
    pub timeout: u64,
    pub data_queue: u64,
    pub control_queue: u64,
    pub trims: bool,
    /// All packets of a flow one way, or each any.
    pub ecmp: bool,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Data,
    Trimmed,
    Control { ack: bool, nack: bool, pull: Option<u64> },
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    from: usize,
    to: usize,
    flow: usize,
    number: u64,
    kind: Kind,
    bytes: u64,
}

/// What happens; within a cycle in this order.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A frame is whole in a switch.
    InSwitch(usize, usize, Packet),
    /// A switch's port may send.
    Port(usize, usize),
    /// A node has decided about a frame.
    Decided(usize, Packet),
    /// A control frame takes effect at a sender.
    Effect(Packet),
    /// The last word of a packet is written.
    Written(usize, u64),
    Begun(usize),
    Timer(usize),
    /// A waiting PULL may take the token.
    Token(usize),
    /// A node's arbiter may pass a frame.
    Arbiter(usize),
}

impl Event {
    /// Order within a cycle: rank, then who.
    fn order(&self) -> (u8, usize) {
        match *self {
            Self::InSwitch(switch, port, _) => (0, switch * 4096 + port),
            Self::Port(switch, port) => (1, switch * 4096 + port),
            Self::Decided(node, _) => (2, node),
            Self::Effect(packet) => (3, packet.to),
            Self::Written(flow, _) => (4, flow),
            Self::Begun(flow) | Self::Timer(flow) => (5, flow),
            Self::Token(node) => (6, node),
            Self::Arbiter(node) => (7, node),
        }
    }
}

#[derive(Default)]
struct OutPort {
    high: VecDeque<Packet>,
    low: VecDeque<Packet>,
    free: u64,
    asked: bool,
}

impl OutPort {
    fn is_empty(&self) -> bool {
        self.low.is_empty() && self.high.is_empty()
    }
}

fn bytes_of(queue: &VecDeque<Packet>) -> u64 {
    queue.iter().map(|packet| packet.bytes).sum()
}

/// A message at its sender.
#[derive(Clone, Default)]
struct Sending {
    id: u64,
    credit: u64,
    delivered: Vec<bool>,
    /// Packets to send when credit comes.
    marked: Vec<bool>,
    highest: u64,
    timed: u64,
    over: bool,
}

/// A message at its receiver.
#[derive(Clone, Default)]
struct Receiving {
    known: bool,
    credit: u64,
    have: Vec<bool>,
    /// Packets that have reached the pins, for the outcome only.
    seen: Vec<bool>,
}

#[derive(Default)]
struct Nic {
    /// First transmissions, then what credit released, then what timed out: from when, what.
    data: [VecDeque<(u64, usize, u64)>; 3],
    control: VecDeque<(u64, Packet)>,
    pulls: VecDeque<Packet>,
    token: u64,
    last_request: Option<u64>,
    passes: u64,
    /// When the last words left the egress queues.
    left: VecDeque<u64>,
    pins: u64,
    ids: u64,
    /// Cycles that setting timers took from their scan.
    scan: u64,
}

/// What came of a run.
#[derive(Default)]
pub struct Outcome {
    /// By flow: the cycle in which the last flit of its last missing packet is at the receiver.
    pub done: Vec<Option<u64>>,
    pub trimmed: u64,
    pub dropped: u64,
    pub largest: u64,
}

pub struct Model<'a> {
    flows: &'a [Flow],
    rules: Rules,
    network: &'a Network,
    events: BTreeMap<(u64, u8, usize, u64), Event>,
    count: u64,
    switches: Vec<Vec<OutPort>>,
    nics: Vec<Nic>,
    sending: Vec<Sending>,
    receiving: Vec<Receiving>,
    random: u64,
    outcome: Outcome,
}

impl<'a> Model<'a> {
    pub fn run(network: &'a Network, flows: &'a [Flow], rules: Rules) -> Outcome {
        let ports = |ports: &Vec<(Peer, u64)>| ports.iter().map(|_| OutPort::default()).collect();
        let mut model = Self {
            flows,
            rules,
            network,
            events: BTreeMap::new(),
            count: 0,
            switches: network.ports.iter().map(ports).collect(),
            nics: network.nodes.iter().map(|_| Nic::default()).collect(),
            sending: vec![Sending::default(); flows.len()],
            receiving: vec![Receiving::default(); flows.len()],
            random: rules.seed | 1,
            outcome: Outcome { done: vec![None; flows.len()], ..Outcome::default() },
        };
        for (index, flow) in flows.iter().enumerate() {
            model.begin(index, flow);
        }
        while let Some(((now, ..), event)) = model.events.pop_first() {
            model.happen(now, event);
        }
        model.outcome
    }

    fn begin(&mut self, index: usize, flow: &Flow) {
        let packets = flow.packets() as usize;
        let id = self.nics[flow.from].ids;
        self.nics[flow.from].ids += 1;
        self.sending[index] = Sending {
            id: id % 128,
            credit: self.rules.rtt_packets,
            delivered: vec![false; packets],
            marked: vec![false; packets],
            ..Sending::default()
        };
        self.receiving[index].have = vec![false; packets];
        self.receiving[index].seen = vec![false; packets];
        let mut written = flow.start;
        for number in 0..flow.packets() {
            written += flow.payload(number).div_ceil(8);
            self.at(written, Event::Written(index, number));
        }
        self.at(flow.start + 2, Event::Begun(index));
    }

    fn at(&mut self, cycle: u64, event: Event) {
        self.count += 1;
        let (rank, who) = event.order();
        self.events.insert((cycle, rank, who, self.count), event);
    }

    /// Sets a timer. The scan waits for that: a cycle, or two when it was about to compare.
    fn set_timer(&mut self, set: u64, flow: usize) {
        let nic = &mut self.nics[self.flows[flow].from];
        nic.scan += if (set - nic.scan).is_multiple_of(2) { 2 } else { 1 };
        let at = self.found(set + self.rules.timeout, flow);
        self.at(at, Event::Timer(flow));
    }

    /// When the scan next meets a timer, from a cycle on.
    fn found(&self, from: u64, flow: usize) -> u64 {
        let at = (from - self.nics[self.flows[flow].from].scan) % SCAN;
        from + (SCAN + 2 * self.sending[flow].id - at) % SCAN
    }

    fn happen(&mut self, now: u64, event: Event) {
        match event {
            Event::InSwitch(switch, _, packet) => self.queue(now, switch, packet),
            Event::Port(switch, port) => self.send(now, switch, port),
            Event::Decided(node, packet) => match packet.kind {
                Kind::Control { .. } => self.at(now + NOTICE, Event::Effect(packet)),
                _ => self.answer(now, node, packet),
            },
            Event::Effect(packet) => self.effect(now, packet),
            Event::Written(flow, number) => {
                let sending = &mut self.sending[flow];
                if number < sending.credit.max(self.rules.rtt_packets) {
                    self.offer(now + WRITE, 0, flow, number);
                } else {
                    sending.marked[number as usize] = true;
                }
            }
            Event::Begun(flow) => self.set_timer(now, flow),
            Event::Timer(flow) => self.time_out(now, flow),
            Event::Token(node) => self.pull(now, node),
            Event::Arbiter(node) => self.arbitrate(now, node),
        }
    }

    // The switch.
}
