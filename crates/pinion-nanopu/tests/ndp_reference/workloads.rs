//! Messages of published sizes, from everybody to everybody: how much longer they take than alone, by transport.
//!
//! The sizes are those of the Homa paper (`pinion_net::load::Workload`), up to 32 KiB.

use pinion_net::load::{self, Sizes};
use pinion_net::switch::SwitchSpec;
use pinion_net::topology::Topology;

use crate::model::Flow;
use crate::{Draw, NEAR, link, real};

const NODES: usize = 16;
const MESSAGES: usize = 500;
const RTT_PACKETS: u16 = 8;
/// Of the time, how much a node's cable carries messages, with their headers.
const LOAD: f64 = 0.5;
const PACKET_BYTES: u64 = 1024;
const HEADER_BYTES: u64 = 64;
/// When the first message goes, and how long the longest may take alone.
const START: u64 = 20_000;
const ALONE: u64 = 20_000;

/// Most bytes of a message.
const MOST_BYTES: u64 = 32_768;

/// Messages of the sizes of a published workload.
pub struct Workload {
    pub name: &'static str,
    sizes: Sizes,
}

/// Gives the workloads that are compared.
pub fn workloads() -> [Workload; 3] {
    [load::Workload::W2, load::Workload::W3, load::Workload::W4].map(|workload| Workload {
        name: workload.name(),
        sizes: Sizes::up_to(workload, MOST_BYTES).expect("sizes"),
    })
}

/// Slowdowns of messages of one packet, of up to eight, and of more: the median and the 99th percentile.
pub type Slowdowns = [Option<(f64, f64)>; 3];

impl Workload {
    /// Lets every node send to others, at random times.
    fn flows(&self, draw: &mut Draw) -> Vec<Flow> {
        let mut flows = Vec::new();
        for from in 0..NODES {
            let sizes: Vec<u64> = (0..MESSAGES).map(|_| self.sizes.at(unit(draw))).collect();
            let cycles: u64 = sizes.iter().map(|bytes| wire_cycles(*bytes)).sum();
            let mean = cycles as f64 / MESSAGES as f64 / LOAD;
            let (mut at, mut free) = (START as f64, START);
            for bytes in sizes {
                at -= mean * (1.0 - unit(draw)).ln();
                let start = free.max(at as u64);
                // A core writes a word in a cycle.
                free = start + bytes / 8 + 2;
                let to = (from + 1 + draw.below(NODES as u64 - 1) as usize) % NODES;
                flows.push(Flow { from, to, bytes, start });
            }
        }
        flows
    }

    /// Gives the slowdowns by transport: as built in or as P4, and the bands of the switch.
    pub fn slowdowns(&self, transports: &[(&str, bool, u8)], draw: &mut Draw) -> Vec<Slowdowns> {
        let network = Topology::star(NODES, link(NEAR));
        let flows = self.flows(draw);
        let sizes = self.sizes.bytes().enumerate();
        let alone: Vec<Flow> = sizes
            .map(|(n, bytes)| Flow { from: 1, to: 0, bytes, start: START + n as u64 * ALONE })
            .collect();
        let run = |flows: &[Flow], (name, in_p4, priority_bands): (&str, bool, u8)| {
            let spec = SwitchSpec { priority_bands, ..SwitchSpec::default() };
            let took = real::read_at(name, in_p4, &network, flows, &spec, RTT_PACKETS);
            took.iter().zip(flows).map(|(at, flow)| at - flow.start).collect::<Vec<u64>>()
        };
        // Of each size what the fastest takes.
        let mut best = vec![u64::MAX; alone.len()];
        for transport in transports {
            for (best, took) in best.iter_mut().zip(run(&alone, *transport)) {
                *best = took.min(*best);
            }
        }
        let best_of = |bytes| best[self.sizes.bytes().position(|size| size == bytes).unwrap()];
        let of = |transport: &(&str, bool, u8)| {
            let mut classes: [Vec<f64>; 3] = Default::default();
            for (took, flow) in run(&flows, *transport).into_iter().zip(&flows) {
                let class = match flow.bytes.div_ceil(PACKET_BYTES) {
                    0..=1 => 0,
                    2..=8 => 1,
                    _ => 2,
                };
                classes[class].push(took as f64 / best_of(flow.bytes) as f64);
            }
            classes.map(percentiles)
        };
        transports.iter().map(of).collect()
    }
}

fn wire_cycles(bytes: u64) -> u64 {
    (bytes + HEADER_BYTES * bytes.div_ceil(PACKET_BYTES)) / 8
}

fn unit(draw: &mut Draw) -> f64 {
    draw.below(1 << 30) as f64 / f64::from(1 << 30)
}

/// Gives median and 99th percentile; of fewer than a hundred messages there is none.
fn percentiles(mut of: Vec<f64>) -> Option<(f64, f64)> {
    of.sort_by(f64::total_cmp);
    let at = |share: f64| of[((of.len() - 1) as f64 * share).round() as usize];
    (of.len() >= 100).then(|| (at(0.5), at(0.99)))
}
