//! What a point runs, put together. In: a request and the point's setting. Out: a digest of all its
//! result depends on, and what was measured.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pinion_app::app::{App, Options};
use pinion_app::assets::fnv1a;
use pinion_app::build;
use pinion_app::error::{Error, Result};
use pinion_app::service::Service;
use pinion_app::traffic::Packets;
use pinion_nanopu::event::Deaf;
use pinion_net::fabric::Alone;
use pinion_net::generator::GeneratorSpec;
use pinion_observe::report::{Ending, Outputs, Report as _, Sink, Summary};
use pinion_run::cluster::{self, Plan};
use pinion_run::nanoservice::{self, SCRIPT_NAME, Setup, Traffic};
use pinion_run::run;
use pinion_run::watch::{Observer, Progress};

use super::journal::Entry;
use super::plan::{Asked, Setting};
use super::{ClusterFile, Measured, OF_CLUSTERS, OF_NANOSERVICES, Request, Subject};

/// What a point runs.
pub(super) enum Ready {
    /// Packet handlers and their packets.
    Handlers(Box<App>, Box<GeneratorSpec>),
    /// A nanoservice and what it is asked; nothing: what lies in its folder.
    Nanoservice(Box<Service>, Setup, Option<String>),
    /// A cluster, and the text of its file with what was changed.
    Cluster(Box<Plan>, String),
}

impl Ready {
    /// Puts it together; programs that were not built before are.
    pub fn load(request: &Request, setting: &Setting, elf: Option<&Path>) -> Result<Self> {
        let options = Options {
            machine: request.machine.clone(),
            overrides: setting.overrides.clone(),
            faithful: request.faithful,
            elf: elf.map(Path::to_owned).or_else(|| request.elf.clone()),
            engine_core: request.engine_core,
            build: build::Options { untrusted: request.untrusted, ..build::Options::default() },
        };
        // Handlers' programs are built before, each in a place of its own.
        let building = || Options {
            build: build::Options {
                cc: request.cc.clone(),
                folder: request.build_dir.clone(),
                ..options.build.clone()
            },
            ..options.clone()
        };
        match (&request.subject, &setting.traffic) {
            (Subject::Handlers(manifest), Asked::Packets(packets)) => {
                let app = App::of(manifest.clone(), &options)?;
                Ok(Self::Handlers(Box::new(app), packets.clone()))
            }
            (Subject::Cluster(ClusterFile { path, text, .. }), _) => {
                let folder = path.parent().unwrap_or(Path::new("."));
                let origin = path.display().to_string();
                let plan = Plan::from_text(text, &origin, folder, &building())?;
                Ok(Self::Cluster(Box::new(plan), format!("{text}{:?}", setting.overrides)))
            }
            (Subject::Handlers(manifest) | Subject::Nanoservice(manifest), asked) => {
                let options = building();
                let service = Service::of(manifest.clone(), &options)?;
                let setup = Setup::new(&service, &options)?;
                let asked = match asked {
                    Asked::Load(text) => Some(text.clone()),
                    _ => None,
                };
                Ok(Self::Nanoservice(Box::new(service), setup, asked))
            }
        }
    }

    /// Digests everything a result depends on; `pinion` tells builds of Pinion apart.
    pub fn key(&self, pinion: &str) -> Result<u64> {
        let mut digest = fnv1a(pinion.bytes());
        let mut add = |bytes: &[u8]| {
            digest = fnv1a(digest.to_le_bytes().into_iter().chain(bytes.iter().copied()));
        };
        match self {
            Self::Handlers(app, packets) => {
                add(&read(&app.built.elf)?);
                add(format!("{:?}", app.machine.value).as_bytes());
                add(format!("{packets:?}").as_bytes());
                add(format!("{:?}", app.manifest.app.packet).as_bytes());
                for context in app.manifest.contexts() {
                    add(format!("{context:?}").as_bytes());
                    let images = [&context.handler_memory_image, &context.host_memory_image];
                    for image in images.into_iter().flatten() {
                        add(&read(image)?);
                    }
                }
            }
            Self::Nanoservice(service, setup, asked) => {
                add(&read(&service.built.elf)?);
                add(format!("{:?}{:?}", setup.machine.value, service.arguments()).as_bytes());
                add(format!("{asked:?}").as_bytes());
                if let Ok(script) = pinion_input::bytes(service.manifest.dir.join(SCRIPT_NAME)) {
                    add(&script);
                }
            }
            Self::Cluster(plan, text) => {
                add(text.as_bytes());
                for group in &plan.groups {
                    match &group.target {
                        cluster::Target::Nanoservice { service, setup, .. } => {
                            add(&read(&service.built.elf)?);
                            add(format!("{:?}", setup.machine.value).as_bytes());
                        }
                        cluster::Target::Handlers { app } => {
                            add(&read(&app.built.elf)?);
                            add(format!("{:?}", app.machine.value).as_bytes());
                        }
                        cluster::Target::Load { specs } => add(format!("{specs:?}").as_bytes()),
                        cluster::Target::Frames { from } => {
                            add(format!("{from:?}").as_bytes());
                            if let cluster::FramesFrom::Capture { file, .. } = from {
                                add(&read(file)?);
                            }
                        }
                    }
                }
            }
        }
        Ok(digest)
    }

    /// Runs it; gives nothing when it was stopped. `share` is told how far it is.
    pub fn measure(&self, stop: &AtomicBool, share: &AtomicU64) -> Result<Option<Entry>> {
        let mut watch = Watch { stop, share };
        match self {
            Self::Handlers(app, packets) => {
                let packets = Packets::of((**packets).clone(), None, None)?;
                let outputs = Outputs { handlers: true, ..Outputs::default() };
                let summary = run::run(app, packets, &outputs, &mut watch)?.summary;
                if summary.ending == Ending::Interrupted {
                    return Ok(None);
                }
                let measured = Measured::of_handlers(&summary, app);
                Ok(Some(Entry { measured, problem: problem(&summary) }))
            }
            Self::Nanoservice(service, setup, asked) => {
                let traffic = match asked {
                    Some(load) => Traffic::load(load, None, setup, true)?,
                    None => Traffic::of_folder(service)?,
                };
                let options = nanoservice::run::RunOptions::of(traffic);
                let outputs = nanoservice::Outputs::default();
                let done =
                    nanoservice::run::run(service, setup, options, &outputs, &mut watch, Deaf);
                let summary = done?;
                if summary.ending == Ending::Interrupted {
                    return Ok(None);
                }
                let seconds = summary.host.as_secs_f64();
                let measured = Measured::of_summary(&OF_NANOSERVICES, &summary.to_json(), seconds);
                let first = || summary.differences.first().cloned();
                let failed = summary.has_failures().then(|| failure(&summary.texts()[1]));
                Ok(Some(Entry { measured, problem: failed.or_else(first) }))
            }
            Self::Cluster(plan, _) => {
                // As many points run at a time as there are cores.
                let options = cluster::RunOptions { threads: 1, ..Default::default() };
                let done = cluster::run(plan, &options, &mut Alone, &mut watch)?;
                let Some(summary) = done else { return Ok(None) };
                if summary.ending == Ending::Interrupted {
                    return Ok(None);
                }
                let seconds = summary.host.as_secs_f64();
                let measured = Measured::of_summary(&OF_CLUSTERS, &summary.to_json(), seconds);
                let failed = summary.has_failures().then(|| failure(&summary.texts()[1]));
                let first = || summary.differences.first().cloned();
                Ok(Some(Entry { measured, problem: failed.or_else(first) }))
            }
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    pinion_input::bytes(path).map_err(|error| Error::file("read", path, error))
}

/// Takes the first line of what troubles a summary.
fn failure(trouble: &str) -> String {
    let first = trouble.lines().map(str::trim).find(|line| !line.is_empty());
    first.unwrap_or("the run failed").to_owned()
}

/// Tells what went wrong in a run.
fn problem(summary: &Summary) -> Option<String> {
    let stuck = match &summary.ending {
        Ending::Stuck(report) => report.lines().next().map(|line| format!("stuck: {line}")),
        _ => None,
    };
    let faults = || {
        let first = summary.faults.first();
        let place = first.and_then(|fault| fault.place.as_deref());
        let place = place.map_or_else(String::new, |place| format!(", the first in {place}"));
        let count = summary.section.totals.faults;
        (count > 0).then(|| format!("{count} handlers failed{place}"))
    };
    let nothing = || (summary.section.totals.matched == 0).then(|| summary.remarks.join("; "));
    summary.imbalances.first().cloned().or(stuck).or_else(faults).or_else(nothing)
}

/// Tells how far a run is and stops it.
struct Watch<'a> {
    stop: &'a AtomicBool,
    share: &'a AtomicU64,
}

impl Sink for Watch<'_> {}

impl Observer for Watch<'_> {
    fn goes_on(&mut self, progress: &Progress) -> bool {
        let part = |total: u64| progress.done as f64 / total.max(1) as f64;
        let share = progress.total.map_or(0.0, part);
        self.share.store(share.to_bits(), Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }
}
