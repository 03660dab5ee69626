//! Several PsPIN units behind one scheduling level.

use std::collections::{BTreeMap, BTreeSet};

use pinion_sim::Time;
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{ContextId, Frame, Offer, Outcome, Units};

use crate::harness::{HOST, Random, Recorder, context, finish, image, machine, messages, nic};

fn units(overrides: &[&str], program: &str, handlers: [&str; 3]) -> Units {
    let image = image(program);
    let context = context(&image, handlers);
    let engine = MatchingEngine::new(Vec::new(), Limits::default()).expect("no rules");
    Units::new(machine(overrides), &image, vec![context], engine).expect("they boot")
}

/// Runs until everything is out, in slices of so many nanoseconds.
fn run(units: &mut Units, frames: Vec<Frame>, slice_ns: u64) -> Recorder {
    let (mut frames, mut heard) = (frames.into_iter(), Recorder::default());
    let mut source = || frames.next().map_or(Offer::End, Offer::Frame);
    let mut until = 0;
    loop {
        until += slice_ns;
        match units.run(Time::from_ns(until), &mut source, &mut heard) {
            Outcome::TimeReached => assert!(until < 1 << 40, "it goes on for ever"),
            Outcome::Finished => break,
            other => panic!("{other:?}"),
        }
    }
    units.totals().conserved().unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(units.totals().resident, 0);
    heard
}

/// Compares logs, and shows no more than the first difference.
fn same(one: &[String], other: &[String]) {
    for (index, (one, other)) in one.iter().zip(other).enumerate() {
        assert!(one == other, "entry {index}: {one:.200} and {other:.200}");
    }
    assert_eq!(one.len(), other.len());
}

#[test]
fn messages_stay_in_a_unit_and_nothing_is_lost() {
    for count in [2u32, 3, 8] {
        let mut random = Random::seeded("messages_stay_in_a_unit_and_nothing_is_lost");
        let shape = [format!("units.count={count}"), "units.queue_packets=3".into()];
        let shape = shape.each_ref().map(String::as_str);
        let mut units = units(&shape, "move", ["", "pingpong_l1", "to_host_wait"]);
        let frames = messages(&mut random, 80, 8, &[64, 512], 0);
        let total = frames.len();
        let arrivals: BTreeMap<u64, Time> =
            frames.iter().map(|frame| (frame.tag, frame.arrival)).collect();
        let heard = run(&mut units, frames, 1_000_000);
        assert_eq!((heard.packets.len(), heard.faults.len()), (total, 0));
        assert_eq!((heard.departed.len(), heard.host_writes.len()), (total, 80));
        let numbers: BTreeSet<u64> = heard.packets.iter().map(|record| record.packet).collect();
        assert_eq!(numbers.len(), total, "numbers are unique");
        let mut places: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for record in &heard.packets {
            assert_eq!(record.arrival, arrivals[&record.tag], "as the wire saw it");
            let (cluster, _) = record.hpu.expect("it ran");
            assert!(cluster < 4 * count);
            places.entry(record.message).or_default().insert(cluster / 4);
        }
        assert!(places.values().all(|units| units.len() == 1), "{places:?}");
        let used: BTreeSet<u32> = places.values().flatten().copied().collect();
        assert_eq!(used.len(), count as usize, "every unit works");
    }
}

#[test]
fn where_runs_are_cut_makes_no_difference() {
    let logs = [7, 100, 1_000_000].map(|slice_ns| {
        let mut random = Random::from_seed(3, "where_runs_are_cut_makes_no_difference");
        let shape = ["units.count=2", "units.queue_packets=2"];
        let mut units = units(&shape, "move", ["", "pingpong_l1", "to_host_wait"]);
        run(&mut units, messages(&mut random, 30, 6, &[64, 1024], 20), slice_ns).log
    });
    assert!(!logs[0].is_empty());
    same(&logs[0], &logs[1]);
    same(&logs[1], &logs[2]);
}

#[test]
fn one_unit_is_a_nic() {
    let frames = || {
        let mut random = Random::from_seed(5, "one_unit_is_a_nic");
        messages(&mut random, 30, 6, &[64, 1024], 20)
    };
    let handlers = ["", "pingpong_l1", "to_host_wait"];
    let mut one = units(&[], "move", handlers);
    let mut nic = nic(machine(&[]), "move", handlers);
    same(&run(&mut one, frames(), 1_000_000).log, &finish(&mut nic, frames()).log);
    let mut bytes = [[0; 4096]; 2];
    one.read_host(HOST, &mut bytes[0]);
    nic.read_host(HOST, &mut bytes[1]);
    assert_eq!(bytes[0], bytes[1]);
}

/// What computing bounds is done twice as fast by two units; host memory is one.
#[test]
fn two_units_do_twice_the_work() {
    let took = |count: u32| {
        let mut random = Random::from_seed(9, "two_units_do_twice_the_work");
        let shape = format!("units.count={count}");
        let mut units = units(&[shape.as_str()], "words", ["", "aggregate", "to_host_done"]);
        let heard = run(&mut units, messages(&mut random, 100, 8, &[1024], 0), 1_000_000);
        for (address, data, _) in &heard.host_writes {
            let mut found = vec![0; data.len()];
            units.read_host(*address, &mut found);
            assert_eq!(found.len(), data.len());
        }
        let last = heard.host_writes.last().expect("completions write");
        let mut found = vec![0; last.1.len()];
        units.read_host(last.0, &mut found);
        assert_eq!(found, last.1, "the last write is what stays");
        assert!(heard.packets.iter().all(|record| record.context == ContextId(0)));
        heard.packets.iter().map(|record| record.completion.ps()).max().expect("packets")
    };
    let ratio = took(1) as f64 / took(2) as f64;
    assert!((1.7..2.2).contains(&ratio), "{ratio}");
}

/// A unit has nothing while the level waits for the next frame; what was set for a handler comes up meanwhile.
#[test]
fn a_frame_that_has_yet_to_come_is_no_standstill() {
    let mut random = Random::seeded("a_frame_that_has_yet_to_come_is_no_standstill");
    let numbers = ["units.count=2", "protection.no_progress_cycles=50000"];
    let mut units = units(&numbers, "move", ["", "pingpong_l1", ""]);
    let mut frames = messages(&mut random, 6, 1, &[64], 0);
    for (index, frame) in (0..).zip(&mut frames) {
        frame.arrival = Time::from_ns(4_000_000 * index);
    }
    let total = frames.len();
    assert_eq!(run(&mut units, frames, 1 << 30).packets.len(), total);
}
