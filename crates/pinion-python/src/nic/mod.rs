//! A NIC step by step. In: frames, whenever, and how far to run. Out: frames, what happened, what memories
//! hold; and its state, to come back to.

mod ears;
mod memory;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use pinion_app::Error;
use pinion_app::app::App as Handlers;
use pinion_sim::Time;
use pinion_spin::{Inbox, Outcome, Units};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::app::{App, Kind};
use crate::packets::{Source, time_of_ns};
use crate::table::Table;
use crate::{errors, html};
use ears::{Ears, Told};
pub use memory::Memory;

/// How far it runs before it looks whether it is to stop: while Python hears what happens, and else.
const HEARD_SLICE_PS: u64 = 100_000;
const SLICE_PS: u64 = 10_000_000;

/// A NIC with an application's handlers, run step by step.
#[pyclass(frozen, module = "pinion")]
pub struct Nic {
    app: Arc<Handlers>,
    state: Mutex<State>,
    /// What Python hears, by the event's name.
    callbacks: Mutex<HashMap<&'static str, Vec<Py<PyAny>>>>,
    stop: AtomicBool,
}

/// All that it comes back to.
#[derive(Clone)]
struct State {
    units: Units,
    inbox: Inbox,
    /// The time it has come to: it may have had nothing to do at the end.
    now: Time,
    /// The arrival of the last frame.
    last: Time,
    told: Told,
    /// How many of the frames that left were taken.
    pulled: usize,
}

/// What a NIC was at a moment.
#[pyclass(frozen, module = "pinion")]
pub struct Snapshot(State, Arc<Handlers>);

#[pymethods]
impl Nic {
    #[new]
    #[pyo3(signature = (app, *, machine=None))]
    fn new(
        py: Python<'_>,
        app: &Bound<'_, PyAny>,
        machine: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let app = App::of(app)?;
        let options = app.options(machine)?;
        errors::detached(py, || {
            if app.kind != Kind::Handlers {
                let (name, kind) = (&app.name, app.kind.name());
                let what = "a Nic runs packet handlers step by step";
                return Err(Error::Usage(format!("{what}; {name}: {kind}")));
            }
            let app = Handlers::load(&app.path, &options)?;
            let state = State {
                units: app.nic()?,
                inbox: Inbox::default(),
                now: Time::ZERO,
                last: Time::ZERO,
                told: Told::default(),
                pulled: 0,
            };
            Ok(Self {
                app: Arc::new(app),
                state: Mutex::new(state),
                callbacks: Mutex::default(),
                stop: AtomicBool::new(false),
            })
        })
    }

    /// Gives it frames that arrive now, or at a nanosecond.
    #[pyo3(signature = (*frames, at=None))]
    fn push(&self, py: Python<'_>, frames: &Bound<'_, PyAny>, at: Option<f64>) -> PyResult<()> {
        let Source::Frames(frames) = Source::read(Some(frames))? else { return Ok(()) };
        let mut state = self.state(py)?;
        let now = state.now.max(state.last);
        let at = match at {
            None => now,
            Some(ns) => time_of_ns(ns).filter(|at| *at >= now).ok_or_else(|| {
                let now = now.ns();
                let what = "frames arrive no earlier than now, and behind those that were pushed";
                errors::usage(py, &format!("at={ns}: {what}, which is {now} ns"))
            })?,
        };
        let limit = self.app.machine.value.inbound.max_packet_bytes;
        let skip = self.app.skipped_bytes();
        if let Some(large) = frames.iter().find(|frame| frame.bytes.len() > (limit + skip) as usize)
        {
            let bytes = large.bytes.len();
            let what = format!(
                "a frame of {bytes} bytes: the machine takes {limit} (inbound.max_packet_bytes)"
            );
            return Err(errors::usage(py, &what));
        }
        for frame in frames {
            state.inbox.put(at, frame.bytes, skip);
        }
        state.last = at;
        Ok(())
    }

    /// Runs until a nanosecond, or until nothing is left to do; says why it stopped.
    #[pyo3(signature = (until=None))]
    fn run(&self, py: Python<'_>, until: Option<f64>) -> PyResult<&'static str> {
        let until = match until {
            None => Time::MAX,
            Some(ns) => time_of_ns(ns).ok_or_else(|| {
                errors::usage(py, &format!("until={ns}: a number of nanoseconds from 0 on"))
            })?,
        };
        self.stop.store(false, Ordering::Relaxed);
        let mut state = self.state(py)?;
        let callbacks: HashMap<_, Vec<_>> = self
            .heard()
            .iter()
            .map(|(name, all)| (*name, all.iter().map(|one| one.clone_ref(py)).collect()))
            .collect();
        let mut raised = None;
        let contexts = self.app.context_names();
        let State { units, inbox, now, told, .. } = &mut *state;
        let ended = errors::detached(py, || {
            let slice = if callbacks.is_empty() { SLICE_PS } else { HEARD_SLICE_PS };
            loop {
                let end =
                    Time::from_ps(units.now().max(*now).ps().saturating_add(slice)).min(until);
                let mut ears =
                    Ears { told, contexts: &contexts, callbacks: &callbacks, raised: None };
                let outcome = units.run(end, inbox, &mut ears);
                raised = ears.raised.take();
                *now = units.now().max(*now);
                match outcome {
                    Outcome::Stuck(report) => return Err(Error::Usage(report)),
                    Outcome::Idle | Outcome::Finished => {
                        *now = if until == Time::MAX { *now } else { until };
                        return Ok("idle");
                    }
                    Outcome::TimeReached => *now = end.max(*now),
                }
                raised = raised.take().or_else(|| Python::attach(|py| py.check_signals()).err());
                if raised.is_some() || self.stop.load(Ordering::Relaxed) {
                    return Ok("stopped");
                }
                if end >= until {
                    return Ok("time");
                }
            }
        });
        drop(state);
        raised.map_or(ended, Err)
    }

    /// Ends a run from a callback, or another thread.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Has a function hear an event; usable as a decorator.
    #[pyo3(signature = (event, function=None))]
    fn on<'py>(
        slf: &Bound<'py, Self>,
        event: &str,
        function: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let Some(name) = ears::EVENTS.into_iter().find(|name| *name == event) else {
            let names = ears::EVENTS.join(", ");
            return Err(errors::usage(py, &format!("there is no event {event}, but {names}")));
        };
        let Some(function) = function else {
            let partial = py.import("functools")?.getattr("partial")?;
            return partial.call1((slf.getattr("on")?, name));
        };
        slf.get().heard().entry(name).or_default().push(function.clone().unbind());
        Ok(function)
    }

    /// Takes the frames that left since the last time.
    fn pull<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let mut state = self.state(py)?;
        let new = &state.told.departed[state.pulled..];
        let frames = new.iter().map(|(_, frame)| PyBytes::new(py, frame)).collect();
        state.pulled = state.told.departed.len();
        Ok(frames)
    }

    /// The time it has come to, in nanoseconds of simulated time.
    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.state(py)?.now.ns())
    }

    /// What handlers printed, with when and where.
    #[getter]
    fn output(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.state(py)?.told.output.clone())
    }

    /// A row per packet that is through.
    #[getter]
    fn packets(&self, py: Python<'_>) -> PyResult<Table> {
        Table::of_packets(&self.state(py)?.told.packets, &self.app.context_names())
    }

    /// What its units hold, by name.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut pairs = Vec::new();
        self.state(py)?.units.state(&mut |name, value| pairs.push((name.to_owned(), value)));
        let found = PyDict::new(py);
        for (name, value) in pairs {
            found.set_item(name, value)?;
        }
        Ok(found)
    }

    /// The program's variables, and memory by address.
    #[getter]
    fn memory(slf: &Bound<'_, Self>) -> Memory {
        Memory { nic: slf.clone().unbind() }
    }

    /// Reads a context's host memory.
    fn host_memory<'py>(&self, py: Python<'py>, context: &str) -> PyResult<Bound<'py, PyBytes>> {
        let found = self.app.context(context).ok_or_else(|| self.no_context(context))?;
        let mut bytes = vec![0; found.host_memory_bytes as usize];
        self.state(py)?.units.read_host(found.host_memory_address, &mut bytes);
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes into a context's host memory, for handlers that read it.
    #[pyo3(signature = (context, data, offset=0))]
    fn write_host_memory(
        &self,
        py: Python<'_>,
        context: &str,
        data: &[u8],
        offset: u64,
    ) -> PyResult<()> {
        let found = self.app.context(context).ok_or_else(|| self.no_context(context))?;
        let size = u64::from(found.host_memory_bytes);
        let is_inside = offset.checked_add(data.len() as u64).is_some_and(|end| end <= size);
        let address = found.host_memory_address + offset.min(size);
        if !is_inside || !self.state(py)?.units.write_host(address, data) {
            let what = format!("context {context} has {size} bytes of host memory");
            return Err(errors::usage(py, &what));
        }
        Ok(())
    }

    /// Gives all that it is now, to come back to.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        Ok(Snapshot(self.state(py)?.clone(), Arc::clone(&self.app)))
    }

    /// Makes it what it was when a snapshot of it was taken.
    fn restore(&self, py: Python<'_>, snapshot: &Snapshot) -> PyResult<()> {
        if !Arc::ptr_eq(&snapshot.1, &self.app) {
            return Err(errors::usage(py, "that is a snapshot of another Nic"));
        }
        self.state(py)?.clone_from(&snapshot.0);
        Ok(())
    }

    fn __repr__(&self) -> String {
        let (name, machine) = (&self.app.manifest.app.name, &self.app.machine.value.name);
        match self.state.try_lock() {
            Ok(state) => format!("<pinion.Nic {name} on {machine} at {}>", state.now),
            Err(_) => format!("<pinion.Nic {name} on {machine}, running>"),
        }
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let mut rows = vec![vec!["unit".to_owned(), "holds".to_owned()]];
        let state = self.state(py)?;
        state.units.state(&mut |name, value| rows.push(vec![name.to_owned(), value.to_string()]));
        Ok(html::table(&format!("{} at {}", self.app.manifest.app.name, state.now), &rows))
    }
}

impl Nic {
    fn state(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let what = "the Nic is running; look at it when run() has come back";
                Err(errors::usage(py, what))
            }
        }
    }

    fn heard(&self) -> MutexGuard<'_, HashMap<&'static str, Vec<Py<PyAny>>>> {
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn no_context(&self, name: &str) -> PyErr {
        let names = self.app.context_names().join(", ");
        PyKeyError::new_err(format!("there is no context {name}, but {names}"))
    }
}

#[pymethods]
impl Snapshot {
    /// The time of the moment, in nanoseconds of simulated time.
    #[getter]
    fn now_ns(&self) -> f64 {
        self.0.now.ns()
    }

    fn __repr__(&self) -> String {
        format!("<pinion.Snapshot at {}>", self.0.now)
    }
}
