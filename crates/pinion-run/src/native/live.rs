//! A live run: frames from a TAP device or an interface go to the engine as they come.

use std::time::{Duration, Instant};

use pinion_native::{Incoming, Runner};
use pinion_net::capture::LinkType;
use pinion_sim::Time;

use super::Tell;
use crate::live::guest::{Guest, Lent};
use crate::live::{Device, Faults, Options, Outside, Passing, Standing, Subject, drive};
use crate::run::links;
use crate::watch::{Observer, Seen};
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_observe::report::{Collector, Ending, Outputs, Report, Summary};

/// Runs an application live until the observer stops it or the time is over; a guest may take part.
///
/// # Errors
/// When the engine cannot start, a device cannot be opened or is lost, or an output fails.
pub fn run(
    app: &App,
    options: &Options,
    workers: u32,
    outputs: &Outputs,
    guest: &mut dyn Guest,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let skip = app.skipped_bytes();
    let mut outside = Outside::new(Device::open(options, skip > 0)?, options, skip);
    let tell = Tell { handlers: outputs.handlers, ..Tell::default() };
    let (engine, unconfined) = super::engine(app, workers, tell)?;
    let mut native = Native {
        app,
        workers,
        engine,
        collector: Collector::new(outputs, links(app, LinkType::Ethernet), app.context_names())?,
        spent: Duration::ZERO,
        faults: Faults::default(),
    };
    let driven = drive(&mut native, &mut outside, options, (guest, observer))?;
    let Native { engine, collector, spent, mut faults, .. } = native;
    let mut remarks = vec![format!("live on {}", outside.device.name())];
    remarks.extend(outside.device.remarks());
    remarks.extend(unconfined.as_deref().map(super::remark));
    let device = &mut outside.device;
    let stats = collector.finish(&mut Passing { device, faults: &mut faults, app, observer })?;
    let ended = (Ending::Finished, Time::ZERO, driven.host);
    let mut summary = Summary::new(app, engine.totals(), stats, ended).by_native(workers, spent);
    driven.mark(&mut summary);
    summary.remarks = remarks;
    summary.kernel_dropped = Some(outside.device.dropped_by_kernel());
    Ok(summary)
}

/// The engine behind a wire.
struct Native<'a> {
    app: &'a App,
    workers: u32,
    engine: Runner,
    collector: Collector,
    /// The engine's own time so far.
    spent: Duration,
    faults: Faults,
}

impl Seen for Native<'_> {
    fn report(&mut self) -> Box<dyn Report> {
        let stats = self.collector.stats.clone();
        let ended = (Ending::Finished, Time::ZERO, Duration::ZERO);
        let summary = Summary::new(self.app, self.engine.totals(), stats, ended);
        Box::new(summary.by_native(self.workers, self.spent))
    }

    fn simulated(&self) -> Time {
        Time::ZERO
    }

    fn state(&self, _: &mut dyn FnMut(&str, u64)) {}
}

impl Subject for Native<'_> {
    fn standing(&mut self) -> Standing {
        Standing::Idle
    }

    fn simulate(&mut self, outside: &mut Outside, observer: &mut dyn Observer) -> Result<()> {
        if outside.queue.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let (device, faults) = (&mut outside.device, &mut self.faults);
        let mut passing = Passing { device, faults, app: self.app, observer };
        let mut ears = self.collector.ears(&mut passing);
        let skip = self.app.skipped_bytes();
        while let Some((_, bytes)) = outside.queue.take() {
            self.engine.offer(Incoming { bytes: &bytes, skip, tag: 0 }, &mut ears);
        }
        self.engine.settle(&mut ears);
        self.spent += began.elapsed();
        outside.device.take_error()?;
        if let Some(error) = self.engine.take_error() {
            return Err(super::ended(error));
        }
        self.collector.take_error().map_or(Ok(()), Err)
    }

    fn lend(&mut self) -> Lent<'_> {
        Lent::Other("the native engine, whose handlers are this computer's own code")
    }
}
