//! Messages that never end: they are given up when their queue is needed and their time is over,
//! not before.

use pinion_sim::Time;
use pinion_spin::{ContextId, DropReason, Frame, Outcome};

use crate::harness::{build, context, finish, frame, image, machine, run};

const HANDLERS: [&str; 3] = ["", "aggregate", "to_host_done"];

fn packet(at: u64, message: u32, end: bool) -> Frame {
    frame(at, message, end, vec![0; 64])
}

#[test]
fn a_third_message_evicts_the_stalled_one() {
    let image = image("words");
    let mut context = context(&image, HANDLERS);
    context.message_timeout_cycles = Some(5000);
    let mut nic = build(machine(&["mpq.count=2"]), &image, vec![context]);
    let frames = vec![
        packet(0, 10, false),
        packet(100, 11, false),
        packet(1000, 12, true),
        packet(6000, 11, true),
    ];
    let heard = finish(&mut nic, frames);
    let [(time, 10)] = heard.evicted[..] else { panic!("{:?}", heard.evicted) };
    let her = heard.packets.iter().find(|record| record.message == 10).expect("processed").her;
    assert_eq!(time, her + Time::from_ns(5000), "the oldest goes as soon as it may");
    assert_eq!((heard.packets.len(), nic.totals().evicted), (4, 1));
    let told: Vec<u8> = heard.host_writes.iter().map(|(_, data, _)| data[0] - 1).collect();
    // Message 12 took the queue of message 10.
    assert_eq!(told, [0, 1], "the message that was given up is never completed");
}

/// A message that still gets packets is not stalled.
#[test]
fn a_live_message_is_not_evicted() {
    let image = image("words");
    let mut context = context(&image, HANDLERS);
    context.message_timeout_cycles = Some(5000);
    let mut nic = build(machine(&["mpq.count=2"]), &image, vec![context]);
    let mut frames = vec![packet(0, 1, false)];
    frames.extend((0..20).map(|index| packet(1000 * index + 1, 2, false)));
    frames.push(packet(20_000, 3, true));
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.evicted.iter().map(|&(_, message)| message).collect::<Vec<_>>(), [1]);
}

/// Nobody needs the queue: then a message may stall for as long as it likes.
#[test]
fn nothing_is_evicted_without_need() {
    let image = image("words");
    let mut context = context(&image, HANDLERS);
    context.message_timeout_cycles = Some(10);
    let mut nic = build(machine(&["mpq.count=2"]), &image, vec![context]);
    let frames = vec![packet(0, 1, false), packet(50_000, 2, true), packet(90_000, 1, true)];
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.evicted, []);
    assert_eq!(heard.host_writes.len(), 2);
}

/// Each context has its own threshold: a patient context's message does not shield another's.
#[test]
fn contexts_have_their_own_patience() {
    let image = image("words");
    let mut patient = context(&image, HANDLERS);
    patient.message_timeout_cycles = Some(u64::MAX);
    let mut hasty = context(&image, HANDLERS);
    hasty.message_timeout_cycles = Some(2000);
    let mut nic = build(machine(&["mpq.count=2"]), &image, vec![patient, hasty]);
    let mut frames = vec![packet(0, 1, false), packet(10, 2, false), packet(20, 3, true)];
    for frame in &mut frames[1..] {
        frame.classification.as_mut().expect("known").context = ContextId(1);
    }
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.evicted.iter().map(|&(_, message)| message).collect::<Vec<_>>(), [2]);
    let last = heard.packets.last().expect("processed").completion;
    assert!(last < Time::from_ns(3000), "{last}");
}

/// Without thresholds, as in the RTL, the node is stuck and says so.
#[test]
fn without_eviction_the_node_is_stuck() {
    let image = image("words");
    let overrides = ["mpq.count=2", "protection.message_timeout_cycles=0"];
    let mut nic = build(machine(&overrides), &image, vec![context(&image, HANDLERS)]);
    let frames = vec![packet(0, 1, false), packet(0, 2, false), packet(0, 3, true)];
    let (outcome, heard) = run(&mut nic, frames);
    let Outcome::Stuck(report) = outcome else { panic!("{outcome:?}") };
    assert!(report.contains("HER waits for a free cell or queue"), "{report}");
    assert!(report.contains("message 1") && report.contains("message 2"), "{report}");
    assert_eq!((heard.packets.len(), nic.totals().resident), (2, 1));
    nic.totals().conserved().expect("conserved");
}

/// A node that drops does not wait for a stalled message's time to be over.
#[test]
fn a_dropping_node_drops_instead() {
    let image = image("words");
    let overrides = ["mpq.count=2", "inbound.when_full=drop"];
    let mut nic = build(machine(&overrides), &image, vec![context(&image, HANDLERS)]);
    let frames = vec![packet(0, 1, false), packet(0, 2, false), packet(0, 3, true)];
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.dropped.len(), 1);
    assert_eq!(heard.dropped[0].0, DropReason::NoQueue);
}

/// Once a message was given up, packets are still written in full before their HER goes on.
#[test]
fn an_eviction_hurries_nobody() {
    let image = image("empty");
    let mut context = context(&image, ["", "ph", ""]);
    context.message_timeout_cycles = Some(500);
    let mut nic = build(machine(&["mpq.count=1"]), &image, vec![context]);
    // The second message waits for the first one's queue; its others are just being written then.
    let mut frames = vec![packet(0, 1, false), packet(100, 2, false)];
    frames.extend((0..4).map(|index| frame(480 + 9 * index, 2, false, vec![0; 2048])));
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.evicted.len(), 1);
    for record in heard.packets.iter().filter(|record| record.bytes == 2048) {
        assert!(record.her >= record.inbound + Time::from_ns(4 + 32), "{record:?}");
    }
}
