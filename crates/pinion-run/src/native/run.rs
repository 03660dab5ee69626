//! A run in memory: packets are read or made in batches, and the engine's own time is that of the
//! batches' processing.

use std::time::{Duration, Instant};

use pinion_native::{Incoming, Runner};
use pinion_sim::Time;
use pinion_spin::{Frame, Listener, Offer, Outcome, Totals, Traffic as _};

use super::Tell;
use crate::run::{Executor, Finished, Left, execute};
use crate::watch::{Observer, Unobserved};
use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_app::traffic::Packets;
use pinion_observe::report::{Outputs, Summary};

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
    let tell = Tell { handlers: outputs.handlers, ..Tell::default() };
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
    let (engine, unconfined) = super::engine(app, workers, tell)?;
    let batch = Vec::with_capacity(BATCH);
    let batched = Batched { engine, unconfined, workers, batch, spent: Duration::ZERO };
    let (summary, batched) = execute(batched, app, packets, outputs, observer, None)?;
    Ok(Finished { summary, left: Left::Native(Box::new(batched.engine.into())) })
}

/// The engine, and the packets that it takes at a time.
struct Batched {
    engine: Runner,
    /// Why handlers are not behind walls, if they are not.
    unconfined: Option<String>,
    workers: u32,
    batch: Vec<Frame>,
    /// The engine's own time so far.
    spent: Duration,
}

impl Executor for Batched {
    fn advance(&mut self, _: Time, packets: &mut Packets, ears: &mut dyn Listener) -> Outcome {
        self.batch.clear();
        let mut is_over = false;
        while self.batch.len() < BATCH && !is_over {
            match packets.next() {
                Offer::Frame(frame) => self.batch.push(frame),
                Offer::Nothing | Offer::End => is_over = true,
            }
        }
        let began = Instant::now();
        let frames = self.batch.iter();
        let frames =
            frames.map(|Frame { bytes, skip, tag, .. }| Incoming { bytes, skip: *skip, tag: *tag });
        self.engine.offer_all(frames, ears);
        match is_over {
            true => self.engine.settle(ears),
            false => self.engine.poll(ears),
        }
        self.spent += began.elapsed();
        if is_over { Outcome::Finished } else { Outcome::TimeReached }
    }

    fn interrupt(&mut self, ears: &mut dyn Listener) {
        self.engine.settle(ears);
    }

    fn now(&self) -> Time {
        Time::ZERO
    }

    fn totals(&self) -> Totals {
        self.engine.totals()
    }

    fn unfinished(&self) -> u64 {
        0
    }

    fn take_error(&mut self) -> Option<Error> {
        self.engine.take_error().map(super::ended)
    }

    fn drops_large(&self) -> bool {
        false
    }

    fn sum_up(&self, mut summary: Summary) -> Summary {
        summary.remarks.extend(self.unconfined.as_deref().map(super::remark));
        summary.by_native(self.workers, self.spent)
    }
}
