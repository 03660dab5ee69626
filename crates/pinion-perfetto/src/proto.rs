//! The messages of Perfetto's trace format that are written here, with their published field numbers
//! (perfetto.dev, `protos/perfetto/trace`).

use prost::{Message, Oneof};

/// A whole trace: a file holds its packets one after the other, so only readers need it.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Its entries.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One entry of a trace.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Number of the sequence it belongs to; there is one.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// What happens.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that get numbers.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// [`STATE_CLEARED`], [`NEEDS_STATE`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// A new track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// Says that nothing before it is referred to (`SEQ_INCREMENTAL_STATE_CLEARED`).
pub const STATE_CLEARED: u32 = 1;
/// Says that it refers to interned data (`SEQ_NEEDS_INCREMENTAL_STATE`).
pub const NEEDS_STATE: u32 = 2;

/// Describes a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track it lies under.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// What it counts, of counters.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// How its children are ordered.
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Its place among its siblings, where their parent has [`ORDER_EXPLICIT`].
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// Orders a track's children by their ranks.
pub const ORDER_EXPLICIT: i32 = 3;

/// Makes a track a counter.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// [`UNIT_COUNT`] or [`UNIT_BYTES`].
    #[prost(int32, optional, tag = "3")]
    pub unit: Option<i32>,
}

/// Counts things.
pub const UNIT_COUNT: i32 = 2;
/// Counts bytes.
pub const UNIT_BYTES: i32 = 3;

/// Happens on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// What else there is to tell.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// [`SLICE_BEGIN`], [`SLICE_END`], [`INSTANT`] or [`COUNTER`].
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Number of its name.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// The track it happens on.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// New value of a counter.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Flows that come through.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Flows that end.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// A slice begins.
pub const SLICE_BEGIN: i32 = 1;
/// The innermost slice ends.
pub const SLICE_END: i32 = 2;
/// Something happens that takes no time.
pub const INSTANT: i32 = 3;
/// A counter has a new value.
pub const COUNTER: i32 = 4;

/// Tells more of an event.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// Number of its name.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// Its value.
    #[prost(oneof = "Value", tags = "3, 6, 7")]
    pub value: Option<Value>,
}

/// An annotation's value.
#[derive(Clone, PartialEq, Oneof)]
pub enum Value {
    /// A number.
    #[prost(uint64, tag = "3")]
    Count(u64),
    /// A text.
    #[prost(string, tag = "6")]
    Text(String),
    /// An address.
    #[prost(uint64, tag = "7")]
    Address(u64),
}

/// Gives names numbers, for all later packets.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<Name>,
    /// Names of annotations.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<Name>,
}

/// A name and its number.
#[derive(Clone, PartialEq, Message)]
pub struct Name {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
