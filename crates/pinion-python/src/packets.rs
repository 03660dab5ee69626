//! What comes in. In: a capture's path, a generator's options, a load, messages, or frames as bytes. Out:
//! packets or requests for a run.

use std::path::PathBuf;

use pinion_app::Error;
use pinion_app::manifest::Manifest;
use pinion_app::service::Service;
use pinion_app::traffic::{self, Pace, Packets};
use pinion_net::capture::{LinkType, TimedFrame};
use pinion_python_guard::guarded;
use pinion_run::nanoservice::{Script, Setup, Traffic};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::again::{Origin, made_by};
use crate::incoming::{Counted, Incoming};
use crate::machine::text_of_path;
use crate::time::time_of_ns;
use crate::{again, arrow, errors};

/// Packets made to order.
#[pyclass(frozen, module = "pinion", from_py_object)]
#[derive(Clone)]
pub struct Generator {
    spec: String,
}

/// Requests to a nanoservice, made to order, their answers measured.
#[pyclass(frozen, module = "pinion", from_py_object)]
#[derive(Clone)]
pub struct Load {
    spec: String,
}

/// Messages to a nanoservice and the answers that must come, in a file.
#[pyclass(frozen, module = "pinion", from_py_object)]
#[derive(Clone)]
pub struct Messages {
    path: PathBuf,
}

#[guarded]
#[pymethods]
impl Generator {
    #[new]
    #[pyo3(signature = (spec, **options))]
    fn new(py: Python<'_>, spec: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let again = || again::with_keywords("pinion.Generator", spec, options);
        errors::attached(py, again, || Ok(Self { spec: with_options(spec, options)? }))
    }

    /// The specification, as `pinion run --generate` takes it.
    #[getter]
    fn spec(&self) -> &str {
        &self.spec
    }

    fn __getnewargs__(&self) -> (&str,) {
        (&self.spec,)
    }

    fn __repr__(&self) -> String {
        format!("pinion.Generator('{}')", self.spec)
    }
}

#[guarded]
#[pymethods]
impl Load {
    #[new]
    #[pyo3(signature = (spec="", **options))]
    fn new(py: Python<'_>, spec: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let again = || again::with_keywords("pinion.Load", spec, options);
        errors::attached(py, again, || Ok(Self { spec: with_options(spec, options)? }))
    }

    /// The specification, as `pinion run --load` takes it.
    #[getter]
    fn spec(&self) -> &str {
        &self.spec
    }

    fn __getnewargs__(&self) -> (&str,) {
        (&self.spec,)
    }

    fn __repr__(&self) -> String {
        format!("pinion.Load('{}')", self.spec)
    }
}

#[guarded]
#[pymethods]
impl Messages {
    #[new]
    fn new(path: &Bound<'_, PyAny>) -> PyResult<Self> {
        let again = || again::script(&[again::call("pinion.Messages", &[path], &[])]);
        errors::attached(path.py(), again, || Ok(Self { path: text_of_path(path)?.into() }))
    }

    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// What makes it again, for workers elsewhere.
    fn __getnewargs__(&self) -> PyResult<(PathBuf,)> {
        Ok((std::path::absolute(&self.path)?,))
    }

    fn __repr__(&self) -> String {
        format!("pinion.Messages('{}')", self.path.display())
    }
}

/// Says that a class makes it of a text.
fn of_text(class: &str, text: &str) -> Origin {
    Origin::of(format!("pinion.{class}({})", again::text(text)))
}

made_by!(Generator, |it| of_text("Generator", &it.spec));
made_by!(Load, |it| of_text("Load", &it.spec));
made_by!(Messages, |it| of_text("Messages", &it.path.display().to_string()));

/// Adds options to a specification.
fn with_options(spec: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    let mut parts: Vec<String> =
        Some(spec.to_owned()).filter(|s| !s.is_empty()).into_iter().collect();
    for (key, value) in options.into_iter().flat_map(|dict| dict.iter()) {
        let key = key.extract::<String>()?;
        // `True` stands for a word without a value.
        parts.push(match value.cast::<PyBool>() {
            Ok(truth) if truth.is_true() => key,
            _ => format!("{key}={}", value.str()?),
        });
    }
    Ok(parts.join(","))
}

/// What comes in during a run.
#[derive(Clone)]
pub enum Source {
    /// What the application has of its own.
    Standard,
    /// A capture.
    Capture(PathBuf),
    /// Packets made to order.
    Generator(String),
    /// Frames with their times.
    Frames(Vec<TimedFrame>),
    /// Requests made to order.
    Load(String),
    /// Messages and their answers.
    Messages(PathBuf),
}

/// Changes what comes in.
#[derive(Default)]
pub struct Changes {
    /// When packets arrive.
    pub pace: Option<String>,
    /// Seed of a generator.
    pub seed: Option<u64>,
    /// Faults of the link.
    pub link: Option<String>,
}

impl Source {
    /// Reads what Python gives.
    pub fn read(given: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self::Standard) };
        if let Ok(generator) = given.extract::<Generator>() {
            return Ok(Self::Generator(generator.spec));
        }
        if let Ok(load) = given.extract::<Load>() {
            return Ok(Self::Load(load.spec));
        }
        if let Ok(messages) = given.extract::<Messages>() {
            return Ok(Self::Messages(messages.path));
        }
        if given.is_instance_of::<PyString>() || given.hasattr("__fspath__")? {
            return Ok(Self::Capture(text_of_path(given)?.into()));
        }
        if given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>() {
            let what = "packets: one frame; write [frame], or give a capture as a str or a Path";
            return Err(errors::usage(given.py(), what));
        }
        if given.hasattr("__arrow_c_stream__")? {
            return Ok(Self::Frames(arrow::frames(given)?));
        }
        Ok(Self::Frames(frames(given)?))
    }

    /// Gives packets for handlers.
    pub fn packets(self, manifest: &Manifest, changes: &Changes) -> pinion_app::Result<Packets> {
        let pace = changes.pace()?;
        let packets = match self {
            Self::Standard => Packets::of(traffic::standard(manifest, &[])?, changes.seed, pace)?,
            Self::Load(_) | Self::Messages(_) => {
                let name = &manifest.app.name;
                return Err(Error::Usage(format!(
                    "a Load and Messages go with nanoservices; {name} has packet handlers, which take a \
                     capture, a Generator or frames"
                )));
            }
            other => other.frames(changes, pace)?,
        };
        match traffic::link_faults(changes.link.as_deref())? {
            Some(faults) => packets.over(&faults),
            None => Ok(packets),
        }
    }

    /// Gives requests for a nanoservice.
    pub fn requests(
        self,
        service: &Service,
        setup: &Setup,
        answers: bool,
        changes: &Changes,
    ) -> pinion_app::Result<Traffic> {
        let pace = changes.pace()?;
        match self {
            Self::Standard => Traffic::of_folder(service),
            Self::Load(spec) => Traffic::load(&spec, None, setup, answers),
            Self::Messages(path) => Ok(Traffic::Script(Script::read(&path)?)),
            Self::Generator(spec) => Traffic::generate(&spec, changes.seed, pace, setup),
            other => Ok(Traffic::Frames(other.frames(changes, pace)?)),
        }
    }

    /// Tells whether a generator makes it, which takes a seed.
    pub fn is_seeded(&self) -> bool {
        matches!(self, Self::Generator(_) | Self::Standard)
    }

    /// Tells whether it is frames, which take a pace.
    pub fn is_paced(&self) -> bool {
        matches!(self, Self::Generator(_) | Self::Capture(_) | Self::Frames(_))
    }

    fn frames(self, changes: &Changes, pace: Option<Pace>) -> pinion_app::Result<Packets> {
        match self {
            Self::Capture(path) => Packets::from_capture(&path, pace),
            Self::Generator(spec) => Packets::generate(&spec, changes.seed, pace),
            Self::Frames(frames) => {
                let packets = Packets::list(frames, LinkType::Ethernet);
                Ok(match pace {
                    Some(pace) => packets.at(pace),
                    None => packets,
                })
            }
            Self::Standard | Self::Load(_) | Self::Messages(_) => {
                Ok(Packets::list(Vec::new(), LinkType::Ethernet))
            }
        }
    }
}

impl Changes {
    fn pace(&self) -> pinion_app::Result<Option<Pace>> {
        self.pace.as_deref().map(str::parse).transpose()
    }
}

/// Gives what can be read once more: an iterator's items in a list, frames among them as bytes, and everything else
/// as it is.
///
/// # Errors
/// What the iterator raises, and when its frames are too many or never end.
pub fn kept<'py>(given: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(given) = given else { return Ok(None) };
    // A reader of Arrow's batches is an iterator, too, and is read as a table.
    let is_iterator = given.hasattr("__next__")? && !given.hasattr("__arrow_c_stream__")?;
    match is_iterator {
        true => listed(given).map(|list| Some(list.into_any())),
        false => Ok(Some(given.clone())),
    }
}

/// Gives what an iterator gives in a list: of frames, each as bytes, and what is none as it is.
///
/// # Errors
/// What the iterator raises, and when there are more frames than a run may have.
fn listed<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = given.py();
    let (list, mut counted) = (PyList::empty(py), Counted::default());
    for (index, item) in given.try_iter()?.enumerate() {
        let item = item?;
        let (time, bytes) = match item.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => (Some(pair.get_item(0)?), bytes_of(&pair.get_item(1)?)?),
            Ok(_) => (None, None),
            Err(_) => (None, bytes_of(&item)?),
        };
        let length = bytes.as_ref().map_or(0, |bytes| bytes.as_bytes().len());
        counted.add(py, length, || format!("packets[{index}]"))?;
        match (time, bytes) {
            (Some(time), Some(bytes)) => list.append((time, bytes))?,
            (None, Some(bytes)) => list.append(bytes)?,
            // Who reads the list says what is wrong with it.
            (_, None) => list.append(item)?,
        }
    }
    Ok(list)
}

/// Gives a frame's bytes: itself, or what `bytes()` makes of it; `None`: it is no frame.
fn bytes_of<'py>(frame: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
    if let Ok(bytes) = frame.cast::<PyBytes>() {
        return Ok(Some(bytes.clone()));
    }
    // bytes(5) would be five zeros.
    if frame.hasattr("__index__")? || frame.is_instance_of::<PyString>() {
        return Ok(None);
    }
    Ok(Some(frame.py().get_type::<PyBytes>().call1((frame,))?.cast_into()?))
}

/// Reads frames: bytes, whatever `bytes()` takes (scapy's packets), or pairs of nanoseconds and one of these.
fn frames(given: &Bound<'_, PyAny>) -> PyResult<Vec<TimedFrame>> {
    let mut frames = Incoming::default();
    for (index, item) in given.try_iter()?.enumerate() {
        let item = item?;
        let place = || format!("packets[{index}]");
        let wrong = |why: &str| errors::usage(given.py(), &format!("{}: {why}", place()));
        let (time_ps, frame) = match item.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => {
                let ns: f64 = pair.get_item(0)?.extract()?;
                let Some(time) = time_of_ns(ns) else {
                    return Err(wrong("a time is a number of nanoseconds from 0 on"));
                };
                (time.ps(), pair.get_item(1)?)
            }
            Ok(_) => return Err(wrong("a pair of nanoseconds and a frame")),
            Err(_) => (frames.last_ps(), item),
        };
        let Some(bytes) = bytes_of(&frame)? else {
            return Err(wrong(
                "a frame is bytes, or what bytes() takes, such as a packet of scapy",
            ));
        };
        frames.add(given.py(), time_ps, bytes.as_bytes().to_vec(), place)?;
    }
    Ok(frames.all())
}
