//! Reads traces for Perfetto back, and checks what holds for each.

use std::collections::BTreeMap;

use pinion_observe::trace::perfetto::proto::{
    COUNTER, INSTANT, SLICE_BEGIN, SLICE_END, STATE_CLEARED, Trace, TrackDescriptor, TrackEvent,
    Value,
};
use prost::Message as _;

/// Holds a slice as it was read back; an instant ends when it begins.
#[derive(Debug)]
pub struct Slice {
    pub track: String,
    pub name: String,
    pub begin: u64,
    pub end: u64,
    pub packet: Option<u64>,
    pub instructions: Option<u64>,
    pub flows: Vec<u64>,
    pub ends: Vec<u64>,
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
    let mut tracks: BTreeMap<u64, TrackDescriptor> = BTreeMap::new();
    let mut sequences: BTreeMap<u32, (Names, Names)> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let mut read = Read { slices: Vec::new(), counters: BTreeMap::new() };
    for packet in trace.packet {
        let sequence = packet.trusted_packet_sequence_id.unwrap();
        let is_cleared = packet.sequence_flags.unwrap() & STATE_CLEARED == STATE_CLEARED;
        assert_eq!(is_cleared, !sequences.contains_key(&sequence), "a sequence's first packet");
        let (names, notes) = sequences.entry(sequence).or_default();
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
            SLICE_BEGIN => stack.push(slice(track, &event, time, (names, notes))),
            SLICE_END => {
                let slice = stack.pop().expect("an end without a beginning");
                read.slices.push(Slice { end: time, ..slice });
            }
            INSTANT => read.slices.push(slice(track, &event, time, (names, notes))),
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

/// Tells whether a flow leads through a NIC, from its pins to where the packet or command is done: those of
/// messages and of cables have no end that is known.
fn must_end(flow: u64) -> bool {
    flow >> 40 == 0
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
    for (flow, (through, ends)) in flows.into_iter().filter(|(flow, _)| must_end(*flow)) {
        assert_eq!(ends.len(), 1, "flow {flow} ends once");
        assert!(!through.is_empty(), "flow {flow} has a beginning");
        assert!(through.iter().all(|begin| *begin <= ends[0]), "flow {flow} goes on after its end");
    }
}
