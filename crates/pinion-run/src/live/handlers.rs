//! Packet handlers live: the simulated NIC takes frames from the queue when it can, as from a wire that
//! it holds back.

use std::time::Instant;

use pinion_net::capture::LinkType;
use pinion_sim::Time;
use pinion_spin::{Outcome, Units};

use super::{Device, Faults, Options, Outside, SLICE_PS, Standing, Subject, drive};
use crate::run::links;
use crate::watch::Observer;
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_observe::fault::Fault;
use pinion_observe::report::{Collector, Ending, Outputs, Sink, Summary};

/// Runs an application on a device until the observer stops it or the time is over.
///
/// # Errors
/// When a device cannot be opened or is lost, or an output fails.
pub fn run(
    app: &App,
    options: &Options,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let skip = app.skipped_bytes();
    let mut outside = Outside::new(Device::open(options, skip > 0)?, options, skip);
    let mut handlers = Handlers {
        app,
        nic: app.nic()?,
        collector: Collector::new(outputs, links(app, LinkType::Ethernet), app.context_names())?,
        reached: Time::ZERO,
        is_idle: true,
        stuck: None,
        faults: Faults::default(),
    };
    let host = drive(&mut handlers, &mut outside, options, observer)?;
    let remarks = outside.remarks();
    let Handlers { nic, collector, stuck, mut faults, .. } = handlers;
    let device = &mut outside.device;
    let mut passing = Passing { device, faults: &mut faults, app, observer };
    let stats = collector.finish(&mut passing)?;
    let ending = stuck.map_or(Ending::Finished, Ending::Stuck);
    let mut summary = Summary::new(app, nic.totals(), stats, (ending, nic.now(), host));
    summary.working = Some(outside.pace.working);
    summary.remarks = remarks;
    summary.kernel_dropped = Some(outside.device.dropped_by_kernel());
    Ok(summary)
}

/// A NIC behind a wire.
struct Handlers<'a> {
    app: &'a App,
    nic: Units,
    collector: Collector,
    /// Simulated time that the last slice ended at, if packets are inside.
    reached: Time,
    is_idle: bool,
    stuck: Option<String>,
    faults: Faults,
}

impl Subject for Handlers<'_> {
    fn standing(&mut self) -> Standing {
        match &self.stuck {
            Some(_) => Standing::Ended,
            None if self.is_idle => Standing::Idle,
            None => Standing::Works,
        }
    }

    fn now(&self) -> Time {
        self.nic.now().max(self.reached)
    }

    fn simulate(&mut self, outside: &mut Outside, observer: &mut dyn Observer) -> Result<()> {
        let (was_idle, queue) = (self.is_idle, &mut outside.queue);
        if was_idle && queue.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        let before = self.now();
        let until = before.max(queue.newest_arrival()) + Time::from_ps(SLICE_PS);
        queue.first_given = None;
        let (device, app) = (&mut outside.device, self.app);
        let mut passing = Passing { device, faults: &mut self.faults, app, observer };
        let mut ears = self.collector.ears(&mut passing);
        let outcome = self.nic.run(until, queue, &mut ears);
        outside.device.take_error()?;
        if let Some(error) = self.collector.take_error() {
            return Err(error);
        }
        // Cores may have nothing to tell until behind the slice: time goes on all the same.
        self.reached = if outcome == Outcome::TimeReached { until } else { Time::ZERO };
        let from = if was_idle { queue.first_given.unwrap_or(before) } else { before };
        outside.pace.add(self.now().since(from.max(before)), started.elapsed());
        self.is_idle = match outcome {
            Outcome::Stuck(report) => {
                self.stuck = Some(report);
                true
            }
            // Timers may still run, but time that passes without packets is the host's.
            Outcome::TimeReached => self.nic.totals().resident == 0,
            Outcome::Idle | Outcome::Finished => true,
        };
        Ok(())
    }
}

/// Passes on what happens during a slice.
pub struct Passing<'a> {
    /// Takes the frames.
    pub device: &'a mut Device,
    /// Number of equal faults, so that each is told once.
    pub faults: &'a mut Faults,
    /// The application whose handlers run.
    pub app: &'a App,
    /// Hears everything else.
    pub observer: &'a mut dyn Observer,
}

impl Sink for Passing<'_> {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.observer.line(time, cluster, hpu, text);
    }

    fn departed(&mut self, _time: Time, frame: &[u8]) {
        self.device.send(frame);
    }

    fn unmatched(&mut self, _time: Time, frame: &[u8]) {
        self.device.take_unmatched(frame);
    }

    fn fault(&mut self, fault: &Fault) {
        if let Some(text) = self.faults.tell(self.app, fault) {
            self.observer.notice(&text);
        }
    }
}
