//! Points handed out one by one, to whoever has the computers. In: a plan and the number of a point. Out:
//! what it takes, the key of its result, and what it measured.
//!
//! A worker elsewhere plans the same request with one value for each axis and measures that plan's only
//! point. Its key says whether it ran what the one who asked would have run: the same program, machine,
//! packets and build of Pinion.

use std::sync::atomic::{AtomicBool, AtomicU64};

use pinion_app::build::{self, Built};
use pinion_app::error::{Error, Result};

use super::journal::{Entry, Journal};
use super::plan::{Plan, Point, Setting};
use super::{Effort, Outcome, Row, point};

impl Plan {
    /// Gives a point's values, one for each axis.
    pub fn values(&self, point: usize) -> &[String] {
        &self.points[point].values
    }

    /// Gives how long a point will take, for comparing points.
    pub fn work(&self, point: usize) -> f64 {
        self.points[point].setting.as_ref().map_or(0.0, |setting| setting.work)
    }

    /// Counts the programs to build before points are handed out; others are built as they are loaded.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }

    /// Builds a program unless it is up to date.
    ///
    /// # Errors
    /// When there is no compiler, or it refuses the sources.
    pub fn build(&self, program: usize) -> Result<Built> {
        let made = &self.programs[program];
        let options = build::Options {
            cc: self.request.cc.clone(),
            out: Some(made.elf.clone()),
            untrusted: self.request.untrusted,
            ..build::Options::default()
        };
        let manifest =
            self.request.subject.manifest().expect("clusters build when they are loaded");
        build::build(manifest, &made.layout, &options)
    }

    /// Digests everything that a point's result depends on; its program must have been built.
    ///
    /// # Errors
    /// What is wrong with the point.
    pub fn key(&self, point: usize) -> Result<u64> {
        let (_, key) = self.prepare(point)?;
        Ok(key)
    }

    /// Runs a point, and gives its key, too; `None` when it was stopped. Its program is built unless it
    /// is up to date.
    ///
    /// # Errors
    /// What is wrong with the point.
    pub fn measure(&self, point: usize, stop: &AtomicBool) -> Result<Option<(u64, Entry)>> {
        if let Some(program) = self.setting_of(point)?.program {
            self.build(program)?;
        }
        let (ready, key) = self.prepare(point)?;
        let measured = point::measure(&ready, stop, &AtomicU64::new(0)).map_err(Error::Usage)?;
        Ok(measured.map(|entry| (key, entry)))
    }

    /// Opens the journal of the request.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn journal(&self) -> Result<Journal> {
        Journal::open(&self.request.journal, self.numbers(), self.request.fresh)
    }

    /// Keeps what a point measured.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(&self, journal: &Journal, point: usize, key: u64, entry: &Entry) -> Result<()> {
        journal.keep(key, point::settings(self, &self.points[point]), entry)
    }

    /// Puts together what came of it: a row for each point.
    pub fn outcome(&self, rows: Vec<Row>, effort: Effort) -> Outcome {
        Outcome {
            app: self.request.subject.name().to_owned(),
            machine: self.machine.clone(),
            numbers: self.numbers(),
            axes: self.axes.clone(),
            rows,
            effort,
        }
    }

    fn setting_of(&self, point: usize) -> Result<&Setting> {
        let Point { setting, .. } = &self.points[point];
        setting.as_ref().map_err(|problem| Error::Usage(problem.clone()))
    }

    fn prepare(&self, point: usize) -> Result<(super::ready::Ready, u64)> {
        let setting = self.setting_of(point)?;
        let elf = setting.program.map(|program| self.programs[program].elf.as_path());
        point::prepare(self, setting, elf)
    }
}
