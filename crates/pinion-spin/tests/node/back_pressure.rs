//! Back-pressure: the source is asked for a frame only when there is room for one.

use pinion_sim::Time;
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{Frame, Nic, Offer, Outcome, Units};

use crate::harness::{self, Recorder, finish, frame, machine, nic};

/// Offers `count` frames, all arrived at time zero; notes after each piece of a run how many were
/// taken and not yet done, and gives the most.
fn most_inside(nic: &mut Nic, count: u32, size: usize) -> u64 {
    let (mut heard, mut offered, mut most) = (Recorder::default(), 0u32, 0);
    let mut until = Time::ZERO;
    loop {
        let mut next = || {
            if offered == count {
                return Offer::End;
            }
            offered += 1;
            Offer::Frame(frame(0, offered % 8, false, vec![0; size]))
        };
        until = until + Time::from_ns(20);
        let outcome = nic.run(until, &mut next, &mut heard);
        most = most.max(u64::from(offered) - heard.packets.len() as u64);
        match outcome {
            Outcome::Finished => break,
            Outcome::TimeReached => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard.packets.len() as u32, count, "none is dropped");
    most
}

#[test]
fn a_full_packet_buffer_stops_the_source() {
    for (bytes, size, fits) in [(4096, 1024, 4), (4096, 64, 64), (8192, 2048, 4), (16384, 100, 128)]
    {
        let machine = machine(&[&format!("l2_packet.bytes={bytes}")]);
        let mut nic = nic(machine, "words", ["", "reduce", ""]);
        let most = most_inside(&mut nic, 500, size);
        // One more waits in the inbound engine.
        assert!(most <= fits + 1, "{most} of {size} B were inside {bytes} B");
        assert!(most >= fits, "{most}: the buffer is used to the full");
    }
}

/// Without cells for HERs the packets wait in the packet buffer, and the source behind them.
#[test]
fn missing_cells_stop_the_source() {
    let machine = machine(&["mpq.shared_cells=0", "l2_packet.bytes=4096"]);
    let mut nic = nic(machine, "words", ["", "aggregate", ""]);
    assert!(most_inside(&mut nic, 300, 512) <= 9);
}

/// A frame that has yet to arrive is the only one taken ahead.
#[test]
fn frames_are_not_taken_ahead_of_their_time() {
    let mut nic = nic(machine(&[]), "empty", ["", "ph", ""]);
    let mut offered = 0;
    let mut next = || {
        offered += 1;
        Offer::Frame(frame(1000 * offered, 0, false, vec![0; 64]))
    };
    for micro in 1..20 {
        let outcome =
            nic.run(Time::from_ns(1000 * micro + 500), &mut next, &mut Recorder::default());
        assert_eq!(outcome, Outcome::TimeReached);
        assert_eq!(nic.totals().packets_in, micro + 1);
    }
}

/// What waits is taken in order: arrival order is processing order within a message on one HPU.
#[test]
fn packets_wait_in_order() {
    let overrides = ["cluster.count=1", "cluster.cores=1", "l2_packet.bytes=4096"];
    let mut nic = nic(machine(&overrides), "words", ["", "aggregate", ""]);
    let mut frames: Vec<Frame> = (0..100).map(|_| frame(0, 0, false, vec![0; 300])).collect();
    for (index, frame) in frames.iter_mut().enumerate() {
        frame.tag = index as u64;
    }
    let heard = finish(&mut nic, frames);
    let tags: Vec<u64> = heard.packets.iter().map(|record| record.tag).collect();
    assert_eq!(tags, (0..100).collect::<Vec<u64>>());
}

/// Packets without a rate that nobody wants, or that the FIFO cannot hold, take time all the same:
/// a run that is cut by time ends.
#[test]
fn packets_that_go_nowhere_take_time() {
    let drops = ["inbound.when_full=drop", "inbound.max_packet_bytes=64"];
    let fifo = ["inbound.fifo_bytes=4096"];
    for (overrides, matched) in
        [(&[][..], false), (&["units.count=2"], false), (&drops, true), (&fifo, true)]
    {
        let image = harness::image("empty");
        let context = harness::context(&image, ["", "ph", ""]);
        let engine = MatchingEngine::new(Vec::new(), Limits::default()).expect("no rules");
        let machine = machine(overrides);
        let mut units = Units::new(machine, &image, vec![context], engine).expect("it boots");
        let mut given = 0u32;
        let mut for_ever = || {
            given += 1;
            let mut frame = frame(0, given, true, vec![0; 100]);
            frame.classification = frame.classification.filter(|_| matched);
            Offer::Frame(frame)
        };
        let outcome = units.run(Time::from_ns(1000), &mut for_ever, &mut Recorder::default());
        assert_eq!(outcome, Outcome::TimeReached, "{overrides:?}");
        assert!(given > 900, "{overrides:?}: {given}");
        units.totals().conserved().unwrap_or_else(|problem| panic!("{problem}"));
    }
}
