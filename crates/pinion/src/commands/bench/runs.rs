//! Runs to measure: an application and a machine come in, what makes one run after the other goes out.
//!
//! Packet handlers get their standard traffic, longer if it is short, nanoservices the messages beside
//! them, clusters what their file says. Where that is not what should be measured, a `bench.toml` beside the
//! application says so, in a table named after the machine, or `[any]`.

use std::path::Path;

use pinion::app::{App, Options};
use pinion::cluster::{self, Plan};
use pinion::error::{Error, Result};
use pinion::manifest::Manifest;
use pinion::measure::Particulars;
use pinion::nanoservice::run::{PATIENCE_CYCLES, RunOptions};
use pinion::nanoservice::{self, Setup, Traffic};
use pinion::report::Report;
use pinion::run;
use pinion::service::Service;
use pinion::sweep::Subject;
use pinion::traffic::{self, Packets};
use pinion::watch::Unobserved;
use pinion_nanopu::event::Deaf;
use pinion_net::fabric::Alone;
use pinion_spin::EngineCore;

use super::host::{Instructions, processor_seconds};
use super::row::Ran;
use crate::commands::interrupt;

/// Packets of the longest run that is tried.
const MOST_PACKETS: u64 = 1 << 20;

/// Makes one run after the other of the same thing.
pub type Once = Box<dyn FnMut() -> Result<Ran>>;

/// Prepares runs of an application, of about this many seconds each.
///
/// # Errors
/// When it does not fit the machine, or cannot be built.
pub fn prepare(
    subject: &Subject,
    machine: Option<&str>,
    seconds: f64,
    engine_core: EngineCore,
) -> Result<(&'static str, Once)> {
    let machine_name = machine.map(str::to_owned);
    let options = Options { machine: machine_name, engine_core, ..Options::default() };
    Ok(match subject {
        Subject::Cluster(cluster) => ("cluster", of_cluster(&cluster.path, &options)?),
        Subject::Nanoservice(manifest) => {
            let particulars = Particulars::of_folder(&manifest.dir, machine)?;
            ("nanoservice", of_service(manifest.clone(), options, particulars)?)
        }
        Subject::Handlers(manifest) => {
            let particulars = Particulars::of_folder(&manifest.dir, machine)?;
            ("packet_handlers", of_handlers(manifest.clone(), options, particulars, seconds)?)
        }
    })
}

/// Measures a run.
fn timed<S: Report>(run: impl FnOnce() -> Result<S>) -> Result<Ran> {
    let mut counter = Instructions::open();
    let (begun, counted) = (processor_seconds(), counter.read());
    let summary = run()?;
    let seconds = processor_seconds() - begun;
    let host_instructions = counter.read().zip(counted).map(|(after, before)| after - before);
    let failed = summary.has_failures();
    Ok(Ran { seconds, host_instructions, summary: summary.to_json(), failed })
}

/// Prepares runs on the application's standard traffic, as many packets as take about a third of the
/// time; without standard traffic, on the capture beside the application.
fn of_handlers(
    manifest: Manifest,
    mut options: Options,
    particulars: Particulars,
    seconds: f64,
) -> Result<Once> {
    let (of_traffic, of_machine) =
        particulars.set.into_iter().partition::<Vec<_>, _>(|text| text.starts_with("packet."));
    options.overrides = of_machine;
    let app = App::of(manifest, &options)?;
    if app.manifest.traffic.is_none() {
        let capture = ["traffic.pcap", "ping.pcap"].map(|file| app.manifest.dir.join(file));
        let capture = capture.into_iter().find(|file| file.is_file()).ok_or_else(|| {
            Error::Usage("it has neither [traffic] in its app.toml nor a traffic.pcap".to_owned())
        })?;
        return Ok(Box::new(move || {
            let packets = Packets::from_capture(&capture, None)?;
            timed(|| Ok(run::run(&app, packets, &Default::default(), &mut Unobserved)?.summary))
        }));
    }
    let go = move |app: &App, count: Option<u64>| {
        let count = count.map(|count| count.to_string());
        let given = of_traffic.iter().filter_map(|text| text.split_once('='));
        let overrides: Vec<_> =
            given.chain(count.iter().map(|count| ("packet.count", count.as_str()))).collect();
        let packets = Packets::of(traffic::standard(&app.manifest, &overrides)?, None, None)?;
        timed(|| Ok(run::run(app, packets, &Default::default(), &mut Unobserved)?.summary))
    };
    let mut ran = go(&app, None)?;
    let mut count = None;
    // A run that its traffic makes no longer, or that fails when it does, stays as it is.
    while ran.seconds < seconds / 6.0 && !interrupt::happened() {
        let packets = ran.summary["packets"]["in"].as_u64().unwrap_or(0);
        let longer = packets * 2;
        if packets == 0 || longer > MOST_PACKETS {
            break;
        }
        match go(&app, Some(longer)) {
            Ok(next) if !next.failed && next.summary["packets"]["in"] == longer => ran = next,
            _ => break,
        }
        count = Some(longer);
    }
    Ok(Box::new(move || go(&app, count)))
}

/// Prepares runs of a nanoservice on the messages beside it, or on a load.
fn of_service(manifest: Manifest, mut options: Options, particulars: Particulars) -> Result<Once> {
    options.overrides = particulars.set;
    let service = Service::of(manifest, &options)?;
    let setup = Setup::new(&service, &options)?;
    Ok(Box::new(move || {
        let traffic = match &particulars.load {
            Some(load) => Traffic::load(load, &setup, true)?,
            None => Traffic::of_folder(&service)?,
        };
        let patience = particulars.patience.unwrap_or(PATIENCE_CYCLES);
        let run = RunOptions { patience, ..RunOptions::of(traffic) };
        let outputs = nanoservice::Outputs::default();
        timed(|| nanoservice::run::run(&service, &setup, run, &outputs, &mut Unobserved, Deaf))
    }))
}

/// Prepares runs of a cluster on one thread.
fn of_cluster(file: &Path, options: &Options) -> Result<Once> {
    let plan = Plan::load(file, options)?;
    Ok(Box::new(move || {
        let run = cluster::RunOptions { threads: 1, ..Default::default() };
        timed(|| {
            let summary = cluster::run(&plan, &run, &mut Alone, &mut Unobserved)?;
            summary.ok_or_else(|| Error::Usage("another rank has the summary".to_owned()))
        })
    }))
}
