//! Where cycles go. In: a run. Out: what `pinion profile` says of every hart's cycles, as text, document and
//! for other tools.

use pinion_app::Error;
use pinion_app::app::{App as Handlers, Options};
use pinion_app::service::Service;
use pinion_observe::profile::{HpuProfile, Profile as Counted, Rows};
use pinion_observe::report::Outputs;
use pinion_python_guard::guarded;
use pinion_run::nanoservice::{self, HartProfile, Setup};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::again::{Origin, made_by};
use crate::app::{App, Kind};
use crate::asked::Asked;
use crate::packets::{Changes, Source};
use crate::progress::Heard;
use crate::replay::Replay;
use crate::result::document;
use crate::watch::Watch;
use crate::{html, packets};

/// Where every cycle of every hart went.
#[pyclass(frozen, module = "pinion")]
pub struct Profile {
    name: String,
    text: String,
    json: String,
    flame: String,
    pprof: Vec<u8>,
    lcov: String,
    origin: Origin,
}

made_by!(Profile, |it| it.origin);

/// Tells where every cycle of every hart went, by handler, function, line and cause.
#[pyfunction]
#[pyo3(signature = (
    app, packets=None, *, top=12, harts=false, machine=None, pace=None, seed=None, link=None,
    link_cycles=None, peer=None, start=None, cycles=None, patience=None, progress=None
))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn profile(
    py: Python<'_>,
    app: &Bound<'_, PyAny>,
    packets: Option<&Bound<'_, PyAny>>,
    top: usize,
    harts: bool,
    machine: Option<&Bound<'_, PyAny>>,
    pace: Option<String>,
    seed: Option<u64>,
    link: Option<String>,
    link_cycles: Option<u64>,
    peer: Option<bool>,
    start: Option<u64>,
    cycles: Option<u64>,
    patience: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Profile> {
    let (app, packets) = (App::of(app)?, packets::kept(packets)?);
    let packets = packets.as_ref();
    let changes = Changes { pace, seed, link };
    let asked = Asked { changes, link_cycles, peer, start, cycles, patience, ..Asked::default() };
    let (options, source) = (app.options(machine)?, Source::read(packets)?);
    let progress = Heard::new(py, progress)?;
    let mut watch = Watch { progress, ..Watch::default() };
    let shown = Shown { name: &app.name, top, harts };
    let replay = Replay::new("profile", &app, &options, asked.words());
    let profile = replay.detached(packets, py, || {
        asked.check(&app, &source)?;
        match app.kind {
            Kind::Handlers => asked.profile_handlers(&app, &options, source, &shown, &mut watch),
            Kind::Nanoservice => asked.profile_service(&app, &options, source, &shown, &mut watch),
            Kind::Cluster => Err(Error::Usage(format!(
                "{} is a cluster: `pinion profile --node` in a terminal tells of one of its nodes",
                app.name
            ))),
        }
    });
    match watch.raised {
        Some(raised) => Err(raised),
        None => Ok(Profile { origin: replay.origin(packets), ..profile? }),
    }
}

/// What is shown of a profile.
struct Shown<'s> {
    name: &'s str,
    top: usize,
    harts: bool,
}

impl Shown<'_> {
    fn of(&self, counted: &Counted<'_>) -> pinion_app::Result<Profile> {
        let rows = Rows::of(counted);
        Ok(Profile {
            name: self.name.to_owned(),
            text: counted.to_text(&rows, self.top, self.harts),
            json: counted.to_json(&rows).to_string(),
            flame: counted.to_flame_graph(&rows)?,
            pprof: counted.to_pprof(&rows),
            lcov: counted.to_lcov(),
            origin: Origin::default(),
        })
    }
}

impl Asked {
    fn profile_handlers(
        &self,
        app: &App,
        options: &Options,
        source: Source,
        shown: &Shown<'_>,
        watch: &mut Watch,
    ) -> pinion_app::Result<Profile> {
        let handlers = Handlers::load(&app.path, options)?;
        let packets = source.packets(&handlers.manifest, &self.changes)?;
        let mut ears = HpuProfile::new(&handlers);
        let outputs = Outputs::default();
        let finished = pinion_run::run::trace(&handlers, packets, &outputs, watch, &mut ears)?;
        shown.of(&ears.profile(finished.summary.simulated))
    }

    fn profile_service(
        &self,
        app: &App,
        options: &Options,
        source: Source,
        shown: &Shown<'_>,
        watch: &mut Watch,
    ) -> pinion_app::Result<Profile> {
        let service = Service::load(&app.path, options)?;
        let setup = Setup::new(&service, options)?;
        let run = self.run_options(source, &service, &setup)?;
        let mut ears = HartProfile::new(&service, &setup);
        let outputs = nanoservice::Outputs::default();
        let summary = nanoservice::run::run(&service, &setup, run, &outputs, watch, &mut ears)?;
        shown.of(&ears.profile(summary.cycles))
    }
}

#[guarded]
#[pymethods]
impl Profile {
    /// What the command prints.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The JSON document of `pinion profile --json`, as a dictionary.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document(py, &self.json)
    }

    /// A flame graph, as SVG.
    #[getter]
    fn flame(&self) -> &str {
        &self.flame
    }

    /// For `go tool pprof`.
    #[getter]
    fn pprof<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.pprof)
    }

    /// How often each line ran, for tools that show coverage.
    #[getter]
    fn lcov(&self) -> &str {
        &self.lcov
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<pinion.Profile {}>", self.name)
    }

    fn _repr_html_(&self) -> String {
        html::text(&self.name, &self.text)
    }
}
