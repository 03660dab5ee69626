//! Published figures made again, and our numbers beside the hardware's. In: a figure's name, or a row's. Out:
//! what `pinion figure` and `pinion calibrate` say, as tables and pictures.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pinion_app::Error;
use pinion_calibration::Jobs;
use pinion_calibration::sets::Set;
use pinion_figures::figure::{self, Observer, Produced, Request, chart};
use pinion_observe::words::columns;
use pinion_python_guard::guarded;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::again::{Origin, made_by};
use crate::machine::{Machine, overrides, text_of_path};
use crate::progress::Heard;
use crate::result::document;
use crate::table::Table;
use crate::{again, errors, html};

/// How often it is looked whether Ctrl-C was pressed.
const BEAT: Duration = Duration::from_millis(10);

/// A published figure, made again.
#[pyclass(frozen, module = "pinion")]
pub struct Figure {
    produced: Produced,
    json: String,
    svg: String,
    table: Py<Table>,
    origin: Origin,
}

made_by!(Figure, |it| it.origin);

/// Our numbers beside the hardware's.
#[pyclass(frozen, module = "pinion")]
pub struct Calibration {
    text: String,
    is_ok: bool,
    table: Py<Table>,
    origin: Origin,
}

made_by!(Calibration, |it| it.origin);

/// Lists the figures that can be made again.
#[pyfunction]
pub fn figures(py: Python<'_>) -> PyResult<Vec<String>> {
    let again = || again::script(&["pinion.figures()".to_owned()]);
    let names = || figure::figures().iter().map(|figure| figure.name().to_owned()).collect();
    errors::attached(py, again, || Ok(names()))
}

/// Makes a published figure again, and compares it with what was published.
#[pyfunction(name = "figure")]
#[pyo3(signature = (
    name, *, quick=false, machine=None, set=None, seed=1, jobs=None, progress=None
))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn make(
    py: Python<'_>,
    name: &str,
    quick: bool,
    machine: Option<&Bound<'_, PyAny>>,
    set: Option<&Bound<'_, PyDict>>,
    seed: u64,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Figure> {
    let mut request = Request { quick, seed, ..Request::default() };
    request.set = overrides(set)?;
    if let Some(machine) = machine {
        match machine.extract::<Machine>() {
            Ok(machine) => {
                let mut options = pinion_app::app::Options::default();
                machine.choose(&mut options);
                if options.faithful {
                    return Err(errors::usage(py, "a figure says itself whether it is faithful"));
                }
                request.machine = options.machine;
                request.set.extend(options.overrides);
            }
            Err(_) => request.machine = Some(text_of_path(machine)?),
        }
    }
    if let Some(jobs) = jobs {
        request.jobs = at_least_one(py, jobs)?;
    }
    let mut watch = Watch { progress: Heard::new(py, progress)?, raised: None };
    let again = || {
        let mut words = vec!["pinion".to_owned(), "figure".to_owned(), name.to_owned()];
        words.extend(quick.then(|| "--quick".to_owned()));
        words
            .extend(request.machine.iter().flat_map(|name| ["--machine".to_owned(), name.clone()]));
        words.extend(request.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
        words.extend(["--seed".to_owned(), seed.to_string()]);
        errors::shell(&words)
    };
    let made = errors::detached(py, again, || {
        let figure = figure::find(name)?;
        let produced = figure::produce(figure.as_ref(), &request, &mut watch)?;
        let svg = chart::draw(&produced.definition, &produced.table, &produced.comparisons)?;
        Ok((produced, svg))
    });
    if let Some(raised) = watch.raised {
        return Err(raised);
    }
    let (produced, svg) = made?;
    let names = produced.table.columns.iter().map(|column| column.name.to_string());
    let names: Vec<String> = names.collect();
    let rows = produced.table.to_json();
    let table = Table::of_json(&names, rows.as_array().map_or(&[], Vec::as_slice))?;
    let json = figure::to_json(&produced).to_string();
    let origin = Origin::of(in_python(name, &request));
    let table = Py::new(py, table.made_by(origin.part(".table")))?;
    Ok(Figure { produced, json, svg, table, origin })
}

/// Runs what was measured on the published RTL, and puts our numbers beside.
#[pyfunction]
#[pyo3(signature = (row=None, *, folder=None, jobs=None))]
pub fn calibrate(
    py: Python<'_>,
    row: Option<&str>,
    folder: Option<PathBuf>,
    jobs: Option<usize>,
) -> PyResult<Calibration> {
    let jobs = match jobs {
        Some(jobs) => at_least_one(py, jobs)?,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut command = vec!["pinion", "calibrate"];
    let own = folder.as_ref().map(|folder| folder.display().to_string());
    command.extend(own.iter().flat_map(|folder| ["--set", folder.as_str()]));
    command.extend(row.into_iter().flat_map(|row| ["--row", row]));
    let (stops, mut raised) = (AtomicBool::new(false), None);
    let goes_on = || !stops.load(Ordering::Relaxed);
    let jobs = Jobs { count: jobs, goes_on: &goes_on };
    let compared = errors::detached_as(py, &command, || {
        std::thread::scope(|scope| {
            let work = scope.spawn(|| compared(row, folder.as_deref(), jobs));
            // Signals come to this thread alone.
            while !work.is_finished() {
                std::thread::sleep(BEAT);
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals()).err();
                    stops.store(raised.is_some(), Ordering::Relaxed);
                }
            }
            work.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    });
    if let Some(raised) = raised {
        return Err(raised);
    }
    let (text, is_ok, rows) = compared?;
    let names = ["set", "row", "metric", "ours", "rtl", "error", "pass"].map(str::to_owned);
    let row = row.map_or_else(|| "None".to_owned(), again::text);
    let folder = own.map(|folder| format!(", folder={}", again::text(&folder)));
    let made = format!("pinion.calibrate({row}{})", folder.unwrap_or_default());
    let origin = Origin::of(made);
    let table = Table::of_json(&names, &rows)?.made_by(origin.part(".table"));
    Ok(Calibration { text, is_ok, table: Py::new(py, table)?, origin })
}

/// Writes the call that makes a figure again.
fn in_python(name: &str, request: &Request) -> String {
    let set = request.set.iter().filter_map(|set| set.split_once('='));
    let set = set.map(|(key, value)| format!("{}: {}", again::text(key), again::text(value)));
    let set = set.collect::<Vec<_>>().join(", ");
    let machine = request.machine.as_deref().map_or_else(|| "None".to_owned(), again::text);
    let quick = if request.quick { "True" } else { "False" };
    let (name, seed) = (again::text(name), request.seed);
    format!("pinion.figure({name}, quick={quick}, machine={machine}, set={{{set}}}, seed={seed})")
}

fn at_least_one(py: Python<'_>, jobs: usize) -> PyResult<usize> {
    match jobs {
        0 => Err(errors::usage(py, "jobs=0: at least one run goes at a time")),
        jobs => Ok(jobs),
    }
}

/// What the text of a comparison is, whether all is well, and its rows.
type Compared = (String, bool, Vec<serde_json::Value>);

/// Compares the rows of all sets that have it, or of a folder's.
fn compared(
    row: Option<&str>,
    folder: Option<&Path>,
    jobs: Jobs<'_>,
) -> pinion_app::Result<Compared> {
    let mut sets = match folder {
        Some(folder) => vec![Set::open(folder)?],
        None => Set::known()?,
    };
    if let Some(row) = row.filter(|_| sets.len() > 1) {
        sets.retain(|set| set.has(row));
        if sets.is_empty() {
            return Err(Error::Usage(format!("no row has `{row}` in its name")));
        }
    }
    let (mut text, mut is_ok, mut rows) = (String::new(), true, Vec::new());
    for set in &sets {
        let comparisons = set.compare(row, jobs)?;
        if !(jobs.goes_on)() {
            break;
        }
        text.push_str(&set.text(&comparisons, row.is_some()));
        is_ok &= comparisons.iter().all(|comparison| comparison.pass);
        for one in &comparisons {
            rows.push(serde_json::json!({
                "set": set.name(), "row": one.row, "metric": one.metric, "ours": one.ours,
                "rtl": one.rtl, "error": one.error, "pass": one.pass,
            }));
        }
    }
    Ok((text, is_ok, rows))
}

#[guarded]
#[pymethods]
impl Figure {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.produced.name
    }

    /// What it shows.
    #[getter]
    fn title(&self) -> &str {
        &self.produced.definition.title
    }

    /// Where it was published.
    #[getter]
    fn source(&self) -> &str {
        &self.produced.definition.source
    }

    /// Whether every published value is met, or its difference explained.
    #[getter]
    fn ok(&self) -> bool {
        !self.produced.has_unexplained()
    }

    /// The JSON document of `pinion figure --json`, as a dictionary.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document(py, &self.json)
    }

    /// Its rows.
    #[getter]
    fn table(&self, py: Python<'_>) -> Py<Table> {
        self.table.clone_ref(py)
    }

    /// The chart, as SVG.
    #[getter]
    fn svg(&self) -> &str {
        &self.svg
    }

    /// The table and the comparison that the command prints.
    #[getter]
    fn text(&self) -> String {
        self.told()
    }

    fn __str__(&self) -> String {
        self.told()
    }

    fn __repr__(&self) -> String {
        format!("<pinion.Figure {}: {}>", self.produced.name, self.produced.definition.title)
    }

    fn _repr_svg_(&self) -> &str {
        html::inline(&self.svg)
    }
}

impl Figure {
    /// Gives what the command prints.
    fn told(&self) -> String {
        let Produced { definition, table, comparisons, .. } = &self.produced;
        let rows = columns(&table.to_text());
        let compared = columns(&figure::comparison_rows(comparisons));
        format!("{}\n{}\n\n{rows}\n{compared}", definition.title, definition.source)
    }
}

#[guarded]
#[pymethods]
impl Calibration {
    /// The tables that the command prints.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Whether every row is within its tolerance.
    #[getter]
    fn ok(&self) -> bool {
        self.is_ok
    }

    /// A row per number: ours, the RTL's, the relative error.
    #[getter]
    fn table(&self, py: Python<'_>) -> Py<Table> {
        self.table.clone_ref(py)
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        let ok = if self.is_ok { "ok" } else { "not ok" };
        format!("<pinion.Calibration {ok}: {} numbers>", self.table.get().rows())
    }

    fn _repr_html_(&self) -> String {
        html::text("Calibration", &self.text)
    }
}

/// Hears of points that are done; notices Ctrl-C.
struct Watch {
    progress: Heard,
    raised: Option<PyErr>,
}

impl Observer for Watch {
    fn progress(&mut self, done: usize, total: usize, label: &str) -> bool {
        let told = Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = self.progress.callback() else { return Ok(()) };
            callback.call1(py, (done, total, label)).map(drop)
        });
        if let Err(raised) = told {
            self.raised.get_or_insert(raised);
        }
        self.raised.is_none()
    }
}
