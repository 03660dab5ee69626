//! Stack for the command's work. In: the work. Out: what came of it, also where the process was given less stack
//! than a computer gives as a rule (`ulimit -s`): then it is done on a thread that brings its own.

use std::thread::Builder;

/// What a process has as a rule.
const BYTES: usize = 8 << 20;

/// Does the command's work with as much stack as it takes.
pub fn with_enough<T: Send + 'static>(work: fn() -> T) -> T {
    if has_enough() || is_single() {
        return work();
    }
    match Builder::new().stack_size(BYTES).spawn(work) {
        Ok(worker) => worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        // It may well be enough.
        Err(_) => work(),
    }
}

/// Tells of the verb that enters namespaces, where a process may have no other thread.
fn is_single() -> bool {
    std::env::args_os().nth(1).is_some_and(|verb| verb == "lab")
}

#[cfg(unix)]
fn has_enough() -> bool {
    use nix::sys::resource::{Resource, getrlimit};
    getrlimit(Resource::RLIMIT_STACK).is_ok_and(|(now, _)| now >= BYTES as u64)
}

#[cfg(not(unix))]
fn has_enough() -> bool {
    true
}
