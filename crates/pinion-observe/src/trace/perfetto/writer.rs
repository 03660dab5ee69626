//! Writes a trace packet by packet: tracks, slices, instants and counters come in, Perfetto's bytes
//! go out. Times are cut to nanoseconds, the format's unit.

use std::io::Write;

use pinion_sim::Time;
use prost::Message as _;
use rustc_hash::FxHashMap;

use super::corner::Corner;
use super::proto::{
    COUNTER, CounterDescriptor, DebugAnnotation, INSTANT, InternedData, NEEDS_STATE, Name,
    ORDER_EXPLICIT, SLICE_BEGIN, SLICE_END, STATE_CLEARED, TracePacket, TrackDescriptor,
    TrackEvent, Value,
};
use pinion_app::error::{Error, Result};

/// Begins every packet in a file: field 1 of the trace, with a length.
const PACKET_KEY: u8 = 1 << 3 | 2;

/// Names a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track(u64);

impl Track {
    pub(super) const fn of_number(number: u64) -> Self {
        Self(number)
    }
}

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
    note_names: Names,
    buffer: Vec<u8>,
    is_begun: bool,
    error: Option<std::io::Error>,
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

impl<W: Write> Writer<W> {
    /// Begins a trace, or one machine's part of it.
    pub fn new(out: W, corner: &Corner) -> Self {
        Self {
            out,
            sequence: corner.sequence,
            tracks: corner.tracks(),
            event_names: Names::default(),
            note_names: Names::default(),
            buffer: Vec::new(),
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
        let track_descriptor = Some(TrackDescriptor {
            uuid: Some(self.tracks),
            name: Some(name.to_owned()),
            parent_uuid: parent.map(|parent| parent.0),
            child_ordering: counter.is_none().then_some(ORDER_EXPLICIT),
            counter,
            sibling_order_rank: i32::try_from(rank).ok(),
        });
        self.put(TracePacket { track_descriptor, ..TracePacket::default() });
        Track(self.tracks)
    }

    /// Writes a slice; a track's must come in order and not overlap, but for those that lie within.
    pub fn slice(&mut self, track: Track, slice: Slice<'_>) {
        let end = slice.end;
        self.begin(track, SLICE_BEGIN, slice);
        let r#type = Some(SLICE_END);
        let event = TrackEvent { r#type, track_uuid: Some(track.0), ..TrackEvent::default() };
        self.event(end, event, InternedData::default());
    }

    /// Writes an instant: a slice's beginning is when it is.
    pub fn instant(&mut self, track: Track, slice: Slice<'_>) {
        self.begin(track, INSTANT, slice);
    }

    fn begin(&mut self, track: Track, kind: i32, slice: Slice<'_>) {
        let mut interned = InternedData::default();
        let name = self.event_names.number(slice.name, &mut interned.event_names);
        let mut debug_annotations = Vec::new();
        for (name, value) in slice.notes {
            let name = self.note_names.number(name, &mut interned.debug_annotation_names);
            debug_annotations.push(DebugAnnotation { name_iid: Some(name), value: Some(value) });
        }
        let event = TrackEvent {
            debug_annotations,
            r#type: Some(kind),
            name_iid: Some(name),
            track_uuid: Some(track.0),
            counter_value: None,
            flow_ids: slice.flows,
            terminating_flow_ids: slice.ends,
        };
        self.event(slice.begin, event, interned);
    }

    /// Writes a counter's new value.
    pub fn count(&mut self, track: Track, time: Time, value: u64) {
        let event = TrackEvent {
            r#type: Some(COUNTER),
            track_uuid: Some(track.0),
            counter_value: Some(i64::try_from(value).unwrap_or(i64::MAX)),
            ..TrackEvent::default()
        };
        self.event(time, event, InternedData::default());
    }

    fn event(&mut self, time: Time, event: TrackEvent, interned: InternedData) {
        let interned_data = (interned != InternedData::default()).then_some(interned);
        self.put(TracePacket {
            timestamp: Some(time.ps() / 1000),
            track_event: Some(event),
            interned_data,
            ..TracePacket::default()
        });
    }

    fn put(&mut self, mut packet: TracePacket) {
        if self.error.is_some() {
            return;
        }
        packet.trusted_packet_sequence_id = Some(self.sequence);
        packet.sequence_flags = Some(match self.is_begun {
            true => NEEDS_STATE,
            false => STATE_CLEARED | NEEDS_STATE,
        });
        self.is_begun = true;
        self.buffer.clear();
        self.buffer.push(PACKET_KEY);
        let encoded = packet.encode_length_delimited(&mut self.buffer);
        debug_assert!(encoded.is_ok(), "a vector has room");
        self.error = self.out.write_all(&self.buffer).err();
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
    pub fn check(&mut self) -> Result<()> {
        match self.error.take() {
            Some(error) => Err(Error::part("cannot write the trace", error)),
            None => Ok(()),
        }
    }

    /// Brings everything to the file.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn flush(&mut self) -> Result<()> {
        self.check()?;
        self.out.flush().map_err(|error| Error::part("cannot write the trace", error))
    }
}
