//! The reference: NDP and its switch once more, slowly and on their own. It shares no code with what
//! it is compared with: packets are not bytes here, time is one list of events, and every rule is
//! written from the description of the published hardware (nanoPU paper, §4.2 and appendix; cycles
//! as measured on its RTL).
//!
//! Cycles within a NIC, from the first flit of a frame at its pins: after 15 the header is decided
//! about; a control frame it asks for passes the arbiter 2 later and is on the pins 2 after that
//! (19 in all). Credit takes effect 2 cycles after it is decided, and a packet it releases passes the
//! arbiter 2 after that. A packet whose last word is written to the register passes it 3 later.

use std::collections::{BTreeMap, VecDeque};

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

#[derive(Clone, Copy, Debug)]
pub enum Peer {
    Node(usize),
    /// A switch and the port there.
    Switch(usize, usize),
}

/// A network: what is at each port of each switch and how far, where each node is, and the ports that
/// lead from a switch to a node.
pub struct Network {
    pub ports: Vec<Vec<(Peer, u64)>>,
    pub nodes: Vec<(usize, usize, u64)>,
    pub ways: Box<dyn Fn(usize, usize) -> Vec<usize>>,
}

impl Network {
    pub fn star(nodes: usize, latency: u64) -> Self {
        Self {
            ports: vec![(0..nodes).map(|node| (Peer::Node(node), latency)).collect()],
            nodes: (0..nodes).map(|node| (0, node, latency)).collect(),
            ways: Box::new(|_, to| vec![to]),
        }
    }

    pub fn leaf_spine(leaves: usize, per: usize, spines: usize, latency: u64, up: u64) -> Self {
        let leaf = |leaf: usize| {
            let down = (0..per).map(|n| (Peer::Node(leaf * per + n), latency));
            down.chain((0..spines).map(|s| (Peer::Switch(leaves + s, leaf), up))).collect()
        };
        let spine = |s: usize| (0..leaves).map(|l| (Peer::Switch(l, per + s), up)).collect();
        Self {
            ports: (0..leaves).map(leaf).chain((0..spines).map(spine)).collect(),
            nodes: (0..leaves * per).map(|n| (n / per, n % per, latency)).collect(),
            ways: Box::new(move |switch, to| match switch {
                _ if switch >= leaves => vec![to / per],
                _ if to / per == switch => vec![to % per],
                _ => (per..per + spines).collect(),
            }),
        }
    }

    /// A full fat-tree: `k`²/2 edge switches, as many for aggregation, then the core.
    pub fn fat_tree(k: usize, latency: u64, up: u64) -> Self {
        let h = k / 2;
        let edges = k * h;
        let edge = |e: usize| {
            let down = (0..h).map(|n| (Peer::Node(e * h + n), latency));
            down.chain((0..h).map(|a| (Peer::Switch(edges + e / h * h + a, e % h), up))).collect()
        };
        let aggregation = |a: usize| {
            let down = (0..h).map(|e| (Peer::Switch(a / h * h + e, h + a % h), up));
            let core = |c| (Peer::Switch(2 * edges + a % h * h + c, a / h), up);
            down.chain((0..h).map(core)).collect()
        };
        let core = |c: usize| {
            (0..k).map(|pod| (Peer::Switch(edges + pod * h + c / h, h + c % h), up)).collect()
        };
        let lower = (0..edges).map(edge).chain((0..edges).map(aggregation));
        Self {
            ports: lower.chain((0..h * h).map(core)).collect(),
            nodes: (0..edges * h).map(|n| (n / h, n % h, latency)).collect(),
            ways: Box::new(move |switch, to| {
                let (edge, pod) = (to / h, to / h / h);
                match switch {
                    _ if switch < edges && switch == edge => vec![to % h],
                    _ if switch < edges => (h..k).collect(),
                    _ if switch < 2 * edges && (switch - edges) / h == pod => vec![edge % h],
                    _ if switch < 2 * edges => (h..k).collect(),
                    _ => vec![pod],
                }
            }),
        }
    }
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

    fn queue(&mut self, now: u64, switch: usize, mut packet: Packet) {
        let ways = (self.network.ways)(switch, packet.to);
        let way = match ways.len() {
            1 => 0,
            count if self.rules.ecmp => self.hash(switch, &packet, count),
            count => self.draw() as usize % count,
        };
        let Rules { data_queue, control_queue, trims, .. } = self.rules;
        let out = &mut self.switches[switch][ways[way]];
        let is_full = bytes_of(&out.low) + packet.bytes >= data_queue;
        if packet.kind == Kind::Data && is_full && trims {
            (packet.kind, packet.bytes) = (Kind::Trimmed, TRIMMED_BYTES);
            self.outcome.trimmed += 1;
        }
        let (queue, room) = match packet.kind {
            Kind::Data => (&mut out.low, data_queue),
            _ => (&mut out.high, control_queue),
        };
        if bytes_of(queue) + packet.bytes >= room {
            self.outcome.dropped += 1;
            return;
        }
        queue.push_back(packet);
        let port = ways[way];
        self.outcome.largest = self.outcome.largest.max(bytes_of(&out.low));
        if !out.asked && !out.is_empty() {
            out.asked = true;
            let free = out.free.max(now);
            self.at(free, Event::Port(switch, port));
        }
    }

    fn send(&mut self, now: u64, switch: usize, port: usize) {
        let out = &mut self.switches[switch][port];
        out.asked = false;
        let Some(packet) = out.high.pop_front().or_else(|| out.low.pop_front()) else { return };
        out.free = now + flits(packet.bytes);
        if !out.is_empty() {
            out.asked = true;
            let free = out.free;
            self.at(free, Event::Port(switch, port));
        }
        let (peer, latency) = self.network.ports[switch][port];
        self.arrive(now + latency, peer, packet);
    }

    /// The first flit of a frame is there.
    fn arrive(&mut self, first: u64, peer: Peer, packet: Packet) {
        match peer {
            Peer::Switch(switch, port) => {
                let whole = first + flits(packet.bytes);
                self.at(whole, Event::InSwitch(switch, port, packet));
            }
            Peer::Node(node) => {
                let flow = packet.flow;
                let seen = &mut self.receiving[flow].seen;
                if packet.kind == Kind::Data {
                    seen[packet.number as usize] = true;
                    if seen.iter().all(|seen| *seen) {
                        self.outcome.done[flow].get_or_insert(first + flits(packet.bytes));
                    }
                }
                self.at(first + DECIDE, Event::Decided(node, packet));
            }
        }
    }

    /// Equal-cost multi-path: FNV-1a over addresses, protocol and contexts, mixed with the switch's
    /// seed by SplitMix64.
    fn hash(&self, switch: usize, packet: &Packet, ways: usize) -> usize {
        let mix = |number: u64| {
            let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let address = |node: usize| (0x0a00_0002 + node as u32).to_be_bytes();
        let key = [&address(packet.from)[..], &address(packet.to), &[0x99, 0, 0, 0, 0]].concat();
        for byte in key {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let number = mix(hash ^ mix(self.rules.seed + switch as u64));
        ((u128::from(number) * ways as u128) >> 64) as usize
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }

    // The receiver.

    fn answer(&mut self, now: u64, node: usize, packet: Packet) {
        let trimmed = packet.kind == Kind::Trimmed;
        let receiving = &mut self.receiving[packet.flow];
        let number = packet.number as usize;
        // A packet of a message that is complete is only acknowledged.
        let wants_pull = !receiving.have.iter().all(|have| *have);
        if !receiving.known {
            (receiving.known, receiving.credit) = (true, self.rules.rtt_packets);
        }
        if !trimmed && !receiving.have[number] {
            receiving.credit += 1;
            receiving.have[number] = true;
        }
        let credit = receiving.credit;
        let reply = |pull| Packet {
            from: node,
            to: packet.from,
            bytes: CONTROL_BYTES,
            kind: Kind::Control { ack: !trimmed, nack: trimmed, pull },
            ..packet
        };
        let nic = &mut self.nics[node];
        nic.last_request = Some(now);
        let is_free = now >= nic.token;
        if !wants_pull || is_free || nic.pulls.len() >= PULLS {
            if wants_pull && is_free {
                nic.token = now + TOKEN;
            }
            nic.control.push_back((now + GENERATE, reply(wants_pull.then_some(credit))));
        } else {
            nic.control.push_back((now + GENERATE, reply(None)));
            let pull = Kind::Control { ack: false, nack: false, pull: Some(credit) };
            nic.pulls.push_back(Packet { kind: pull, ..reply(None) });
            let at = nic.token.max(now + 1);
            self.at(at, Event::Token(node));
        }
        self.at(now + GENERATE, Event::Arbiter(node));
    }

    fn pull(&mut self, now: u64, node: usize) {
        let nic = &mut self.nics[node];
        if nic.pulls.is_empty() {
            return;
        }
        let again = if now < nic.token {
            nic.token
        } else if nic.last_request == Some(now) {
            now + 1
        } else {
            let Some(pull) = nic.pulls.pop_front() else { return };
            nic.control.push_back((now + GENERATE, pull));
            nic.token = now + TOKEN;
            self.at(now + GENERATE, Event::Arbiter(node));
            now + TOKEN
        };
        self.at(again, Event::Token(node));
    }

    // The sender.

    fn effect(&mut self, now: u64, packet: Packet) {
        let Kind::Control { ack, nack, pull } = packet.kind else { return };
        let sending = &mut self.sending[packet.flow];
        let number = packet.number as usize;
        if ack {
            sending.delivered[number] = true;
            sending.over = sending.delivered.iter().all(|delivered| *delivered);
        }
        if sending.over {
            return;
        }
        if nack {
            sending.marked[number] = true;
        }
        if let Some(credit) = pull {
            sending.credit = credit.max(sending.credit);
            for number in 0..sending.credit.min(sending.marked.len() as u64) {
                if std::mem::take(&mut self.sending[packet.flow].marked[number as usize]) {
                    self.offer(now + RELEASE, 1, packet.flow, number);
                }
            }
        }
    }

    fn time_out(&mut self, now: u64, flow: usize) {
        let sending = self.sending[flow].clone();
        if sending.over {
            return;
        }
        let found = self.found(now, flow);
        if found > now {
            // Other timers were set meanwhile.
            self.at(found, Event::Timer(flow));
            return;
        }
        for number in 0..=sending.timed {
            if !sending.delivered[number as usize] {
                self.offer(now + NOTICE + RELEASE, 2, flow, number);
            }
        }
        self.sending[flow].timed = sending.highest;
        self.set_timer(now, flow);
    }

    /// A packet waits for the arbiter from a cycle on.
    fn offer(&mut self, from: u64, urgency: usize, flow: usize, number: u64) {
        let node = self.flows[flow].from;
        self.nics[node].data[urgency].push_back((from, flow, number));
        self.at(from, Event::Arbiter(node));
    }

    fn arbitrate(&mut self, now: u64, node: usize) {
        let nic = &mut self.nics[node];
        if now < nic.passes {
            let at = nic.passes;
            self.at(at, Event::Arbiter(node));
            return;
        }
        let control = nic.control.front().filter(|(from, _)| *from <= now).map(|(_, p)| *p);
        let packet = if let Some(packet) = control {
            nic.control.pop_front();
            packet
        } else {
            let due = |queue: &&mut VecDeque<(u64, usize, u64)>| {
                queue.front().is_some_and(|(from, ..)| *from <= now)
            };
            let Some((_, flow, number)) = nic.data.iter_mut().find(due).and_then(|q| q.pop_front())
            else {
                return;
            };
            if self.sending[flow].over {
                self.at(now, Event::Arbiter(node));
                return;
            }
            let sending = &mut self.sending[flow];
            sending.highest = sending.highest.max(number);
            let bytes = HEADER_BYTES + self.flows[flow].payload(number);
            let Flow { from, to, .. } = self.flows[flow];
            Packet { from, to, flow, number, kind: Kind::Data, bytes }
        };
        let nic = &mut self.nics[node];
        let first = nic.pins.max(now + EGRESS);
        nic.pins = first + flits(packet.bytes);
        let mut pass = now;
        for word in 0..(packet.bytes - HEADER_BYTES).div_ceil(64) {
            if nic.left.len() == EGRESS_WORDS {
                let room = nic.left.pop_front().unwrap_or(0);
                pass = pass.max(room + 1);
            }
            nic.left.push_back(first + 8 + 8 * word);
            pass += 1;
        }
        nic.passes = pass;
        let (switch, port, latency) = self.network.nodes[node];
        self.arrive(first + latency, Peer::Switch(switch, port), packet);
        self.at(pass, Event::Arbiter(node));
    }
}
