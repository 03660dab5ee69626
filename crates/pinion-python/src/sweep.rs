//! Sweeps. In: an application and a grid. Out: its points, each with its key and the way to run it, for
//! workers anywhere; and a table of what they measured. Planner, journal and tables are those of
//! `pinion sweep`.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use pinion_app::Error;
use pinion_figures::sweep::{
    self, Choice, Effort, Entry, Journal, MOST_POINTS, Observer, Outcome, Progress, Request, Row,
    Subject,
};
use pinion_observe::report::write_whole;
use pinion_observe::words::columns;
use pinion_python_guard::guarded;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyString};

use crate::again::{Origin, made_by};
use crate::app::App;
use crate::html;
use crate::machine::{text_of_path, value_text};
use crate::packets::Source;
use crate::progress::Heard;
use crate::table::Table;
use crate::{again, errors};

/// Names the axis of seeds.
const SEED: &str = "seed";

/// What a sweep will do: every point of a grid, checked.
#[pyclass(frozen, module = "pinion")]
pub struct Plan {
    plan: sweep::Plan,
    out: PathBuf,
    journal: OnceLock<Journal>,
    opening: Mutex<()>,
    /// What makes it, in Python.
    made: String,
}

/// What a sweep came to: a row for each point.
#[pyclass(frozen, module = "pinion")]
pub struct Sweep {
    outcome: Outcome,
    table: Py<Table>,
    /// What makes it again, in Python.
    made: String,
}

/// What came of a point, for `Plan.outcome`: what `Plan.measure` gave, or what went wrong.
type Came = (Option<String>, Option<String>);

#[guarded]
#[pymethods]
impl Plan {
    #[new]
    #[pyo3(signature = (
        app, grid, *, packets=None, machine=None, out="out/sweeps".into(), jobs=None, fresh=false
    ))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn new(
        py: Python<'_>,
        app: &Bound<'_, PyAny>,
        grid: &Bound<'_, PyDict>,
        packets: Option<&Bound<'_, PyAny>>,
        machine: Option<&Bound<'_, PyAny>>,
        out: PathBuf,
        jobs: Option<usize>,
        fresh: bool,
    ) -> PyResult<Self> {
        let (own_jobs, own_out) = (jobs.into_pyobject(py)?, out.clone().into_pyobject(py)?);
        let anew = fresh.then(|| PyBool::new(py, true).to_owned().into_any());
        let made = again::call(
            "pinion.Plan",
            &[app, grid.as_any()],
            &[
                ("packets", packets),
                ("machine", machine),
                ("out", Some(&own_out)),
                ("jobs", jobs.is_some().then_some(&own_jobs)),
                ("fresh", anew.as_ref()),
            ],
        );
        // As a worker has it, for which paths are part of what is compiled.
        let app = App::of(app)?.absolute()?;
        let options = app.options(machine)?;
        let source = Source::read(packets)?;
        let (generate, load) = match source {
            Source::Standard => (None, None),
            Source::Generator(spec) => (Some(spec), None),
            Source::Load(spec) => (None, Some(spec)),
            _ => {
                let what = "packets: a sweep takes a Generator or a Load, which its grid can vary";
                return Err(errors::usage(py, what));
            }
        };
        let (set, seed) = axes(grid)?;
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let pinion = identity(py)?;
        let again = || again::script(std::slice::from_ref(&made));
        errors::detached(py, again, || {
            app.check_release("a sweep")?;
            let subject = Subject::load(&app.path)?;
            let journal = out.join(format!("{}.jsonl", subject.name()));
            let plan = sweep::plan(Request {
                subject,
                machine: options.machine,
                faithful: options.faithful,
                engine_core: options.engine_core,
                cc: options.build.cc,
                build_dir: options.build.folder,
                untrusted: options.build.untrusted,
                elf: options.elf,
                generate,
                load,
                set: options.overrides.into_iter().chain(set).collect(),
                seed,
                jobs: jobs.unwrap_or_else(cores),
                journal,
                fresh,
                pinion,
            })?;
            Ok((plan, out))
        })
        .map(|(plan, out)| Self {
            plan,
            out,
            journal: OnceLock::new(),
            opening: Mutex::new(()),
            made: made.clone(),
        })
    }

    /// Its points, each with its values as texts, the last key varying fastest.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let point = |point: usize| {
            let values = PyDict::new(py);
            for (axis, value) in self.plan.axes().iter().zip(self.plan.values(point)) {
                values.set_item(&axis.key, value)?;
            }
            Ok(values)
        };
        (0..self.plan.points()).map(point).collect()
    }

    /// How many programs the points need that are built beforehand.
    #[getter]
    fn programs(&self) -> usize {
        self.plan.programs()
    }

    fn __len__(&self) -> usize {
        self.plan.points()
    }

    /// Gives how long a point will take, for comparing points.
    fn work(&self, point: usize) -> PyResult<f64> {
        self.has(point)?;
        Ok(self.plan.work(point))
    }

    /// Builds one of the programs unless it is up to date; gives what the compiler wrote.
    fn build(&self, py: Python<'_>, program: usize) -> PyResult<String> {
        if program >= self.plan.programs() {
            return Err(PyIndexError::new_err(program));
        }
        let built = errors::detached(py, self.again(format!("build({program})")), || {
            self.plan.build(program)
        })?;
        Ok(String::from_utf8_lossy(&built.messages).into_owned())
    }

    /// Gives a digest of all that a point's result depends on; its program must have been built.
    fn key(&self, py: Python<'_>, point: usize) -> PyResult<String> {
        self.has(point)?;
        errors::detached(py, self.again(format!("key({point})")), || {
            Ok(format!("{:016x}", self.plan.key(point)?))
        })
    }

    /// Runs a point here, and gives its row as JSON.
    fn measure(&self, py: Python<'_>, point: usize) -> PyResult<String> {
        self.has(point)?;
        errors::detached(py, self.again(format!("measure({point})")), || {
            let measured = self.plan.measure(point, &AtomicBool::new(false))?;
            let (key, entry) = measured.ok_or_else(|| Error::Usage("it was stopped".into()))?;
            Ok(entry.to_json(self.plan.numbers(), key).to_string())
        })
    }

    /// Gives the row that the journal has under a key.
    fn known(&self, py: Python<'_>, key: &str) -> PyResult<Option<String>> {
        let numbers = self.plan.numbers();
        errors::detached(py, self.again(format!("known({})", again::text(key))), || {
            let key = u64::from_str_radix(key, 16);
            let key = key.map_err(|_| Error::Usage("a key is 16 hexadecimal digits".into()))?;
            let found = self.journal()?.find(key);
            Ok(found.map(|entry| entry.to_json(numbers, key).to_string()))
        })
    }

    /// Writes the row that `measure` gave of a point to the journal, and to the disk.
    fn keep(&self, py: Python<'_>, point: usize, row: &str) -> PyResult<()> {
        self.has(point)?;
        errors::detached(py, self.again(format!("keep({point}, plan.measure({point}))")), || {
            let (key, entry) = self.read(row)?;
            self.plan.keep(self.journal()?, point, key, &entry)
        })
    }

    /// Puts a sweep together from each point's row, or what went wrong with it, and writes its tables.
    #[pyo3(signature = (came, *, kept=0, seconds=0.0, workers=0))]
    fn outcome(
        &self,
        py: Python<'_>,
        came: Vec<Came>,
        kept: usize,
        seconds: f64,
        workers: usize,
    ) -> PyResult<Sweep> {
        let outcome = errors::detached(py, self.again("run()".to_owned()), || {
            if came.len() != self.plan.points() {
                let (came, points) = (came.len(), self.plan.points());
                return Err(Error::Usage(format!("{came} rows for {points} points")));
            }
            let row = |(point, (row, problem)): (usize, &Came)| {
                let values = self.plan.values(point).to_vec();
                let Some(row) = row else {
                    return Ok(Row { values, measured: None, problem: problem.clone() });
                };
                let (_, Entry { measured, problem }) = self.read(row)?;
                Ok(Row { values, measured: Some(measured), problem })
            };
            let rows = came.iter().enumerate().map(row).collect::<pinion_app::Result<Vec<_>>>()?;
            let ran = rows.len().saturating_sub(kept);
            let wall = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            let effort = Effort { kept, ran, wall, workers, ..Effort::default() };
            let outcome = self.plan.outcome(rows, effort);
            self.write(&outcome)?;
            Ok(outcome)
        })?;
        Sweep::of(py, outcome, &self.made)
    }

    /// Runs the points that the journal does not have, on this computer's cores, and writes the tables.
    #[pyo3(signature = (progress=None))]
    fn run(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Sweep> {
        let mut watch = Watch { progress: Heard::new(py, progress)?, raised: None };
        let ran = errors::detached(py, self.again("run()".to_owned()), || {
            let outcome = sweep::run(&self.plan, &mut watch)?;
            self.write(&outcome)?;
            Ok(outcome)
        });
        match watch.raised {
            Some(raised) => Err(raised),
            None => Sweep::of(py, ran?, &self.made),
        }
    }

    fn __repr__(&self) -> String {
        let keys = self.plan.axes().iter().map(|axis| axis.key.as_str());
        let keys = keys.collect::<Vec<_>>().join(", ");
        format!("<pinion.Plan {} points: {keys}>", self.plan.points())
    }
}

made_by!(Plan, |it| Origin::of(it.made.clone()));
made_by!(Sweep, |it| Origin::of(it.made.clone()));

impl Plan {
    /// Says what calls one of its functions again.
    fn again(&self, call: String) -> impl FnOnce() -> String + '_ {
        move || again::script(&[format!("plan = {}", self.made), format!("plan.{call}")])
    }

    fn has(&self, point: usize) -> PyResult<()> {
        if point < self.plan.points() { Ok(()) } else { Err(PyIndexError::new_err(point)) }
    }

    fn journal(&self) -> pinion_app::Result<&Journal> {
        let alone = self.opening.lock();
        if self.journal.get().is_none() {
            let opened = self.plan.journal()?;
            self.journal.get_or_init(|| opened);
        }
        drop(alone);
        Ok(self.journal.get().expect("it was just opened"))
    }

    fn read(&self, row: &str) -> pinion_app::Result<(u64, Entry)> {
        let value = serde_json::from_str(row).ok();
        value.and_then(|value| Entry::from_json(self.plan.numbers(), &value)).ok_or_else(|| {
            let what = "that is no row which Plan.measure of this version gave";
            Error::Usage(what.to_owned())
        })
    }

    fn write(&self, outcome: &Outcome) -> pinion_app::Result<()> {
        let file = |kind: &str| self.out.join(format!("{}.{kind}", outcome.app));
        write_whole(&file("csv"), &outcome.to_csv()?)?;
        write_whole(&file("parquet"), &outcome.to_parquet())
    }
}

#[guarded]
#[pymethods]
impl Sweep {
    /// A row for each point: its values, what was measured, and its `problem`.
    #[getter]
    fn table(&self, py: Python<'_>) -> Py<Table> {
        self.table.clone_ref(py)
    }

    /// The application's name.
    #[getter]
    fn app(&self) -> &str {
        &self.outcome.app
    }

    /// How many points earlier sweeps had measured.
    #[getter]
    fn kept(&self) -> usize {
        self.outcome.effort.kept
    }

    /// How many points were run.
    #[getter]
    fn ran(&self) -> usize {
        self.outcome.effort.ran
    }

    /// How many points have a problem.
    #[getter]
    fn failed(&self) -> usize {
        self.outcome.failed()
    }

    /// The table that the command prints.
    #[getter]
    fn text(&self) -> String {
        columns(&self.outcome.to_text())
    }

    /// Draws a number over a key, a curve for each combination of the others; `None`: nothing varies.
    #[pyo3(signature = (x=None, y=None))]
    fn plot(
        &self,
        py: Python<'_>,
        x: Option<String>,
        y: Option<String>,
    ) -> PyResult<Option<String>> {
        let again = || {
            let word = |word: &Option<String>| {
                word.as_ref().map_or("None".to_owned(), |word| again::text(word))
            };
            again::script(&[format!("{}.plot({}, {})", self.made, word(&x), word(&y))])
        };
        let choice = Choice { x: x.clone(), y: y.clone() };
        errors::detached(py, again, || {
            choice.check(self.outcome.numbers, &self.outcome.axes)?;
            sweep::plot(&self.outcome, &choice)
        })
    }

    /// Writes the table as Parquet.
    fn write_parquet(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let path = PathBuf::from(text_of_path(path)?);
        let again = || {
            again::script(&[format!(
                "{}.write_parquet({})",
                self.made,
                again::text(&path.display().to_string())
            )])
        };
        errors::detached(py, again, || write_whole(&path, &self.outcome.to_parquet()))
    }

    fn __len__(&self) -> usize {
        self.outcome.rows.len()
    }

    /// Gives the table to a library that takes Arrow's streams.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.table.get().__arrow_c_stream__(py, requested_schema)
    }

    fn __str__(&self) -> String {
        columns(&self.outcome.to_text())
    }

    fn __repr__(&self) -> String {
        let (points, failed) = (self.outcome.rows.len(), self.outcome.failed());
        format!("<pinion.Sweep {}: {points} points, {failed} with a problem>", self.outcome.app)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let picture = self.plot(py, None, None)?.map(|svg| html::inline(&svg).to_owned());
        let table = html::table(&format!("Sweep of {}", self.outcome.app), &self.outcome.to_text());
        Ok(picture.unwrap_or_default() + &table)
    }
}

impl Sweep {
    fn of(py: Python<'_>, outcome: Outcome, plan: &str) -> PyResult<Self> {
        let made = format!("{plan}.run()");
        let table = Table::of_columns(&outcome.columns())?;
        let table = table.made_by(Origin::of(format!("{made}.table")));
        Ok(Self { outcome, table: Py::new(py, table)?, made })
    }
}

/// Hears of progress; notices Ctrl-C.
struct Watch {
    progress: Heard,
    raised: Option<PyErr>,
}

impl Observer for Watch {
    fn progress(&mut self, progress: &Progress) -> bool {
        let told = Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = self.progress.callback() else { return Ok(()) };
            let seconds = progress.elapsed.as_secs_f64();
            callback.call1(py, (progress.done, progress.total, seconds)).map(drop)
        });
        if let Err(raised) = told {
            self.raised.get_or_insert(raised);
        }
        self.raised.is_none()
    }
}

/// Reads a grid: values by key; seeds apart.
fn axes(grid: &Bound<'_, PyDict>) -> PyResult<(Vec<String>, Option<String>)> {
    let (mut set, mut seed) = (Vec::new(), None);
    for (key, values) in grid.iter() {
        let key = key.extract::<String>()?.replace("__", ".");
        let is_one = values.is_instance_of::<PyString>() || values.try_iter().is_err();
        let texts = match is_one {
            true => vec![value_text(&values)?],
            false => {
                let values = values.try_iter()?.take(MOST_POINTS + 1);
                let texts: Vec<_> =
                    values.map(|value| value_text(&value?)).collect::<PyResult<_>>()?;
                if texts.len() > MOST_POINTS {
                    let what = format!(
                        "grid: {key} has more values than the {MOST_POINTS} points that are swept at once, \
                         or never ends"
                    );
                    return Err(errors::usage(grid.py(), &what));
                }
                texts
            }
        };
        match key.as_str() {
            SEED => seed = Some(texts.join(",")),
            _ => set.push(format!("{key}={}", texts.join(","))),
        }
    }
    Ok((set, seed))
}

/// Names this build of the package by what its library holds, so that another computer's copy has the
/// same name.
fn identity(py: Python<'_>) -> PyResult<String> {
    static IDENTITY: OnceLock<String> = OnceLock::new();
    if let Some(known) = IDENTITY.get() {
        return Ok(known.clone());
    }
    let file: PathBuf = py.import("pinion._pinion")?.getattr("__file__")?.extract()?;
    let again = || again::script(&["pinion._pinion.__file__".to_owned()]);
    let bytes = errors::detached(py, again, || {
        pinion_input::bytes(&file).map_err(|error| Error::file("read", &file, error))
    })?;
    let digest = py.import("hashlib")?.call_method1("sha256", (bytes.as_slice(),))?;
    let digest: String = digest.call_method0("hexdigest")?.extract()?;
    Ok(IDENTITY.get_or_init(|| digest).clone())
}
