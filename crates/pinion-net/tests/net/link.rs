//! What a link between two ends promises: latency, order, the same result for any window.

use pinion_net::capture::{CaptureReader, CaptureWriter, LinkType};
use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};
use pinion_net::link::*;
use pinion_net::load::{LoadReport, LoadSource, LoadSpec, PeerEnd};
use pinion_net::middleware::{PortTap, Tapped};
use pinion_sim::Clock;
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, flits};
use std::collections::VecDeque;

/// Answers each data frame `delay` cycles after its last flit, and announces itself first.
#[derive(Clone)]
struct Echo {
    delay: u64,
    out: VecDeque<(u64, Vec<u8>)>,
    heard: Vec<u64>,
}

impl Echo {
    fn new(delay: u64) -> Self {
        let announcement = Header {
            protocol: NDP_PROTOCOL,
            src_ip: 0x0a00_0002,
            dst_ip: 0x0a00_0001,
            flags: Flags::DATA,
            msg_len: 8,
            ..Header::default()
        };
        let out = VecDeque::from([(1000, announcement.frame(&[0; 8]))]);
        Self { delay, out, heard: Vec::new() }
    }
}

impl Node for Echo {
    fn arrive(&mut self, _: usize, first_flit: u64, frame: Vec<u8>) {
        self.heard.push(first_flit);
        let (header, payload) = Header::parse(&frame, NDP_PROTOCOL).unwrap();
        if header.flags.has(Flags::DATA) {
            let back = Header { src_ip: header.dst_ip, dst_ip: header.src_ip, ..header };
            let due = first_flit + flits(frame.len()) - 1 + self.delay;
            self.out.push_back((due, back.frame(payload)));
        }
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        while self.out.front().is_some_and(|(first, _)| *first < until) {
            let Some((first, frame)) = self.out.pop_front() else { break };
            ports.send(0, first, first + flits(frame.len()) - 1, frame);
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        self.out.front().map(|(first, _)| *first)
    }

    fn moved(&self) -> u64 {
        self.heard.last().copied().unwrap_or(0)
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Ok(Saved::new(self.clone()))
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        self.clone_from(saved.get()?);
        Ok(())
    }
}

fn run(load: &str, window: u64) -> (LoadReport, Vec<u64>, u64) {
    let source = PeerEnd::new(LoadSource::new(LoadSpec::parse(load).unwrap()).unwrap());
    let pair = Pair::new(source, Echo::new(50), &Link::published()).unwrap();
    let mut pair = pair.in_windows_of(window);
    let end = pair.run(u64::MAX, |_| true).unwrap();
    assert_eq!((pair.counts(End::A).sent.late, pair.counts(End::B).sent.late), (0, 0));
    assert_eq!(pair.counts(End::A).sent.frames, pair.b.heard.len() as u64);
    let (source, echo) = pair.finish();
    (source.into_peer().into_report(), echo.heard, end)
}

#[test]
fn a_response_takes_both_ways_and_the_echo() {
    let (report, heard, _) = run("requests=10", 140);
    assert_eq!(report.answered, 10);
    assert!(report.samples.iter().all(|sample| sample.response_cycles == 140 + 9 + 50 + 140));
    // The announcement's acknowledgement comes first.
    assert_eq!(heard[..2], [1000 + 140 + 8 + 140, 1000 + 140 + 3000 + 140]);
}

#[test]
fn shorter_windows_change_nothing() {
    let text = "requests=300,gap=exp:200,seed=4";
    let (report, heard, _) = run(text, 140);
    for window in [1, 7, 139] {
        let (other, others_heard, _) = run(text, window);
        assert_eq!((&other.samples, &others_heard), (&report.samples, &heard), "{window}");
    }
    assert_eq!(report.answered, 300);
}

#[test]
fn a_run_can_be_stopped_and_goes_on_where_it_was() {
    let source = || {
        let spec = LoadSpec::parse("requests=5").unwrap();
        PeerEnd::new(LoadSource::new(spec).unwrap())
    };
    let pair = || Pair::new(source(), Echo::new(50), &Link::published()).unwrap();
    let mut whole = pair();
    whole.run(u64::MAX, |_| true).unwrap();
    let mut parts = pair();
    for until in (0..20_000).step_by(333) {
        assert!(parts.run(until, |_| true).unwrap() <= until);
    }
    parts.run(u64::MAX, |pair| pair.now() < 1 << 40).unwrap();
    assert_eq!(parts.b.heard, whole.b.heard);
}

#[test]
fn a_tap_sees_both_ways_in_order_of_time() {
    let path = std::env::temp_dir().join(format!("pinion-tap-{}.pcap", std::process::id()));
    let writer = CaptureWriter::create(&path, LinkType::Ethernet).unwrap();
    let tap = PortTap::new(writer, Clock::from_hz(3_200_000_000));
    let spec = LoadSpec::parse("requests=20,gap=exp:60").unwrap();
    let source = PeerEnd::new(LoadSource::new(spec).unwrap());
    let echo = Tapped::new(Echo::new(5)).with_tap(0, tap);
    let mut pair = Pair::new(source, echo, &Link::published()).unwrap();
    pair.run(u64::MAX, |_| true).unwrap();
    pair.finish().1.finish().unwrap();
    let frames: Vec<_> = CaptureReader::open(&path).unwrap().map(Result::unwrap).collect();
    std::fs::remove_file(path).unwrap();
    // The announcement, 20 requests and answers, and the source's acknowledgements.
    assert_eq!(frames.len(), 2 * 21 + 20);
    assert!(frames.is_sorted_by_key(|frame| frame.time_ps));
}
