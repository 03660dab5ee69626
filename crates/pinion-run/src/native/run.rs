//! A run in memory: packets are read or made in batches, and the engine's own time is that of the
//! batches' processing.

use std::time::{Duration, Instant};

use pinion_native::Incoming;
use pinion_net::capture::LinkType;
use pinion_sim::Time;
use pinion_spin::{Frame, Offer, Traffic as _};

use super::Tell;
use crate::run::{Finished, Left, Observer, Progress, Unobserved, links, too_large};
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_app::traffic::{ETHERNET_HEADER_BYTES, Packets};
use pinion_observe::report::{Collector, Ending, Outputs, Summary, Traces};

/// Reads so many packets before the engine takes them.
const BATCH: usize = 1024;

/// Runs an application on packets until all are through, or the observer stops it.
///
/// # Errors
/// When the engine cannot start, or an input or an output fails.
pub fn run(
    app: &App,
    packets: Packets,
    workers: u32,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Finished> {
    let tell = Tell { handlers: outputs.handlers, instructions: false };
    run_telling(app, packets, workers, outputs, observer, tell)
}

/// Runs it with instructions counted in the rows of the handlers, where the system lets; times are
/// longer then.
///
/// # Errors
/// As [`run`].
pub fn run_counted(app: &App, packets: Packets, workers: u32) -> Result<Finished> {
    let tell = Tell { handlers: true, instructions: true };
    run_telling(app, packets, workers, &Outputs::default(), &mut Unobserved, tell)
}

fn run_telling(
    app: &App,
    packets: Packets,
    workers: u32,
    outputs: &Outputs,
    observer: &mut dyn Observer,
    tell: Tell,
) -> Result<Finished> {
    let start = Instant::now();
    let mut packets = packets.skip(app.skipped_bytes());
    let links = links(app, packets.link());
    let mut engine = super::engine(app, workers, tell)?;
    let mut collector = Collector::new(outputs, links, app.context_names())?;
    let mut spent = Duration::ZERO;
    let mut batch: Vec<Frame> = Vec::with_capacity(BATCH);
    let ending = loop {
        batch.clear();
        let mut is_over = false;
        while batch.len() < BATCH && !is_over {
            match packets.next() {
                Offer::Frame(frame) => batch.push(frame),
                Offer::Nothing | Offer::End => is_over = true,
            }
        }
        let began = Instant::now();
        let mut ears = collector.ears(observer);
        for frame in &batch {
            let incoming = Incoming { bytes: &frame.bytes, skip: frame.skip, tag: frame.tag };
            engine.offer(incoming, &mut ears);
        }
        if is_over {
            engine.settle(&mut ears);
        }
        spent += began.elapsed();
        if let Some(error) = packets.take_error().or_else(|| collector.take_error()) {
            return Err(error);
        }
        if let Some((time, bytes)) = collector.too_large() {
            return Err(too_large(app, time, bytes));
        }
        if is_over {
            break Ending::Finished;
        }
        let progress = Progress {
            packets: packets.given(),
            total: packets.total(),
            simulated: Time::ZERO,
            host: start.elapsed(),
        };
        if !observer.goes_on(&progress) {
            engine.settle(&mut collector.ears(observer));
            break Ending::Interrupted;
        }
    };
    let mut stats = collector.finish(observer)?;
    let traces = Traces::of(&mut stats, outputs);
    let mut totals = engine.totals();
    if links.input == LinkType::RawIp {
        // Headers made up on the way in are not counted.
        totals.bytes_in -= totals.packets_in * ETHERNET_HEADER_BYTES as u64;
    }
    let ended = (ending, Time::ZERO, start.elapsed());
    let mut summary = Summary::new(app, totals, stats, ended).by_native(workers, spent);
    summary.remarks.extend(packets.remark());
    let remarks = traces.remarks(app, &summary, 0)?;
    summary.remarks.extend(remarks);
    Ok(Finished { summary, left: Left::Native(Box::new(engine)) })
}
