//! A load generator at a node of a fabric. In: a load's specification, the nodes it is for, frames.
//! Out: requests, and what became of them.
//!
//! A generator begins in a cycle of its own (`start_delay`, when programs have booted) or when so many
//! messages (`startup`) have come. What it sends is kept until it is acknowledged unless the
//! specification says `timeout=never`.

use std::net::Ipv4Addr;

use pinion_net::load::{LoadError, LoadReport, LoadSource, LoadSpec, Nodes, Peer, PeerEnd};
use pinion_sim::Clock;
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved};

use super::rows::{LoadRow, NodeRow};
use super::summary::Ended;
use super::tracing::LoadTracer;
use pinion_observe::load;
use pinion_observe::report::Ending;

/// Cycles after which a packet is sent again that nothing was heard of: a node's (RTL plusarg of the
/// published Verilator runs).
const TIMEOUT_CYCLES: u64 = 30_000;
/// Cycles from reset to the first request when no messages are waited for: programs have booted.
pub(super) const START_CYCLES: u64 = 60_000;

/// Reads the load of a generator with this address for `count` nodes from address `first` on.
///
/// # Errors
/// Names what is wrong and what would be right.
pub fn read(spec: &str, own: u32, first: u32, count: u32) -> Result<LoadSpec, LoadError> {
    let mut base = LoadSpec {
        nodes: if count == 1 { Nodes::One } else { Nodes::InTurn(count) },
        timeout_cycles: Some(TIMEOUT_CYCLES),
        startup_messages: 0,
        start_delay_cycles: START_CYCLES,
        ..LoadSpec::default()
    };
    base.ends.addresses.src = Ipv4Addr::from_bits(own);
    base.ends.addresses.dst = Ipv4Addr::from_bits(first);
    base.with(spec, &["src", "dst"], "a load of a cluster: its nodes have addresses")
}

/// A load generator at its end of a cable.
pub struct LoadEnd<'a> {
    end: PeerEnd<Heard<'a>>,
    clock: Clock,
}

/// A load, and who hears what it sends and is answered.
struct Heard<'a> {
    source: LoadSource,
    tracer: Option<Box<dyn LoadTracer + Send + 'a>>,
}

impl<'a> LoadEnd<'a> {
    /// Puts a generator at an end, whose cycles are those of `clock`.
    ///
    /// # Errors
    /// When the load is none.
    pub fn new(
        mut spec: LoadSpec,
        clock: Clock,
        tracer: Option<Box<dyn LoadTracer + Send + 'a>>,
    ) -> Result<Self, LoadError> {
        // Who hears it is told of each answer.
        spec.keep_samples |= tracer.is_some();
        Ok(Self { end: PeerEnd::new(Heard { source: LoadSource::new(spec)?, tracer }), clock })
    }

    /// Gives what has become of the load so far.
    pub fn report(&self) -> &LoadReport {
        self.end.peer().source.report()
    }

    /// Ends it: gives up what has no answer.
    pub fn finish(self) -> LoadReport {
        self.end.into_peer().source.into_report()
    }

    /// Sums the node and its load up.
    pub(super) fn row(&self, number: usize, name: &str, ended: &Ended) -> (NodeRow, LoadRow) {
        let is_open = self.is_open();
        let (clock, counts) = (self.clock, self.end.counts());
        // What has no answer yet is given up in a copy alone.
        let report = self.end.peer().source.clone().into_report();
        let ending = match ended.ending {
            Ending::CycleLimit if is_open => "cycle_limit",
            Ending::Interrupted if is_open => "interrupted",
            Ending::Stuck(_) if is_open => "stuck",
            // The run ended without it: its programs had, or one had failed.
            Ending::Finished | Ending::Failed if is_open => "cut_off",
            _ => "finished",
        };
        let node = NodeRow {
            ending: ending.to_owned(),
            messages_in: report.answered + report.repeated + report.unexpected,
            messages_out: report.sent,
            frames_in: counts.frames_in,
            frames_out: counts.frames_out,
            ..NodeRow::without_program(number, name, "load")
        };
        let load = LoadRow {
            node: number,
            name: name.to_owned(),
            report: load::to_json(&report, clock),
            text: report.to_text(clock),
            difference: report.difference().map(|text| format!("{name}: {text}")),
            percentiles: [report.all.percentiles_csv(clock), report.all.percentiles_hgrm(clock)],
        };
        (node, load)
    }
}

impl Peer for Heard<'_> {
    fn next_cycle(&mut self) -> Option<u64> {
        self.source.next_cycle()
    }

    fn next_frame(&mut self) -> Option<(u64, &[u8])> {
        let Self { source, tracer } = self;
        let (cycle, frame) = source.next_frame()?;
        if let Some(tracer) = tracer {
            tracer.sends(frame);
        }
        Some((cycle, frame))
    }

    fn frame_out(&mut self, first_flit: u64, last_flit: u64, frame: &[u8]) {
        let before = self.source.report().samples.len();
        self.source.frame_out(first_flit, last_flit, frame);
        if let Some(tracer) = &mut self.tracer {
            tracer.gets(self.source.report().samples.get(before));
        }
    }

    fn is_done(&self, now: u64) -> bool {
        self.source.is_done(now)
    }

    fn gives_up_at(&self) -> Option<u64> {
        self.source.gives_up_at()
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.source.state(tell);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        self.source.save()
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        self.source.restore(saved)
    }
}

impl Node for LoadEnd<'_> {
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
        self.end.arrive(port, first_flit, frame);
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        self.end.run(until, ports);
    }

    fn next_cycle(&mut self) -> Option<u64> {
        self.end.next_cycle()
    }

    fn moved(&self) -> u64 {
        self.end.moved()
    }

    fn is_open(&self) -> bool {
        self.end.is_open()
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.end.state(tell);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        self.end.save()
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        self.end.restore(saved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_knows_its_nodes_and_refuses_addresses() {
        let spec = read("requests=5,gap=exp:100", 0x0a00_0006, 0x0a00_0002, 4).unwrap();
        assert_eq!((spec.nodes, spec.timeout_cycles), (Nodes::InTurn(4), Some(30_000)));
        assert_eq!(spec.ends.addresses.dst, Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!((spec.startup_messages, spec.start_delay_cycles), (0, 60_000));
        let error = read("dst=10.0.0.9", 1, 2, 1).unwrap_err().to_string();
        assert!(error.contains("`dst` does not apply to a load of a cluster"), "{error}");
        assert!(read("spread=turn", 1, 2, 1).is_err(), "one node");
    }

    #[test]
    fn a_load_without_answers_ends() {
        let spec = read("requests=1,patience=500,timeout=200,start_delay=10", 2, 3, 1).unwrap();
        let mut load = LoadEnd::new(spec, Clock::from_hz(1_000_000), None).unwrap();
        let (mut frames, mut until) = (0, 0);
        while load.is_open() {
            let next = load.next_cycle().expect("it goes on");
            assert!(next >= until && next < 2_000, "{next}");
            until = next + 1;
            load.run(until, &mut |_: usize, _: u64, _: u64, _: Vec<u8>| frames += 1);
        }
        assert!(frames >= 3, "{frames}");
        assert_eq!(load.finish().missing, 1);
    }
}
