//! Messages of published sizes, from everybody to everybody through one switch: how much longer they take than alone,
//! by their sizes. A figure's file asks for it with `run.kind = "messages"`.

use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::messenger::{FIRST_ADDRESS, Message, Messenger};
use pinion_net::fabric::{Alone, Fabric, Options, Outcome, Status, Watcher};
use pinion_net::link::Link;
use pinion_net::load::{LONGEST_BYTES, Sizes, Workload};
use pinion_net::switch::{Overflow, SwitchSpec};
use pinion_net::topology::Topology;
use pinion_sim::Clock;
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use crate::figure::Setting;
use crate::figure::engine::{Asked, Kind, Record};
use pinion_app::error::{Error, Result};

const PACKET_BYTES: u64 = 1024;
const HEADER_BYTES: u64 = 64;
/// Bytes of a flit, which a cable carries in a cycle.
const FLIT_BYTES: u64 = 8;
/// Cycles before the first message.
const START: u64 = 1000;
/// Cycles from one message alone to the next.
const APART: u64 = 40_000;
/// Cycles after which a run does not come to an end.
const MOST_CYCLES: u64 = 400_000_000;
/// Cycles after which what nothing was heard of goes again.
const TIMEOUT_CYCLES: u64 = 100_000;
/// Fewest messages of which a 99th percentile is told.
const FEWEST: usize = 100;

/// Runs NICs on a network.
pub(in crate::figure) struct Messages;

/// What is sent, and how.
struct Experiment {
    transport: String,
    sizes: Sizes,
    nodes: usize,
    messages: usize,
    load: f64,
    rtt_packets: u64,
    link_cycles: u64,
    switch: SwitchSpec,
}

/// Waits as long as it takes.
struct Patience;

impl Watcher for Patience {
    fn goes_on(&mut self, _: u64, _: &Status) -> bool {
        true
    }
}

impl Kind for Messages {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            // `W1` to `W5`.
            ("workload", true),
            // Longest messages that are sent.
            ("most_bytes", true),
            // `ndp` or `homa`, or the folder of a transport in `sdk/p4` behind `p4/`.
            ("transport", true),
            // The fastest of these says how long a message takes alone.
            ("fastest_of", true),
            ("nodes", true),
            // Of each node.
            ("messages", true),
            // Share of the time that a node's cable carries messages.
            ("load", true),
            ("rtt_packets", true),
            ("link_cycles", true),
            ("priority_bands", false),
            ("queue_bytes", false),
            // Switches mark above that, and drop what does not fit.
            ("ecn_bytes", false),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["bytes", "messages", "p50", "p99", "left_out"]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let experiment = Experiment::read(asked)?;
        let random = &mut Pcg64Mcg::seed_from_u64(setting.seed);
        let messages = experiment.draw(random);
        let took = experiment.times(&experiment.transport, &messages, setting)?;
        let alone = experiment.alone(&asked.texts("fastest_of")?, setting)?;
        let mut records = Vec::new();
        for (bytes, alone) in experiment.sizes.bytes().zip(alone) {
            let own = messages.iter().zip(&took).filter(|(message, _)| message.bytes == bytes);
            let mut slower: Vec<f64> = own.map(|(_, took)| *took as f64 / alone as f64).collect();
            if slower.len() < FEWEST {
                continue;
            }
            slower.sort_by(f64::total_cmp);
            let at = |share: f64| slower[((slower.len() - 1) as f64 * share).round() as usize];
            records.push(Record::from([
                ("bytes", bytes.into()),
                ("messages", (slower.len() as u64).into()),
                ("p50", at(0.5).into()),
                ("p99", at(0.99).into()),
                ("left_out", experiment.sizes.left_out().into()),
            ]));
        }
        Ok(records)
    }
}

impl Experiment {
    fn read(asked: &Asked<'_>) -> Result<Self> {
        let workload = Workload::named(asked.text("workload")?);
        let sizes = workload.zip(Some(asked.whole("most_bytes")?));
        let sizes = sizes.and_then(|(workload, most)| Sizes::up_to(workload, most));
        let nodes = asked.whole("nodes")? as usize;
        if !(2..=64).contains(&nodes) {
            return Err(asked.wrong("nodes", "from 2 to 64"));
        }
        let load = asked.number("load")?;
        if !(load > 0.0 && load < 1.0) {
            return Err(asked.wrong("load", "between 0 and 1"));
        }
        let mut switch = SwitchSpec::default();
        if let Some(bands) = asked.whole_if_any("priority_bands")? {
            let bands = u8::try_from(bands).ok().filter(|bands| (1..=8).contains(bands));
            switch.priority_bands =
                bands.ok_or_else(|| asked.wrong("priority_bands", "from 1 to 8"))?;
        }
        if let Some(bytes) = asked.whole_if_any("queue_bytes")? {
            switch.data_queue_bytes = bytes;
        }
        if let Some(bytes) = asked.whole_if_any("ecn_bytes")?.filter(|bytes| *bytes > 0) {
            (switch.ecn_bytes, switch.overflow) = (Some(bytes), Overflow::Drop);
        }
        Ok(Self {
            transport: asked.text("transport")?.to_owned(),
            sizes: sizes.ok_or_else(|| asked.wrong("workload", "one of W1, W2, W3, W4, W5"))?,
            nodes,
            messages: asked.whole("messages")? as usize,
            load,
            rtt_packets: asked.whole("rtt_packets")?,
            link_cycles: asked.whole("link_cycles")?.max(1),
            switch,
        })
    }

    /// Draws what every node sends to others, at random times.
    fn draw(&self, random: &mut Pcg64Mcg) -> Vec<Message> {
        let mut unit = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut messages = Vec::new();
        for from in 0..self.nodes {
            let sizes: Vec<u64> = (0..self.messages).map(|_| self.sizes.at(unit())).collect();
            let cycles: u64 = sizes.iter().map(|bytes| wire_cycles(*bytes)).sum();
            let mean = cycles as f64 / self.messages as f64 / self.load;
            let (mut at, mut free) = (START as f64, START);
            for bytes in sizes {
                at -= mean * (1.0 - unit()).ln();
                let start = free.max(at as u64);
                free = start + bytes / FLIT_BYTES + 2;
                let other = 1 + (unit() * (self.nodes - 1) as f64) as usize;
                messages.push(Message { from, to: (from + other) % self.nodes, bytes, start });
            }
        }
        messages
    }

    /// Tells how long a message of each size takes alone, by the fastest of some transports.
    fn alone(&self, transports: &[String], setting: &Setting<'_>) -> Result<Vec<u64>> {
        let at = |n: usize| START + n as u64 * APART;
        let messages: Vec<Message> = self
            .sizes
            .bytes()
            .enumerate()
            .map(|(n, bytes)| Message { from: 1, to: 0, bytes, start: at(n) })
            .collect();
        let mut best = vec![u64::MAX; messages.len()];
        for transport in transports {
            let took = self.times(transport, &messages, setting)?;
            best.iter_mut().zip(took).for_each(|(best, took)| *best = took.min(*best));
        }
        Ok(best)
    }

    fn machine(&self, transport: &str, setting: &Setting<'_>) -> Result<Machine> {
        let mut overrides = match transport.strip_prefix("p4/") {
            Some(folder) => vec![
                "transport.kind=p4".to_owned(),
                format!("transport.ingress=sdk/p4/{folder}/ingress.p4"),
                format!("transport.egress=sdk/p4/{folder}/egress.p4"),
            ],
            None => vec![format!("transport.kind={transport}")],
        };
        // Room for all messages that may wait at a time, the longest, too.
        let buffers = |short: u32, long: u32| {
            format!(
                "[{{ bytes = 1024, count = {short} }}, {{ bytes = {LONGEST_BYTES}, count = {long} }}]"
            )
        };
        overrides.extend([
            format!("transport.rtt_packets={}", self.rtt_packets),
            format!("receive.reassembly.buffers={}", buffers(64, 256)),
            "receive.reassembly.context_buffers=320".to_owned(),
            "receive.global.words=8192".to_owned(),
            "receive.global.context_words=8192".to_owned(),
            format!("transmit.buffers={}", buffers(256, 64)),
            "transmit.context_buffers=320".to_owned(),
            format!("transmit.timer.timeout_cycles={TIMEOUT_CYCLES}"),
        ]);
        overrides.extend(setting.machine.iter().cloned());
        Ok(pinion_app::machine::load("nanopu", &overrides, false)?.value)
    }

    /// Sends messages; tells how long each took, from its first word to when it was read.
    fn times(
        &self,
        transport: &str,
        messages: &[Message],
        setting: &Setting<'_>,
    ) -> Result<Vec<u64>> {
        let machine = self.machine(transport, setting)?;
        let topology = Topology::star(self.nodes, Link::new(self.link_cycles));
        let failed = |why: String| Error::Usage(format!("messages by {transport}: {why}"));
        let node = |node| Messenger::new(&machine, node, messages).map(Some);
        let nodes = (0..self.nodes).map(node).collect::<std::result::Result<Vec<_>, _>>();
        let options = Options {
            threads: 1,
            clock: Clock::from_hz(machine.clock.frequency_mhz * 1_000_000),
            faults: None,
            addresses: (0..self.nodes as u32).map(|node| FIRST_ADDRESS + node).collect(),
        };
        let nodes = nodes.map_err(|why| failed(why.to_string()))?;
        let fabric = Fabric::new(topology, &self.switch, nodes, &options, &Alone);
        let mut fabric = fabric.map_err(|why| failed(why.to_string()))?;
        let outcome = fabric.run(MOST_CYCLES, &mut Alone, &mut Patience);
        let outcome = outcome.map_err(|why| failed(why.to_string()))?;
        let mut took = vec![None; messages.len()];
        fabric.for_each_node(|_, end| {
            for (number, at) in &end.read {
                let (Some(took), Some(message)) =
                    (took.get_mut(*number as usize), messages.get(*number as usize))
                else {
                    continue;
                };
                took.get_or_insert(at.saturating_sub(message.start));
            }
        });
        let missing = took.iter().filter(|took| took.is_none()).count();
        if outcome != Outcome::Rests || missing > 0 {
            return Err(failed(format!("{missing} of {} were not read", messages.len())));
        }
        Ok(took.into_iter().flatten().collect())
    }
}

/// Cycles that a cable carries a message, with its headers.
fn wire_cycles(bytes: u64) -> u64 {
    (bytes + HEADER_BYTES * bytes.div_ceil(PACKET_BYTES)) / FLIT_BYTES
}
