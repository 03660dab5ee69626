//! Writes a trace packet by packet: tracks, slices, instants and counters come in, Perfetto's bytes
//! go out. Times are cut to nanoseconds, the format's unit.

use std::io::{self, Write};

use pinion_sim::Time;
use prost::Message as _;
use rustc_hash::FxHashMap;

use crate::corner::Corner;
use crate::encode::{self, Event};
use crate::proto::{
    COUNTER, CounterDescriptor, INSTANT, InternedData, NEEDS_STATE, Name, ORDER_EXPLICIT,
    SLICE_BEGIN, SLICE_END, STATE_CLEARED, TrackDescriptor, Value,
};
use crate::track::Track;

/// Begins every packet in a file: field 1 of the trace, with a length.
const PACKET_KEY: u8 = 1 << 3 | 2;
/// Fields of a packet.
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const TRACK_EVENT: u32 = 11;
const INTERNED_DATA: u32 = 12;
const SEQUENCE_FLAGS: u32 = 13;
const TRACK_DESCRIPTOR: u32 = 60;
/// Places where the numbers of annotations' names are kept by their addresses.
const NOTE_PLACES: usize = 64;

/// Describes something that takes time, or an instant if it takes none.
#[derive(Debug, Default)]
pub struct Slice<'a> {
    /// Names it.
    pub name: &'a str,
    /// When it begins.
    pub begin: Time,
    /// When it ends.
    pub end: Time,
    /// Numbers the flows that begin in it or pass through it.
    pub flows: Vec<u64>,
    /// Numbers the flows that end in it.
    pub ends: Vec<u64>,
    /// Tells more of it.
    pub notes: Vec<(&'static str, Value)>,
}

/// Writes a trace.
pub struct Writer<W> {
    out: W,
    sequence: u32,
    tracks: u64,
    event_names: Names,
    note_names: NoteNames,
    /// The event that is being written, the packet around it, and that with what stands in front of it.
    event: Vec<u8>,
    packet: Vec<u8>,
    framed: Vec<u8>,
    is_begun: bool,
    error: Option<io::Error>,
}

#[derive(Default)]
struct Names {
    known: FxHashMap<String, u64>,
}

impl Names {
    /// Gives a name's number; a new name goes into `new`.
    fn number(&mut self, name: &str, new: &mut Vec<Name>) -> u64 {
        if let Some(number) = self.known.get(name) {
            return *number;
        }
        let number = self.known.len() as u64 + 1;
        self.known.insert(name.to_owned(), number);
        new.push(Name { iid: Some(number), name: Some(name.to_owned()) });
        number
    }
}

/// Names of annotations: few, that stand in programs, so that where one lies says which it is.
struct NoteNames {
    names: Names,
    places: [(&'static str, u64); NOTE_PLACES],
}

impl NoteNames {
    fn number(&mut self, name: &'static str, new: &mut Vec<Name>) -> u64 {
        let place = &mut self.places[(name.as_ptr().addr() ^ name.len()) % NOTE_PLACES];
        if !std::ptr::eq(place.0, name) {
            *place = (name, self.names.number(name, new));
        }
        place.1
    }
}

impl<W: Write> Writer<W> {
    /// Begins a trace, or one machine's part of it.
    pub fn new(out: W, corner: &Corner) -> Self {
        Self {
            out,
            sequence: corner.sequence,
            tracks: corner.tracks(),
            event_names: Names::default(),
            note_names: NoteNames { names: Names::default(), places: [("", 0); NOTE_PLACES] },
            event: Vec::new(),
            packet: Vec::new(),
            framed: Vec::new(),
            is_begun: false,
            error: None,
        }
    }

    /// Makes a track, below a parent if there is one, `rank`th among its siblings.
    pub fn track(&mut self, parent: Option<Track>, rank: u32, name: &str) -> Track {
        self.describe(parent, rank, name, None)
    }

    /// Makes a track for a counter of things or bytes.
    pub fn counter(&mut self, parent: Track, rank: u32, name: &str, unit: i32) -> Track {
        self.describe(Some(parent), rank, name, Some(CounterDescriptor { unit: Some(unit) }))
    }

    fn describe(
        &mut self,
        parent: Option<Track>,
        rank: u32,
        name: &str,
        counter: Option<CounterDescriptor>,
    ) -> Track {
        self.tracks += 1;
        let descriptor = TrackDescriptor {
            uuid: Some(self.tracks),
            name: Some(name.to_owned()),
            parent_uuid: parent.map(|parent| parent.0),
            child_ordering: counter.is_none().then_some(ORDER_EXPLICIT),
            counter,
            sibling_order_rank: i32::try_from(rank).ok(),
        };
        self.packet.clear();
        encode::number(&mut self.packet, SEQUENCE, self.sequence.into());
        self.put_flags();
        encode::bytes(&mut self.packet, TRACK_DESCRIPTOR, &descriptor.encode_to_vec());
        self.put();
        Track(self.tracks)
    }

    /// Writes a slice; a track's must come in order and not overlap, but for those that lie within.
    pub fn slice(&mut self, track: Track, slice: Slice<'_>) {
        let end = slice.end;
        self.begin(track, SLICE_BEGIN, slice);
        self.event.clear();
        self.end_event(end, &Event { kind: SLICE_END, track: track.0, ..Event::default() }, None);
    }

    /// Writes an instant: a slice's beginning is when it is.
    pub fn instant(&mut self, track: Track, slice: Slice<'_>) {
        self.begin(track, INSTANT, slice);
    }

    fn begin(&mut self, track: Track, kind: i32, slice: Slice<'_>) {
        let mut interned = InternedData::default();
        let name = self.event_names.number(slice.name, &mut interned.event_names);
        self.event.clear();
        for (name, value) in &slice.notes {
            let name = self.note_names.number(name, &mut interned.debug_annotation_names);
            encode::note(&mut self.event, name, value);
        }
        let event = Event {
            kind,
            name: Some(name),
            track: track.0,
            count: None,
            flows: &slice.flows,
            ends: &slice.ends,
        };
        let is_new =
            !interned.event_names.is_empty() || !interned.debug_annotation_names.is_empty();
        self.end_event(slice.begin, &event, is_new.then_some(&interned));
    }

    /// Writes a counter's new value.
    pub fn count(&mut self, track: Track, time: Time, value: u64) {
        let count = Some(value.min(i64::MAX as u64));
        self.event.clear();
        self.end_event(
            time,
            &Event { kind: COUNTER, track: track.0, count, ..Event::default() },
            None,
        );
    }

    /// Writes an event, whose annotations are there.
    fn end_event(&mut self, time: Time, event: &Event<'_>, interned: Option<&InternedData>) {
        encode::event(&mut self.event, event);
        self.packet.clear();
        encode::number(&mut self.packet, TIMESTAMP, time.ps() / 1000);
        encode::number(&mut self.packet, SEQUENCE, self.sequence.into());
        encode::bytes(&mut self.packet, TRACK_EVENT, &self.event);
        if let Some(interned) = interned {
            encode::bytes(&mut self.packet, INTERNED_DATA, &interned.encode_to_vec());
        }
        self.put_flags();
        self.put();
    }

    fn put_flags(&mut self) {
        let flags = match std::mem::replace(&mut self.is_begun, true) {
            true => NEEDS_STATE,
            false => STATE_CLEARED | NEEDS_STATE,
        };
        encode::number(&mut self.packet, SEQUENCE_FLAGS, flags.into());
    }

    /// Writes the packet, with what stands in front of it in a file.
    fn put(&mut self) {
        if self.error.is_some() {
            return;
        }
        self.framed.clear();
        self.framed.push(PACKET_KEY);
        encode::varint(&mut self.framed, self.packet.len() as u64);
        self.framed.extend_from_slice(&self.packet);
        self.error = self.out.write_all(&self.framed).err();
    }

    /// Takes what another writer of the same trace has written.
    pub fn append(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.out.write_all(bytes).err();
        }
    }

    /// Tells whether everything could be written so far.
    ///
    /// # Errors
    /// The first error that there was.
    pub fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Brings everything to the file.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn flush(&mut self) -> io::Result<()> {
        self.check()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Trace, UNIT_COUNT};

    #[test]
    fn a_file_is_what_its_messages_are_written_as() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, &Corner::of_node(3, "node"));
        let root = writer.track(None, 0, "root");
        let below = writer.track(Some(root), 7, "below");
        let counter = writer.counter(root, 1, "waiting", UNIT_COUNT);
        for round in 0..200u64 {
            let at = |ns: u64| Time::from_ns(1000 * round + ns);
            writer.count(counter, at(1), round % 5);
            let notes = vec![
                ("packet", Value::Count(round)),
                ("from", Value::Address(0x1c00_0000 + round)),
                ("why", Value::Text("x".repeat(round as usize))),
            ];
            let name = ["one", "two", "three"][round as usize % 3];
            let (flows, ends) = (vec![round, 1 << 40], vec![round; (round % 2) as usize]);
            writer.slice(below, Slice { name, begin: at(2), end: at(3), flows, ends, notes });
            writer.instant(below, Slice { name: "now", begin: at(4), ..Slice::default() });
        }
        writer.flush().unwrap();
        let trace = Trace::decode(&bytes[..]).unwrap();
        assert_eq!(trace.encode_to_vec(), bytes);
        assert_eq!(trace.packet.len(), 3 + 200 * 4);
        let [first, second] = [0, 1].map(|nth: usize| &trace.packet[nth]);
        assert_eq!(first.sequence_flags, Some(STATE_CLEARED | NEEDS_STATE));
        assert_eq!(second.sequence_flags, Some(NEEDS_STATE));
        assert!(trace.packet.iter().all(|packet| packet.trusted_packet_sequence_id == Some(5)));
        let names = |packet: &crate::proto::TracePacket| {
            let interned = packet.interned_data.iter();
            interned.map(|new| (new.event_names.len(), new.debug_annotation_names.len())).collect()
        };
        let new: Vec<Vec<(usize, usize)>> = trace.packet.iter().map(names).collect();
        assert_eq!(new.concat(), [(1, 3), (1, 0), (1, 0), (1, 0)]);
        let last = &trace.packet[trace.packet.len() - 3];
        let event = last.track_event.as_ref().unwrap();
        assert_eq!(last.timestamp, Some(199_002));
        assert_eq!((event.r#type, event.track_uuid), (Some(SLICE_BEGIN), Some(below.0)));
        assert_eq!(
            (&event.flow_ids[..], &event.terminating_flow_ids[..]),
            (&[199, 1 << 40][..], &[199][..])
        );
        assert_eq!(event.debug_annotations.len(), 3);
    }
}
