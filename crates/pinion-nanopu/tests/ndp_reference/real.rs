//! What is compared with the reference: a fabric of NICs and switches. Each node has a whole NIC
//! (receive and transmit side and a hart's interface); in place of a core that runs a program, words
//! are written one a cycle at given times, and every word that comes is read in the next cycle.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use pinion_nanopu::Cycle;
use pinion_nanopu::event::Deaf;
use pinion_nanopu::hart_interface::{Command, HartInterface};
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::nic::receive::{Receive, Requests};
use pinion_nanopu::nic::transmit::Transmit;
use pinion_nanopu::nic::{ControlRequest, Credit, Delivered};
use pinion_nanopu::transport::{self, Address, Transport};
use pinion_net::fabric::{Alone, Fabric, Options, Outcome, Status, Watcher};
use pinion_net::fault::FaultSpec;
use pinion_net::frame::lnic::Flags;
use pinion_net::switch::SwitchSpec;
use pinion_net::topology::Topology;
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, flits};

use crate::model::Flow;

/// CSRs: context, command (1 binds), micro-command (1 is "message done").
const CONTEXT: u16 = 0x053;
const COMMAND: u16 = 0x054;
const MICRO_COMMAND: u16 = 0x056;
const BASE: u32 = 0x0a00_0002;

struct ToTransmit<'a>(&'a mut Transmit);

impl Requests for ToTransmit<'_> {
    fn control(&mut self, request: ControlRequest) {
        self.0.control(request);
    }
    fn delivered(&mut self, delivered: Delivered) {
        self.0.delivered(delivered);
    }
    fn credit(&mut self, credit: Credit) {
        self.0.credit(credit);
    }
}

/// Is a NIC with a trivial core.
pub struct NicEnd {
    receive: Receive,
    transmit: Transmit,
    hart: [HartInterface; 1],
    /// Reads the frames that come.
    reader: Box<dyn Transport>,
    /// Words to write, by cycle.
    words: VecDeque<(Cycle, u64)>,
    /// Frames that were chosen and whose first flit is still to come.
    out: VecDeque<(Cycle, Cycle, Vec<u8>)>,
    /// The next word may be read from this cycle on.
    reads: Cycle,
    /// Words of the message that is read which are still to come.
    expected: u64,
    /// By id of the message and number: data packets that were sent, and when first.
    sent: BTreeMap<(u16, u16), Cycle>,
    /// By sender and id in its message: packets that arrived whole, and when the last came.
    arrived: BTreeMap<(u32, u16, u16), Cycle>,
    /// First words of the messages that were read whole, the number of the flow; and when they were.
    read: Vec<(u64, Cycle)>,
    number: Option<u64>,
    moved: Cycle,
}

impl NicEnd {
    fn new(machine: &Machine, node: usize, flows: &[Flow]) -> Self {
        let messages = machine.receive.reassembly.messages();
        let own = Address { ip: BASE + node as u32, ..Address::default() };
        let transport = || transport::build(&machine.transport, messages);
        let mut receive = Receive::new(&machine.receive, transport(), 1).unwrap();
        let rtt_packets = machine.transport.rtt_packets;
        let transmit = Transmit::new(&machine.transmit, 1, 4, rtt_packets, own, transport());
        let mut hart = HartInterface::new(0, &machine.hart_interface);
        hart.write_csr(CONTEXT, 0, 0);
        if let Some(Command::Bind { context }) = hart.write_csr(COMMAND, 1, 1) {
            receive.bind(0, context, 1);
        }
        let mut words = VecDeque::new();
        for (number, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.from == node) {
            let to = u64::from(BASE + flow.to as u32) << 32 | flow.bytes;
            let payload = (0..flow.bytes / 8).map(|word| number as u64 + (word << 32));
            let message = std::iter::once(to).chain(payload);
            words.extend((flow.start..).zip(message));
        }
        Self {
            receive,
            transmit: transmit.unwrap(),
            hart: [hart],
            reader: transport(),
            words,
            out: VecDeque::new(),
            reads: 2,
            expected: 0,
            sent: BTreeMap::new(),
            arrived: BTreeMap::new(),
            read: Vec::new(),
            number: None,
            moved: 0,
        }
    }

    fn next_read(&self) -> Option<Cycle> {
        let waits = self.hart[0].unread_words(0) > 0;
        let entered = || self.hart[0].next_arrival(self.reads - 1);
        waits.then(|| entered().map_or(self.reads, |at| self.reads.max(at + 1)))
    }

    fn next_inside(&self) -> Option<Cycle> {
        let room = self.hart[0].next_room();
        let units = [self.receive.next_event(), self.transmit.next_event(), room, self.next_read()];
        units.into_iter().flatten().min()
    }

    /// Reads a word, if there is one.
    fn read(&mut self, now: Cycle) {
        let Some(word) = self.hart[0].pop(now) else {
            self.reads = now + 1;
            return;
        };
        self.reads = now + 1;
        if self.expected == 0 {
            self.expected = (word & 0xffff).div_ceil(8);
            self.number = None;
            return;
        }
        let number = *self.number.get_or_insert(word);
        assert_eq!(word & 0xffff_ffff, number, "words of two messages are mixed");
        self.expected -= 1;
        if self.expected == 0 {
            self.read.push((number, now));
            let command = self.hart[0].write_csr(MICRO_COMMAND, 1, now);
            if let Some(Command::MessageDone { context }) = command {
                self.receive.message_done(0, context, now);
            }
        }
    }

    fn advance(&mut self, now: Cycle) {
        self.receive.advance(now, &mut ToTransmit(&mut self.transmit), &mut self.hart, &mut Deaf);
        let out = &mut self.out;
        let mut send = |first: Cycle, last: Cycle, frame: &[u8]| {
            out.push_back((first, last, frame.to_vec()));
        };
        self.transmit.advance(now, &mut send, &mut Deaf);
        self.hart[0].advance(now, &mut Deaf);
        if self.next_read().is_some_and(|at| at <= now) {
            self.read(now);
        }
    }
}

impl Node for NicEnd {
    fn arrive(&mut self, _: usize, first: Cycle, frame: Vec<u8>) {
        let header = self.reader.parse(&frame).map(|(header, _)| header);
        if let Ok(header) = header
            && header.flags == Flags::DATA
        {
            let packet = (header.src_ip, header.tx_msg_id, u16::from(header.pkt_offset));
            // Ids come round, a message's packets come again: the first of a use counts.
            self.arrived.entry(packet).or_insert(first + flits(frame.len()));
        }
        self.receive.frame(first, &frame);
    }

    fn run(&mut self, until: Cycle, ports: &mut dyn Ports) {
        while let Some((at, word)) = self.words.front().copied().filter(|(at, _)| *at < until) {
            assert!(self.transmit.room(0) > 0, "the core would have to wait");
            self.words.pop_front();
            self.transmit.word(0, 0, word, at);
        }
        while let Some(now) = self.next_inside().filter(|&now| now < until) {
            self.advance(now);
            self.moved = now;
        }
        self.advance(until - 1);
        while let Some((first, last, frame)) = self.out.pop_front() {
            if first >= until {
                self.out.push_front((first, last, frame));
                break;
            }
            if let Ok((header, _)) = self.reader.parse(&frame)
                && header.flags == Flags::DATA
            {
                let packet = (header.tx_msg_id, u16::from(header.pkt_offset));
                self.sent.entry(packet).or_insert(last + 1);
            }
            ports.send(0, first, last, frame);
        }
    }

    fn next_cycle(&mut self) -> Option<Cycle> {
        let word = self.words.front().map(|(at, _)| *at);
        let out = self.out.front().map(|(first, ..)| *first);
        self.next_inside().into_iter().chain(word).chain(out).min()
    }

    fn moved(&self) -> u64 {
        self.moved
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Err(SaveError::Outside { what: "the stub of a core".to_owned() })
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        saved.get::<()>().copied()
    }
}

struct Patience;

impl Watcher for Patience {
    fn goes_on(&mut self, _: u64, _: &Status) -> bool {
        true
    }
}

/// What came of a run; as in the reference.
#[derive(Debug, PartialEq)]
pub struct Run {
    pub done: Vec<Option<Cycle>>,
    pub trimmed: u64,
    pub dropped: u64,
    pub largest: u64,
}

/// Loads the machine, with room for long messages.
fn machine(overrides: &[String], rtt_packets: u16, timeout: u64) -> Machine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/nanopu.toml");
    let mut machine: Machine = pinion_sim::config::load_file(&path, overrides)
        .unwrap_or_else(|error| panic!("{error}"))
        .value;
    machine.receive.reassembly.buffers[1].bytes = 32_768;
    machine.receive.reassembly.buffers[1].count = 256;
    machine.receive.reassembly.context_buffers = Some(320);
    machine.receive.global.words = 2048;
    machine.receive.global.context_words = 1024;
    machine.transmit.buffers[1].bytes = 32_768;
    machine.transport.rtt_packets = rtt_packets;
    // Over UDP, context 0 is port 0.
    machine.transport.udp.port_base = 0;
    machine.transmit.timer.timeout_cycles = timeout;
    machine
}

/// Cycles of Homa's pipelines.
const HOMA_STAGES: [&str; 3] = [
    "receive.ingress.decide_cycles=10",
    "receive.ingress.header_cycles=12",
    "transmit.latency.pipeline_cycles=3",
];

/// Gives the options for a built-in transport, and for its programs.
fn kinds(name: &str) -> [Vec<String>; 2] {
    let programs = ["ingress", "egress"];
    let programs = programs.map(|part| format!("transport.{part}=sdk/p4/{name}/{part}.p4"));
    let in_p4 = std::iter::once("transport.kind=p4".to_owned()).chain(programs);
    let mut built_in = vec![format!("transport.kind={name}")];
    if name == "homa" {
        // As many cycles as its programs have stages; the machine's own are NDP's.
        built_in.extend(HOMA_STAGES.map(str::to_owned));
    }
    [built_in, in_p4.collect()]
}

/// Sends all flows over a network, by the built-in NDP; by the one in P4 the very same comes of it.
pub fn run(
    topology: Topology,
    flows: &[Flow],
    spec: &SwitchSpec,
    rtt_packets: u16,
    timeout: u64,
) -> Run {
    let [ours, in_p4] = kinds("ndp").map(|kind| {
        let machine = machine(&kind, rtt_packets, timeout);
        let (run, delivered) = run_by(&machine, topology.clone(), flows, spec, None);
        assert!(delivered.iter().all(|&times| times == 1), "exactly once: {delivered:?}");
        run
    });
    assert_eq!(ours, in_p4, "NDP in P4");
    ours
}

/// Sends all flows over a network whose cables lose, double and delay frames, by a built-in transport and
/// by its programs; gives how often each message was read.
pub fn run_with_faults(
    name: &str,
    topology: &Topology,
    flows: &[Flow],
    spec: &SwitchSpec,
    faults: &str,
) -> (Run, Vec<usize>) {
    let [ours, in_p4] = kinds(name).map(|kind| {
        let machine = machine(&kind, 9, 10_000);
        let faults = Some(faults.parse().unwrap());
        run_by(&machine, topology.clone(), flows, spec, faults)
    });
    assert_eq!(ours, in_p4, "{name} in P4");
    ours
}

/// Sends all flows by a built-in transport.
pub fn run_built_in(
    name: &str,
    topology: &Topology,
    flows: &[Flow],
    spec: &SwitchSpec,
    rtt_packets: u16,
) -> Run {
    let [kind, _] = kinds(name);
    let machine = machine(&kind, rtt_packets, 100_000);
    let (run, delivered) = run_by(&machine, topology.clone(), flows, spec, None);
    assert!(delivered.iter().all(|&times| times == 1), "exactly once: {delivered:?}");
    run
}

/// Sends all flows; gives when each message was read whole.
pub fn read_at(
    name: &str,
    in_p4: bool,
    topology: &Topology,
    flows: &[Flow],
    spec: &SwitchSpec,
    rtt_packets: u16,
) -> Vec<Cycle> {
    let kinds = kinds(name);
    let mut machine = machine(&kinds[usize::from(in_p4)], rtt_packets, 100_000);
    // Room for all short messages that may wait at a time.
    machine.transmit.buffers[0].count = 256;
    machine.transmit.context_buffers = Some(320);
    let mut fabric = fabric(&machine, topology.clone(), flows, spec, None);
    let outcome = fabric.run(50_000_000, &mut Alone, &mut Patience).unwrap();
    assert_eq!(outcome, Outcome::Rests);
    let mut at = vec![0; flows.len()];
    fabric.for_each_node(|_, end| {
        end.read.iter().for_each(|(number, when)| at[*number as usize] = *when);
    });
    assert!(at.iter().all(|at| *at > 0), "{name}: all are read");
    at
}

/// Sends all flows by a transport that there is as P4 alone; gives what came of it, and of each packet when it
/// came and how much longer than the fastest it took: how long it waited.
pub fn run_in_p4(
    name: &str,
    topology: &Topology,
    flows: &[Flow],
    spec: &SwitchSpec,
    rtt_packets: u16,
) -> (Run, Vec<(Cycle, Cycle)>) {
    let [_, kind] = kinds(name);
    let machine = machine(&kind, rtt_packets, 100_000);
    let mut fabric = fabric(&machine, topology.clone(), flows, spec, None);
    let (run, delivered) = outcome(&mut fabric, flows);
    assert!(delivered.iter().all(|&times| times == 1), "exactly once: {delivered:?}");
    let (mut sent, mut took) = (BTreeMap::new(), Vec::new());
    fabric.for_each_node(|node, end| {
        let own =
            end.sent.iter().map(|((id, packet), at)| ((BASE + node as u32, *id, *packet), *at));
        sent.extend(own);
    });
    fabric.for_each_node(|_, end| {
        took.extend(end.arrived.iter().map(|(packet, at)| (*at, *at - sent[packet])));
    });
    let least = took.iter().map(|(_, took)| *took).min().unwrap_or(0);
    let mut waits: Vec<_> = took.into_iter().map(|(at, took)| (at, took - least)).collect();
    waits.sort_unstable();
    (run, waits)
}

/// Sends all flows over a network; gives also how often each message was read.
fn run_by(
    machine: &Machine,
    topology: Topology,
    flows: &[Flow],
    spec: &SwitchSpec,
    faults: Option<FaultSpec>,
) -> (Run, Vec<usize>) {
    outcome(&mut fabric(machine, topology, flows, spec, faults), flows)
}

/// Joins nodes that will send all flows.
fn fabric(
    machine: &Machine,
    topology: Topology,
    flows: &[Flow],
    spec: &SwitchSpec,
    faults: Option<FaultSpec>,
) -> Fabric<NicEnd> {
    let nodes = (0..topology.nodes).map(|node| Some(NicEnd::new(machine, node, flows)));
    let options = Options {
        threads: 1,
        clock: pinion_sim::Clock::from_hz(3_200_000_000),
        faults,
        addresses: (0..topology.nodes as u32).map(|node| BASE + node).collect(),
    };
    let nodes = nodes.collect();
    Fabric::new(topology, spec, nodes, &options, &Alone).unwrap()
}

/// Lets a fabric run; gives what came of it, and how often each message was read.
fn outcome(fabric: &mut Fabric<NicEnd>, flows: &[Flow]) -> (Run, Vec<usize>) {
    let outcome = fabric.run(50_000_000, &mut Alone, &mut Patience).unwrap();
    assert_eq!(outcome, Outcome::Rests);
    let (mut trimmed, mut dropped, mut largest) = (0, 0, 0);
    fabric.for_each_switch(|_, switch| {
        let counts = switch.counts();
        assert!(counts.is_balanced() && counts.resident == 0, "{counts:?}");
        trimmed += counts.ports.trimmed;
        dropped += counts.ports.dropped();
        largest = largest.max(counts.ports.largest_data_bytes);
    });
    let mut done = vec![None; flows.len()];
    let mut ids = vec![0; fabric.topology().nodes];
    let senders: Vec<(u32, u16)> = flows
        .iter()
        .map(|flow| {
            ids[flow.from] += 1;
            (BASE + flow.from as u32, ids[flow.from] - 1)
        })
        .collect();
    let mut delivered = vec![0; flows.len()];
    fabric.for_each_node(|node, end| {
        for &(number, _) in &end.read {
            assert_eq!(flows[number as usize].to, node);
            delivered[number as usize] += 1;
        }
        for (index, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.to == node) {
            let (from, id) = senders[index];
            let packets = (0..flow.bytes.div_ceil(1024) as u16).map(|number| (from, id, number));
            done[index] = packets.filter_map(|packet| end.arrived.get(&packet).copied()).max();
        }
    });
    (Run { done, trimmed, dropped, largest }, delivered)
}
