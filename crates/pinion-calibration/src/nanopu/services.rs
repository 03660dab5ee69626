//! The way of each request of a program that burns cycles on demand: when it was delivered, when
//! its work began and ended, when the reply left.
//!
//! The program reports its own cycle counter; each hart's differs from the scenario's cycles by a
//! constant, which is found from when the harts wrote their replies.

use std::cmp::Reverse;
use std::collections::HashMap;

use pinion_nanopu::event::Event;

use super::observation::{Observation, Record};
use super::set::Service;

/// Counts the contexts' bits in the number of a server that runs several threads.
const THREAD_BITS: u32 = 8;
/// How long after the program read the cycle counter last its reply's first word is written.
const COUNTER_TO_REPLY_CYCLES: i64 = 3;

/// Puts the requests' ways together, in order of their arrival. `threads` tells that servers count
/// 256 for a hart and 1 for a context.
pub fn services(seen: &Observation, threads: bool) -> Vec<Service> {
    let mut replies: Vec<(&Record, Reply)> = Vec::new();
    for record in seen.data_out() {
        replies.extend(Reply::of(record, threads).map(|reply| (record, reply)));
    }
    let deliveries = deliveries(seen);
    let mut used: HashMap<(u8, u16), usize> = HashMap::new();
    let mut found = Vec::new();
    for (record, reply) in &replies {
        let server = (reply.hart, record.fields.src_context);
        let index = used.entry(server).or_default();
        let delivery = deliveries.get(&server).and_then(|all| all.get(*index)).copied();
        *index += 1;
        let request = seen.requests().find(|request| request.words.get(1) == Some(&reply.tag));
        if let (Some(delivery), Some(request)) = (delivery, request) {
            found.push(Way { request, record, reply: *reply, delivery });
        }
    }
    let offsets = offsets(seen, &found);
    let mut services: Vec<Service> = found.iter().map(|way| way.service(&offsets)).collect();
    services.sort_by_key(|service| service.first_flit_in);
    services
}

/// Holds what a reply says.
#[derive(Clone, Copy)]
struct Reply {
    n: u64,
    tag: u64,
    server: u64,
    hart: u8,
    begin: u64,
    end: u64,
}

impl Reply {
    fn of(record: &Record, threads: bool) -> Option<Self> {
        let &[n, tag, server, begin, end] = record.words.as_slice() else { return None };
        let hart = if threads { server >> THREAD_BITS } else { server };
        Some(Self { n, tag, server, hart: u8::try_from(hart).ok()?, begin, end })
    }
}

struct Way<'a> {
    request: &'a Record,
    record: &'a Record,
    reply: Reply,
    delivery: (i64, i64),
}

impl Way<'_> {
    fn service(&self, offsets: &HashMap<u8, i64>) -> Service {
        let offset = offsets.get(&self.reply.hart).copied().unwrap_or(0);
        let cycle = |counter: u64| (counter as i64).wrapping_add(offset);
        Service {
            scenario: String::new(),
            tag: self.reply.tag,
            label: self.request.label.clone(),
            context: self.request.fields.dst_context,
            n: self.reply.n,
            first_flit_in: self.request.first,
            last_flit_in: self.request.last,
            server: self.reply.server,
            begin_cycle: cycle(self.reply.begin),
            end_cycle: cycle(self.reply.end),
            reply_first_flit_out: self.record.first,
            reply_last_flit_out: self.record.last,
            hart: self.reply.hart,
            delivery_first_word: self.delivery.0,
            delivery_last_word: self.delivery.1,
        }
    }
}

/// Lists when each message's first and last word entered a hart's queue, per hart and context.
fn deliveries(seen: &Observation) -> HashMap<(u8, u16), Vec<(i64, i64)>> {
    let mut open: HashMap<(u8, u16), i64> = HashMap::new();
    let mut deliveries: HashMap<_, Vec<_>> = HashMap::new();
    for &(at, event) in &seen.events {
        if let Event::ReceiveWord { hart, context, last } = event {
            let first = *open.entry((hart, context)).or_insert(at);
            if last {
                deliveries.entry((hart, context)).or_default().push((first, at));
                open.remove(&(hart, context));
            }
        }
    }
    deliveries
}

/// Finds what to add to each hart's cycle counter: what most requests agree on, if each write to x31
/// between a request's delivery and its reply could be that of the reply's first word; the earliest
/// of those, since the other words follow at fixed distances.
fn offsets(seen: &Observation, ways: &[Way<'_>]) -> HashMap<u8, i64> {
    let mut words: HashMap<u8, Vec<i64>> = HashMap::new();
    for &(at, event) in &seen.events {
        if let Event::TransmitWord { hart } = event {
            words.entry(hart).or_default().push(at);
        }
    }
    let mut votes: HashMap<(u8, i64), usize> = HashMap::new();
    for way in ways {
        let words = words.get(&way.reply.hart).map_or(&[][..], Vec::as_slice);
        let from = words.partition_point(|&at| at < way.delivery.0);
        let until = words.partition_point(|&at| at < way.record.first);
        for word in words.get(from..until).unwrap_or(&[]) {
            let offset = word - COUNTER_TO_REPLY_CYCLES - way.reply.end as i64;
            *votes.entry((way.reply.hart, offset)).or_default() += 1;
        }
    }
    let mut best: HashMap<u8, (usize, Reverse<i64>)> = HashMap::new();
    for ((hart, offset), count) in votes {
        let best = best.entry(hart).or_insert((count, Reverse(offset)));
        *best = (*best).max((count, Reverse(offset)));
    }
    best.into_iter().map(|(hart, (_, Reverse(offset)))| (hart, offset)).collect()
}
