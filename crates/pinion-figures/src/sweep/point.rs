//! One point. In: its setting and its program. Out: what was measured, from the journal or from a
//! run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

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
    /// Programs that are built as they are loaded are so one after the other.
    pub loading: &'a Mutex<()>,
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
    let prepared = prepare(shared, setting, elf);
    let (ready, key) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(paragraph(&error)),
    };
    if let Some(entry) = shared.journal.find(key) {
        return Ok(Done::Kept(row(entry)));
    }
    let measured = catch_unwind(AssertUnwindSafe(|| ready.measure(shared.stop, share)));
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

/// Puts together what a point runs, and digests everything its result depends on.
fn prepare(shared: &Shared<'_>, setting: &Setting, elf: Option<&Path>) -> Result<(Ready, u64)> {
    let alone =
        elf.is_none().then(|| shared.loading.lock().unwrap_or_else(PoisonError::into_inner));
    let ready = Ready::load(&shared.plan.request, setting, elf)?;
    drop(alone);
    let key = ready.key(&shared.plan.pinion)?;
    Ok((ready, key))
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
