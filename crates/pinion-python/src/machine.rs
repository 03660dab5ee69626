//! Machines. In: a name or a file, and numbers that are changed. Out: every number with its unit and its
//! source, and what a run is to be made on.

use std::path::Path;

use pinion_app::app::Options;
use pinion_app::{assets, machine};
use pinion_nanopu::machine::node::Machine as NanoPu;
use pinion_observe::words::machine_table;
use pinion_python_guard::guarded;
use pinion_sim::config;
use pinion_spin::Machine as Spin;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyIterator, PyString, PyTuple};

use crate::again::{Origin, made_by};
use crate::{again, errors, html};

/// Writes what makes a machine, in Python.
fn in_python(name: &str, overrides: &[String], faithful: bool) -> String {
    let pairs = overrides.iter().filter_map(|text| text.split_once('='));
    let pairs = pairs.map(|(key, value)| format!("{}: {}", again::text(key), again::text(value)));
    let pairs = pairs.collect::<Vec<_>>().join(", ");
    let faithful = if faithful { ", faithful=True" } else { "" };
    format!("pinion.Machine({}, {{{pairs}}}{faithful})", again::text(name))
}

/// Lists the machines that Pinion comes with.
#[pyfunction]
pub fn machines(py: Python<'_>) -> PyResult<Vec<String>> {
    let again = || again::script(&["pinion.machines()".to_owned()]);
    errors::attached(py, again, || Ok(assets::machines()))
}

/// What makes an object again that was pickled: arguments and keywords.
pub type Newargs<'py> = (Bound<'py, PyTuple>, Bound<'py, PyDict>);

/// A machine: one that Pinion comes with, or a file, with numbers changed.
#[pyclass(frozen, module = "pinion", from_py_object)]
#[derive(Clone)]
pub struct Machine {
    name: String,
    overrides: Vec<String>,
    faithful: bool,
    kind: machine::Kind,
    entries: Vec<config::Entry>,
}

/// A number of a machine.
#[pyclass(frozen, module = "pinion")]
pub struct Entry {
    entry: config::Entry,
    origin: Origin,
}

made_by!(Entry, |it| it.origin);
made_by!(Machine, |it| Origin::of(it.in_python()));

#[guarded]
#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (name, overrides=None, *, faithful=false, **keys))]
    fn new(
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        overrides: Option<&Bound<'_, PyDict>>,
        faithful: bool,
        keys: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let name = text_of_path(name)?;
        let mut texts = Vec::new();
        for (key, value) in overrides.into_iter().flat_map(|dict| dict.iter()) {
            texts.push(format!("{}={}", key.extract::<String>()?, value_text(&value)?));
        }
        for (key, value) in keys.into_iter().flat_map(|dict| dict.iter()) {
            let key = key.extract::<String>()?.replace("__", ".");
            texts.push(format!("{key}={}", value_text(&value)?));
        }
        let again = || match faithful {
            false => {
                let mut command = vec!["pinion", "machine", "show", &name];
                command.extend(texts.iter().flat_map(|text| ["--set", text]));
                errors::shell(&command)
            }
            // The command that shows machines does not ask for that.
            true => again::script(&[in_python(&name, &texts, true)]),
        };
        let load = || Self::load(name.clone(), texts.clone(), faithful);
        errors::detached(py, again, load)
    }

    /// The name it was given, or its file.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// `"spin"` or `"nanopu"`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// What was changed, as the command takes it (`cluster.count=8`).
    #[getter]
    fn overrides(&self) -> Vec<String> {
        self.overrides.clone()
    }

    /// Whether it follows the RTL where that lacks or breaks what the paper describes.
    #[getter]
    fn faithful(&self) -> bool {
        self.faithful
    }

    /// Every number, in the order of its file.
    #[getter]
    fn entries(&self) -> Vec<Entry> {
        let all = Origin::of(self.in_python());
        let one = |(place, entry): (usize, &config::Entry)| {
            let all = all.clone();
            let origin = Origin::new(move |asked| all.again(&format!(".entries[{place}]{asked}")));
            Entry { entry: entry.clone(), origin }
        };
        self.entries.iter().enumerate().map(one).collect()
    }

    /// The keys of all numbers, in the order of its file.
    fn keys(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.key.as_str()).collect()
    }

    /// Gives the text of `pinion machine show`.
    fn show(&self) -> String {
        machine_table(&self.entries)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.entries.iter().find(|entry| entry.key == key);
        match found {
            Some(entry) => value_of(py, &entry.value),
            None => Err(PyKeyError::new_err(key.to_owned())),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let keys: Vec<&str> = self.entries.iter().map(|entry| entry.key.as_str()).collect();
        keys.into_pyobject(py)?.try_iter()
    }

    fn __contains__(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    fn __len__(&self) -> usize {
        self.entries.len()
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<Newargs<'py>> {
        let overrides = PyDict::new(py);
        for (key, value) in self.overrides.iter().filter_map(|text| text.split_once('=')) {
            overrides.set_item(key, value)?;
        }
        // A name that is a file is one wherever it is read.
        let path = Path::new(&self.name);
        let name = if path.is_file() { std::path::absolute(path)? } else { path.to_owned() };
        let keywords = PyDict::new(py);
        keywords.set_item("faithful", self.faithful)?;
        Ok(((name, overrides).into_pyobject(py)?, keywords))
    }

    fn __repr__(&self) -> String {
        let changed: String =
            self.overrides.iter().map(|text| format!(", {text}")).collect::<Vec<_>>().concat();
        format!("<pinion.Machine {}{changed}>", self.name)
    }

    fn _repr_html_(&self) -> String {
        let head = ["key", "value", "unit", "source"].map(str::to_owned).to_vec();
        let rows = self.entries.iter().map(|entry| {
            let source = match entry.overridden {
                true => "changed here",
                false => entry.source.as_deref().unwrap_or(""),
            };
            let value = entry.value.trim_matches('"').to_owned();
            let unit = entry.unit.clone().unwrap_or_default();
            vec![entry.key.clone(), value, unit, source.to_owned()]
        });
        let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
        html::table(&format!("Machine {}", self.name), &rows)
    }
}

impl Machine {
    fn load(name: String, overrides: Vec<String>, faithful: bool) -> pinion_app::Result<Self> {
        let kind = machine::kind(&name)?;
        let entries = match kind {
            machine::Kind::Spin => machine::load::<Spin>(&name, &overrides, faithful)?.entries,
            machine::Kind::Nanopu => machine::load::<NanoPu>(&name, &overrides, faithful)?.entries,
        };
        Ok(Self { name, overrides, faithful, kind, entries })
    }

    /// Writes what makes it, in Python.
    fn in_python(&self) -> String {
        let Self { name, overrides, faithful, .. } = self;
        in_python(name, overrides, *faithful)
    }

    /// Makes a run be made on it.
    pub fn choose(&self, options: &mut Options) {
        options.machine = Some(self.name.clone());
        options.overrides.clone_from(&self.overrides);
        options.faithful = self.faithful;
    }
}

#[guarded]
#[pymethods]
impl Entry {
    /// Its name, as an override has it.
    #[getter]
    fn key(&self) -> &str {
        &self.entry.key
    }

    /// What it is.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value_of(py, &self.entry.value)
    }

    /// Its unit.
    #[getter]
    fn unit(&self) -> Option<&str> {
        self.entry.unit.as_deref()
    }

    /// Where it comes from: a paper's section or table, a module of the RTL.
    #[getter]
    fn source(&self) -> Option<&str> {
        self.entry.source.as_deref()
    }

    /// What a reader should know of it.
    #[getter]
    fn note(&self) -> Option<&str> {
        self.entry.note.as_deref()
    }

    /// Whether it was changed.
    #[getter]
    fn overridden(&self) -> bool {
        self.entry.overridden
    }

    fn __repr__(&self) -> String {
        let unit = self.entry.unit.as_deref().map(|unit| format!(" {unit}")).unwrap_or_default();
        format!("<pinion.Entry {} = {}{unit}>", self.entry.key, self.entry.value)
    }
}

/// Gives the text of a path, or of a name.
pub fn text_of_path(path: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = path.py().import("os")?.call_method1("fspath", (path,))?;
    text.extract()
}

/// Reads what is changed by a dictionary, as `--set` has it.
pub fn overrides(set: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<String>> {
    let pairs = set.into_iter().flat_map(|dict| dict.iter());
    pairs
        .map(|(key, value)| {
            let key = key.extract::<String>()?.replace("__", ".");
            Ok(format!("{key}={}", value_text(&value)?))
        })
        .collect()
}

/// Writes a value as an override has it.
pub fn value_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(truth.is_true().to_string());
    }
    if value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyString>()
    {
        return Ok(value.str()?.to_string());
    }
    let what = format!("{}: a machine's number is an int, a float, a bool or a str", value.repr()?);
    Err(errors::usage(value.py(), &what))
}

/// Reads a value in TOML's notation.
fn value_of<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(number) = text.replace('_', "").parse::<i64>() {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    if let Ok(number) = text.parse::<f64>() {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    Ok(match text {
        "true" | "false" => (text == "true").into_pyobject(py)?.to_owned().into_any(),
        _ => text.trim_matches('"').into_pyobject(py)?.into_any(),
    })
}
