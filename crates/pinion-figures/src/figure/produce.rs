//! Makes a figure. In: the figure and a request. Out: its table, compared with what was published.
//! Runs as many points at a time as there are cores.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{Comparison, Definition, Figure, Point, Row, Setting, Table, Verdict, compare};
use pinion_app::error::{Error, Result};
use pinion_observe::plot::split_overrides;
use pinion_sim::random::finalize;

/// Says how a figure is to be made.
#[derive(Clone, Debug)]
pub struct Request {
    /// Seeds all runs.
    pub seed: u64,
    /// Takes a quick look: fewer points, shorter runs.
    pub quick: bool,
    /// Changes numbers: those of the figure's file (`parameters.…`) or of the machine.
    pub set: Vec<String>,
    /// Name of the machine instead of the figure's own, for figures that take another.
    pub machine: Option<String>,
    /// Name of the folder for programs, instead of the user's cache.
    pub build_dir: Option<PathBuf>,
    /// How many points run at a time.
    pub jobs: usize,
}

impl Default for Request {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self { seed: 1, quick: false, set: Vec::new(), machine: None, build_dir: None, jobs }
    }
}

/// Holds a figure that was made.
#[derive(Clone, Debug)]
pub struct Produced {
    /// Names it.
    pub name: String,
    /// Its file.
    pub definition: Definition,
    /// Its rows.
    pub table: Table,
    /// Compares published values with ours.
    pub comparisons: Vec<Comparison>,
    /// The seed it was made with.
    pub seed: u64,
    /// That it was only a quick look, whose differences mean little.
    pub quick: bool,
}

impl Produced {
    /// Tells whether a published value differs without a reason.
    pub fn has_unexplained(&self) -> bool {
        let differs = |comparison: &Comparison| comparison.verdict == Verdict::Differs;
        !self.quick && self.comparisons.iter().any(differs)
    }
}

/// Hears of points that are done, on the caller's thread.
pub trait Observer {
    /// Hears that `done` of `total` points are done, the last of them named `label` (empty at the
    /// start); the run stops early when it answers `false`.
    fn progress(&mut self, done: usize, total: usize, label: &str) -> bool;
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&mut self, _: usize, _: usize, _: &str) -> bool {
        true
    }
}

/// Counts the points that a request makes of a figure.
///
/// # Errors
/// When the file is wrong, or an override does not fit.
pub fn count_points(figure: &dyn Figure, request: &Request) -> Result<usize> {
    let (own, _) = split_overrides(&request.set);
    let definition = figure.definition(&own)?;
    let parameters = definition.parameters(figure.name(), request.quick, &own);
    Ok(figure.points(&definition, &parameters)?.len())
}

/// Makes a figure by its file.
///
/// # Errors
/// When the file is wrong, an override does not fit, a run cannot be done or was stopped.
pub fn produce(
    figure: &dyn Figure,
    request: &Request,
    observer: &mut dyn Observer,
) -> Result<Produced> {
    let (own, _) = split_overrides(&request.set);
    let definition = figure.definition(&own)?;
    produce_with(figure, definition, request, observer)
}

/// Makes a figure by a definition.
///
/// # Errors
/// When a parameter does not fit, a run cannot be done or was stopped.
pub fn produce_with(
    figure: &dyn Figure,
    definition: Definition,
    request: &Request,
    observer: &mut dyn Observer,
) -> Result<Produced> {
    let name = figure.name();
    let takes_machine = figure.takes_machine(&definition);
    if let Some(machine) = request.machine.as_ref().filter(|_| !takes_machine) {
        let problem =
            format!("figure {name} has its own machine: --machine {machine} does not apply");
        return Err(Error::Usage(problem));
    }
    let (own, machine) = split_overrides(&request.set);
    let parameters = definition.parameters(name, request.quick, &own);
    let points = figure.points(&definition, &parameters)?;
    let run = |point: &Point| {
        let seed = seed_of(request.seed, point.stream);
        let machine_name = request.machine.as_deref();
        let build_dir = request.build_dir.as_deref();
        let (parameters, machine) = (&parameters, machine.as_slice());
        let definition = &definition;
        figure
            .run(point, &Setting { definition, parameters, machine, machine_name, build_dir, seed })
    };
    let rows = run_all(&points, request.jobs, run, observer)?;
    let columns = figure.columns(&definition);
    if let Some(row) = rows.iter().find(|row| row.len() != columns.len()) {
        let (has, needs) = (row.len(), columns.len());
        return Err(Error::Usage(format!("figure {name}: a row of {has} cells, not {needs}")));
    }
    let table = Table { columns, rows };
    let comparisons = compare(&definition.published, &table)?;
    Ok(Produced {
        name: name.to_owned(),
        definition,
        table,
        comparisons,
        seed: request.seed,
        quick: request.quick,
    })
}

/// Mixes the request's seed and a point's stream (a bijection).
fn seed_of(seed: u64, stream: u64) -> u64 {
    finalize(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Runs all points, several at a time, and gives their rows in order.
fn run_all(
    points: &[Point],
    jobs: usize,
    run: impl Fn(&Point) -> Result<Vec<Row>> + Sync,
    observer: &mut dyn Observer,
) -> Result<Vec<Row>> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(!observer.progress(0, points.len(), ""));
    let results: Mutex<Vec<Option<Result<Vec<Row>>>>> =
        Mutex::new(points.iter().map(|_| None).collect());
    thread::scope(|scope| {
        let (finished, hear) = mpsc::channel();
        let (next, stop, results, run) = (&next, &stop, &results, &run);
        let work = move |finished: Sender<usize>| {
            while !stop.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(point) = points.get(index) else { break };
                let result = run(point);
                if result.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(result);
                // Nobody is left to hear only when the run is being stopped.
                let _ = finished.send(index);
            }
        };
        for number in 0..jobs.clamp(1, points.len().max(1)) {
            let told = finished.clone();
            let worker = thread::Builder::new().spawn_scoped(scope, move || work(told));
            // Where the computer gives no thread at all, this one works, and tells of it later.
            if worker.is_err() && number == 0 {
                work(finished.clone());
            }
        }
        drop(finished);
        for (done, index) in hear.into_iter().enumerate() {
            if !observer.progress(done + 1, points.len(), &points[index].label) {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    collect(points, results.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Joins the rows; the error of the first point that has one is the run's.
fn collect(points: &[Point], results: Vec<Option<Result<Vec<Row>>>>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut unfinished = 0;
    for (point, result) in points.iter().zip(results) {
        match result {
            Some(Ok(more)) => rows.extend(more),
            Some(Err(error)) => return Err(Error::part(point.label.clone(), error)),
            None => unfinished += 1,
        }
    }
    match unfinished {
        0 => Ok(rows),
        left => Err(Error::Usage(format!(
            "stopped; {left} of {} points were left out and nothing was written",
            points.len()
        ))),
    }
}
