//! What a run came to. In: a summary and what was kept while it ran. Out: the JSON document as a
//! dictionary, the command's text, frames, and tables.

use std::collections::HashMap;
use std::path::PathBuf;

use pinion_observe::report::Report;
use pinion_python_guard::guarded;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;

use crate::again::{Origin, made_by};
use crate::frames::{Departed, Frames};
use crate::html;
use crate::table::Table;

/// Gives a JSON document as a dictionary.
pub fn document<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}

/// The columns of the table of harts.
const HART_COLUMNS: [&str; 10] = [
    "hart",
    "messages",
    "done",
    "busy_cycles",
    "idle_cycles",
    "instructions",
    "ipc",
    "traps",
    "words_out",
    "empty_reads",
];

/// What a run came to.
#[pyclass(frozen, module = "pinion")]
pub struct Result {
    name: String,
    json: String,
    text: String,
    is_ok: bool,
    is_as_expected: bool,
    output: String,
    notices: Vec<String>,
    frames: Departed,
    unmatched: Vec<Py<PyBytes>>,
    packets: Py<Table>,
    handlers: Option<Py<Table>>,
    messages: Option<Py<Table>>,
    harts: Option<Py<Table>>,
    queues: Option<Py<Table>>,
    files: Vec<(&'static str, PathBuf)>,
    host_memory: Py<PyDict>,
    origin: Origin,
}

/// What a summary says, whatever ran.
pub struct Told {
    name: String,
    json: String,
    text: String,
    is_ok: bool,
    is_as_expected: bool,
}

impl Told {
    /// Makes the table of harts, of a nanoservice or of all nodes of a cluster.
    pub fn harts(&self) -> PyResult<Table> {
        let document: Value = serde_json::from_str(&self.json).unwrap_or_default();
        let mut rows: Vec<Value> = document["harts"].as_array().cloned().unwrap_or_default();
        for node in document["nodes"].as_array().into_iter().flatten() {
            for hart in node["details"]["harts"].as_array().into_iter().flatten() {
                let mut hart = hart.clone();
                hart["node"] = node["name"].clone();
                rows.push(hart);
            }
        }
        let numbers = HART_COLUMNS.map(str::to_owned);
        let is_cluster = document["nodes"].is_array();
        let names = is_cluster.then(|| "node".to_owned()).into_iter().chain(numbers);
        Table::of_json(&names.collect::<Vec<_>>(), &rows)
    }

    /// Takes what a summary says.
    pub fn of(name: &str, summary: &dyn Report) -> Self {
        Self {
            name: name.to_owned(),
            json: summary.to_json().to_string(),
            text: summary.to_text(),
            is_ok: !summary.has_failures(),
            is_as_expected: !summary.has_differences(),
        }
    }
}

/// What was kept while it ran.
pub struct Kept {
    /// What was printed.
    pub output: String,
    /// What the command says on standard error.
    pub notices: Vec<String>,
    /// Frames that left, with their times.
    pub departed: Frames,
    /// Frames that no context matched.
    pub unmatched: Vec<Vec<u8>>,
    /// The packets, or a node's frames.
    pub packets: Table,
    /// Runs of handlers, if they were wanted.
    pub handlers: Option<Table>,
    /// Messages, if they were wanted.
    pub messages: Option<Table>,
    /// What harts or HPUs did, where that is known.
    pub harts: Option<Table>,
    /// What units held over time, if that was wanted.
    pub queues: Option<Table>,
    /// Tables that went to files, by their names.
    pub files: Vec<(&'static str, PathBuf)>,
    /// Host memory of contexts, by name.
    pub host_memory: Vec<(String, Vec<u8>)>,
}

made_by!(Result, |it| it.origin);

impl Result {
    /// Puts it together.
    pub fn new(py: Python<'_>, told: Told, kept: Kept, origin: Origin) -> PyResult<Self> {
        let one = |table: Table, name| Py::new(py, table.made_by(origin.part(name)));
        let table = |table: Option<Table>, name| table.map(|table| one(table, name)).transpose();
        let bytes = |frame: &[u8]| PyBytes::new(py, frame).unbind();
        let host_memory = PyDict::new(py);
        for (context, memory) in &kept.host_memory {
            host_memory.set_item(context, PyBytes::new(py, memory))?;
        }
        Ok(Self {
            name: told.name,
            json: told.json,
            text: told.text,
            is_ok: told.is_ok,
            is_as_expected: told.is_as_expected,
            output: kept.output,
            notices: kept.notices,
            frames: kept.departed.into(),
            unmatched: kept.unmatched.iter().map(|frame| bytes(frame)).collect(),
            packets: one(kept.packets, ".packets")?,
            handlers: table(kept.handlers, ".handlers")?,
            messages: table(kept.messages, ".messages")?,
            harts: table(kept.harts, ".harts")?,
            queues: table(kept.queues, ".queues")?,
            files: kept.files,
            host_memory: host_memory.unbind(),
            origin,
        })
    }
}

#[guarded]
#[pymethods]
impl Result {
    /// The JSON document of `pinion run --json`, as a dictionary.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document(py, &self.json)
    }

    /// The JSON document as text.
    #[getter]
    fn json(&self) -> &str {
        &self.json
    }

    /// What the command prints of the run.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Whether no handler failed and the run ended as it should.
    #[getter]
    fn ok(&self) -> bool {
        self.is_ok && self.is_as_expected
    }

    /// What handlers or the program printed, with the command's marks of when and where.
    #[getter]
    fn output(&self) -> &str {
        &self.output
    }

    /// What the command says on standard error, compilers' warnings among it.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }

    /// The frames that left, in the order in which they did.
    #[getter]
    fn frames<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.frames.bytes(py)
    }

    /// When each of the frames left, in nanoseconds of simulated time.
    #[getter]
    fn frame_times_ns(&self) -> Vec<f64> {
        self.frames.times_ns()
    }

    /// The frames that no context matched, which go to the host.
    #[getter]
    fn unmatched<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.unmatched.iter().map(|frame| frame.bind(py).clone()).collect()
    }

    /// A row per packet, with the columns of `pinion run --packets`; of a nanoservice, per frame.
    #[getter]
    fn packets(&self, py: Python<'_>) -> Py<Table> {
        self.packets.clone_ref(py)
    }

    /// A row per run of a handler, if `handlers=True` asked for it.
    #[getter]
    fn handlers(&self, py: Python<'_>) -> Option<Py<Table>> {
        self.handlers.as_ref().map(|table| table.clone_ref(py))
    }

    /// A row per message, if `messages=True` asked for it.
    #[getter]
    fn messages(&self, py: Python<'_>) -> Option<Py<Table>> {
        self.messages.as_ref().map(|table| table.clone_ref(py))
    }

    /// A row per hart; of packet handlers per HPU, if `handlers=True` asked for their runs.
    #[getter]
    fn harts(&self, py: Python<'_>) -> Option<Py<Table>> {
        self.harts.as_ref().map(|table| table.clone_ref(py))
    }

    /// A row per change of what a unit held, if `queues=True` asked for it.
    #[getter]
    fn queues(&self, py: Python<'_>) -> Option<Py<Table>> {
        self.queues.as_ref().map(|table| table.clone_ref(py))
    }

    /// The files that `parquet=` asked for, by the names of their tables.
    #[getter]
    fn parquet(&self) -> HashMap<&'static str, PathBuf> {
        self.files.iter().cloned().collect()
    }

    /// Contexts' host memory at the end, of those that `host_memory=` names.
    #[getter]
    fn host_memory(&self, py: Python<'_>) -> Py<PyDict> {
        self.host_memory.clone_ref(py)
    }

    fn __repr__(&self) -> String {
        let ok = if self.is_ok && self.is_as_expected { "ok" } else { "not ok" };
        format!("<pinion.Result {}: {ok}, {} frames out>", self.name, self.frames.len())
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn _repr_html_(&self) -> PyResult<String> {
        let curve = self.packets.get().latencies()?;
        let curve = curve.as_deref().map(html::inline).unwrap_or_default();
        Ok(format!("{}{curve}", html::text(&self.name, &self.text)))
    }
}
