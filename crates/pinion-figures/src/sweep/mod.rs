//! An application or a cluster over a grid of settings. In: a [`Request`]: keys and their values. Out: an
//! [`Outcome`], a row for each point of the grid, for tables ([`Outcome::to_csv`],
//! [`Outcome::to_parquet`]) and a chart ([`plot`]).
//!
//! A point's way: [`plan`] makes the product of all values and checks each point's machine and
//! traffic; workers build one program for each layout that the points need and run the points,
//! longest first; what a point measured goes to the journal as soon as it is there, under a key
//! that is made of everything it depends on, so that a sweep which was interrupted, or is extended
//! by more values, runs only what is missing.
//!
//! Points are independent of each other: their number at a time changes no result. [`run`] has workers
//! in this process; who has them elsewhere hands the plan's points out one by one ([`Plan::key`],
//! [`Plan::measure`]) and keeps what comes back in the same [`Journal`].

mod busy;
mod grid;
mod hand_out;
mod journal;
mod measure;
mod parquet;
mod plan;
mod plot;
mod point;
mod ready;
mod schedule;
mod subject;
mod table;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

pub use grid::{Axis, MOST_POINTS, Target};
pub use journal::{Entry, Journal};
pub use measure::{Measured, Metric, Numbers, OF_CLUSTERS, OF_HANDLERS, OF_NANOSERVICES};
pub use parquet::{Column, Data, ParquetError, Pieces};
pub use plan::{Plan, identity, plan};
pub use plot::{Choice, plot};
pub use schedule::run;
pub use subject::{ClusterFile, Subject};

use pinion_spin::EngineCore;

/// Says what to sweep and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is swept.
    pub subject: Subject,
    /// Name of the machine, instead of the manifest's.
    pub machine: Option<String>,
    /// Follows the RTL where that lacks or breaks what the paper describes.
    pub faithful: bool,
    /// Says how this computer executes what NICs' cores do; no result depends on it.
    pub engine_core: EngineCore,
    /// Chooses the compiler.
    pub cc: Option<String>,
    /// Name of the folder for programs, instead of the user's cache.
    pub build_dir: Option<PathBuf>,
    /// Lets the application's folder ask for nothing that could harm who builds it.
    pub untrusted: bool,
    /// Name of an ELF to run instead of building.
    pub elf: Option<PathBuf>,
    /// Replaces the manifest's traffic, of handlers.
    pub generate: Option<String>,
    /// Asks a nanoservice, instead of the messages in its folder.
    pub load: Option<String>,
    /// Lists keys with their values, `cluster.count=1,2,4`: of the machine, of the traffic
    /// (`packet.bytes`, `packet.count`, `packet.rate`), of the load (`load.gap`), of a cluster's file.
    pub set: Vec<String>,
    /// Lists seeds of the traffic, `1,2,3`.
    pub seed: Option<String>,
    /// How many points run at a time.
    pub jobs: usize,
    /// Name of the file that keeps what was measured.
    pub journal: PathBuf,
    /// Runs every point, whatever the journal has.
    pub fresh: bool,
    /// Tells builds of Pinion apart, each of which may measure something else: [`identity`].
    pub pinion: String,
}

/// Tells how far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Number of points that are done.
    pub done: usize,
    /// Number of all points.
    pub total: usize,
    /// The part of the work that is done, from 0 to 1: long points count for more.
    pub share: f64,
    /// The time since the sweep began.
    pub elapsed: Duration,
}

impl Progress {
    /// Gives the time that the rest takes at the pace so far; `None` before there is a pace.
    pub fn left(&self) -> Option<Duration> {
        let left = self.elapsed.as_secs_f64() * (1.0 - self.share) / self.share;
        (self.share > 0.01).then(|| Duration::try_from_secs_f64(left).ok()).flatten()
    }

    /// Gives points a second so far.
    pub fn rate(&self) -> f64 {
        self.done as f64 / self.elapsed.as_secs_f64().max(1e-3)
    }
}

/// Hears how far a sweep is, on the caller's thread.
pub trait Observer {
    /// Hears it several times a second; the sweep stops when it answers `false`.
    fn progress(&mut self, progress: &Progress) -> bool;

    /// Hears what a compiler wrote.
    fn compiler(&mut self, _messages: &[u8]) {}
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&mut self, _: &Progress) -> bool {
        true
    }
}

/// A point of the grid with what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// A value for each axis.
    pub values: Vec<String>,
    /// What was measured; `None` when the point could not be run.
    pub measured: Option<Measured>,
    /// What went wrong, if something did.
    pub problem: Option<String>,
}

/// What came of a sweep.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the application.
    pub app: String,
    /// Name of the machine.
    pub machine: String,
    /// What was measured.
    pub numbers: &'static Numbers,
    /// The axes of the grid.
    pub axes: Vec<Axis>,
    /// A row for each point, the last axis varying fastest.
    pub rows: Vec<Row>,
    /// How the work was done.
    pub effort: Effort,
}

impl Outcome {
    /// Counts the points with a problem.
    pub fn failed(&self) -> usize {
        self.rows.iter().filter(|row| row.problem.is_some()).count()
    }
}

/// Tells how a sweep's work was done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Number of the points that the journal had.
    pub kept: usize,
    /// Number of the points that were run.
    pub ran: usize,
    /// Number of the programs that were compiled.
    pub built: usize,
    /// Number of the workers.
    pub workers: usize,
    /// The time from the first worker's start to the last one's end.
    pub wall: Duration,
    /// The part of that time that the cores which the workers had were busy for them.
    pub busy: f64,
    /// The part of that time that workers waited for a core which other programs had; `None`
    /// where the system does not tell.
    pub waited: Option<f64>,
}
