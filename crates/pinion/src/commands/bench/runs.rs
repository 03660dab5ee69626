//! Runs to measure: an application and a machine come in, what makes one run after the other goes out.
//!
//! Packet handlers get their standard traffic, longer if it is short and slower if the machine loses of it,
//! nanoservices the messages beside them, clusters what their file says. Where that is not what should be
//! measured, a `bench.toml` beside the application says so, in a table named after the machine, or `[any]`.

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
use pinion_net::pacing::Rate;
use pinion_spin::EngineCore;

use super::host::{Instructions, processor_seconds};
use super::row::{self, Ran};
use crate::commands::interrupt;

/// Packets of the longest run that is tried.
const MOST_PACKETS: u64 = 1 << 20;
/// Rates that are tried until a machine loses nothing.
const MOST_RATES: u32 = 20;
/// What the next rate is of the one before.
const SLOWER: f64 = 0.75;

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
    Ok(Ran { seconds, host_instructions, summary: summary.to_json(), failed, rate_gbit_s: None })
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
    let paced = of_traffic.iter().any(|text| text.starts_with("packet.rate="));
    let go = move |app: &App, count: Option<u64>, rate: Option<f64>| {
        let count = count.map(|count| count.to_string());
        let given = of_traffic.iter().filter_map(|text| text.split_once('='));
        let overrides: Vec<_> =
            given.chain(count.iter().map(|count| ("packet.count", count.as_str()))).collect();
        let mut spec = traffic::standard(&app.manifest, &overrides)?;
        if let Some(rate) = rate {
            spec.rate = Rate::BitsPerSecond((rate * 1e9) as u64);
        }
        let packets = Packets::of(spec, None, None)?;
        let run = || Ok(run::run(app, packets, &Default::default(), &mut Unobserved)?.summary);
        Ok(Ran { rate_gbit_s: rate, ..timed(run)? })
    };
    let own = traffic::standard(&app.manifest, &[])?.rate.bits_per_s();
    let link = app.machine.value.network.rate_mbit_s as f64 / 1e3;
    let fastest = own.map_or(link, |bits| bits as f64 / 1e9);
    let whole = |count, rate| match paced {
        true => go(&app, count, rate),
        false => without_loss(|rate| go(&app, count, rate), rate, fastest),
    };
    let mut ran = whole(None, None)?;
    let mut count = None;
    // A run that its traffic makes no longer, or that fails or does other work when it does, stays as it is; so
    // does one that loses packets at any rate, of which there would be more.
    let is_short = |ran: &Ran| ran.seconds < seconds / 6.0 && row::lost(&ran.summary) == 0;
    while is_short(&ran) && !interrupt::happened() {
        let packets = ran.summary["packets"]["in"].as_u64().unwrap_or(0);
        let longer = packets * 2;
        if packets == 0 || longer > MOST_PACKETS {
            break;
        }
        match whole(Some(longer), ran.rate_gbit_s) {
            Ok(next) if next.summary["packets"]["in"] == longer && is_alike(&ran, &next) => {
                ran = next
            }
            _ => break,
        }
        count = Some(longer);
    }
    Ok(Box::new(move || go(&app, count, ran.rate_gbit_s)))
}

/// Says whether a longer run has the same handlers' work for each packet, but for what a message takes once:
/// further messages may be none that the application knows.
fn is_alike(run: &Ran, longer: &Ran) -> bool {
    let each = |run: &Ran| {
        let of = |value: &serde_json::Value| value.as_f64().unwrap_or(0.0);
        of(&run.summary["instructions"]) / of(&run.summary["packets"]["processed"])
    };
    !longer.failed && (each(longer) / each(run) - 1.0).abs() < 0.25
}

/// Runs so slowly that no packet is lost because the machine has no room for it: what is measured is what it
/// handles, not what it loses. Begins with a rate in Gbit/s, `None` as fast as packets come, which is no more
/// than `fastest`. Where a lower rate does not help, they come as fast.
fn without_loss(
    mut go: impl FnMut(Option<f64>) -> Result<Ran>,
    rate: Option<f64>,
    fastest: f64,
) -> Result<Ran> {
    let first = go(rate)?;
    let mut slower = rate.unwrap_or(fastest);
    for _ in 0..MOST_RATES {
        if row::lost(&first.summary) == 0 || interrupt::happened() {
            break;
        }
        slower *= SLOWER;
        let ran = go(Some(slower))?;
        if row::lost(&ran.summary) == 0 {
            return Ok(ran);
        }
    }
    Ok(first)
}

/// Prepares runs of a nanoservice on the messages beside it, or on a load.
fn of_service(manifest: Manifest, mut options: Options, particulars: Particulars) -> Result<Once> {
    options.overrides = particulars.set;
    let service = Service::of(manifest, &options)?;
    let setup = Setup::new(&service, &options)?;
    Ok(Box::new(move || {
        let traffic = match &particulars.load {
            Some(load) => Traffic::load(load, None, &setup, true)?,
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ran(summary: serde_json::Value, rate_gbit_s: Option<f64>) -> Ran {
        Ran { seconds: 1.0, host_instructions: None, summary, failed: false, rate_gbit_s }
    }

    /// A machine that loses what comes at more than `bearable` Gbit/s.
    fn machine(bearable: f64) -> impl FnMut(Option<f64>) -> Result<Ran> {
        move |rate| {
            let lost = rate.is_none_or(|rate| rate > bearable);
            let dropped = json!({ "fifo_full": u64::from(lost), "no_queue": 3 });
            Ok(ran(json!({ "packets": { "in": 9, "dropped": dropped } }), rate))
        }
    }

    #[test]
    fn packets_come_as_slowly_as_the_machine_takes_them() {
        let rate = |bearable, from| {
            without_loss(machine(bearable), from, 100.0).expect("it runs").rate_gbit_s
        };
        assert_eq!(rate(80.0, None), Some(75.0));
        assert_eq!(rate(60.0, None), Some(56.25));
        assert_eq!(rate(9.0, Some(2.0)), Some(2.0));
        assert_eq!(rate(0.0, None), None, "no rate helps");
    }

    #[test]
    fn a_longer_run_must_do_the_same_work() {
        let of = |instructions: u32, packets: u32| {
            ran(json!({ "instructions": instructions, "packets": { "processed": packets } }), None)
        };
        assert!(is_alike(&of(1100, 10), &of(2000, 20)));
        assert!(!is_alike(&of(1100, 10), &of(1300, 20)));
        assert!(!is_alike(&of(0, 10), &of(0, 20)), "nothing was done");
        assert!(!is_alike(&of(1100, 10), &Ran { failed: true, ..of(2200, 20) }));
    }
}
