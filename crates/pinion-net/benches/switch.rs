//! How fast the switch is: frames through all ports of it, on one host core.
//!
//! `cargo bench -p pinion-net` prints frames a second. `loaded`: every port sends back to back to
//! ports drawn at random, 72 B and 1,088 B; `incast`: all send to one, which trims most of them;
//! `sparse`: of 1,024 ports one at a time is used, a frame every 1,000 cycles.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};
use pinion_net::link::Link;
use pinion_net::switch::{Directory, Routes, Switch, SwitchSpec};
use pinion_net::topology::Topology;
use pinion_sim::node::{Node, flits};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const BASE: u32 = 0x0a00_0002;
const WINDOW_CYCLES: u64 = 140;
const FRAMES: usize = 10_000;

fn main() {
    divan::main();
}

fn switch(ports: usize) -> Switch {
    let topology = Topology::star(ports, Link::new(WINDOW_CYCLES));
    let directory = Arc::new(Directory::new((0..ports as u32).map(|node| BASE + node)));
    let routes = Routes::of(&topology, |_| true).swap_remove(0);
    Switch::new(&SwitchSpec::default(), &topology.switch_links()[0], routes, directory)
        .expect("a switch")
}

fn frame(from: usize, to: usize, bytes: usize) -> Vec<u8> {
    let header = Header {
        protocol: NDP_PROTOCOL,
        src_ip: BASE + from as u32,
        dst_ip: BASE + to as u32,
        flags: Flags::DATA,
        msg_len: bytes as u16,
        ..Header::default()
    };
    header.frame(&vec![0; bytes])
}

/// Is what comes in, in order of time: port, first flit, frame.
type Traffic = Vec<(usize, u64, Vec<u8>)>;

/// Lets every port send back to back to where `to` says.
fn back_to_back(ports: usize, mut to: impl FnMut(&mut Pcg64Mcg) -> usize) -> Traffic {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut traffic = Traffic::new();
    let mut free = vec![0; ports];
    for index in 0..FRAMES {
        let from = index % ports;
        let bytes = if random.next_u64() % 2 == 0 { 8 } else { 1024 };
        let frame = frame(from, to(&mut random), bytes);
        let at = free[from];
        free[from] += flits(frame.len());
        traffic.push((from, at, frame));
    }
    traffic.sort_by_key(|(_, at, _)| *at);
    traffic
}

/// Runs a switch in windows; gives the frames that left it.
fn run(mut switch: Switch, traffic: Traffic) -> u64 {
    let (mut now, mut out) = (0, 0);
    let mut traffic = traffic.into_iter().peekable();
    while traffic.peek().is_some() || switch.next_cycle().is_some() {
        now += WINDOW_CYCLES;
        while let Some((port, at, frame)) = traffic.next_if(|(_, at, _)| *at < now) {
            switch.arrive(port, at, frame);
        }
        switch.run(now, &mut |_: usize, _: u64, _: u64, frame: Vec<u8>| {
            out += u64::from(!frame.is_empty())
        });
    }
    assert!(switch.counts().is_balanced());
    out
}

#[divan::bench(args = [64, 1024])]
fn loaded(bencher: Bencher, ports: usize) {
    let traffic = back_to_back(ports, |random| random.next_u64() as usize % ports);
    bencher
        .counter(ItemsCount::new(FRAMES))
        .with_inputs(|| (switch(ports), traffic.clone()))
        .bench_local_values(|(switch, traffic)| run(switch, traffic));
}

#[divan::bench]
fn incast(bencher: Bencher) {
    let traffic = back_to_back(64, |_| 63);
    bencher
        .counter(ItemsCount::new(FRAMES))
        .with_inputs(|| (switch(64), traffic.clone()))
        .bench_local_values(|(switch, traffic)| run(switch, traffic));
}

#[divan::bench]
fn sparse(bencher: Bencher) {
    let traffic: Traffic = (0..FRAMES)
        .map(|index| (index % 1024, 1000 * index as u64, frame(index % 1024, 1023, 8)))
        .collect();
    bencher
        .counter(ItemsCount::new(FRAMES))
        .with_inputs(|| (switch(1024), traffic.clone()))
        .bench_local_values(|(switch, traffic)| run(switch, traffic));
}
