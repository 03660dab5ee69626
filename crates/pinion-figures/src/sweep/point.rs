//! One point. In: its setting and its program. Out: what was measured, from the journal or from a
//! run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Map, Value};

use super::journal::{Entry, Journal};
use super::plan::{Plan, Point, Setting};
use super::{Measured, Row};
use pinion_app::app::{App, Options};
use pinion_app::assets::fnv1a;
use pinion_app::build;
use pinion_app::error::{Error, Result, paragraph};
use pinion_app::traffic::Packets;
use pinion_observe::report::{Ending, Outputs, Sink, Summary};
use pinion_run::run::{self, Progress};

/// Tells what came of a point.
pub(super) enum Done {
    /// The journal had it.
    Kept(Row),
    /// It was run.
    Ran(Row),
    /// It was stopped before its end.
    Stopped,
}

/// Is what a point's run shares with the rest of the sweep.
pub(super) struct Shared<'a> {
    pub plan: &'a Plan,
    pub journal: &'a Journal,
    pub stop: &'a AtomicBool,
}

/// Runs a point, unless the journal has it; `share` is told how far it is. The error is one of the
/// journal: what is wrong with the point goes into its row.
pub(super) fn run(
    shared: &Shared<'_>,
    point: &Point,
    elf: Option<&Path>,
    share: &AtomicU64,
) -> Result<Done> {
    let row = |entry: &Entry| Row {
        values: point.values.clone(),
        measured: Some(entry.measured.clone()),
        problem: entry.problem.clone(),
    };
    let failed = |problem| {
        Ok(Done::Ran(Row { values: point.values.clone(), measured: None, problem: Some(problem) }))
    };
    let setting = match &point.setting {
        Ok(setting) => setting,
        Err(problem) => return failed(problem.clone()),
    };
    let prepared = load(shared.plan, setting, elf).and_then(|app| {
        let key = key(shared.plan, setting, &app)?;
        Ok((app, key))
    });
    let (app, key) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(paragraph(&error)),
    };
    if let Some(entry) = shared.journal.find(key) {
        return Ok(Done::Kept(row(entry)));
    }
    let measured = catch_unwind(AssertUnwindSafe(|| measure(shared.stop, setting, &app, share)));
    let entry = match measured {
        Ok(Ok(Some(entry))) => entry,
        Ok(Ok(None)) => return Ok(Done::Stopped),
        Ok(Err(error)) => return failed(paragraph(&error)),
        Err(panic) => {
            return failed(format!("a defect of pinion, please report it: {}", words(&*panic)));
        }
    };
    shared.journal.keep(key, settings(shared.plan, point), &entry)?;
    Ok(Done::Ran(row(&entry)))
}

/// Puts the application together for a point.
fn load(plan: &Plan, setting: &Setting, elf: Option<&Path>) -> Result<App> {
    let request = &plan.request;
    let options = Options {
        machine: request.machine.clone(),
        overrides: setting.overrides.clone(),
        faithful: request.faithful,
        elf: elf.map(Path::to_owned).or_else(|| request.elf.clone()),
        build: build::Options { untrusted: request.untrusted, ..build::Options::default() },
    };
    App::of(request.manifest.clone(), &options)
}

/// Digests everything a point's result depends on.
fn key(plan: &Plan, setting: &Setting, app: &App) -> Result<u64> {
    let read = |path: &Path| std::fs::read(path).map_err(|error| Error::file("read", path, error));
    let mut digest = fnv1a(read(&app.built.elf)?);
    let mut add = |bytes: &[u8]| {
        digest = fnv1a(digest.to_le_bytes().into_iter().chain(bytes.iter().copied()));
    };
    add(plan.pinion.as_bytes());
    add(format!("{:?}", app.machine.value).as_bytes());
    add(format!("{:?}", setting.packets).as_bytes());
    add(format!("{:?}", app.manifest.app.packet).as_bytes());
    for context in app.manifest.contexts() {
        add(format!("{context:?}").as_bytes());
        let images = [&context.handler_memory_image, &context.host_memory_image];
        for image in images.into_iter().flatten() {
            add(&read(image)?);
        }
    }
    Ok(digest)
}

/// Runs a point; gives nothing when it was stopped.
fn measure(
    stop: &AtomicBool,
    setting: &Setting,
    app: &App,
    share: &AtomicU64,
) -> Result<Option<Entry>> {
    let packets = Packets::of(setting.packets.clone(), None, None)?;
    let outputs = Outputs { handlers: true, ..Outputs::default() };
    let mut watch = Watch { stop, share };
    let summary = run::run(app, packets, &outputs, &mut watch)?.summary;
    if summary.ending == Ending::Interrupted {
        return Ok(None);
    }
    Ok(Some(Entry { measured: Measured::of(&summary, app), problem: problem(&summary) }))
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
        let count = summary.totals.faults;
        (count > 0).then(|| format!("{count} handlers failed{place}"))
    };
    let nothing = || (summary.totals.matched == 0).then(|| summary.remarks.join("; "));
    summary.imbalance.clone().or(stuck).or_else(faults).or_else(nothing)
}

/// Gives a point's settings for people who read the journal.
fn settings(plan: &Plan, point: &Point) -> Value {
    let pairs = plan.axes.iter().zip(&point.values);
    let pairs = pairs.map(|(axis, value)| (axis.key.clone(), Value::from(value.clone())));
    Value::Object(pairs.collect::<Map<_, _>>())
}

/// Gives what a panic says.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}

/// Tells how far a run is and stops it.
struct Watch<'a> {
    stop: &'a AtomicBool,
    share: &'a AtomicU64,
}

impl Sink for Watch<'_> {}

impl run::Observer for Watch<'_> {
    fn goes_on(&mut self, progress: &Progress) -> bool {
        let total = progress.total.unwrap_or(0).max(1);
        let share = progress.packets as f64 / total as f64;
        self.share.store(share.to_bits(), Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }
}
