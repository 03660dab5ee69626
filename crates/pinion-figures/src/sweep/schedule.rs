//! Who does what. In: a plan. Out: its rows, in the grid's order whoever ran them.
//!
//! Each worker takes the next thing that can be done: a program to build while there is one, then
//! the longest point whose program is there. Long points first, so that the workers end together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::busy::{self, ThreadTime};
use super::journal::Journal;
use super::plan::Plan;
use super::point::{self, Done, Shared};
use super::{Effort, Observer, Outcome, Progress, Row};
use pinion_app::error::{Error, Result, paragraph};

/// How often the observer hears of progress.
const BEAT: Duration = Duration::from_millis(100);

/// Runs a plan.
///
/// # Errors
/// When the journal cannot be used, or the observer stopped the sweep; what was done by then is in
/// the journal.
pub fn run(plan: &Plan, observer: &mut dyn Observer) -> Result<Outcome> {
    let journal = Journal::open(&plan.request.journal, plan.numbers(), plan.request.fresh)?;
    let desk = Desk::new(plan);
    let stop = AtomicBool::new(false);
    let shared = Shared { plan, journal: &journal, stop: &stop };
    let shares: Vec<AtomicU64> = (0..plan.workers()).map(|_| AtomicU64::new(0)).collect();
    let (start, children) = (Instant::now(), busy::of_children());
    let times = thread::scope(|scope| {
        let (tell, hear) = mpsc::channel();
        let (mut workers, mut times) = (Vec::new(), Vec::new());
        for (number, share) in shares.iter().enumerate() {
            let worker =
                || Worker { number, desk: &desk, shared: &shared, share, tell: tell.clone() };
            let hired = worker();
            match thread::Builder::new().spawn_scoped(scope, move || hired.work()) {
                Ok(thread) => workers.push(thread),
                // Where the computer gives no thread at all, this one works, and tells of it later.
                Err(_) if number == 0 => times.push(worker().work()),
                Err(_) => {}
            }
        }
        drop(tell);
        loop {
            match hear.recv_timeout(BEAT) {
                Ok(messages) => observer.compiler(&messages),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !observer.progress(&desk.progress(&shares, start.elapsed())) {
                stop.store(true, Ordering::Relaxed);
                desk.changed.notify_all();
            }
        }
        times.extend(workers.into_iter().filter_map(|worker| worker.join().ok()));
        times
    });
    let compilers = children.and_then(|before| busy::of_children()?.checked_sub(before));
    let effort = effort(plan, &times, compilers, start.elapsed());
    desk.conclude(effort)
}

/// The sweep's work: what is to be done, what is being done, what is done.
struct Desk<'a> {
    plan: &'a Plan,
    state: Mutex<State>,
    /// Told when a program is there, or the sweep ends early.
    changed: Condvar,
}

struct State {
    /// Programs to build, the one for the most work last.
    to_build: Vec<usize>,
    building: usize,
    /// What came of each program that was built.
    built: Vec<Option<std::result::Result<(), String>>>,
    /// Points to run, the longest last.
    to_run: Vec<usize>,
    /// The point each worker is at.
    at: Vec<Option<usize>>,
    rows: Vec<Option<Row>>,
    done_work: f64,
    kept: usize,
    compiled: usize,
    error: Option<Error>,
}

/// What a worker does next.
enum Task {
    Build(usize),
    Run(usize),
}

impl<'a> Desk<'a> {
    fn new(plan: &'a Plan) -> Self {
        let work = |point: usize| plan.work(point);
        let mut to_run: Vec<usize> = (0..plan.points.len()).collect();
        // Among equals the first of the grid goes first.
        to_run.sort_by(|a, b| work(*a).total_cmp(&work(*b)).then(b.cmp(a)));
        let program_work = |program: usize| -> f64 {
            let uses = |point: &usize| program_of(plan, *point) == Some(program);
            to_run.iter().filter(|point| uses(point)).map(|point| work(*point)).sum()
        };
        let mut to_build: Vec<usize> = (0..plan.programs.len()).collect();
        to_build.sort_by(|a, b| program_work(*a).total_cmp(&program_work(*b)));
        let state = State {
            to_build,
            building: 0,
            built: plan.programs.iter().map(|_| None).collect(),
            to_run,
            at: vec![None; plan.workers()],
            rows: plan.points.iter().map(|_| None).collect(),
            done_work: 0.0,
            kept: 0,
            compiled: 0,
            error: None,
        };
        Self { plan, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a worker its next task; waits while others build what all points left need.
    fn next(&self, worker: usize, stop: &AtomicBool) -> Option<Task> {
        let mut state = self.state();
        loop {
            if stop.load(Ordering::Relaxed) || state.error.is_some() {
                return None;
            }
            if let Some(program) = state.to_build.pop() {
                state.building += 1;
                return Some(Task::Build(program));
            }
            let is_ready = |point: &usize| {
                program_of(self.plan, *point).is_none_or(|program| state.built[program].is_some())
            };
            if let Some(place) = state.to_run.iter().rposition(is_ready) {
                let point = state.to_run.remove(place);
                state.at[worker] = Some(point);
                return Some(Task::Run(point));
            }
            if state.building == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn progress(&self, shares: &[AtomicU64], elapsed: Duration) -> Progress {
        let state = self.state();
        let all: f64 = (0..self.plan.points.len()).map(|point| self.plan.work(point)).sum();
        let under_way = state.at.iter().zip(shares).filter_map(|(point, share)| {
            Some(self.plan.work((*point)?) * f64::from_bits(share.load(Ordering::Relaxed)))
        });
        Progress {
            done: state.rows.iter().flatten().count(),
            total: state.rows.len(),
            share: ((state.done_work + under_way.sum::<f64>()) / all.max(1.0)).min(1.0),
            elapsed,
        }
    }

    /// Gives the outcome, or why there is none.
    fn conclude(self, mut effort: Effort) -> Result<Outcome> {
        let plan = self.plan;
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = state.error {
            return Err(error);
        }
        let (done, total) = (state.rows.iter().flatten().count(), state.rows.len());
        if done < total {
            return Err(Error::Usage(format!(
                "stopped after {done} of {total} points; they are kept in {}, and the same command \
                 runs the others",
                plan.request.journal.display()
            )));
        }
        effort.kept = state.kept;
        effort.ran = total - state.kept;
        effort.built = state.compiled;
        Ok(plan.outcome(state.rows.into_iter().flatten().collect(), effort))
    }
}

fn program_of(plan: &Plan, point: usize) -> Option<usize> {
    plan.points[point].setting.as_ref().ok()?.program
}

/// One of those who do the work.
struct Worker<'a> {
    number: usize,
    desk: &'a Desk<'a>,
    shared: &'a Shared<'a>,
    share: &'a AtomicU64,
    tell: Sender<Vec<u8>>,
}

/// How a worker spent its time.
struct Spent {
    /// With a core, or waiting for one, where the system tells.
    thread: Option<ThreadTime>,
    /// While a compiler ran for it.
    compiling: Duration,
    /// With a task.
    working: Duration,
}

impl Worker<'_> {
    fn work(self) -> Spent {
        let start = ThreadTime::now();
        let mut spent = Spent { thread: None, compiling: Duration::ZERO, working: Duration::ZERO };
        while let Some(task) = self.desk.next(self.number, self.shared.stop) {
            let since = Instant::now();
            match task {
                Task::Build(program) => {
                    self.build(program);
                    spent.compiling += since.elapsed();
                }
                Task::Run(point) => self.run(point),
            }
            spent.working += since.elapsed();
        }
        spent.thread = start.and_then(|start| Some(ThreadTime::now()?.since(start)));
        spent
    }

    fn build(&self, program: usize) {
        let plan = self.shared.plan;
        let (result, messages, compiled) = match plan.build(program) {
            Ok(built) => (Ok(()), built.messages, built.compiler.is_some()),
            Err(error) => {
                let text = paragraph(&error);
                let messages = match error {
                    Error::CompilerFailed { output, .. } => output,
                    _ => Vec::new(),
                };
                (Err(text), messages, false)
            }
        };
        let mut state = self.desk.state();
        state.building -= 1;
        state.compiled += usize::from(compiled);
        // The sources are the same for all: one compiler's words are enough.
        let is_first = state.built.iter().all(Option::is_none);
        state.built[program] = Some(result);
        drop(state);
        if is_first && !messages.is_empty() {
            // Nobody is left to hear only when the sweep is being stopped.
            let _ = self.tell.send(messages);
        }
        self.desk.changed.notify_all();
    }

    fn run(&self, index: usize) {
        let plan = self.shared.plan;
        let point = &plan.points[index];
        let program = program_of(plan, index);
        let unbuilt = program.and_then(|program| match &self.desk.state().built[program] {
            Some(Err(problem)) => Some(problem.clone()),
            _ => None,
        });
        let done = match unbuilt {
            Some(problem) => {
                let values = point.values.clone();
                Ok(Done::Ran(Row { values, measured: None, problem: Some(problem) }))
            }
            None => {
                let elf = program.map(|program| plan.programs[program].elf.as_path());
                point::run(self.shared, point, elf, self.share)
            }
        };
        let mut state = self.desk.state();
        state.at[self.number] = None;
        self.share.store(0, Ordering::Relaxed);
        match done {
            Ok(Done::Stopped) => return,
            Ok(Done::Kept(row)) => {
                state.kept += 1;
                state.rows[index] = Some(row);
            }
            Ok(Done::Ran(row)) => state.rows[index] = Some(row),
            Err(error) => state.error = Some(error),
        }
        state.done_work += plan.work(index);
    }
}

/// Adds up how the workers, and the compilers they ran, spent their time.
fn effort(plan: &Plan, times: &[Spent], compilers: Option<Duration>, wall: Duration) -> Effort {
    let workers = plan.workers();
    let cores = std::thread::available_parallelism().map_or(workers, usize::from).min(workers);
    let of_all =
        |time: Duration| time.as_secs_f64() / (wall.as_secs_f64() * cores as f64).max(1e-9);
    let compiling = compilers.unwrap_or_else(|| times.iter().map(|time| time.compiling).sum());
    let threads: Option<Vec<ThreadTime>> = times.iter().map(|time| time.thread).collect();
    let thread = threads.map(|all| all.into_iter().fold(ThreadTime::default(), ThreadTime::plus));
    let busy = match thread {
        Some(thread) => thread.on_core + compiling,
        None => times.iter().map(|time| time.working).sum(),
    };
    Effort {
        workers,
        wall,
        busy: of_all(busy).min(1.0),
        waited: thread.map(|thread| of_all(thread.waited)),
        ..Effort::default()
    }
}
