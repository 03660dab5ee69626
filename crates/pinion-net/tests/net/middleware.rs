//! What middleware promises: it changes nothing but what it is for, wherever a run is cut, and is
//! saved with what it wraps.

use pinion_sim::Clock;
use pinion_sim::node::{Node, SaveError};

use crate::support::{Random, seed};
use pinion_net::capture::{CaptureReader, CaptureWriter, LinkType};
use pinion_net::fault::FaultSpec;
use pinion_net::link::{Link, Pair};
use pinion_net::load::{LoadSource, LoadSpec, Peer, PeerEnd};
use pinion_net::middleware::*;

const CLOCK_HZ: u64 = 3_200_000_000;

/// A load and the node that answers it, both generators: the second's requests are the first's noise.
fn source(seed: u64) -> PeerEnd<LoadSource> {
    let text = format!("requests=200,gap=exp:150,seed={seed},startup=0,timeout=3000,patience=9000");
    PeerEnd::new(LoadSource::new(LoadSpec::parse(&text).unwrap()).unwrap())
}

fn faults(seed: u64) -> FaultSpec {
    let text = format!("loss=5%,dup=5%,reorder=20%,corrupt=5%,hold=200ns,seed={seed}");
    text.parse().unwrap()
}

type Ends = Pair<PeerEnd<LoadSource>, Faulty<PeerEnd<LoadSource>>>;

fn pair(seed: u64) -> Ends {
    let faulty = Faulty::new(source(seed + 1), &faults(seed), Clock::from_hz(CLOCK_HZ));
    Pair::new(source(seed), faulty, &Link::published()).unwrap()
}

/// Runs to the end; gives all that can be seen.
fn finish(pair: &mut Ends) -> Vec<u64> {
    pair.run(u64::MAX, |_| true).unwrap();
    let mut seen = Vec::new();
    pair.a.state(&mut |_, value| seen.push(value));
    pair.b.state(&mut |_, value| seen.push(value));
    seen.extend([pair.a.moved(), pair.b.moved()]);
    let report = pair.a.peer().report();
    seen.extend([report.sent, report.control_frames, report.foreign_frames, report.unexpected]);
    for counts in pair.b.counts(0) {
        seen.extend([counts.frames, counts.lost, counts.duplicated, counts.reordered]);
    }
    seen
}

#[test]
fn faults_are_the_same_whatever_the_windows() {
    let seed = seed("faults_are_the_same");
    let whole = finish(&mut pair(seed));
    for window in [1, 13, 139] {
        assert_eq!(finish(&mut pair(seed).in_windows_of(window)), whole, "windows of {window}");
    }
    let mut faulty = pair(seed);
    finish(&mut faulty);
    for counts in faulty.b.counts(0) {
        assert!(counts.lost > 0 && counts.duplicated > 0 && counts.reordered > 0, "{counts}");
    }
}

#[test]
fn a_saved_load_with_faults_goes_on_from_any_cycle() {
    let seed = seed("a_saved_load");
    let mut random = Random::new(seed);
    let mut whole = pair(seed);
    let expected = finish(&mut whole);
    for _ in 0..30 {
        let cycle = random.below(whole.now());
        let mut first = pair(seed);
        first.run(cycle, |_| true).unwrap();
        let saved = first.save().unwrap();
        assert_eq!(finish(&mut first), expected, "cut at {cycle}");
        first.restore(&saved).unwrap();
        assert_eq!(first.now(), cycle);
        assert_eq!(finish(&mut first), expected, "the same, from {cycle}");
        let mut second = pair(seed);
        second.restore(&saved).unwrap();
        assert_eq!(finish(&mut second), expected, "another, from {cycle}");
    }
}

#[test]
fn a_tap_inside_faults_sees_what_the_node_sees() {
    let path = std::env::temp_dir().join(format!("pinion-taps-{}.pcap", std::process::id()));
    let writer = CaptureWriter::create(&path, LinkType::Ethernet).unwrap();
    let clock = Clock::from_hz(CLOCK_HZ);
    let tapped = Tapped::new(source(2)).with_tap(0, PortTap::new(writer, clock));
    let faulty = Faulty::new(tapped, &faults(7), clock);
    let mut pair = Pair::new(source(1), faulty, &Link::published()).unwrap();
    pair.run(u64::MAX, |_| true).unwrap();
    let counts = pair.b.counts(0)[0];
    let tapped = pair.finish().1.into_inner();
    let inside = tapped.inner().counts();
    tapped.finish().unwrap();
    let frames: Vec<_> = CaptureReader::open(&path).unwrap().map(Result::unwrap).collect();
    std::fs::remove_file(path).unwrap();
    assert_eq!(frames.len() as u64, inside.frames_in + inside.frames_out);
    assert!(frames.is_sorted_by_key(|frame| frame.time_ps));
    assert!(inside.frames_in < counts.frames + counts.duplicated, "some were lost or damaged");
}

/// A traffic source that lies outside.
struct Outside;

impl Peer for Outside {
    fn next_cycle(&mut self) -> Option<u64> {
        None
    }
    fn next_frame(&mut self) -> Option<(u64, &[u8])> {
        None
    }
    fn frame_out(&mut self, _: u64, _: u64, _: &[u8]) {}
    fn is_done(&self, _: u64) -> bool {
        true
    }
    fn save(&self) -> Result<pinion_sim::node::Saved, SaveError> {
        Err(SaveError::Device { what: "TAP device pin0".to_owned() })
    }
    fn restore(
        &mut self,
        _: &pinion_sim::node::Saved,
    ) -> Result<(), pinion_sim::node::RestoreError> {
        Ok(())
    }
}

#[test]
fn what_cannot_be_saved_says_why_through_its_middleware() {
    let outside = Faulty::new(PeerEnd::new(Outside), &faults(1), Clock::from_hz(CLOCK_HZ));
    let error = Tapped::new(outside).save().unwrap_err().to_string();
    assert!(error.contains("TAP device pin0 cannot be saved: the kernel holds"), "{error}");
}
