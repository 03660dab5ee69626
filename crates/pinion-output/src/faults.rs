//! A disk that fails, for tests: the call with a given number on any output of this process below a folder
//! fails, alone or with all behind it, writes less than it was given, or is interrupted. Files that were
//! opened without a test are asked nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The disk is full, and stays so.
    Full,
    /// The disk is full for this call alone.
    FullOnce,
    /// A write takes the first half of the bytes alone.
    Short,
    /// A write is interrupted by a signal.
    Interrupted,
}

/// Which call, and how many there were.
#[derive(Debug)]
struct Plan {
    folder: PathBuf,
    at: u64,
    fault: Fault,
    calls: u64,
}

static IS_PLANNED: AtomicBool = AtomicBool::new(false);
static PLAN: Mutex<Option<Plan>> = Mutex::new(None);

fn plan() -> MutexGuard<'static, Option<Plan>> {
    PLAN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the faults when it is dropped.
#[derive(Debug)]
pub struct Planned(());

/// Lets call number `at` on outputs below a folder fail, from 1; 0: none, they are only counted. One test of a
/// process at a time.
pub fn fail(folder: &Path, at: u64, fault: Fault) -> Planned {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    *plan() = Some(Plan { folder, at, fault, calls: 0 });
    IS_PLANNED.store(true, Ordering::SeqCst);
    Planned(())
}

impl Planned {
    /// Gives the number of calls so far.
    pub fn calls(&self) -> u64 {
        plan().as_ref().map_or(0, |plan| plan.calls)
    }
}

impl Drop for Planned {
    fn drop(&mut self) {
        IS_PLANNED.store(false, Ordering::SeqCst);
        *plan() = None;
    }
}

/// Tells whether calls on a file are to fail.
pub(crate) fn cover(path: &Path) -> bool {
    if !IS_PLANNED.load(Ordering::Relaxed) {
        return false;
    }
    let whole = path.parent().and_then(|folder| folder.canonicalize().ok());
    let plan = plan();
    plan.as_ref().is_some_and(|plan| whole.is_some_and(|whole| whole.starts_with(&plan.folder)))
}

/// Counts a call; gives what happens to it.
fn due() -> Option<Fault> {
    let mut plan = plan();
    let plan = plan.as_mut()?;
    plan.calls += 1;
    let is_due = match plan.fault {
        Fault::Full => plan.at != 0 && plan.calls >= plan.at,
        Fault::FullOnce | Fault::Short | Fault::Interrupted => plan.calls == plan.at,
    };
    is_due.then_some(plan.fault)
}

/// Counts a call that writes no bytes; those are neither short nor interrupted.
pub(crate) fn call() -> io::Result<()> {
    match due() {
        Some(Fault::Full | Fault::FullOnce) => Err(io::ErrorKind::StorageFull.into()),
        Some(Fault::Short | Fault::Interrupted) | None => Ok(()),
    }
}

/// Counts a call that writes so many bytes; gives how many it may write.
pub(crate) fn write(bytes: usize) -> io::Result<usize> {
    match due() {
        Some(Fault::Full | Fault::FullOnce) => Err(io::ErrorKind::StorageFull.into()),
        Some(Fault::Interrupted) => Err(io::ErrorKind::Interrupted.into()),
        Some(Fault::Short) => Ok(bytes.div_ceil(2)),
        None => Ok(bytes),
    }
}
