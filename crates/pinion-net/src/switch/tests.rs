//! Switches as a whole: queues, trimming, ways, and that nothing depends on how time is cut.

use std::sync::Arc;

use super::*;
use crate::frame::lnic::{Flags, HOMA_PROTOCOL, Header, NDP_PROTOCOL};
use crate::frame::{Endpoints, build_udp_frame};
use crate::testing::{Random, seed};
use crate::topology::Topology;

const BASE: u32 = 0x0a00_0002;

/// What leaves: port, first and last flit, frame.
type Sent = Vec<(usize, u64, u64, Vec<u8>)>;

/// Makes the lowest switch of a topology.
fn switch(topology: &Topology, spec: &SwitchSpec) -> Switch {
    let addresses = (0..topology.nodes as u32).map(|node| BASE + node);
    let directory = Arc::new(Directory::new(addresses));
    let routes = Routes::of(topology, |_| true).swap_remove(0);
    Switch::new(spec, &topology.switch_links()[0], routes, directory).unwrap()
}

fn star(nodes: usize, spec: &SwitchSpec) -> Switch {
    switch(&Topology::star(nodes, Link::new(140)), spec)
}

fn message(from: u32, to: u32, bytes: usize) -> Vec<u8> {
    let header = Header {
        protocol: NDP_PROTOCOL,
        src_ip: BASE + from,
        dst_ip: BASE + to,
        flags: Flags::DATA,
        msg_len: bytes as u16,
        tx_msg_id: from as u16,
        ..Header::default()
    };
    header.frame(&vec![0xee; bytes])
}

fn control(from: u32, to: u32) -> Vec<u8> {
    let mut frame = message(from, to, 64);
    frame[34] = Flags::PULL.0;
    frame
}

fn run(switch: &mut Switch, until: u64) -> Sent {
    let mut sent = Sent::new();
    switch.run(until, &mut |port: usize, first: u64, last: u64, frame: Vec<u8>| {
        sent.push((port, first, last, frame));
    });
    assert!(switch.counts().is_balanced(), "{:?}", switch.counts());
    sent
}

#[test]
fn frames_are_stored_and_forwarded() {
    let mut switch = star(2, &SwitchSpec { latency_cycles: 30, ..SwitchSpec::default() });
    switch.arrive(0, 100, message(0, 1, 8));
    switch.arrive(0, 109, message(0, 1, 1024));
    assert_eq!(switch.next_cycle(), Some(139));
    assert_eq!(run(&mut switch, 139), []);
    let sent = run(&mut switch, 1000);
    let times: Vec<_> = sent.iter().map(|(port, first, last, _)| (*port, *first, *last)).collect();
    assert_eq!(times, [(1, 139, 147), (1, 109 + 136 + 30, 109 + 136 + 30 + 135)]);
    assert_eq!(switch.next_cycle(), None);
}

/// Sends 80 packets of 1,088 B at once to one port.
fn incast(overflow: Overflow) -> (Switch, Sent) {
    let spec = SwitchSpec { data_queue_bytes: 81_600, overflow, ..SwitchSpec::default() };
    let mut switch = star(81, &spec);
    switch.watch(80);
    for from in 0..80 {
        switch.arrive(from as usize, 7, message(from, 80, 1024));
    }
    let sent = run(&mut switch, u64::MAX);
    (switch, sent)
}

#[test]
fn of_80_packets_at_once_74_find_room() {
    let (switch, sent) = incast(Overflow::Trim);
    let counts = switch.port_counts(80);
    assert_eq!((counts.trimmed, counts.dropped(), counts.frames_out), (6, 0, 80));
    assert_eq!((counts.largest_data_bytes, counts.largest_control_bytes), (74 * 1088, 6 * 72));
    // The headers go first: those of the six highest ports.
    let headers: Vec<u32> =
        sent[..6].iter().map(|(.., frame)| u32::from(frame[29]) - (BASE & 0xff)).collect();
    assert_eq!(headers, [74, 75, 76, 77, 78, 79]);
    assert!(sent[..6].iter().all(|(.., frame)| frame.len() == 72 && frame[34] == 17));
    assert!(sent[6..].iter().all(|(.., frame)| frame.len() == 1088));
    assert_eq!(sent[79].2, 7 + 136 + 6 * 9 + 74 * 136 - 1);
    let occupancy = switch.occupancy(80);
    assert_eq!(occupancy.len(), 160);
    let peak = Occupancy { cycle: 143, data_bytes: 74 * 1088, control_bytes: 6 * 72 };
    assert_eq!((occupancy[79], occupancy[159].data_bytes), (peak, 0));
    assert_eq!(switch.occupancy(0), []);

    let (switch, sent) = incast(Overflow::Drop);
    let counts = switch.port_counts(80);
    assert_eq!((counts.trimmed, counts.dropped_data, counts.frames_out), (0, 6, 74));
    assert_eq!(sent.len(), 74);
}

#[test]
fn control_frames_overtake_data_and_have_a_queue_of_their_own() {
    let spec = SwitchSpec { control_queue_bytes: 300, ..SwitchSpec::default() };
    let mut switch = star(8, &spec);
    for from in 0..2 {
        switch.arrive(from as usize, 0, message(from, 7, 1024));
    }
    // They come in while the first packet leaves; the third finds no room.
    for from in 2..5 {
        switch.arrive(from as usize, 150, control(from, 7));
    }
    let sent = run(&mut switch, 10_000);
    let lengths: Vec<usize> = sent.iter().map(|(.., frame)| frame.len()).collect();
    assert_eq!(lengths, [1088, 128, 128, 1088]);
    assert_eq!(switch.port_counts(7).dropped_control, 1);
    assert_eq!(switch.port_counts(2).frames_in, 1);
}

#[test]
fn a_header_without_room_and_a_foreign_frame_are_dropped() {
    let spec =
        SwitchSpec { data_queue_bytes: 1000, control_queue_bytes: 100, ..SwitchSpec::default() };
    let mut switch = star(8, &spec);
    for from in 0..2 {
        switch.arrive(from as usize, 0, message(from, 7, 1024));
    }
    let ends = Endpoints { dst: (BASE + 7).into(), ..Endpoints::default() };
    switch.arrive(3, 0, build_udp_frame(&ends, 1, 2, &[0; 1400]).unwrap());
    let lengths: Vec<usize> =
        run(&mut switch, 10_000).iter().map(|(.., frame)| frame.len()).collect();
    assert_eq!(lengths, [72]);
    let counts = switch.port_counts(7);
    assert_eq!((counts.trimmed, counts.dropped_trimmed, counts.dropped_data), (1, 1, 1));
}

#[test]
fn frames_that_lead_nowhere_are_counted_where_they_came_in() {
    let mut switch = star(2, &SwitchSpec::default());
    switch.arrive(0, 0, message(0, 9, 8));
    switch.arrive(0, 100, vec![0xff; 60]);
    switch.arrive(0, 200, vec![]);
    assert_eq!(run(&mut switch, 1000), []);
    let counts = switch.port_counts(0);
    assert_eq!((counts.dropped_unknown, counts.dropped_not_ipv4, counts.dropped()), (1, 2, 3));
}

#[test]
fn full_data_queues_mark_what_can_be_marked() {
    let spec = SwitchSpec { ecn_bytes: Some(2000), ..SwitchSpec::default() };
    let mut switch = star(8, &spec);
    let ends = Endpoints { dst: (BASE + 7).into(), ..Endpoints::default() };
    for from in 0..4 {
        let mut frame = build_udp_frame(&ends, 1, 2, &[0; 958]).unwrap();
        frame[15] |= 2;
        switch.arrive(from, 0, frame);
    }
    switch.arrive(4, 0, message(4, 7, 936));
    let sent = run(&mut switch, 10_000);
    let marks: Vec<u8> = sent.iter().map(|(.., frame)| frame[15] & 3).collect();
    assert_eq!(marks, [2, 2, 3, 3, 0]);
    assert_eq!(switch.port_counts(7).marked, 2);
}

#[test]
fn spraying_uses_all_uplinks_and_a_flow_one() {
    let topology = Topology::leaf_spine(8, 4, 4, Link::new(140), Link::new(140)).unwrap();
    for (paths, expected) in [(Paths::Spray, 4), (Paths::Ecmp, 1)] {
        let mut switch = switch(&topology, &SwitchSpec { paths, ..SwitchSpec::default() });
        for index in 0..100 {
            switch.arrive(0, 200 * index, message(0, 7, 1024));
        }
        let sent = run(&mut switch, u64::MAX);
        let mut used = [0; 8];
        sent.iter().for_each(|(port, ..)| used[*port] += 1);
        assert_eq!(used.iter().filter(|&&count| count > 10).count(), expected, "{used:?}");
    }
}

/// Draws frames for all ports of a switch, in order of time: port, first flit, frame.
fn traffic(random: &mut Random, ports: u32) -> Vec<(usize, u64, Vec<u8>)> {
    let mut frames = Vec::new();
    for from in 0..ports {
        let mut at = random.below(50);
        for _ in 0..60 {
            let to = if random.below(2) == 0 { ports - 1 } else { random.below(9) as u32 };
            let frame = match random.below(5) {
                0 => control(from, to),
                1 => {
                    let ends = Endpoints { dst: (BASE + to).into(), ..Endpoints::default() };
                    let bytes = vec![0; random.below(1200) as usize];
                    let mut frame = build_udp_frame(&ends, from as u16, 2, &bytes).unwrap();
                    frame[15] |= random.below(4) as u8;
                    frame
                }
                _ => message(from, to, 1 + random.below(1024) as usize),
            };
            let next = at + flits(frame.len()) + random.below(3) * random.below(200);
            frames.push((from as usize, at, frame));
            at = next;
        }
    }
    frames.sort_by_key(|(_, at, _)| *at);
    frames
}

#[test]
fn results_do_not_depend_on_windows_nor_on_the_order_of_ports() {
    let mut random = Random::new(seed("switch::tests"));
    let mut trimmed = 0;
    for round in 0..60 {
        let spec = SwitchSpec {
            latency_cycles: random.below(3) * 40,
            data_queue_bytes: 2_000 + random.below(8_000),
            control_queue_bytes: 300 + random.below(3_000),
            overflow: if round % 3 == 0 { Overflow::Drop } else { Overflow::Trim },
            priority_bands: 1 + random.below(8) as u8,
            ecn_bytes: Some(random.below(5_000)),
            paths: if round % 2 == 0 { Paths::Spray } else { Paths::Ecmp },
            seed: random.below(1000),
        };
        let rate = crate::pacing::Rate::gbit_s([0, 100, 200][round % 3]);
        let link = Link::new(140).at_rate(rate, 3_200_000_000);
        let topology = Topology::leaf_spine(8, 4, 3, link, link).unwrap();
        let frames = traffic(&mut random, 7);
        let fresh = || {
            let mut switch = switch(&topology, &spec);
            (0..7).for_each(|port| switch.watch(port));
            switch
        };
        let mut whole = fresh();
        for (port, at, frame) in frames.clone() {
            whole.arrive(port, at, frame);
        }
        let expected = run(&mut whole, u64::MAX);
        trimmed += whole.counts().ports.trimmed;

        let mut cut = fresh();
        let (mut now, mut next, mut sent) = (0, 0, Sent::new());
        while next < frames.len() || cut.next_cycle().is_some() {
            now += 1 + random.below([10, 140, 2_000][round % 3]);
            let end = frames.partition_point(|(_, at, _)| *at < now);
            let mut window = frames[next..end].to_vec();
            next = end;
            // Ports in any order, each port's frames in theirs.
            let turn = random.below(7) as usize;
            window.sort_by_key(|(port, ..)| (port + turn) % 7);
            for (port, at, frame) in window {
                cut.arrive(port, at, frame);
            }
            sent.extend(run(&mut cut, now));
        }
        assert!(sent == expected, "round {round}: other frames");
        assert!((0..7).all(|port| whole.port_counts(port) == cut.port_counts(port)));
        assert!((0..7).all(|port| whole.occupancy(port) == cut.occupancy(port)));
        assert_eq!(whole.counts().resident, 0);
    }
    assert!(trimmed > 100, "{trimmed}");
}

/// Sends packets of these priorities at once to one port; gives the order in which they leave.
fn order(priority_bands: u8, priorities: &[u8]) -> Vec<u8> {
    let spec = SwitchSpec { priority_bands, ..SwitchSpec::default() };
    let count = priorities.len();
    let mut switch = star(count + 1, &spec);
    for (from, priority) in priorities.iter().enumerate() {
        let header = Header {
            protocol: HOMA_PROTOCOL,
            src_ip: BASE + from as u32,
            dst_ip: BASE + count as u32,
            flags: Flags::DATA,
            msg_len: 1024,
            tos: *priority,
            ..Header::default()
        };
        switch.arrive(from, 7, header.frame(&[0xee; 1024]));
    }
    let sent = run(&mut switch, u64::MAX);
    sent.iter().map(|(.., frame)| frame[29]).collect()
}

#[test]
fn the_first_band_that_has_frames_sends() {
    let sources = |order: &[u8]| order.iter().map(|at| at - 2).collect::<Vec<_>>();
    let priorities = [3, 0, 2, 0, 9, 1, 3];
    assert_eq!(sources(&order(1, &priorities)), [0, 1, 2, 3, 4, 5, 6], "as they came");
    assert_eq!(sources(&order(8, &priorities)), [1, 3, 5, 2, 0, 6, 4], "by priority");
    assert_eq!(sources(&order(2, &priorities)), [1, 3, 0, 2, 4, 5, 6], "the last has the rest");
}

#[test]
fn bands_share_their_room() {
    let spec = SwitchSpec { priority_bands: 8, data_queue_bytes: 2000, ..SwitchSpec::default() };
    let mut switch = star(4, &spec);
    for (from, tos) in [(0, 5), (1, 0), (2, 1)] {
        let header = Header {
            protocol: HOMA_PROTOCOL,
            dst_ip: BASE + 3,
            flags: Flags::DATA,
            msg_len: 800,
            tos,
            ..Header::default()
        };
        switch.arrive(from, 7, header.frame(&[0xee; 800]));
    }
    run(&mut switch, u64::MAX);
    assert_eq!(switch.counts().ports.trimmed, 1, "{:?}", switch.counts());
}
