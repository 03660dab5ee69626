//! Conservation: whatever the machine's sizes and the traffic, every packet is processed, dropped or
//! handed on exactly once, and the counters say the same as the events.

use std::collections::BTreeMap;

use pinion_sim::Time;
use pinion_spin::{DropReason, Frame, Machine, Offer, Outcome};

use crate::harness::{Random, Recorder, build, context, finish, frame, image, machine, messages};

/// Tells frames apart by their first eight bytes.
fn number(frames: &mut [Frame]) {
    for (index, frame) in frames.iter_mut().enumerate() {
        frame.tag = index as u64;
        frame.bytes[..8].copy_from_slice(&(index as u64).to_le_bytes());
    }
}

fn small(random: &mut Random, when_full: &str) -> (Machine, Vec<String>) {
    let overrides = vec![
        format!("inbound.when_full=\"{when_full}\""),
        format!("l2_packet.bytes={}", random.pick(&[4096, 8192, 65536])),
        format!("mpq.count={}", random.pick(&[1, 2, 4, 256])),
        format!("mpq.shared_cells={}", random.pick(&[0, 1, 2, 128])),
        format!("cluster.count={}", random.pick(&[1, 2, 4])),
        format!("cluster.buffered_hers={}", random.pick(&[1, 3, 12])),
        format!("protection.message_timeout_cycles={}", random.pick(&[500, 3000])),
        format!("matching.latency_cycles={}", random.pick(&[0, 7])),
    ];
    (machine(&overrides.iter().map(String::as_str).collect::<Vec<_>>()), overrides)
}

/// Random messages with packets that are too large and frames that nothing matches in between.
fn mixed(random: &mut Random) -> Vec<Frame> {
    let gap_ns = random.pick(&[0, 20, 300]);
    let mut frames = messages(random, 25, 8, &[8, 64, 200, 1024, 2048, 2049, 3000], gap_ns);
    for frame in &mut frames {
        if random.chance(10) {
            frame.classification = None;
        }
    }
    number(&mut frames);
    frames
}

/// Checks events against counters, and that each frame went one way.
fn check(totals: &pinion_spin::Totals, heard: &Recorder, frames: &[Frame]) {
    assert_eq!(totals.packets_in, frames.len() as u64);
    assert_eq!(totals.bytes_in, frames.iter().map(|frame| frame.bytes.len() as u64).sum::<u64>());
    assert_eq!(totals.matched + totals.unmatched, totals.packets_in);
    assert_eq!(totals.processed, heard.packets.len() as u64);
    assert_eq!(totals.unmatched, heard.unmatched.len() as u64);
    assert_eq!(totals.evicted, heard.evicted.len() as u64);
    assert_eq!(totals.faults, 0);
    for (reason, count) in &totals.dropped {
        let events = heard.dropped.iter().filter(|(why, _)| why == reason).count();
        assert_eq!(*count, events as u64, "{reason:?}");
    }
    assert_eq!(totals.dropped_total(), heard.dropped.len() as u64);
    let mut ways: BTreeMap<u64, u32> = BTreeMap::new();
    let named = |bytes: &[u8]| u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    let done = heard.packets.iter().map(|record| record.tag);
    let dropped = heard.dropped.iter().map(|(_, bytes)| named(bytes));
    let unmatched = heard.unmatched.iter().map(|bytes| named(bytes));
    for tag in done.chain(dropped).chain(unmatched) {
        *ways.entry(tag).or_default() += 1;
    }
    assert!(ways.values().all(|&times| times == 1), "a frame went two ways: {ways:?}");
    assert_eq!(ways.len(), frames.len(), "a frame got lost");
    for record in &heard.packets {
        let frame = &frames[record.tag as usize];
        assert_eq!(record.bytes as usize, frame.bytes.len());
        assert!(record.arrival <= record.inbound, "{record:?}");
        let written = record.her.since(record.inbound).ps() / 1000;
        assert!(written >= 4 + u64::from(record.bytes.div_ceil(64)), "{record:?}");
        assert!(record.her < record.completion);
    }
}

fn fuzz(when_full: &str, test: &str) {
    let mut random = Random::seeded(test);
    let image = image("words");
    for round in 0..40 {
        let (machine, overrides) = small(&mut random, when_full);
        let handlers = random.pick(&[
            ["aggregate", "aggregate", "to_host_done"],
            ["", "reduce", ""],
            ["", "", "to_host_done"],
        ]);
        println!("round {round}: {overrides:?} {handlers:?}");
        let mut nic = build(machine, &image, vec![context(&image, handlers)]);
        let frames = mixed(&mut random);
        let heard = finish(&mut nic, frames.clone());
        check(&nic.totals(), &heard, &frames);
        let too_large = |frame: &&Frame| frame.bytes.len() > 2048 && frame.classification.is_some();
        let expected = frames.iter().filter(too_large).count();
        let dropped = |reason| heard.dropped.iter().filter(|(why, _)| *why == reason).count();
        assert_eq!(dropped(DropReason::TooLarge), expected);
        if when_full == "back-pressure" {
            assert_eq!(dropped(DropReason::BufferFull) + dropped(DropReason::NoQueue), 0);
        }
    }
}

#[test]
fn packets_are_conserved_with_back_pressure() {
    fuzz("back-pressure", "packets_are_conserved_with_back_pressure");
}

#[test]
fn packets_are_conserved_when_dropping() {
    fuzz("drop", "packets_are_conserved_when_dropping");
}

/// The books balance at any time, not only in the end.
#[test]
fn packets_are_conserved_at_any_time() {
    let mut random = Random::seeded("packets_are_conserved_at_any_time");
    let image = image("words");
    for when_full in ["drop", "back-pressure"] {
        let (machine, _) = small(&mut random, when_full);
        let mut nic = build(machine, &image, vec![context(&image, ["", "reduce", ""])]);
        let frames = mixed(&mut random);
        let mut source = frames.clone().into_iter();
        let mut next = || source.next().map_or(Offer::End, Offer::Frame);
        let (mut heard, mut until) = (Recorder::default(), Time::ZERO);
        loop {
            until = until + Time::from_ns(1 + random.below(200));
            let outcome = nic.run(until, &mut next, &mut heard);
            let totals = nic.totals();
            totals.conserved().unwrap_or_else(|problem| panic!("at {until}: {problem}"));
            match outcome {
                Outcome::Finished => break,
                Outcome::TimeReached => {}
                other => panic!("at {until}: {other:?}"),
            }
        }
        check(&nic.totals(), &heard, &frames);
    }
}

/// Each reason to drop, on purpose.
#[test]
fn drops_say_why() {
    let image = image("words");
    let drops = |overrides: &[&str], frames: Vec<Frame>| {
        let contexts = vec![context(&image, ["", "reduce", ""])];
        let mut nic = build(machine(overrides), &image, contexts);
        let heard = finish(&mut nic, frames);
        heard.dropped.iter().map(|(reason, _)| *reason).collect::<Vec<_>>()
    };
    let large = vec![frame(0, 1, true, vec![0; 2049]), frame(0, 2, true, vec![0; 2048])];
    assert_eq!(drops(&[], large), [DropReason::TooLarge]);
    let burst = (0..3).map(|index| frame(0, index, true, vec![0; 2048])).collect();
    let overrides = ["l2_packet.bytes=4096", "inbound.when_full=drop"];
    assert_eq!(drops(&overrides, burst), [DropReason::BufferFull]);
    let open = (0..3).map(|index| frame(0, index, false, vec![0; 64])).collect();
    let overrides = ["mpq.count=2", "inbound.when_full=drop"];
    assert_eq!(drops(&overrides, open), [DropReason::NoQueue]);
}

/// Packets without bytes, or with less than what handlers are not to see, go through all the same.
#[test]
fn empty_packets_go_through() {
    let image = image("words");
    let mut nic = build(machine(&[]), &image, vec![context(&image, ["", "aggregate", ""])]);
    let mut frames: Vec<Frame> =
        (0..40).map(|index| frame(0, index % 4, false, vec![1; index as usize])).collect();
    for frame in &mut frames {
        frame.skip = 14;
    }
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.packets.len(), 40);
    let bytes = |packet: u64| packet.saturating_sub(14) as u32;
    assert!(heard.packets.iter().all(|record| record.bytes == bytes(record.packet)));
}
