//! Why a packet or message took so long. In: a run, and which one is meant. Out: what `pinion why` says, as
//! text, document and picture.

use pinion_app::app::{App as Handlers, Options};
use pinion_app::service::Service;
use pinion_net::fabric::Alone;
use pinion_observe::report::Outputs;
use pinion_python_guard::guarded;
use pinion_run::cluster;
use pinion_run::nanoservice::{self, Setup};
use pinion_why::{Which, nano};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::again::{Origin, made_by};
use crate::app::{App, Kind};
use crate::asked::Asked;
use crate::html;
use crate::machine::overrides;
use crate::packets::Source;
use crate::progress::Heard;
use crate::replay::Replay;
use crate::result::document;
use crate::watch::Watch;
use crate::{errors, packets};

/// Why a packet or message took as long as it did, or was dropped.
#[pyclass(frozen, module = "pinion")]
pub struct Why {
    name: String,
    text: String,
    json: String,
    svg: Option<String>,
    origin: Origin,
}

made_by!(Why, |it| it.origin);

/// Tells why a packet, or a message to a nanoservice, took as long as it did, or was dropped.
#[pyfunction]
#[pyo3(signature = (
    app, packets=None, *, packet=None, message=None, p99=false, dropped=None, machine=None, set=None, pace=None,
    seed=None, link=None, link_cycles=None, peer=None, start=None, cycles=None, patience=None,
    progress=None
))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn why(
    py: Python<'_>,
    app: &Bound<'_, PyAny>,
    packets: Option<&Bound<'_, PyAny>>,
    packet: Option<u64>,
    message: Option<u32>,
    p99: bool,
    dropped: Option<u64>,
    machine: Option<&Bound<'_, PyAny>>,
    set: Option<&Bound<'_, PyDict>>,
    pace: Option<String>,
    seed: Option<u64>,
    link: Option<String>,
    link_cycles: Option<u64>,
    peer: Option<bool>,
    start: Option<u64>,
    cycles: Option<u64>,
    patience: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Why> {
    let (app, given) = (App::of(app)?, packets::kept(packets)?);
    let which = which(py, packet, message, p99, dropped)?;
    let changes = packets::Changes { pace, seed, link };
    let asked = Asked { changes, link_cycles, peer, start, cycles, patience, ..Asked::default() };
    let (mut options, source) = (app.options(machine)?, Source::read(given.as_ref())?);
    options.overrides.extend(overrides(set)?);
    let progress = Heard::new(py, progress)?;
    let mut watch = Watch { progress, ..Watch::default() };
    let mut words = asked.words();
    let numbers =
        [("--packet", packet), ("--message", message.map(u64::from)), ("--dropped", dropped)];
    let named = numbers.iter().filter_map(|(option, number)| Some((option, (*number)?)));
    words.extend(named.flat_map(|(option, number)| [(*option).to_owned(), number.to_string()]));
    words.extend(p99.then(|| "--p99".to_owned()));
    let replay = Replay::new("why", &app, &options, words);
    let told = replay.detached(given.as_ref(), py, || {
        asked.check(&app, &source)?;
        match app.kind {
            Kind::Handlers => asked.of_packet(&app, &options, &source, which, &mut watch),
            Kind::Nanoservice => asked.of_message(&app, &options, &source, which, &mut watch),
            Kind::Cluster => asked.of_request(&app, options.clone(), which, &mut watch),
        }
    });
    match (watch.raised, told?) {
        (Some(raised), _) => Err(raised),
        (None, Some(told)) => Ok(Why { origin: replay.origin(given.as_ref()), ..told }),
        (None, None) => Err(errors::usage(py, "the run ended before the answer was known")),
    }
}

fn which(
    py: Python<'_>,
    packet: Option<u64>,
    message: Option<u32>,
    p99: bool,
    dropped: Option<u64>,
) -> PyResult<Which> {
    let named = [
        packet.map(Which::Packet),
        message.map(Which::Message),
        p99.then_some(Which::Percentile99),
        dropped.map(Which::Dropped),
    ];
    let mut named = named.into_iter().flatten();
    match (named.next(), named.next()) {
        (None, _) => Ok(Which::Slowest),
        (Some(which), None) => Ok(which),
        (Some(_), Some(_)) => Err(errors::usage(py, "one of packet=, message=, p99= and dropped=")),
    }
}

impl Asked {
    fn of_packet(
        &self,
        app: &App,
        options: &Options,
        source: &Source,
        which: Which,
        watch: &mut Watch,
    ) -> pinion_app::Result<Option<Why>> {
        let handlers = Handlers::load(&app.path, options)?;
        let answer = pinion_why::answer(which, &handlers, &mut |tracer| {
            let packets = source.clone().packets(&handlers.manifest, &self.changes)?;
            pinion_run::run::trace(&handlers, packets, &Outputs::default(), watch, tracer)?;
            Ok(watch.raised.is_none())
        })?;
        let Some(answer) = answer else { return Ok(None) };
        let (text, json) = (answer.to_text(), answer.to_json().to_string());
        let svg = picture(which, || answer.to_svg())?;
        Ok(Some(Why { name: app.name.clone(), text, json, svg, origin: Origin::default() }))
    }

    fn of_message(
        &self,
        app: &App,
        options: &Options,
        source: &Source,
        which: Which,
        watch: &mut Watch,
    ) -> pinion_app::Result<Option<Why>> {
        let service = Service::load(&app.path, options)?;
        let setup = Setup::new(&service, options)?;
        let answer = nano::answer(which, (&service, &setup), &mut |ears| {
            let run = self.run_options(source.clone(), &service, &setup)?;
            let outputs = nanoservice::Outputs::default();
            nanoservice::run::run(&service, &setup, run, &outputs, watch, ears)?;
            Ok(watch.raised.is_none())
        })?;
        let Some(answer) = answer else { return Ok(None) };
        let (text, json) = (answer.to_text(), answer.to_json().to_string());
        let svg = picture(which, || answer.to_svg())?;
        Ok(Some(Why { name: app.name.clone(), text, json, svg, origin: Origin::default() }))
    }
}

impl Asked {
    fn of_request(
        &self,
        app: &App,
        mut options: Options,
        which: Which,
        watch: &mut Watch,
    ) -> pinion_app::Result<Option<Why>> {
        let plan = self.plan(app, &mut options)?;
        let run = self.cluster_options()?;
        let mut hear = |to: Option<u64>, tracing: cluster::Tracing<'_>| {
            let cycles = [run.cycles, to].into_iter().flatten().min();
            let run = cluster::RunOptions { cycles, ..run.clone() };
            cluster::trace(&plan, &run, &mut Alone, watch, tracing)?;
            Ok(watch.raised.is_none())
        };
        pinion_why::cluster::ask(which, &plan, &mut hear, &mut |answer| {
            let (text, json) = (answer.to_text(), answer.to_json().to_string());
            let svg = picture(which, || answer.to_svg())?;
            Ok(Why { name: app.name.clone(), text, json, svg, origin: Origin::default() })
        })
    }
}

/// Draws a way; one that was dropped has none.
fn picture(
    which: Which,
    draw: impl FnOnce() -> pinion_app::Result<Option<String>>,
) -> pinion_app::Result<Option<String>> {
    if matches!(which, Which::Dropped(_)) { Ok(None) } else { draw() }
}

#[guarded]
#[pymethods]
impl Why {
    /// What the command prints.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The JSON document of `pinion why --json`, as a dictionary.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document(py, &self.json)
    }

    /// The waterfall of its way, as SVG; `None` of a packet that was dropped.
    #[getter]
    fn svg(&self) -> Option<&str> {
        self.svg.as_deref()
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        let first = self.text.lines().next().unwrap_or_default();
        format!("<pinion.Why {first}>")
    }

    fn _repr_html_(&self) -> String {
        let picture = self.svg.as_deref().map(html::inline);
        let text = html::text(&self.name, &self.text);
        format!("{}{text}", picture.unwrap_or_default())
    }
}
