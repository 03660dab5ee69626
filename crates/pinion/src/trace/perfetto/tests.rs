//! Reads traces back: slices against what the NIC reported, nesting, order, flows.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;

use super::NicTrace;
use super::proto::{
    COUNTER, INSTANT, SLICE_BEGIN, SLICE_END, STATE_CLEARED, Trace, TrackDescriptor, TrackEvent,
    Value,
};
use crate::app::App;
use crate::trace::filter::handler_name;
use crate::trace::testing::{Spy, app};
use crate::trace::{Choice, Filter, When};

/// Holds a slice as it was read back; an instant ends when it begins.
#[derive(Debug)]
pub struct Slice {
    pub track: String,
    pub name: String,
    pub begin: u64,
    pub end: u64,
    packet: Option<u64>,
    instructions: Option<u64>,
    flows: Vec<u64>,
    ends: Vec<u64>,
}

/// Holds a trace as it was read back.
pub struct Read {
    pub slices: Vec<Slice>,
    /// By counter: its values in order of time.
    pub counters: BTreeMap<String, Vec<i64>>,
}

/// Reads a trace back and checks what holds for each: nesting, order, flows.
pub fn read(bytes: &[u8]) -> Read {
    let trace = Trace::decode(bytes).expect("a trace");
    assert_eq!(trace.packet[0].sequence_flags.unwrap() & STATE_CLEARED, STATE_CLEARED);
    let mut tracks: BTreeMap<u64, TrackDescriptor> = BTreeMap::new();
    let (mut names, mut notes) = (BTreeMap::new(), BTreeMap::new());
    let mut open: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let mut read = Read { slices: Vec::new(), counters: BTreeMap::new() };
    for packet in trace.packet {
        assert_eq!(packet.trusted_packet_sequence_id, Some(1));
        for name in packet.interned_data.iter().flat_map(|data| &data.event_names) {
            assert!(names.insert(name.iid.unwrap(), name.name.clone().unwrap()).is_none());
        }
        for name in packet.interned_data.iter().flat_map(|data| &data.debug_annotation_names) {
            assert!(notes.insert(name.iid.unwrap(), name.name.clone().unwrap()).is_none());
        }
        if let Some(track) = packet.track_descriptor {
            let parent = track.parent_uuid;
            assert!(parent.is_none_or(|parent| tracks.contains_key(&parent)), "{track:?}");
            assert!(tracks.insert(track.uuid.unwrap(), track).is_none());
        }
        let Some(event) = packet.track_event else { continue };
        let (time, uuid) = (packet.timestamp.unwrap(), event.track_uuid.unwrap());
        let track = &tracks[&uuid];
        let before = last.insert(uuid, time).unwrap_or(0);
        assert!(time >= before, "{}: {time} after {before}", track.name());
        assert_eq!(event.r#type == Some(COUNTER), track.counter.is_some());
        let stack = open.entry(uuid).or_default();
        match event.r#type.unwrap() {
            COUNTER => {
                let values = read.counters.entry(track.name().to_owned()).or_default();
                values.push(event.counter_value.unwrap());
            }
            SLICE_BEGIN => stack.push(slice(track, &event, time, (&names, &notes))),
            SLICE_END => {
                let slice = stack.pop().expect("an end without a beginning");
                read.slices.push(Slice { end: time, ..slice });
            }
            INSTANT => read.slices.push(slice(track, &event, time, (&names, &notes))),
            other => panic!("event of type {other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "slices without an end");
    check_flows(&read.slices);
    read
}

type Names = BTreeMap<u64, String>;

fn slice(track: &TrackDescriptor, event: &TrackEvent, time: u64, names: (&Names, &Names)) -> Slice {
    let note = |wanted: &str| {
        event.debug_annotations.iter().find_map(|note| match note.value {
            Some(Value::Count(count)) if names.1[&note.name_iid?] == wanted => Some(count),
            _ => None,
        })
    };
    Slice {
        track: track.name().to_owned(),
        name: names.0[&event.name_iid.unwrap()].clone(),
        begin: time,
        end: time,
        packet: note("packet"),
        instructions: note("instructions"),
        flows: event.flow_ids.clone(),
        ends: event.terminating_flow_ids.clone(),
    }
}

/// Every flow begins somewhere, ends once, and nothing of it comes after its end.
fn check_flows(slices: &[Slice]) {
    let mut flows: BTreeMap<u64, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    for slice in slices {
        for flow in &slice.flows {
            flows.entry(*flow).or_default().0.push(slice.begin);
        }
        for flow in &slice.ends {
            flows.entry(*flow).or_default().1.push(slice.begin);
        }
    }
    for (flow, (through, ends)) in flows {
        assert_eq!(ends.len(), 1, "flow {flow} ends once");
        assert!(!through.is_empty(), "flow {flow} has a beginning");
        assert!(through.iter().all(|begin| *begin <= ends[0]), "flow {flow} goes on after its end");
    }
}

fn trace<'a>(
    app: &'a App,
    choice: &Choice,
    out: &'a mut Vec<u8>,
) -> Spy<NicTrace<'a, &'a mut Vec<u8>>> {
    let filter = Filter::new(app, choice).unwrap();
    Spy::run(app, NicTrace::new(app, filter, out).unwrap()).0
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
