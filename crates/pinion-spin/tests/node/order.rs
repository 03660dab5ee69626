//! Order: a message's header handler runs first and alone, its completion handler last and alone,
//! and every packet gets each handler it is due exactly once.

use std::collections::BTreeMap;

use pinion_spin::{HandlerKind, HandlerRecord};

use crate::harness::{Random, Recorder, build, context, finish, image, machine, messages};

/// A message's handler runs, by kind.
#[derive(Default)]
struct Ran<'a> {
    header: Vec<&'a HandlerRecord>,
    payload: Vec<&'a HandlerRecord>,
    completion: Vec<&'a HandlerRecord>,
    packets: Vec<u64>,
}

fn by_message(heard: &Recorder) -> BTreeMap<u32, Ran<'_>> {
    let mut messages: BTreeMap<u32, Ran<'_>> = BTreeMap::new();
    let mut message_of = BTreeMap::new();
    for record in &heard.packets {
        assert_eq!(message_of.insert(record.packet, record.message), None, "freed once");
        messages.entry(record.message).or_default().packets.push(record.packet);
    }
    for record in &heard.handlers {
        let ran = messages.get_mut(&message_of[&record.packet]).expect("a packet's message");
        match record.kind {
            HandlerKind::Header => ran.header.push(record),
            HandlerKind::Payload => ran.payload.push(record),
            HandlerKind::Completion => ran.completion.push(record),
        }
    }
    for ran in messages.values_mut() {
        ran.packets.sort_unstable();
    }
    messages
}

fn check(message: u32, ran: &Ran<'_>, handlers: [&str; 3]) {
    let packets = |records: &[&HandlerRecord]| {
        let mut packets: Vec<u64> = records.iter().map(|record| record.packet).collect();
        packets.sort_unstable();
        packets
    };
    let due = |has: bool, packets: &[u64]| if has { packets.to_vec() } else { Vec::new() };
    let all = ran.packets.as_slice();
    let has = handlers.map(|name| !name.is_empty());
    assert_eq!(packets(&ran.header), due(has[0], &all[..1]), "header of {message:#x}");
    assert_eq!(packets(&ran.payload), due(has[1], all), "payload of {message:#x}");
    let last = &all[all.len() - 1..];
    assert_eq!(packets(&ran.completion), due(has[2], last), "completion of {message:#x}");
    for header in &ran.header {
        for later in ran.payload.iter().chain(&ran.completion) {
            assert!(header.end < later.start, "header of {message:#x} first and alone");
        }
    }
    for completion in &ran.completion {
        for earlier in ran.payload.iter().chain(&ran.header) {
            assert!(earlier.end < completion.start, "completion of {message:#x} last and alone");
        }
    }
}

const COMBINATIONS: [[&str; 3]; 8] = [
    ["", "", ""],
    ["", "aggregate", ""],
    ["", "reduce", "to_host_done"],
    ["", "", "to_host_done"],
    ["aggregate", "", ""],
    ["aggregate", "", "to_host_done"],
    ["aggregate", "reduce", ""],
    ["checksum", "aggregate", "to_host_done"],
];

#[test]
fn handlers_run_in_order_and_once() {
    let mut random = Random::seeded("handlers_run_in_order_and_once");
    for handlers in COMBINATIONS {
        let image = image("words");
        let mut nic = build(machine(&[]), &image, vec![context(&image, handlers)]);
        let gap_ns = random.pick(&[0, 3, 50, 400]);
        let frames = messages(&mut random, 40, 12, &[64, 65, 128, 500, 1024], gap_ns);
        let count = frames.len();
        let ends =
            frames.iter().filter(|f| f.classification.expect("known").end_of_message).count();
        let heard = finish(&mut nic, frames);
        assert_eq!(heard.packets.len(), count, "{handlers:?}");
        let messages = by_message(&heard);
        assert_eq!(messages.len(), 40);
        for (&message, ran) in &messages {
            check(message, ran, handlers);
        }
        let told = if handlers[2].is_empty() { 0 } else { ends };
        assert_eq!(heard.host_writes.len(), told, "each message told the host once");
    }
}

/// Every completion handler tells the host its message's queue: no message is lost, none told twice.
#[test]
fn completions_tell_the_host() {
    let mut random = Random::seeded("completions_tell_the_host");
    let image = image("words");
    let contexts = vec![context(&image, ["", "aggregate", "to_host_done"])];
    let mut nic = build(machine(&[]), &image, contexts);
    let frames = messages(&mut random, 150, 4, &[64, 256], 5);
    let mut expected: Vec<u32> = frames
        .iter()
        .map(|frame| frame.classification.expect("known"))
        .filter(|known| known.end_of_message)
        .map(|known| known.message)
        .collect();
    let heard = finish(&mut nic, frames);
    let number = |data: &[u8]| u64::from_le_bytes(data.try_into().expect("eight bytes"));
    assert!(heard.host_writes.iter().all(|(_, data, _)| (1..=256).contains(&number(data))));
    let message = |packet: u64| {
        let record = heard.packets.iter().find(|record| record.packet == packet);
        record.expect("its packet was freed").message
    };
    let mut told: Vec<u32> = heard.host_writes.iter().map(|write| message(write.2)).collect();
    told.sort_unstable();
    expected.sort_unstable();
    assert_eq!(told, expected);
}

/// Messages do not wait for each other: payload handlers of several run at once.
#[test]
fn messages_overlap() {
    let mut random = Random::seeded("messages_overlap");
    let image = image("words");
    let contexts = vec![context(&image, ["aggregate", "aggregate", "to_host_done"])];
    let mut nic = build(machine(&[]), &image, contexts);
    let heard = finish(&mut nic, messages(&mut random, 20, 10, &[1024], 0));
    let busiest = |record: &HandlerRecord| {
        let at = record.start;
        heard.handlers.iter().filter(|other| other.start <= at && at < other.end).count()
    };
    let most = heard.handlers.iter().map(busiest).max().expect("handlers ran");
    assert!(most > 20, "{most} of 32 HPUs worked at once");
    for record in &heard.handlers {
        let same = |other: &&HandlerRecord| {
            (other.cluster, other.hpu) == (record.cluster, record.hpu)
                && other.start < record.end
                && record.start < other.end
        };
        assert_eq!(heard.handlers.iter().filter(same).count(), 1, "an HPU runs one at a time");
    }
}
