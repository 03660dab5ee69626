//! A live run: frames from a TAP device or an interface go to the engine as they come.

use std::time::{Duration, Instant};

use pinion_native::Incoming;
use pinion_net::capture::LinkType;
use pinion_sim::Time;

use super::Tell;
use crate::live::{Device, Faults, Observer, Options, Passing};
use crate::run::links;
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_observe::report::{Collector, Ending, Outputs, Summary};

/// Runs an application live until the observer stops it or the time is over.
///
/// # Errors
/// When the engine cannot start, a device cannot be opened or is lost, or an output fails.
pub fn run(
    app: &App,
    options: &Options,
    workers: u32,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let start = Instant::now();
    let skip = app.skipped_bytes();
    let mut device = Device::open(options, skip > 0)?;
    let mut engine =
        super::engine(app, workers, Tell { handlers: outputs.handlers, instructions: false })?;
    let links = links(app, LinkType::Ethernet);
    let mut collector = Collector::new(outputs, links, app.context_names())?;
    let mut spent = Duration::ZERO;
    let mut batch = Batch::default();
    let mut faults = Faults::default();
    observer.started();
    let is_over = || options.duration.is_some_and(|limit| start.elapsed() >= limit);
    while observer.goes_on() && !is_over() {
        device.wait()?;
        batch.clear();
        device.read_each(|frame| batch.push(frame))?;
        let began = Instant::now();
        let (device, faults) = (&mut device, &mut faults);
        let mut passing = Passing { device, faults, app, observer };
        let mut ears = collector.ears(&mut passing);
        for bytes in batch.frames() {
            engine.offer(Incoming { bytes, skip, tag: 0 }, &mut ears);
        }
        engine.settle(&mut ears);
        if !batch.is_empty() {
            spent += began.elapsed();
        }
        device.take_error()?;
        if let Some(error) = collector.take_error() {
            return Err(error);
        }
    }
    let mut remarks = vec![format!("live on {}", device.name())];
    remarks.extend(device.remarks());
    let dropped = device.dropped_by_kernel();
    let faults = &mut faults;
    let stats = collector.finish(&mut Passing { device: &mut device, faults, app, observer })?;
    let ended = (Ending::Finished, Time::ZERO, start.elapsed());
    let mut summary = Summary::new(app, engine.totals(), stats, ended).by_native(workers, spent);
    summary.remarks = remarks;
    summary.kernel_dropped = Some(dropped);
    Ok(summary)
}

/// Frames read at a time, one behind the other.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn push(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
    }

    fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.bytes[start..end])
    }
}
