//! `pinion bench`: how fast this computer simulates, in processor time: every example on every machine
//! that it fits, beside the RTL, and the same loops on QEMU and Spike where they are installed.

#[cfg(unix)]
mod loops;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pinion::app::{App, Options};
use pinion::cluster::{self, Plan};
use pinion::document::Document;
use pinion::error::{Error, Result};
use pinion::machine::{self, Kind};
use pinion::manifest::Manifest;
use pinion::nanoservice::{self, Setup, Traffic};
use pinion::report::Report;
use pinion::service::Service;
use pinion::sweep::Subject;
use pinion::traffic::{self, Packets};
use pinion::watch::Unobserved;
use pinion::{assets, run};
use pinion_nanopu::event::Deaf;
use pinion_net::fabric::Alone;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Status, interrupt};
use crate::cli::BenchArgs;
use crate::output;

/// Cycles per second of the published RTL in a simulator, PsPIN's and the nanoPU's: between these.
const RTL_CYCLES_PER_SECOND: [u32; 2] = [178, 600];
/// Packets of the longest run that is tried.
const MOST_PACKETS: u64 = 1 << 20;
/// Machine of the rows whose nodes may be several.
const OWN: &str = "own";

/// Something that was measured: its fastest run.
#[derive(Debug, Serialize)]
struct Row {
    app: String,
    machine: String,
    kind: &'static str,
    /// Runs that were made.
    runs: u32,
    processor_seconds: f64,
    cycles: u64,
    instructions: u64,
    /// Packets or messages.
    packets: u64,
    mips: f64,
    packets_per_second: f64,
    cycles_per_second: f64,
}

/// Something that could not be measured.
#[derive(Debug, Serialize)]
struct LeftOut {
    app: String,
    machine: String,
    why: String,
}

/// What a run comes to.
struct Ran {
    seconds: f64,
    summary: Value,
    failed: bool,
}

pub fn run(args: &BenchArgs) -> Result<Status> {
    if !(args.seconds > 0.0 && args.seconds.is_finite()) {
        return Err(Error::Usage(format!("--seconds {}: give a time above 0", args.seconds)));
    }
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for app in apps(args)? {
        let subject = Subject::load(&app)?;
        for machine in machines(args, &subject) {
            if interrupt::happened() {
                return Ok(Status::Interrupted);
            }
            match measure(name(&app), &subject, machine.as_deref(), args.seconds) {
                Ok(row) => rows.push(row),
                Err(why) => left_out.push(LeftOut {
                    app: name(&app),
                    machine: machine.unwrap_or_else(|| OWN.to_owned()),
                    why: why.to_string().lines().next().unwrap_or_default().to_owned(),
                }),
            }
        }
    }
    #[cfg(unix)]
    let loops = if args.apps.is_empty() { loops::measure()? } else { loops::Loops::default() };
    #[cfg(unix)]
    let told = loops.to_json();
    #[cfg(not(unix))]
    let told = json!({ "rows": [], "left_out": [] });
    let mut text = table(&rows, args.markdown);
    #[cfg(unix)]
    text.push_str(&loops.table(args.markdown));
    for LeftOut { app, machine, why } in &left_out {
        let _ = writeln!(text, "{}{app} on {machine}: {why}", begins(args.markdown, "left out: "));
    }
    output::print(&text);
    if let Some(path) = &args.json {
        let document = json!({
            "document": Document::Bench.head(),
            "pinion_version": env!("CARGO_PKG_VERSION"),
            "rtl_cycles_per_second": RTL_CYCLES_PER_SECOND,
            "rows": rows,
            "left_out": left_out,
            "loops": told,
        });
        output::write_json(path, &format!("{document:#}"))?;
    }
    Ok(if rows.is_empty() { Status::Mismatch } else { Status::Success })
}

/// Gives the folders that were named, or those of the examples.
fn apps(args: &BenchArgs) -> Result<Vec<PathBuf>> {
    if !args.apps.is_empty() {
        return Ok(args.apps.clone());
    }
    let folder = PathBuf::from("examples");
    let entries = std::fs::read_dir(&folder).map_err(|error| {
        Error::Usage(format!(
            "{}: {error}; name the applications, or start it in a checkout's folder",
            folder.display()
        ))
    })?;
    let is_app =
        |path: &PathBuf| path.join("app.toml").is_file() || cluster::locate(path).is_some();
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_app).collect();
    found.sort();
    Ok(found)
}

/// Gives the machines to measure an application on; `None` is its own.
fn machines(args: &BenchArgs, subject: &Subject) -> Vec<Option<String>> {
    let wanted = match subject {
        Subject::Cluster(_) => return vec![None],
        _ if !args.machine.is_empty() => return args.machine.iter().cloned().map(Some).collect(),
        Subject::Nanoservice(_) => Kind::Nanopu,
        Subject::Handlers(_) => Kind::Spin,
    };
    let known = assets::machines().into_iter();
    known.filter(|name| machine::kind(name).ok() == Some(wanted)).map(Some).collect()
}

fn name(app: &Path) -> String {
    app.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Measures an application on a machine: runs it until the runs together have taken so long.
fn measure(app: String, subject: &Subject, machine: Option<&str>, seconds: f64) -> Result<Row> {
    let options = Options { machine: machine.map(str::to_owned), ..Options::default() };
    let (kind, mut once) = match subject {
        Subject::Cluster(cluster) => ("cluster", of_cluster(&cluster.path, &options)?),
        Subject::Nanoservice(manifest) => ("nanoservice", of_service(manifest.clone(), &options)?),
        Subject::Handlers(manifest) => {
            ("packet_handlers", of_handlers(manifest.clone(), &options, seconds)?)
        }
    };
    let mut best: Option<Ran> = None;
    let (mut spent, mut runs) = (0.0, 0);
    while spent < seconds && !interrupt::happened() {
        let ran = once()?;
        if ran.failed {
            return Err(Error::Usage("its program fails there; `pinion run` says how".to_owned()));
        }
        (spent, runs) = (spent + ran.seconds, runs + 1);
        if best.as_ref().is_none_or(|best| ran.seconds < best.seconds) {
            best = Some(ran);
        }
    }
    let Some(Ran { seconds, summary, .. }) = best else {
        return Err(Error::Usage("interrupted".to_owned()));
    };
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let packets = match subject {
        Subject::Cluster(_) => summary["nodes"]
            .as_array()
            .map_or(0, |nodes| nodes.iter().map(|node| number(&node["messages_in"])).sum()),
        Subject::Nanoservice(_) => number(&summary["messages"]["in"]),
        Subject::Handlers(_) => number(&summary["packets"]["in"]),
    };
    let (cycles, instructions) = (number(&summary["cycles"]), number(&summary["instructions"]));
    let rate = |count: u64| count as f64 / seconds.max(f64::MIN_POSITIVE);
    Ok(Row {
        app,
        machine: machine.unwrap_or(OWN).to_owned(),
        kind,
        runs,
        processor_seconds: seconds,
        cycles,
        instructions,
        packets,
        mips: rate(instructions) / 1e6,
        packets_per_second: rate(packets),
        cycles_per_second: rate(cycles),
    })
}

/// Makes one run after the other of the same thing.
type Once = Box<dyn FnMut() -> Result<Ran>>;

/// Takes the time of a run.
fn timed<S: Report>(run: impl FnOnce() -> Result<S>) -> Result<Ran> {
    let begun = processor_seconds();
    let summary = run()?;
    let seconds = processor_seconds() - begun;
    Ok(Ran { seconds, summary: summary.to_json(), failed: summary.has_failures() })
}

/// Prepares runs on the application's standard traffic, as many packets as take about a third of the
/// time; without standard traffic, on the capture beside the application.
fn of_handlers(manifest: Manifest, options: &Options, seconds: f64) -> Result<Once> {
    let app = App::of(manifest, options)?;
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
    let go = |app: &App, count: Option<u64>| {
        let count = count.map(|count| count.to_string());
        let overrides: Vec<_> =
            count.iter().map(|count| ("packet.count", count.as_str())).collect();
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

/// Prepares runs of a nanoservice on the messages beside it.
fn of_service(manifest: Manifest, options: &Options) -> Result<Once> {
    let service = Service::of(manifest, options)?;
    let setup = Setup::new(&service, options)?;
    Ok(Box::new(move || {
        let run = nanoservice::run::RunOptions::of(Traffic::of_folder(&service)?);
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

/// Gives the processor time that this process has taken.
#[cfg(unix)]
fn processor_seconds() -> f64 {
    loops::processor_seconds(nix::sys::resource::UsageWho::RUSAGE_SELF)
}

/// Gives the time that has passed, where the system's processor time is not known to us.
#[cfg(not(unix))]
fn processor_seconds() -> f64 {
    static BEGUN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGUN.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
}

/// Begins a line below a table.
fn begins(markdown: bool, with: &str) -> String {
    if markdown { format!("\n- {with}") } else { with.to_owned() }
}

/// Aligns a table, or writes it as Markdown.
fn aligned(head: &[&str], rows: Vec<Vec<String>>, markdown: bool) -> String {
    if !markdown {
        let head = head.iter().map(|&cell| cell.to_owned()).collect();
        return output::columns(&[vec![head], rows].concat()) + "\n";
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = head.iter().map(|cell| if cell.is_empty() { "" } else { "---" });
    let mut text = format!("| {} |\n|{}|\n", head.join(" | "), rule.collect::<Vec<_>>().join("|"));
    rows.iter().for_each(|cells| text.push_str(&line(cells)));
    text + "\n"
}

fn table(rows: &[Row], markdown: bool) -> String {
    let [from, to] = RTL_CYCLES_PER_SECOND;
    let head =
        ["application", "machine", "MIPS", "packets or messages/s", "cycles/s", "times the RTL's"];
    let cells = rows.iter().map(|row| {
        let times = |rtl: u32| row.cycles_per_second / f64::from(rtl);
        vec![
            row.app.clone(),
            row.machine.clone(),
            format!("{:.1}", row.mips),
            format!("{:.0}", row.packets_per_second),
            format!("{:.0}", row.cycles_per_second),
            format!("{:.0} to {:.0}", times(to), times(from)),
        ]
    });
    aligned(&head, cells.collect(), markdown)
}
