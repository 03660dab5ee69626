//! Runs. In: an application, a machine, what comes in. Out: what the command's run gives, by the same
//! functions of the library.

use std::path::{Path, PathBuf};

use pinion_app::Error;
use pinion_app::app::{App as Handlers, Options};
use pinion_app::build::{self, Built};
use pinion_app::manifest::{self, Manifest};
use pinion_app::service::Service;
use pinion_app::traffic::{self, Packets};
use pinion_check::Checker;
use pinion_net::fabric::Alone;
use pinion_net::link::Link;
use pinion_observe::gauges::{Gauges as _, NanoGauges, NicGauges};
use pinion_observe::report::{Ending, Outputs};
use pinion_observe::trace::Tracer;
use pinion_run::cluster::{self, ClusterGauges, Plan};
use pinion_run::nanoservice::run::{PATIENCE_CYCLES, RunOptions};
use pinion_run::nanoservice::{self, Setup};
use pinion_run::run::Finished;
use pinion_sim::probe::Both;
use pinion_spin::EngineCore;
use pinion_translate::AVAILABLE;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::again::Origin;
use crate::app::{App, Kind};
use crate::asked::Asked;
use crate::drain::{Drain, Windows};
use crate::frames::Frames;
use crate::gather::Flows;
use crate::machine::overrides;
use crate::messages::Log;
use crate::packets::{Changes, Source};
use crate::progress::Heard;
use crate::queues::History;
use crate::replay::Replay;
use crate::result::{Kept, Result as RunResult, Told};
use crate::stream::Stream;
use crate::table::Table;
use crate::tables::{Done, Rows, Wants, listen, tables};
use crate::watch::{Perhaps, Pins, Watch};
use crate::written::{self, Written};
use crate::{errors, packets};

/// Runs an application until all packets are through; Ctrl-C ends it and keeps what was done.
#[pyfunction]
#[pyo3(signature = (
    app, packets=None, *, machine=None, set=None, pace=None, seed=None, link=None, link_cycles=None, engine=None,
    engine_core=None, workers=None, check=false, handlers=false, messages=false, queues=false, host_memory=None, peer=None,
    start=None, cycles=None, patience=None, threads=None, keep=true, parquet=None, progress=None
))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn run(
    py: Python<'_>,
    app: &Bound<'_, PyAny>,
    packets: Option<&Bound<'_, PyAny>>,
    machine: Option<&Bound<'_, PyAny>>,
    set: Option<&Bound<'_, PyDict>>,
    pace: Option<String>,
    seed: Option<u64>,
    link: Option<String>,
    link_cycles: Option<u64>,
    engine: Option<&str>,
    engine_core: Option<&str>,
    workers: Option<u32>,
    check: bool,
    handlers: bool,
    messages: bool,
    queues: bool,
    host_memory: Option<Vec<String>>,
    peer: Option<bool>,
    start: Option<u64>,
    cycles: Option<u64>,
    patience: Option<u64>,
    threads: Option<u16>,
    keep: bool,
    parquet: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunResult> {
    let app = App::of(app)?;
    let asked = Asked {
        changes: Changes { pace, seed, link },
        link_cycles,
        workers,
        is_native: is_native(py, engine)?,
        engine_core: engine_core_of(py, engine_core)?,
        checks: check,
        handlers,
        messages,
        queues,
        parquet,
        host_memory: host_memory.unwrap_or_default(),
        peer,
        start,
        cycles,
        patience,
        threads,
    };
    let mut options = app.options(machine)?;
    options.overrides.extend(overrides(set)?);
    options.engine_core = asked.engine_core.unwrap_or_default();
    let packets = packets::kept(packets)?;
    let source = Source::read(packets.as_ref())?;
    let keeps = keep && asked.parquet.is_none();
    let progress = Heard::new(py, progress)?;
    let mut watch = Watch { progress, keeps, ..Watch::default() };
    let replay = Replay::new("run", &app, &options, asked.words()).with(asked.python_alone());
    let done = replay.detached(packets.as_ref(), py, || {
        asked.check(&app, &source)?;
        match app.kind {
            Kind::Handlers => asked.handlers(&app, options, source, &mut watch),
            Kind::Nanoservice => asked.nanoservice(&app, options, source, &mut watch),
            Kind::Cluster => asked.cluster(&app, options, &mut watch),
        }
    })?;
    give(py, done, watch, &asked, replay.origin(packets.as_ref()))
}

fn is_native(py: Python<'_>, engine: Option<&str>) -> PyResult<bool> {
    match engine {
        None | Some("simulator") => Ok(false),
        Some("native") => Ok(true),
        Some(other) => Err(errors::usage(py, &format!("engine={other}: simulator or native"))),
    }
}

fn engine_core_of(py: Python<'_>, engine_core: Option<&str>) -> PyResult<Option<EngineCore>> {
    match engine_core {
        None => Ok(None),
        Some("interpreter") => Ok(Some(EngineCore::Interpreter)),
        Some("translated") if AVAILABLE => Ok(Some(EngineCore::Translated)),
        Some("translated") => {
            let why = "engine_core=\"translated\": this package was built without translation (feature \
                       jit, on x86-64 and AArch64); interpreter is what it has";
            Err(errors::usage(py, why))
        }
        Some(other) => {
            let why = format!("engine_core={other}: translated or interpreter");
            Err(errors::usage(py, &why))
        }
    }
}

/// Gives Python what a run left; raises what ended it.
fn give(
    py: Python<'_>,
    done: Done,
    watch: Watch,
    asked: &Asked,
    origin: Origin,
) -> PyResult<RunResult> {
    let Asked { handlers, messages, .. } = *asked;
    let wants = Wants { handlers, messages, parquet: asked.parquet.is_some() };
    let again = || origin.again("");
    let tables = errors::attached(py, again, || tables(py, &done, &watch, wants))?;
    let departed = match done.rows {
        Rows::Packets(_) => watch.departed,
        Rows::Frames(_) => done.departed,
    };
    let kept = Kept {
        output: watch.output,
        notices: watch.notices,
        departed,
        unmatched: watch.unmatched,
        packets: tables.packets,
        handlers: tables.handlers,
        messages: tables.messages,
        harts: tables.harts,
        queues: tables.queues,
        files: done.files,
        host_memory: done.host_memory,
    };
    let result = RunResult::new(py, done.told, kept, origin)?;
    match watch.raised {
        Some(raised) if raised.is_instance_of::<PyKeyboardInterrupt>(py) => {
            debug_assert_eq!(done.ending, Ending::Interrupted);
            Err(errors::interrupted(py, Py::new(py, result)?.into_any()))
        }
        Some(raised) => Err(raised),
        None => Ok(result),
    }
}

impl Asked {
    fn handlers(
        &self,
        app: &App,
        mut options: Options,
        source: Source,
        watch: &mut Watch,
    ) -> pinion_app::Result<Done> {
        let manifest = manifest::load(&app.path)?;
        let packets = source.packets(&manifest, &self.changes)?;
        if self.is_native {
            choose_native(&manifest, &mut options)?;
        }
        let app = Handlers::of(manifest, &options)?;
        note(&app.built, watch);
        if let Some(name) = self.host_memory.iter().find(|name| app.context(name).is_none()) {
            let names = app.context_names().join(", ");
            let what = format!("host_memory={name}: there is no such context, but {names}");
            return Err(Error::Usage(what));
        }
        let outputs = Outputs { handlers: self.handlers, ..Outputs::default() };
        let mut flows = None;
        if let Some(folder) = &self.parquet {
            let stream = Stream::begin(folder, app.context_names(), self.handlers)?;
            let begin = || Flows::begin(folder, app.context_names());
            flows = self.messages.then(begin).transpose()?;
            watch.stream = Some(match flows.take_if(|_| self.is_native) {
                Some(flows) => stream.with(flows),
                None => stream,
            });
        }
        let (finished, queues) = self.go(&app, packets, &outputs, watch, flows.as_mut())?;
        let mut files = watch.stream.take().map_or(Ok(Vec::new()), Stream::finish)?;
        files.extend(flows.map(Flows::finish).transpose()?);
        files.extend(ended(queues.as_ref())?);
        let memory = |name: &String| Ok((name.clone(), finished.host_memory(&app, name)?));
        Ok(Done {
            told: Told::of(&app.manifest.app.name, &finished.summary),
            ending: finished.summary.ending.clone(),
            rows: Rows::Packets(app.context_names()),
            host_memory: self.host_memory.iter().map(memory).collect::<pinion_app::Result<_>>()?,
            departed: Frames::default(),
            messages: Vec::new(),
            queues,
            files,
        })
    }

    fn go(
        &self,
        app: &Handlers,
        packets: Packets,
        outputs: &Outputs,
        watch: &mut Watch,
        flows: Option<&mut Flows>,
    ) -> pinion_app::Result<(Finished, Option<History>)> {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        if self.is_native {
            let workers = self.workers.unwrap_or(1);
            return Ok((pinion_run::native::run(app, packets, workers, outputs, watch)?, None));
        }
        let (mut changes, mut followed, mut checker) = (None, None, None);
        // Who follows queues does not check.
        let other = if self.queues {
            let gauges = NicGauges::new(app, false);
            let history = History::new(gauges.gauges(), self.parquet.as_deref())?;
            changes = Some(history.clone());
            Some(followed.insert(gauges.followed(history)) as &mut dyn Tracer)
        } else if self.checks {
            Some(checker.insert(Checker::new(app)) as &mut dyn Tracer)
        } else {
            None
        };
        let flows = flows.map(|flows| flows as &mut dyn Tracer);
        let mut finished = match (flows, other) {
            (None, None) => pinion_run::run::run(app, packets, outputs, watch)?,
            (Some(one), None) | (None, Some(one)) => {
                pinion_run::run::trace(app, packets, outputs, watch, one)?
            }
            (Some(flows), Some(other)) => {
                let mut both = Both::new(flows, other);
                pinion_run::run::trace(app, packets, outputs, watch, &mut both)?
            }
        };
        if let Some(checker) = checker {
            finished.summary.check = Some(checker.verdict(app));
        }
        Ok((finished, changes))
    }

    /// Tells how a nanoservice is to be run.
    pub fn run_options(
        &self,
        source: Source,
        service: &Service,
        setup: &Setup,
    ) -> pinion_app::Result<RunOptions> {
        let answers = self.peer.unwrap_or(true);
        Ok(RunOptions {
            answers,
            cycles: self.cycles,
            patience: self.patience.unwrap_or(PATIENCE_CYCLES),
            link_cycles: self.link_cycles.unwrap_or(Link::PUBLISHED_CYCLES),
            start: self.start,
            ..RunOptions::of(source.requests(service, setup, answers, &self.changes)?)
        })
    }

    fn nanoservice(
        &self,
        app: &App,
        options: Options,
        source: Source,
        watch: &mut Watch,
    ) -> pinion_app::Result<Done> {
        let service = Service::load(&app.path, &options)?;
        note(&service.built, watch);
        let setup = Setup::new(&service, &options)?;
        let run = self.run_options(source, &service, &setup)?;
        let folder = self.parquet.as_deref();
        let frames = |folder| Written::begin(folder, "packets", Table::of_frames);
        let mut pins = Pins::new(setup.clock, watch.keeps, folder.map(frames).transpose()?);
        let outputs = nanoservice::Outputs::default();
        let mut log = self.messages.then(|| Log::new("", setup.clock));
        let mut drain = match folder {
            Some(folder) => log.take().map(|log| drained(folder, vec![log])).transpose()?,
            None => None,
        };
        let gauges = NanoGauges::new(setup.clock, setup.machine.value.core.count);
        let changes = || History::new(gauges.gauges(), folder);
        let changes = self.queues.then(changes).transpose()?;
        let mut gauges = changes.clone().map(|changes| gauges.followed(changes));
        // Who is not there wants to hear nothing, and costs nothing.
        let heard = Both::new(Perhaps(log.as_mut()), Perhaps(drain.as_mut()));
        let heard = Both::new(heard, Perhaps(gauges.as_mut()));
        let mut ears = Both::new(&mut pins, heard);
        let summary = if self.checks {
            let mut checker = nanoservice::checker(&service, &setup);
            let ears = Both::new(&mut checker, ears);
            let mut summary = nanoservice::run::run(&service, &setup, run, &outputs, watch, ears)?;
            let rests = nanoservice::rests(&summary.ending);
            summary.check = Some(checker.verdict(&service, rests));
            summary
        } else {
            nanoservice::run::run(&service, &setup, run, &outputs, watch, &mut ears)?
        };
        let mut files: Vec<_> = pins.finish()?.into_iter().collect();
        files.extend(drain.map(Drain::finish).transpose()?);
        files.extend(ended(changes.as_ref())?);
        Ok(Done {
            told: Told::of(&service.manifest.app.name, &summary),
            ending: summary.ending,
            rows: Rows::Frames(pins.frames),
            host_memory: Vec::new(),
            departed: pins.departed,
            messages: log.into_iter().collect(),
            queues: changes,
            files,
        })
    }

    /// Plans a cluster's run.
    pub fn plan(&self, app: &App, options: &mut Options) -> pinion_app::Result<Plan> {
        let seed = self.changes.seed.map(|seed| format!("cluster.seed={seed}"));
        options.overrides.extend(seed);
        Plan::load(&app.cluster_file()?, options)
    }

    /// Says how a cluster is to run.
    pub fn cluster_options(&self) -> pinion_app::Result<cluster::RunOptions> {
        Ok(cluster::RunOptions {
            threads: self.threads.map_or(0, usize::from),
            cycles: self.cycles,
            patience: self.patience,
            faults: traffic::link_faults(self.changes.link.as_deref())?,
            ..cluster::RunOptions::default()
        })
    }

    fn cluster(
        &self,
        app: &App,
        mut options: Options,
        watch: &mut Watch,
    ) -> pinion_app::Result<Done> {
        let plan = self.plan(app, &mut options)?;
        plan.built().for_each(|built| note(built, watch));
        let run = self.cluster_options()?;
        let folder = self.parquet.as_deref();
        let (mut messages, mut drain, mut queues) = (Vec::new(), None, None);
        let summary = if self.checks {
            cluster::check(&plan, &run, &mut Alone, watch)?
        } else {
            let (mut gauges, mut nodes) = (None, Vec::new());
            if self.queues {
                let begun = ClusterGauges::begin(&plan, |all| {
                    let changes = History::new(all, folder)?;
                    queues = Some(changes.clone());
                    Ok(changes)
                })?;
                (nodes, gauges) = (begun.0, Some(begun.1));
            }
            if self.messages {
                messages = listen(&plan, &mut nodes);
            }
            if let Some(folder) = folder.filter(|_| self.messages) {
                drain = Some(drained(folder, std::mem::take(&mut messages))?);
            }
            let windows = Windows { drain: drain.as_mut(), clock: plan.clock, gauges };
            let is_heard = windows.drain.is_some() || windows.gauges.is_some();
            let network = is_heard.then(|| Box::new(windows) as Box<_>);
            cluster::trace(&plan, &run, &mut Alone, watch, cluster::Tracing { nodes, network })?
        };
        let summary =
            summary.ok_or_else(|| Error::Usage("a cluster run alone has a summary".to_owned()))?;
        watch.output.push_str(&summary.section.console());
        let mut files: Vec<_> = drain.map(Drain::finish).transpose()?.into_iter().collect();
        files.extend(ended(queues.as_ref())?);
        Ok(Done {
            told: Told::of(&summary.name, &summary),
            ending: summary.ending,
            rows: Rows::Frames(Vec::new()),
            host_memory: Vec::new(),
            departed: Frames::default(),
            messages,
            queues,
            files,
        })
    }
}

/// Has messages go to a file.
fn drained(folder: &Path, logs: Vec<Log>) -> pinion_app::Result<Drain> {
    Ok(Drain::new(logs, Written::begin(folder, "messages", Table::of_messages)?))
}

/// Ends the file of what units held, if there is one.
fn ended(queues: Option<&History>) -> pinion_app::Result<Option<written::Done>> {
    queues.map_or(Ok(None), History::finish)
}

/// Makes a program be built for this computer.
fn choose_native(manifest: &Manifest, options: &mut Options) -> pinion_app::Result<()> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pinion_run::native::check(manifest, options)?;
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    return Err(Error::Usage("engine=\"native\" needs Linux on an x86-64 computer".to_owned()));
    options.build.native = true;
    build::untrusted::check(manifest, &options.build)
}

/// Notes what a compiler wrote.
fn note(built: &Built, watch: &mut Watch) {
    let messages = String::from_utf8_lossy(&built.messages);
    watch.notices.extend(Some(messages.trim_end().to_owned()).filter(|text| !text.is_empty()));
}
