//! One point. In: its setting and its program. Out: what was measured, from the journal or from a
//! run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::{Map, Value};

use super::Row;
use super::journal::{Entry, Journal};
use super::plan::{Plan, Point, Setting};
use super::ready::Ready;
use pinion_app::error::{Result, paragraph};

/// Tells what came of a point.
pub(super) enum Done {
    /// The journal had it.
    Kept(Row),
    /// It was run.
    Ran(Row),
    /// It was stopped before its end.
    Stopped,
}

/// What a point's run shares with the rest of the sweep.
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
    let (ready, key) = match prepare(shared.plan, setting, elf) {
        Ok(prepared) => prepared,
        Err(error) => return failed(paragraph(&error)),
    };
    if let Some(entry) = shared.journal.find(key) {
        return Ok(Done::Kept(row(entry)));
    }
    let entry = match measure(&ready, shared.stop, share) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(Done::Stopped),
        Err(problem) => return failed(problem),
    };
    shared.journal.keep(key, settings(shared.plan, point), &entry)?;
    Ok(Done::Ran(row(&entry)))
}

/// Runs what was put together; `None` when it was stopped, or what is wrong with the point.
pub(super) fn measure(
    ready: &Ready,
    stop: &AtomicBool,
    share: &AtomicU64,
) -> std::result::Result<Option<Entry>, String> {
    match catch_unwind(AssertUnwindSafe(|| ready.measure(stop, share))) {
        Ok(Ok(entry)) => Ok(entry),
        Ok(Err(error)) => Err(paragraph(&error)),
        Err(panic) => Err(format!("a defect of pinion, please report it: {}", words(&*panic))),
    }
}

/// Puts together what a point runs, and digests everything its result depends on.
pub(super) fn prepare(plan: &Plan, setting: &Setting, elf: Option<&Path>) -> Result<(Ready, u64)> {
    let alone = elf.is_none().then(|| plan.loading.lock().unwrap_or_else(PoisonError::into_inner));
    let ready = Ready::load(&plan.request, setting, elf)?;
    drop(alone);
    let key = ready.key(&plan.request.pinion)?;
    Ok((ready, key))
}

/// Gives a point's settings for people who read the journal.
pub(super) fn settings(plan: &Plan, point: &Point) -> Value {
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
