//! A NIC, a nanoservice's node or a cluster step by step. In: frames, whenever, and how far to run. Out:
//! frames, what happened, what memories hold; and its state, to come back to.
//!
//! | part | file |
//! |---|---|
//! | what can be run step by step | `stepped.rs` |
//! | packet handlers; nanoservices and clusters | `handlers.rs`; `nodes.rs` |
//! | what is said, and functions that hear it | `ears.rs` |
//! | variables and memories | `memory.rs` |
//! | names of nodes and contexts; moments to come back to | `names.rs`; `snapshot.rs` |
//! | what was done to it, to be done again | `steps.rs` |

mod ears;
mod handlers;
mod memory;
mod names;
mod nodes;
mod snapshot;
mod stepped;
mod steps;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use pinion_app::app::App as Handlers;
use pinion_app::service::Service;
use pinion_python_guard::guarded;
use pinion_sim::Time;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::again::{Made, Origin};
use crate::app::{App, Kind};
use crate::flows::flows;
use crate::messages::Log;
use crate::packets::Source;
use crate::table::Table;
use crate::time::time_of_ns;
use crate::{again, errors, html};
use ears::{Hearing, Told};
pub use memory::Memory;
use names::parsed;
pub use snapshot::Snapshot;
use stepped::{Program, Stepped, Stopped};
use steps::Steps;

/// How far it runs before it looks whether it is to stop: while Python hears what happens, and else.
const HEARD_SLICE_PS: u64 = 100_000;
const SLICE_PS: u64 = 10_000_000;
/// Units that notebooks show, and nodes that are named in an error.
const SHOWN_UNITS: usize = 200;
const SHOWN_NODES: usize = 12;

/// A NIC, a node or a cluster, run step by step.
#[pyclass(frozen, module = "pinion")]
pub struct Nic {
    name: String,
    /// The nodes' names; of one alone, none.
    nodes: Vec<String>,
    /// By node: its program, if it runs one.
    programs: Vec<Option<Program>>,
    /// What Python can hear.
    events: &'static [&'static str],
    /// Who hears of nodes' messages.
    logs: Vec<Log>,
    state: Mutex<State>,
    /// What Python hears, by the event's name.
    callbacks: Mutex<HashMap<&'static str, Vec<Py<PyAny>>>>,
    stop: AtomicBool,
    /// What makes it, in Python.
    made: String,
    /// Tells its snapshots from others'.
    identity: Arc<()>,
}

/// All that changes.
struct State {
    stepped: Box<dyn Stepped>,
    /// The time it has come to: it may have had nothing to do at the end.
    now: Time,
    /// The arrival of the last frame.
    last: Time,
    told: Told,
    /// How many of the frames that left were taken.
    pulled: usize,
    /// What was done to it, to see a defect again.
    steps: Steps,
}

#[guarded]
#[pymethods]
impl Nic {
    #[new]
    #[pyo3(signature = (app, *, machine=None, address=None))]
    fn new(
        py: Python<'_>,
        app: &Bound<'_, PyAny>,
        machine: Option<&Bound<'_, PyAny>>,
        address: Option<&str>,
    ) -> PyResult<Self> {
        let own_address = address.into_pyobject(py)?;
        let own_address = address.is_some().then_some(&own_address);
        let keywords = [("machine", machine), ("address", own_address)];
        let made = again::call("pinion.Nic", &[app], &keywords);
        let app = App::of(app)?;
        let options = app.options(machine)?;
        let address = address.map(|text| parsed(py, text)).transpose()?;
        if let (Some(_), Kind::Handlers | Kind::Nanoservice) = (address, app.kind) {
            let what = format!("address= goes with clusters; {}: {}", app.name, app.kind.name());
            return Err(errors::usage(py, &what));
        }
        errors::detached(
            py,
            || again::script(std::slice::from_ref(&made)),
            || {
                let mut nodes = Vec::new();
                let (mut name, mut logs) = (app.name.clone(), Vec::new());
                let (stepped, programs, events): (Box<dyn Stepped>, _, _) = match app.kind {
                    Kind::Handlers => {
                        let handlers = Arc::new(Handlers::load(&app.path, &options)?);
                        name = format!("{name} on {}", handlers.machine.value.name);
                        let nic = handlers::Nic::new(&handlers)?;
                        let programs = vec![Some(Program::Handlers(handlers))];
                        (Box::new(nic), programs, ears::OF_HANDLERS)
                    }
                    Kind::Nanoservice => {
                        let service = Arc::new(Service::load(&app.path, &options)?);
                        let (stepped, heard) = nodes::service(&service, &options)?;
                        logs = heard;
                        (stepped, vec![Some(Program::Service(service))], ears::OF_SERVICES)
                    }
                    Kind::Cluster => {
                        let made = nodes::cluster(&app.cluster_file()?, &options, address)?;
                        (nodes, logs, name) = (made.names, made.logs, made.name);
                        (made.stepped, made.programs, ears::OF_CLUSTERS)
                    }
                };
                let state = State {
                    now: stepped.now(),
                    stepped,
                    last: Time::ZERO,
                    told: Told::default(),
                    pulled: 0,
                    steps: Steps::default(),
                };
                Ok(Self {
                    name,
                    nodes,
                    programs,
                    events,
                    logs,
                    state: Mutex::new(state),
                    callbacks: Mutex::default(),
                    stop: AtomicBool::new(false),
                    made: made.clone(),
                    identity: Arc::new(()),
                })
            },
        )
    }

    /// Gives it frames that arrive now, or at a nanosecond.
    #[pyo3(signature = (*frames, at=None))]
    fn push(&self, py: Python<'_>, frames: &Bound<'_, PyAny>, at: Option<f64>) -> PyResult<()> {
        let Source::Frames(frames) = Source::read(Some(frames))? else { return Ok(()) };
        errors::attached(py, self.again(String::new), || {
            let mut state = self.state(py)?;
            let now = state.now.max(state.last);
            let at = match at {
                None => now,
                Some(ns) => time_of_ns(ns).filter(|at| *at >= now).ok_or_else(|| {
                    let now = now.ns();
                    let what =
                        "frames arrive no earlier than now, and behind those that were pushed";
                    errors::usage(py, &format!("at={ns}: {what}, which is {now} ns"))
                })?,
            };
            for frame in &frames {
                let checked = state.stepped.check(frame.bytes.len());
                checked.map_err(|error| errors::exception(py, &error))?;
            }
            for frame in frames {
                state.steps.push(at, frame.bytes.clone());
                state.stepped.put(at, frame.bytes);
            }
            state.last = at;
            Ok(())
        })
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
        let State { stepped, now, told, .. } = &mut *state;
        let ended = errors::caught(py, || {
            let slice = if callbacks.is_empty() { SLICE_PS } else { HEARD_SLICE_PS };
            loop {
                let end =
                    Time::from_ps(stepped.now().max(*now).ps().saturating_add(slice)).min(until);
                let mut hearing = Hearing { told, callbacks: &callbacks, raised: None };
                let stopped = stepped.run(end, &mut hearing);
                raised = hearing.raised.take();
                *now = stepped.now().max(*now);
                let over = match stopped? {
                    Stopped::Reached => None,
                    Stopped::Idle => Some("idle"),
                    Stopped::Ended => Some("ended"),
                };
                if let Some(over) = over {
                    *now = if until == Time::MAX { *now } else { until.max(*now) };
                    return Ok(over);
                }
                *now = end.max(*now);
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
        let ended = ended.and_then(|ended| {
            ended.map_err(|panic| {
                let until = match until {
                    Time::MAX => String::new(),
                    until => format!("until={}", until.ns()),
                };
                let replay = self.again(|| format!("nic.run({until})"))();
                errors::internal(py, panic.as_ref(), &replay)
            })
        });
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
        function: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let events = slf.get().events;
        let Some(name) = events.iter().copied().find(|name| *name == event) else {
            let names = events.join(", ");
            return Err(errors::usage(py, &format!("there is no event {event}, but {names}")));
        };
        let Some(function) = function else {
            let partial = py.import("functools")?.getattr("partial")?;
            return partial.call1((slf.getattr("on")?, name));
        };
        slf.get().heard().entry(name).or_default().push(function.clone().unbind());
        Ok(function.clone())
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
    fn packets(slf: &Bound<'_, Self>) -> PyResult<Table> {
        let (py, nic) = (slf.py(), slf.get());
        errors::attached(py, nic.again(|| "nic.packets".to_owned()), || {
            let table = Table::of_packets(&nic.state(py)?.told.packets, &nic.contexts())?;
            Ok(table.made_by(part(slf, "packets")))
        })
    }

    /// A row per message.
    #[getter]
    fn messages(slf: &Bound<'_, Self>) -> PyResult<Table> {
        let (py, nic) = (slf.py(), slf.get());
        errors::attached(py, nic.again(|| "nic.messages".to_owned()), || {
            let state = nic.state(py)?;
            let table = if nic.events == ears::OF_HANDLERS {
                Table::of_flows(&flows(&state.told.packets), &nic.contexts())?
            } else {
                let rows: Vec<_> = nic.logs.iter().flat_map(Log::rows).collect();
                Table::of_messages(&rows)?
            };
            Ok(table.made_by(part(slf, "messages")))
        })
    }

    /// The names of a cluster's nodes.
    #[getter]
    fn nodes(&self) -> Vec<String> {
        self.nodes.clone()
    }

    /// What its units hold, by name.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        errors::attached(py, self.again(|| "nic.units".to_owned()), || {
            let mut pairs = Vec::new();
            self.state(py)?.stepped.state(&mut |name, value| pairs.push((name.to_owned(), value)));
            let found = PyDict::new(py);
            pairs.into_iter().try_for_each(|(name, value)| found.set_item(name, value))?;
            Ok(found)
        })
    }

    /// The program's variables, and memory by address.
    #[getter]
    fn memory(slf: &Bound<'_, Self>) -> PyResult<Memory> {
        if !slf.get().nodes.is_empty() {
            let what = "a cluster has memories by node: memory_of(\"NAME\")";
            return Err(errors::usage(slf.py(), &format!("{what}; {}", slf.get().listed())));
        }
        Ok(Memory { nic: slf.clone().unbind(), node: 0 })
    }

    /// Gives the variables and memories of a cluster's node.
    fn memory_of(slf: &Bound<'_, Self>, node: &str) -> PyResult<Memory> {
        let nic = slf.get();
        let Some(number) = nic.nodes.iter().position(|name| name == node) else {
            let what = format!("there is no node {node}; {}", nic.listed());
            return Err(PyKeyError::new_err(what));
        };
        Ok(Memory { nic: slf.clone().unbind(), node: number })
    }

    /// Reads a context's host memory.
    fn host_memory<'py>(&self, py: Python<'py>, context: &str) -> PyResult<Bound<'py, PyBytes>> {
        let (address, size) = self.host_range(py, context)?;
        let call = || format!("nic.host_memory({})", again::text(context));
        errors::attached(py, self.again(call), || {
            let mut bytes = vec![0; size as usize];
            if let Some(units) = self.state(py)?.stepped.units() {
                units.read_host(address, &mut bytes);
            }
            Ok(PyBytes::new(py, &bytes))
        })
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
        let (address, size) = self.host_range(py, context)?;
        let is_inside = offset.checked_add(data.len() as u64).is_some_and(|end| end <= size);
        let address = address + offset.min(size);
        errors::attached(py, self.again(String::new), || {
            let mut state = self.state(py)?;
            let now = state.now;
            if is_inside {
                state.steps.write(now, context, offset, data);
            }
            let units = state.stepped.units().filter(|_| is_inside);
            if !units.is_some_and(|units| units.write_host(address, data)) {
                let what = format!("context {context} has {size} bytes of host memory");
                return Err(errors::usage(py, &what));
            }
            Ok(())
        })
    }

    /// Gives all that it is now, to come back to.
    fn snapshot(slf: &Bound<'_, Self>) -> PyResult<Snapshot> {
        let (py, nic) = (slf.py(), slf.get());
        errors::attached(py, nic.again(|| "nic.snapshot()".to_owned()), || {
            let state = nic.state(py)?;
            let saved = state.stepped.save().map_err(|error| errors::exception(py, &error))?;
            let State { now, last, told, pulled, steps, .. } = &*state;
            let (told, identity) = (told.clone(), Arc::clone(&nic.identity));
            let (now, last, pulled, steps) = (*now, *last, *pulled, steps.count());
            let origin = part(slf, "snapshot()");
            Ok(Snapshot { saved, now, last, told, pulled, steps, identity, origin })
        })
    }

    /// Makes it what it was when a snapshot of it was taken.
    fn restore(&self, py: Python<'_>, snapshot: &Snapshot) -> PyResult<()> {
        let Snapshot { saved, now, last, told, pulled, steps, identity, .. } = snapshot;
        if !Arc::ptr_eq(identity, &self.identity) {
            return Err(errors::usage(py, "that is a snapshot of another Nic"));
        }
        errors::attached(py, self.again(|| "nic.restore(nic.snapshot())".to_owned()), || {
            let mut state = self.state(py)?;
            let restored = state.stepped.restore(saved);
            restored.map_err(|error| errors::exception(py, &error))?;
            (state.now, state.last, state.pulled) = (*now, *last, *pulled);
            state.told.clone_from(told);
            state.steps.truncate(*steps);
            Ok(())
        })
    }

    fn __repr__(&self) -> String {
        let name = &self.name;
        match self.state.try_lock() {
            Ok(state) => format!("<pinion.Nic {name} at {}>", state.now),
            Err(_) => format!("<pinion.Nic {name}, running>"),
        }
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        errors::attached(py, self.again(|| "nic._repr_html_()".to_owned()), || {
            let mut rows = vec![vec!["unit".to_owned(), "holds".to_owned()]];
            let state = self.state(py)?;
            state.stepped.state(&mut |name, value| {
                if rows.len() <= SHOWN_UNITS {
                    rows.push(vec![name.to_owned(), value.to_string()]);
                }
            });
            Ok(html::table(&format!("{} at {}", self.name, state.now), &rows))
        })
    }
}

impl Made for Nic {
    fn again(&self, asked: &str) -> String {
        Nic::again(self, || format!("nic{asked}"))()
    }
}

/// Says what makes a part of a NIC again.
fn part(nic: &Bound<'_, Nic>, part: &'static str) -> Origin {
    let nic = nic.clone().unbind();
    Origin::new(move |asked| Made::again(nic.get(), &format!(".{part}{asked}")))
}

impl Nic {
    /// Gives what writes the command that does all again that was done, and then a call.
    fn again(&self, call: impl FnOnce() -> String) -> impl FnOnce() -> String {
        move || match self.state.try_lock() {
            Ok(state) => state.steps.script(&self.made, state.now, &call()),
            Err(TryLockError::Poisoned(state)) => {
                let state = state.into_inner();
                state.steps.script(&self.made, state.now, &call())
            }
            Err(TryLockError::WouldBlock) => {
                Steps::default().script(&self.made, Time::ZERO, &call())
            }
        }
    }

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
}
