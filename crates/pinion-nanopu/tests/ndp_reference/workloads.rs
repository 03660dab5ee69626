//! Messages of published sizes, from everybody to everybody: how much longer they take than alone, by transport.
//!
//! The sizes are those of the Homa paper (SIGCOMM 2018, figure 1: W2 is a search application at Google, W3 all of a
//! Google datacenter, W4 a Hadoop cluster at Facebook), some points of each from the files of its simulator
//! (PlatformLab/HomaSimulation, homatransport/sizeDistributions), up to the 32 KiB that a message may have here.

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

/// Sizes in bytes, and the share of messages up to each.
pub struct Workload {
    pub name: &'static str,
    points: &'static [(u64, f64)],
}

pub const WORKLOADS: [Workload; 3] = [
    Workload {
        name: "W2",
        points: &[
            (32, 0.1890),
            (64, 0.3264),
            (128, 0.3417),
            (256, 0.4638),
            (320, 0.6425),
            (512, 0.9104),
            (1024, 0.9581),
            (2048, 0.9810),
            (4096, 0.9953),
            (8192, 0.9984),
            (16_384, 0.9989),
            (32_768, 0.9991),
        ],
    },
    Workload {
        name: "W3",
        points: &[
            (32, 0.7379),
            (64, 0.7974),
            (128, 0.8271),
            (256, 0.8569),
            (512, 0.9387),
            (1024, 0.9610),
            (2048, 0.9740),
            (4096, 0.9814),
            (8192, 0.9898),
            (16_384, 0.9956),
            (32_768, 0.9973),
        ],
    },
    Workload {
        name: "W4",
        points: &[
            (304, 0.0520),
            (376, 0.2026),
            (480, 0.2639),
            (600, 0.4591),
            (800, 0.5762),
            (1280, 0.6282),
            (1664, 0.6673),
            (3400, 0.6840),
            (7832, 0.7082),
            (31_952, 0.7212),
        ],
    },
];

/// Slowdowns of messages of one packet, of up to eight, and of more: the median and the 99th percentile.
pub type Slowdowns = [Option<(f64, f64)>; 3];

impl Workload {
    fn draw(&self, draw: &mut Draw) -> u64 {
        let whole = self.points[self.points.len() - 1].1;
        let at = unit(draw) * whole;
        self.points.iter().find(|(_, share)| at <= *share).map_or(8, |(bytes, _)| *bytes)
    }

    /// Lets every node send to others, at random times.
    fn flows(&self, draw: &mut Draw) -> Vec<Flow> {
        let mut flows = Vec::new();
        for from in 0..NODES {
            let sizes: Vec<u64> = (0..MESSAGES).map(|_| self.draw(draw)).collect();
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
        let sizes = self.points.iter().map(|(bytes, _)| *bytes).enumerate();
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
        let best_of =
            |bytes| best[self.points.iter().position(|(size, _)| *size == bytes).unwrap()];
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
