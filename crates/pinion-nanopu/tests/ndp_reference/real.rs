//! What is compared with the reference: a fabric of NICs without cores and switches.

use std::collections::BTreeMap;
use std::path::Path;

use pinion_nanopu::Cycle;
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::messenger::{FIRST_ADDRESS as BASE, Message, Messenger};
use pinion_net::fabric::{Alone, Fabric, Options, Outcome, Status, Watcher};
use pinion_net::fault::FaultSpec;
use pinion_net::switch::SwitchSpec;
use pinion_net::topology::Topology;

use crate::model::Flow;

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
) -> Fabric<Messenger> {
    let message = |&Flow { from, to, bytes, start }: &Flow| Message { from, to, bytes, start };
    let messages: Vec<Message> = flows.iter().map(message).collect();
    let nodes = (0..topology.nodes)
        .map(|node| Some(Messenger::new(machine, node, &messages).expect("a machine")));
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
fn outcome(fabric: &mut Fabric<Messenger>, flows: &[Flow]) -> (Run, Vec<usize>) {
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
        assert!(!end.is_mixed, "words of two messages are mixed");
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
