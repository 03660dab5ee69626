//! A sPIN NIC at a node of a cluster: an application's program on its machine; what it did is summed
//! up at the end. [`NicNode`] is the NIC at its cable.

use std::sync::Arc;
use std::time::Duration;

use pinion_net::capture::LinkType;
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, Trouble, flits};
use pinion_sim::{Clock, Time};
use pinion_spin::{Cabling, Event, Hears, Interest, NicNode, Spin};

use super::rows::NodeRow;
use super::summary::Ended;
use crate::run;
use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_app::traffic::ETHERNET_HEADER_BYTES;
use pinion_observe::report::{Collector, Ending, Outputs, Sink, Summary, Traces};
use pinion_observe::trace::Tracer;

/// Stands in front of packets that handlers see from the IP header on when they leave (the hardware
/// addresses of the published test bench; switches look at IP addresses).
const ETHERNET_HEADER: [u8; ETHERNET_HEADER_BYTES] =
    [0x08, 0x55, 0x66, 0x77, 0x88, 0x08, 0x08, 0x11, 0x22, 0x33, 0x44, 0x08, 0x08, 0x00];

/// An application's NIC at its end of a cable.
pub struct SpinEnd<'a> {
    app: Arc<App>,
    end: NicNode<Ears<'a>>,
    clock: Clock,
    /// The last cycle that is over when its tracer begins to listen closely, until it does.
    begin: Option<u64>,
    /// The first cycle that was not run.
    reached: u64,
    trouble: Option<Error>,
}

/// Hears the NIC.
struct Ears<'a> {
    collector: Collector,
    console: Console,
    tracer: Option<Box<dyn Tracer + Send + 'a>>,
}

/// Whole lines that handlers have printed.
#[derive(Debug, Default)]
pub(super) struct Console(String);

/// What is counted of a NIC, and what its handlers have printed.
pub(super) type Counted = (Collector, Console);

impl Sink for Console {
    fn line(&mut self, _time: Time, _cluster: u32, _hpu: u32, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }
}

impl Hears<Spin> for Ears<'_> {
    fn interest(&self) -> Interest {
        let traced = self.tracer.as_ref().map(|tracer| tracer.interest());
        Interest { handlers: true, ..traced.unwrap_or_default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        self.collector.ears(&mut self.console).hear(event);
        if let Some(tracer) = &mut self.tracer {
            tracer.hear(event);
        }
    }
}

impl<'a> SpinEnd<'a> {
    /// Puts an application's NIC at an end of a cable whose cycles are those of `clock`.
    ///
    /// # Errors
    /// When program or contexts do not fit the machine.
    pub fn new(
        app: &Arc<App>,
        clock: Clock,
        tracer: Option<Box<dyn Tracer + Send + 'a>>,
    ) -> Result<Self> {
        let lacks_ethernet = run::links(app, LinkType::Ethernet).out == LinkType::RawIp;
        let header = if lacks_ethernet { ETHERNET_HEADER.to_vec() } else { Vec::new() };
        let cabling = Cabling { clock, skip: app.skipped_bytes(), header };
        let (collector, console) = blank(app)?;
        let begin = tracer.as_ref().map(|tracer| clock.cycle_at(tracer.begin()).saturating_sub(1));
        let ears = Ears { collector, console, tracer };
        let end = NicNode::new(app.nic()?, cabling, ears);
        Ok(Self { app: Arc::clone(app), end, clock, begin, reached: 0, trouble: None })
    }

    /// Gives the NIC.
    pub fn nic(&self) -> &pinion_spin::Units {
        self.end.nic()
    }

    /// Gives what handlers have printed in whole lines.
    pub fn console(&self) -> &str {
        &self.end.ears.console.0
    }

    /// Gives what is counted of a NIC that has done nothing.
    #[cfg(target_os = "linux")]
    pub(super) fn blank_counts(&self) -> Counted {
        // It writes no file, so nothing can go wrong with one.
        blank(&self.app).unwrap_or_else(|error| unreachable!("a NIC without outputs: {error}"))
    }

    /// Exchanges what was counted.
    #[cfg(target_os = "linux")]
    pub(super) fn exchange_counts(&mut self, (collector, console): &mut Counted) {
        std::mem::swap(&mut self.end.ears.collector, collector);
        std::mem::swap(&mut self.end.ears.console, console);
    }

    /// Tells whether something goes on inside.
    pub(super) fn is_active(&self) -> bool {
        self.end.is_active()
    }

    /// Tells why nothing moves in the NIC, if packets are inside and nothing does.
    pub fn stuck(&self) -> Option<&str> {
        self.end.stuck()
    }

    /// Gives its summary, whose times are those until cycle `now`, and what handlers printed.
    ///
    /// # Errors
    /// When a number could not be kept.
    pub fn sum_up(&self, now: u64) -> Result<(Summary, String)> {
        let ending = match self.end.stuck() {
            Some(report) => Ending::Stuck(report.to_owned()),
            None if self.end.is_active() => Ending::Interrupted,
            None => Ending::Finished,
        };
        let Ears { collector, console, .. } = &self.end.ears;
        let (mut console, mut stats) = (Console(console.0.clone()), collector.stats.clone());
        collector.tell_unfinished(&mut console);
        let traces = Traces::of(&mut stats, &Outputs::default());
        let ended = (ending, self.clock.time(now), Duration::ZERO);
        let mut summary = Summary::new(&self.app, self.nic().totals(), stats, ended);
        summary.remarks.extend(traces.why_none_matched(&self.app, &summary)?);
        Ok((summary, console.0))
    }

    /// Lets who traces it write what is left of a run until cycle `now`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn complete(&mut self, now: u64) -> Result<()> {
        let now = self.clock.time(now);
        self.end.ears.tracer.as_mut().map_or(Ok(()), |tracer| tracer.finish(now))
    }

    /// Tells who traces it that nothing earlier comes any more than the time that `until` gives.
    fn settle(&mut self, until: impl FnOnce(&dyn Tracer) -> Time) {
        let Some(tracer) = &mut self.end.ears.tracer else { return };
        let until = until(&**tracer);
        self.trouble = self.trouble.take().or(tracer.settle(until).err());
    }

    /// Sums the node up.
    pub(super) fn row(&self, number: usize, name: &str, ended: &Ended) -> NodeRow {
        match self.sum_up(ended.at) {
            Ok((mut run, console)) => {
                if !run.ending.is_failure() {
                    run.ending = match &ended.ending {
                        cut @ (Ending::CycleLimit | Ending::Interrupted) => cut.clone(),
                        _ => Ending::Finished,
                    };
                }
                NodeRow::of_handlers(number, name, &run, console)
            }
            // It writes no files, so nothing can go wrong with them.
            Err(error) => unreachable!("a NIC without outputs: {error}"),
        }
    }
}

/// Makes what is counted of an application's NIC that has done nothing.
fn blank(app: &App) -> Result<Counted> {
    let outputs = Outputs { handlers: true, ..Outputs::default() };
    let links = run::links(app, LinkType::Ethernet);
    Ok((Collector::new(&outputs, links, app.context_names())?, Console::default()))
}

impl Node for SpinEnd<'_> {
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
        if let Some(tracer) = &mut self.end.ears.tracer {
            tracer.comes_by_cable(self.clock.time(first_flit + flits(frame.len())));
        }
        self.end.arrive(port, first_flit, frame);
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        // Cut where the tracer begins to listen closely: it is asked once in a run what it wants.
        if let Some(begin) = self.begin.take_if(|begin| *begin < until) {
            if begin > self.reached {
                self.end.run(begin, ports);
            }
            self.settle(|tracer| tracer.begin());
        }
        self.end.run(until, ports);
        self.reached = until;
        // The last picosecond before the cycle.
        let end = Time::from_ps(self.clock.time(until).ps().saturating_sub(1));
        self.settle(|_| end);
    }

    fn next_cycle(&mut self) -> Option<u64> {
        self.end.next_cycle()
    }

    fn moved(&self) -> u64 {
        self.end.moved()
    }

    fn has_failed(&self) -> bool {
        self.end.has_failed()
    }

    fn trouble(&mut self) -> Option<Trouble> {
        self.trouble.take().map(Into::into)
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.end.state(tell);
    }

    fn save(&self) -> std::result::Result<Saved, SaveError> {
        self.end.save()
    }

    fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError> {
        self.end.restore(saved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pinion_app::app::Options;
    use pinion_net::link::{Link, Pair};
    use pinion_net::load::{LoadSource, LoadSpec, Peer as _, PeerEnd};

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
        let spin = SpinEnd::new(app, Clock::from_hz(3_200_000_000), None).unwrap();
        let mut pair = Pair::new(spin, PeerEnd::new(source), &Link::new(140)).unwrap();
        pair = pair.in_windows_of(window);
        let end = pair.run(1_000_000, |pair| !pair.b.peer().is_done(pair.now())).unwrap();
        let (spin, peer) = pair.finish();
        assert!(!spin.has_failed());
        let report = peer.into_peer().into_report();
        assert_eq!((report.answered, report.missing, report.unexpected), (50, 0, 0));
        let times = report.samples.iter().map(|sample| sample.response_cycles).collect();
        (spin.sum_up(end).unwrap().0, times)
    }

    #[test]
    fn handlers_answer_over_a_cable_and_windows_change_nothing() {
        let Some(app) = echo() else { return };
        let (summary, times) = ask(&app, 140);
        assert_eq!(
            (summary.section.totals.packets_in, summary.section.totals.packets_out),
            (50, 50)
        );
        assert_eq!(summary.section.handlers.len(), 1);
        // Twice the cable, the frame's flits twice, and the handlers' time, which is under a
        // microsecond.
        assert!(times.iter().all(|cycles| (300..3_500).contains(cycles)), "{times:?}");
        for window in [1, 17] {
            assert_eq!(ask(&app, window).1, times, "windows of {window}");
        }
    }
}
