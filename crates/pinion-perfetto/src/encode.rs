//! Events as bytes of Protocol Buffers, field by field in the order of their numbers, as `proto.rs` has them.
//!
//! A traced run has dozens of them for each packet. Messages that are made first, measured from the inside
//! out, and then written took most of what a trace costs.

use crate::proto::Value;

/// How a field's value is written: a number in groups of seven bits, eight bytes, or a length and bytes.
const VARINT: u32 = 0;
const FIXED: u32 = 1;
const BYTES: u32 = 2;

/// What happens on a track.
#[derive(Debug, Default)]
pub struct Event<'a> {
    /// Begins, ends, is an instant or a counter's new value.
    pub kind: i32,
    /// Number of its name.
    pub name: Option<u64>,
    /// The track it happens on.
    pub track: u64,
    /// New value of a counter.
    pub count: Option<u64>,
    /// Flows that come through.
    pub flows: &'a [u64],
    /// Flows that end.
    pub ends: &'a [u64],
}

/// Appends a number.
#[inline]
pub fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 1 << 7 {
        to.push(value as u8 | 1 << 7);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Appends a field that is a number.
#[inline]
pub fn number(to: &mut Vec<u8>, field: u32, value: u64) {
    varint(to, u64::from(field << 3 | VARINT));
    varint(to, value);
}

/// Appends a field that is a text or a message.
#[inline]
pub fn bytes(to: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    varint(to, u64::from(field << 3 | BYTES));
    varint(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// Gives the bytes that a number takes.
#[inline]
fn length(value: u64) -> u64 {
    u64::from((70 - (value | 1).leading_zeros()) / 7)
}

/// Appends an annotation of an event: the number of its name, and its value.
#[inline]
pub fn note(to: &mut Vec<u8>, name: u64, value: &Value) {
    to.push((4 << 3 | BYTES) as u8);
    let own = 1 + length(name);
    match value {
        Value::Count(value) => {
            varint(to, own + 1 + length(*value));
            number(to, 1, name);
            number(to, 3, *value);
        }
        Value::Text(text) => {
            varint(to, own + 1 + length(text.len() as u64) + text.len() as u64);
            number(to, 1, name);
            bytes(to, 6, text.as_bytes());
        }
        Value::Address(value) => {
            varint(to, own + 1 + length(*value));
            number(to, 1, name);
            number(to, 7, *value);
        }
    }
}

/// Appends an event, whose annotations are there.
#[inline]
pub fn event(to: &mut Vec<u8>, event: &Event<'_>) {
    number(to, 9, event.kind as u64);
    if let Some(name) = event.name {
        number(to, 10, name);
    }
    number(to, 11, event.track);
    if let Some(count) = event.count {
        number(to, 30, count);
    }
    for (field, flows) in [(47, event.flows), (48, event.ends)] {
        for flow in flows {
            varint(to, u64::from(field << 3 | FIXED));
            to.extend_from_slice(&flow.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::proto::{DebugAnnotation, TrackEvent};

    #[test]
    fn numbers_are_as_long_as_they_are_said_to_be() {
        for bits in 0..=64u32 {
            let value = 1u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1);
            for value in [value, value.wrapping_add(1)] {
                let mut bytes = Vec::new();
                varint(&mut bytes, value);
                assert_eq!(bytes.len() as u64, length(value), "{value:#x}");
            }
        }
    }

    #[test]
    fn events_are_written_as_their_messages_are() {
        let mut random = pinion_sim::random::SplitMix64::new(1);
        let mut draw = || random.draw();
        for _ in 0..5000 {
            let mut any = |most: u64| draw() >> (draw() % 64) & most;
            let list = |count: u64, any: &mut dyn FnMut(u64) -> u64| -> Vec<u64> {
                (0..count % 3).map(|_| any(u64::MAX)).collect()
            };
            let (flows, ends) = (list(any(7), &mut any), list(any(7), &mut any));
            let notes: Vec<(u64, Value)> = (0..any(7))
                .map(|_| {
                    let value = match any(3) {
                        0 => Value::Text("t".repeat(any(300) as usize)),
                        1 => Value::Address(any(u64::MAX)),
                        _ => Value::Count(any(u64::MAX)),
                    };
                    (1 + any(300), value)
                })
                .collect();
            let named = any(1) == 1;
            let counts = any(1) == 1;
            let made = Event {
                kind: 1 + any(3) as i32,
                name: named.then(|| any(1 << 20)),
                track: any(u64::MAX),
                count: counts.then(|| any(i64::MAX as u64)),
                flows: &flows,
                ends: &ends,
            };
            let message = TrackEvent {
                debug_annotations: notes
                    .iter()
                    .map(|(name, value)| DebugAnnotation {
                        name_iid: Some(*name),
                        value: Some(value.clone()),
                    })
                    .collect(),
                r#type: Some(made.kind),
                name_iid: made.name,
                track_uuid: Some(made.track),
                counter_value: made.count.map(|count| count as i64),
                flow_ids: flows.clone(),
                terminating_flow_ids: ends.clone(),
            };
            let mut written = Vec::new();
            notes.iter().for_each(|(name, value)| note(&mut written, *name, value));
            event(&mut written, &made);
            assert_eq!(written, message.encode_to_vec());
        }
    }
}
