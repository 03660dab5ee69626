//! Messages that come back: how long that takes, and with what in them.

use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};

use super::super::observation::{ACK, HEADER_BYTES, Record, crc32, word};
use super::messages::{Message, messages};
use super::{Answer, View, reduce, truth};

/// Counts the messages that warm the caches.
pub const COLD_MESSAGES: usize = 4;
/// The MAC address that the node's frames go to.
const PEER_MAC: [u8; 6] = [0x08, 0x55, 0x66, 0x77, 0x88, 0x08];
/// The node's MAC address.
const NODE_MAC: [u8; 6] = [0x08, 0x11, 0x22, 0x33, 0x44, 0x08];

/// Tells how long something between a request and its reply took.
type Took = fn(&Message<'_>, &Message<'_>) -> i64;

pub fn number(view: &View<'_>, metric: &str) -> Answer {
    let times: [(&str, Took); 3] = [
        ("first_in_to_first_out_", |request, reply| reply.first().first - request.first().first),
        ("first_in_to_last_out_", |request, reply| reply.last().last - request.first().first),
        ("last_in_to_first_out_", |request, reply| reply.first().first - request.last().last),
    ];
    for (name, time) in times {
        if let Some(statistic) = metric.strip_prefix(name) {
            let (requests, replies) = pairs(view);
            let pairs = requests.iter().zip(&replies).skip(COLD_MESSAGES);
            let times: Vec<f64> = pairs.map(|(a, b)| time(a, b) as f64).collect();
            return Some(reduce(statistic, &times));
        }
    }
    if let Some(statistic) = metric.strip_prefix("first_in_to_first_ack_out_") {
        return Some(reduce(statistic, &acknowledgements(view)));
    }
    match metric {
        "payload_echoed_intact" => truth(comes_back(view, |word| word)),
        "payload_incremented" => truth(comes_back(view, |word| word.wrapping_add(1))),
        _ => None,
    }
}

fn pairs<'a>(view: &View<'a>) -> (Vec<Message<'a>>, Vec<Message<'a>>) {
    (messages(view.seen.requests()), messages(view.seen.data_out()))
}

fn acknowledgements(view: &View<'_>) -> Vec<f64> {
    let requests = messages(view.seen.requests());
    let warm = requests.iter().skip(COLD_MESSAGES);
    let times = warm.filter_map(|request| {
        let request = request.first();
        let mut out = view.seen.out().filter(|frame| frame.fields.flags & ACK != 0);
        let answer = out.find(|frame| {
            frame.first >= request.first && frame.fields.tx_msg_id == request.fields.tx_msg_id
        })?;
        Some((answer.first - request.first) as f64)
    });
    times.collect()
}

/// Tells whether every request came back with `change` applied to each of its words.
fn comes_back(view: &View<'_>, change: fn(u64) -> u64) -> bool {
    let requests: Vec<_> = view.seen.requests().collect();
    let replies: Vec<_> = view.seen.data_out().collect();
    let scripted = |request: &Record| {
        let same = |frame: &&super::ScriptFrame| crc32(&frame.frame) == request.crc32;
        view.script.iter().find(same).map(|frame| changed(&frame.frame, change))
    };
    !requests.is_empty()
        && requests.len() == replies.len()
        && requests.iter().zip(&replies).all(|(request, reply)| {
            scripted(request).is_some_and(|payload| crc32(&frame(reply, &payload)) == reply.crc32)
        })
}

fn changed(frame: &[u8], change: fn(u64) -> u64) -> Vec<u8> {
    let payload = frame.get(HEADER_BYTES..).unwrap_or(&[]);
    let words = payload.chunks(8).flat_map(|bytes| {
        let changed = change(word(bytes)).to_be_bytes();
        changed[8 - bytes.len()..].to_vec()
    });
    words.collect()
}

/// Makes the frame of the node with a record's header and this payload.
fn frame(record: &Record, payload: &[u8]) -> Vec<u8> {
    let fields = record.fields;
    let header = Header {
        dst_mac: PEER_MAC,
        src_mac: NODE_MAC,
        protocol: NDP_PROTOCOL,
        src_ip: fields.src_ip,
        dst_ip: fields.dst_ip,
        flags: Flags(fields.flags),
        src_context: fields.src_context,
        dst_context: fields.dst_context,
        msg_len: fields.msg_len,
        pkt_offset: fields.pkt_offset,
        pull_offset: fields.pull_offset,
        tx_msg_id: fields.tx_msg_id,
        buf_ptr: fields.buf_ptr,
        buf_size_class: fields.buf_size_class,
        ..Header::default()
    };
    header.frame(payload)
}
