//! A sPIN NIC at a node of a fabric. In: frames from its cable. Out: what its handlers send. Holds the
//! NIC, frames that have not arrived whole, and frames that wait for the pins.
//!
//! The NIC has a clock of its own: fabric cycles become picoseconds and back. A frame has arrived when
//! its last flit is there; one that the outbound engine has sent goes on the cable whole, at the pace of
//! the pins. What no context matches goes to the host, which counts it. The NIC's time begins in the
//! fabric's cycle 0.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pinion_net::capture::LinkType;
use pinion_net::fabric::Member;
use pinion_net::link::Endpoint;
use pinion_net::load::flits;
use pinion_sim::{Clock, Time};
use pinion_spin::{Frame, Offer, Outcome, Traffic, Units};

use super::rows::NodeRow;
use super::summary::{Ended, Ending as ClusterEnding};
use crate::run;
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_app::traffic::ETHERNET_HEADER_BYTES;
use pinion_observe::fault::Fault;
use pinion_observe::report::{Collector, Ending, Outputs, Sink, Summary, Traces};

/// Stands in front of packets that handlers see from the IP header on when they leave (the hardware
/// addresses of the published test bench; switches look at IP addresses).
const ETHERNET_HEADER: [u8; ETHERNET_HEADER_BYTES] =
    [0x08, 0x55, 0x66, 0x77, 0x88, 0x08, 0x08, 0x11, 0x22, 0x33, 0x44, 0x08, 0x08, 0x00];

/// Is a sPIN NIC at its end of a cable.
pub struct SpinEnd {
    app: Arc<App>,
    nic: Units,
    clock: Clock,
    skip: u32,
    /// Whether what handlers send begins at the IP header.
    lacks_ethernet: bool,
    inbox: Inbox,
    collector: Collector,
    said: Said,
    /// Frames for the cable, with the cycle in which the outbound engine had each whole.
    leaving: VecDeque<(u64, Vec<u8>)>,
    pins_free: u64,
    /// The first cycle that was not run.
    now: u64,
    moved: u64,
    /// Something goes on inside.
    is_active: bool,
    stuck: Option<String>,
}

/// Holds frames that came in and the NIC has not taken.
#[derive(Debug, Default)]
struct Inbox {
    frames: VecDeque<Frame>,
    count: u64,
}

impl Traffic for Inbox {
    fn next(&mut self) -> Offer {
        self.frames.pop_front().map_or(Offer::Nothing, Offer::Frame)
    }
}

/// Collects what the NIC says to others.
#[derive(Debug, Default)]
struct Said {
    departed: Vec<(Time, Vec<u8>)>,
    console: String,
    faults: u64,
}

impl Sink for Said {
    fn line(&mut self, _time: Time, _cluster: u32, _hpu: u32, text: &str) {
        self.console.push_str(text);
        self.console.push('\n');
    }

    fn departed(&mut self, time: Time, frame: &[u8]) {
        self.departed.push((time, frame.to_vec()));
    }

    fn fault(&mut self, _fault: &Fault) {
        self.faults += 1;
    }
}

impl SpinEnd {
    /// Puts an application's NIC at an end of a cable whose cycles are those of `clock`.
    ///
    /// # Errors
    /// When program or contexts do not fit the machine.
    pub fn new(app: &Arc<App>, clock: Clock) -> Result<Self> {
        let links = run::links(app, LinkType::Ethernet);
        let outputs = Outputs { handlers: true, ..Outputs::default() };
        Ok(Self {
            app: Arc::clone(app),
            nic: app.nic()?,
            clock,
            skip: app.skipped_bytes(),
            lacks_ethernet: links.out == LinkType::RawIp,
            inbox: Inbox::default(),
            collector: Collector::new(&outputs, links, app.context_names())?,
            said: Said::default(),
            leaving: VecDeque::new(),
            pins_free: 0,
            now: 0,
            moved: 0,
            is_active: false,
            stuck: None,
        })
    }

    /// Gives what handlers have printed in whole lines.
    pub fn console(&self) -> &str {
        &self.said.console
    }

    /// Tells why nothing moves in the NIC, if packets are inside and nothing does.
    pub fn stuck(&self) -> Option<&str> {
        self.stuck.as_deref()
    }

    /// Ends it: gives its summary, whose times are those until cycle `now`, and what handlers printed.
    ///
    /// # Errors
    /// When a number could not be kept.
    pub fn finish(mut self, now: u64) -> Result<(Summary, String)> {
        let ending = match self.stuck.take() {
            Some(report) => Ending::Stuck(report),
            None if self.is_active => Ending::Interrupted,
            None => Ending::Finished,
        };
        let mut stats = self.collector.finish(&mut self.said)?;
        let traces = Traces::of(&mut stats, &Outputs::default());
        let ended = (ending, self.clock.time(now), Duration::ZERO);
        let mut summary = Summary::new(&self.app, self.nic.totals(), stats, ended);
        summary.remarks.extend(traces.why_none_matched(&self.app, &summary)?);
        Ok((summary, self.said.console))
    }

    /// Sums the node up.
    pub(super) fn row(self, number: usize, name: &str, ended: Ended) -> NodeRow {
        let is_cut = matches!(ended.ending, ClusterEnding::CycleLimit | ClusterEnding::Interrupted);
        let name = name.to_owned();
        match self.finish(ended.at) {
            Ok((summary, console)) => {
                NodeRow::of_handlers(number, &name, &summary, console, is_cut)
            }
            // It writes no files, so nothing can go wrong with them.
            Err(error) => unreachable!("a NIC without outputs: {error}"),
        }
    }

    /// Gives the first cycle that begins at or after a time.
    fn cycle_from(&self, time: Time) -> u64 {
        let cycle = self.clock.cycle_at(time);
        cycle + u64::from(self.clock.time(cycle) < time)
    }

    /// Queues what left the NIC, in order of time.
    fn collect(&mut self) {
        for (time, frame) in std::mem::take(&mut self.said.departed) {
            let frame = match self.lacks_ethernet {
                true => [&ETHERNET_HEADER[..], &frame].concat(),
                false => frame,
            };
            let ready = self.cycle_from(time);
            self.moved = self.moved.max(ready);
            let at = self.leaving.partition_point(|(other, _)| *other <= ready);
            self.leaving.insert(at, (ready, frame));
        }
    }
}

impl Endpoint for SpinEnd {
    fn arrive(&mut self, first_flit: u64, frame: &[u8]) {
        let whole = first_flit + flits(frame.len());
        self.inbox.frames.push_back(Frame {
            arrival: self.clock.time(whole),
            bytes: frame.to_vec(),
            skip: self.skip,
            classification: None,
            tag: self.inbox.count,
        });
        self.inbox.count += 1;
        self.moved = self.moved.max(whole);
        self.is_active = self.stuck.is_none();
    }

    fn run(&mut self, until: u64, send: &mut dyn FnMut(u64, u64, &[u8])) {
        if self.is_active {
            // The last picosecond before the cycle.
            let end = Time::from_ps(self.clock.time(until).ps().saturating_sub(1));
            let mut ears = self.collector.ears(&mut self.said);
            match self.nic.run(end, &mut self.inbox, &mut ears) {
                Outcome::TimeReached => {}
                Outcome::Finished | Outcome::Idle => self.is_active = !self.inbox.frames.is_empty(),
                Outcome::Stuck(report) => {
                    self.stuck = Some(report);
                    self.is_active = false;
                }
            }
            self.collect();
        }
        self.now = until;
        while let Some((ready, _)) = self.leaving.front() {
            let first = self.pins_free.max(*ready);
            if first >= until {
                break;
            }
            let Some((_, frame)) = self.leaving.pop_front() else { break };
            self.pins_free = first + flits(frame.len());
            send(first, self.pins_free - 1, &frame);
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        if self.is_active {
            return Some(self.now);
        }
        self.leaving.front().map(|(ready, _)| self.pins_free.max(*ready))
    }
}

impl Member for SpinEnd {
    fn moved(&self) -> u64 {
        self.moved
    }

    fn has_failed(&self) -> bool {
        self.stuck.is_some() || self.said.faults > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pinion_app::app::Options;
    use pinion_net::link::{Link, Pair, PeerEnd};
    use pinion_net::load::{LoadSource, LoadSpec, Peer as _};

    fn echo() -> Option<Arc<App>> {
        let gcc = "riscv64-unknown-elf-gcc";
        if std::process::Command::new(gcc).arg("--version").output().is_err() {
            eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
            return None;
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/udp_echo");
        Some(Arc::new(App::load(path.as_ref(), &Options::default()).unwrap()))
    }

    /// Asks the echo service over a cable of so many cycles, in windows of `window`.
    fn ask(app: &Arc<App>, window: u64) -> (Summary, Vec<u64>) {
        let text = "transport=udp,port=9500,requests=50,gap=500,startup=0";
        let source = LoadSource::new(LoadSpec::parse(text).unwrap()).unwrap();
        let spin = SpinEnd::new(app, Clock::from_hz(3_200_000_000)).unwrap();
        let mut pair = Pair::new(spin, PeerEnd::new(source), &Link::new(140)).unwrap();
        pair = pair.in_windows_of(window);
        let end = pair.run(1_000_000, |pair| !pair.b.peer().is_done(pair.now())).unwrap();
        let (spin, peer) = pair.finish().unwrap();
        assert!(!spin.has_failed());
        let report = peer.into_peer().into_report();
        assert_eq!((report.answered, report.missing, report.unexpected), (50, 0, 0));
        let times = report.samples.iter().map(|sample| sample.response_cycles).collect();
        (spin.finish(end).unwrap().0, times)
    }

    #[test]
    fn handlers_answer_over_a_cable_and_windows_change_nothing() {
        let Some(app) = echo() else { return };
        let (summary, times) = ask(&app, 140);
        assert_eq!((summary.totals.packets_in, summary.totals.packets_out), (50, 50));
        assert_eq!(summary.handlers.len(), 1);
        // Twice the cable, the frame's flits twice, and the handlers' time, which is under a
        // microsecond.
        assert!(times.iter().all(|cycles| (300..3_500).contains(cycles)), "{times:?}");
        for window in [1, 17] {
            assert_eq!(ask(&app, window).1, times, "windows of {window}");
        }
    }
}
