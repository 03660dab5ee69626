//! Traces for Perfetto: slices against what the NIC reported, nesting, order, flows.

use std::collections::BTreeSet;

use pinion_app::app::App;
use pinion_observe::trace::perfetto::{Corner, NicTrace};
use pinion_observe::trace::{Choice, Filter, When, handler_name};

use crate::reading::{Read, Slice, read};
use crate::testing::{Spy, app};

fn trace<'a>(
    app: &'a App,
    choice: &Choice,
    out: &'a mut Vec<u8>,
) -> Spy<NicTrace<'a, &'a mut Vec<u8>>> {
    let filter = Filter::new(app, choice).unwrap();
    Spy::run(app, NicTrace::new(app, filter, Corner::only(), out).unwrap()).0
}

/// Traces a run to its end and checks it against what the NIC reported.
fn check(app: &App) -> Read {
    let mut bytes = Vec::new();
    let spy = trace(app, &Choice::default(), &mut bytes);
    let (handlers, packets, departed) = (spy.handlers, spy.packets, spy.departed);
    drop(spy.tracer);
    let read = read(&bytes);
    let mut reported: Vec<_> = handlers
        .iter()
        .map(|record| {
            let track = format!("HPU {}.{}", record.cluster, record.hpu);
            let name = handler_name(app, record.context, record.kind).to_owned();
            let (start, end) = (record.start.ps() / 1000, record.end.ps() / 1000);
            (track, name, start, end, Some(record.packet), Some(record.instructions))
        })
        .collect();
    let on_hpus = read.slices.iter().filter(|slice| slice.track.starts_with("HPU"));
    let mut traced: Vec<_> = on_hpus
        .map(|s| (s.track.clone(), s.name.clone(), s.begin, s.end, s.packet, s.instructions))
        .collect();
    reported.sort();
    traced.sort();
    assert_eq!(traced, reported);
    for record in &packets {
        check_way(&read, record.packet, app.machine.value.units.count);
    }
    let leaving = read.slices.iter().filter(|slice| slice.track == "Egress link").count();
    assert_eq!(leaving, departed);
    for (name, values) in &read.counters {
        assert_eq!(values.last(), Some(&0), "{name} at the end");
        assert!(values.iter().all(|value| *value >= 0), "{name}");
    }
    assert_eq!(read.counters["Packet buffer"].len(), 2 * packets.len());
    read
}

/// A packet passes every unit on its way.
fn check_way(read: &Read, packet: u64, units: u32) {
    let own = read.slices.iter().filter(|slice| slice.packet == Some(packet));
    let flow = 2 * packet + 2;
    let on: BTreeSet<&str> = own
        .filter(|slice| slice.flows.contains(&flow) || slice.ends.contains(&flow))
        .map(|slice| slice.track.split_once('.').map_or(&slice.track[..], |(start, _)| &start[..3]))
        .collect();
    let way = [
        "Completions",
        "DMA",
        "HPU",
        "Ingress link",
        "Inbound engine",
        "MPQ engine and dispatcher",
    ];
    assert_eq!(on, way.into(), "packet {packet} of a machine of {units} units");
}

#[test]
fn handlers_packets_and_host_writes_are_traced() {
    let read = check(&app("words", ["aggregate", "reduce", "to_host_done"], &[]));
    let has = |read: &Read, track: &str| read.slices.iter().any(|slice| slice.track == track);
    assert!(has(&read, "Commands") && has(&read, "HostDirect"));
    let read = check(&app("move", ["", "to_host_wait", "local_dma"], &[]));
    assert!(has(&read, "Commands") && has(&read, "Off-cluster DMA"));
    assert!(read.slices.iter().any(|slice| slice.name == "handler's transfer"));
}

#[test]
fn packets_sent_are_followed_to_the_link() {
    let read = check(&app("move", ["", "pingpong_l1", ""], &[]));
    let sent: Vec<&Slice> = read.slices.iter().filter(|s| s.track == "Egress link").collect();
    assert_eq!(sent.len(), 12);
    for slice in sent {
        let [flow] = slice.ends[..] else { panic!("{slice:?}") };
        let begins = read.slices.iter().filter(|other| other.flows.contains(&flow));
        let tracks: Vec<&str> = begins.map(|other| &other.track[..3]).collect();
        assert!(tracks.contains(&"HPU") && tracks.contains(&"Com") && tracks.contains(&"NIC"));
    }
}

#[test]
fn machines_of_other_shapes_are_traced() {
    let handlers = ["", "pingpong_l1", ""];
    check(&app("move", handlers, &["clock.frequency_mhz=1500", "network.rate_mbit_s=0"]));
    check(&app("move", handlers, &["cluster.count=2", "cluster.cores=2"]));
    let read = check(&app("move", handlers, &["units.count=2"]));
    let of_the_second = ["HPU 4.", "HPU 5.", "HPU 6.", "HPU 7."];
    let is_there = |slice: &Slice| of_the_second.iter().any(|hpu| slice.track.starts_with(hpu));
    assert!(read.slices.iter().any(is_there));
}

#[test]
fn a_trace_that_is_cut_is_whole() {
    let app = app("words", ["aggregate", "reduce", "to_host_done"], &[]);
    for cycle in [1, 50, 300, 500, 700, 900] {
        let mut bytes = Vec::new();
        let to = Some(When::Cycle(cycle));
        trace(&app, &Choice { to, ..Choice::default() }, &mut bytes);
        read(&bytes);
    }
}

#[test]
fn a_packet_can_be_traced_alone() {
    let app = app("move", ["", "pingpong_l1", ""], &[]);
    let mut bytes = Vec::new();
    trace(&app, &Choice { packets: vec![5], ..Choice::default() }, &mut bytes);
    let slices = read(&bytes).slices;
    assert!(slices.len() > 6 && slices.iter().all(|slice| slice.packet == Some(5)));
}
