//! What became of a load. In: answers as they come. Out: counts and response times, in all, by
//! context and by mode of the service time.

use super::matching::Request;
use super::{Latencies, Resent};
use pinion_sim::Clock;
use std::collections::BTreeMap;
use std::fmt;

/// Holds one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Number of the request, from 0.
    pub request: u64,
    /// The node it went to, counted from the first of the load's.
    pub node: u32,
    /// The context it went to.
    pub context: u16,
    /// The mode of its service time.
    pub mode: usize,
    /// When it was due.
    pub sent_cycle: u64,
    /// Cycles from then to the answer.
    pub response_cycles: u64,
}

/// Sums up a load.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered.
    pub answered: u64,
    /// Requests given up or, while the load goes on, without an answer yet.
    pub missing: u64,
    /// Answers that came a second time, or after their request was given up.
    pub repeated: u64,
    /// Answers that were not what a key-value store must give.
    pub wrong: u64,
    /// Messages of the node that answer nothing.
    pub unexpected: u64,
    /// Frames of the node that are not for this source, or not well-formed.
    pub foreign_frames: u64,
    /// Control frames of the node.
    pub control_frames: u64,
    /// Packets that were sent again, and why.
    pub resent: Resent,
    /// Cycle in which the first request was due.
    pub first_sent_cycle: Option<u64>,
    /// Cycle in which the last request was due.
    pub last_sent_cycle: u64,
    /// Cycle of the last answer.
    pub last_answer_cycle: u64,
    /// Response times of all.
    pub all: Latencies,
    /// Response times by context.
    pub by_context: BTreeMap<u16, Latencies>,
    /// Response times by node, counted from the first of the load's.
    pub by_node: BTreeMap<u32, Latencies>,
    /// Response times by mode of the service time.
    pub by_mode: BTreeMap<usize, Latencies>,
    /// Every answer in order of arrival, where they are kept.
    pub samples: Vec<Sample>,
    keep: bool,
}

impl LoadReport {
    pub(super) fn new(keep: bool) -> Self {
        Self {
            sent: 0,
            answered: 0,
            missing: 0,
            repeated: 0,
            wrong: 0,
            unexpected: 0,
            foreign_frames: 0,
            control_frames: 0,
            resent: Resent::default(),
            first_sent_cycle: None,
            last_sent_cycle: 0,
            last_answer_cycle: 0,
            all: Latencies::new(keep),
            by_context: BTreeMap::new(),
            by_node: BTreeMap::new(),
            by_mode: BTreeMap::new(),
            samples: Vec::new(),
            keep,
        }
    }

    pub(super) fn note_sent(&mut self, cycle: u64) {
        self.sent += 1;
        self.first_sent_cycle.get_or_insert(cycle);
        self.last_sent_cycle = cycle;
    }

    pub(super) fn note_answer(&mut self, request: Request, arrival: u64) {
        let response_cycles = arrival.saturating_sub(request.sent);
        self.answered += 1;
        self.last_answer_cycle = self.last_answer_cycle.max(arrival);
        self.each(request, |latencies| latencies.record(response_cycles));
        if self.keep {
            let Request { number, node, context, mode, sent, .. } = request;
            self.samples.push(Sample {
                request: number,
                node,
                context,
                mode,
                sent_cycle: sent,
                response_cycles,
            });
        }
    }

    pub(super) fn note_missing(&mut self, request: Request) {
        self.missing += 1;
        self.each(request, |latencies| latencies.add_missing(1));
    }

    fn each(&mut self, request: Request, mut act: impl FnMut(&mut Latencies)) {
        let new = || Latencies::new(self.keep);
        act(&mut self.all);
        act(self.by_context.entry(request.context).or_insert_with(new));
        act(self.by_node.entry(request.node).or_insert_with(new));
        act(self.by_mode.entry(request.mode).or_insert_with(new));
    }

    /// Says that answers were not what a key-value store must give, if some were not.
    pub fn difference(&self) -> Option<String> {
        let wrong = self.wrong;
        (wrong > 0).then(|| format!("{wrong} answers are not what the store must give"))
    }

    /// Gives the mean gap between requests, from which the published evaluations recompute the load.
    pub fn mean_gap_cycles(&self) -> Option<f64> {
        let first = self.first_sent_cycle.filter(|_| self.sent > 1)?;
        Some((self.last_sent_cycle - first) as f64 / (self.sent - 1) as f64)
    }

    /// Gives the requests offered per second of `clock`.
    pub fn offered_per_s(&self, clock: Clock) -> Option<f64> {
        self.mean_gap_cycles().map(|gap| clock.hz() / gap)
    }

    /// Gives the requests answered per second of `clock`, from the first request to the last answer.
    pub fn answered_per_s(&self, clock: Clock) -> Option<f64> {
        let cycles = self.last_answer_cycle.checked_sub(self.first_sent_cycle?)?;
        (cycles > 0).then(|| self.answered as f64 * clock.hz() / cycles as f64)
    }

    /// Sums up as text, times in nanoseconds of `clock`.
    pub fn to_text(&self, clock: Clock) -> String {
        Text { report: self, clock }.to_string()
    }
}

struct Text<'a> {
    report: &'a LoadReport,
    clock: Clock,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { report, clock } = self;
        let million = |rate: Option<f64>| rate.unwrap_or(0.0) / 1e6;
        writeln!(
            f,
            "requests {}, answered {}, missing {}; {:.3} M/s offered, {:.3} M/s answered",
            report.sent,
            report.answered,
            report.missing,
            million(report.offered_per_s(*clock)),
            million(report.answered_per_s(*clock)),
        )?;
        if report.repeated + report.unexpected + report.foreign_frames > 0 {
            writeln!(
                f,
                "answers repeated {}, unexpected {}, foreign frames {}",
                report.repeated, report.unexpected, report.foreign_frames
            )?;
        }
        let Resent { packets, nacks, timeouts } = report.resent;
        if packets > 0 {
            writeln!(
                f,
                "packets sent again {packets}, for {nacks} NACKs and {timeouts} time-outs"
            )?;
        }
        if report.wrong > 0 {
            writeln!(f, "wrong answers {}", report.wrong)?;
        }
        let names = ["min", "mean", "p50", "p90", "p99", "p99.9", "max"];
        let head: String = names.iter().map(|name| format!("{name:>11}")).collect();
        writeln!(f, "{:<20}{head}", "response time, ns")?;
        let mut line = |name: String, latencies: &Latencies| match latencies.summary(*clock) {
            None => writeln!(f, "  {name:<18}{:>11}", "none"),
            Some(s) => {
                let cells =
                    [s.min_ns, s.mean_ns, s.p50_ns, s.p90_ns, s.p99_ns, s.p999_ns, s.max_ns];
                let cells: String = cells.iter().map(|ns| format!("{ns:>11.1}")).collect();
                writeln!(f, "  {name:<18}{cells}")
            }
        };
        line("all".to_owned(), &report.all)?;
        if report.by_context.len() > 1 {
            for (context, latencies) in &report.by_context {
                line(format!("context {context}"), latencies)?;
            }
        }
        if report.by_node.len() > 1 {
            for (node, latencies) in &report.by_node {
                line(format!("node {node}"), latencies)?;
            }
        }
        if report.by_mode.len() > 1 {
            for (mode, latencies) in &report.by_mode {
                line(["short", "long"][mode.min(&1).to_owned()].to_owned(), latencies)?;
            }
        }
        Ok(())
    }
}
