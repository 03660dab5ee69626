//! Interruption: Ctrl-C, SIGTERM and a terminal that closes come in; a flag that runs look at goes
//! out. A verb that watches it ends in order, with its summary; any other ends at once, and so does
//! everything at the second time. Nothing is left under a temporary name, and the status is the same.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The exit status of everything that was interrupted (128 and the number of SIGINT, as shells
/// have it).
pub const STATUS: u8 = 130;

static WATCHED: AtomicBool = AtomicBool::new(false);
static LEFT_ALONE: AtomicBool = AtomicBool::new(false);
static HAPPENED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

fn happened_flag() -> &'static Arc<AtomicBool> {
    HAPPENED.get_or_init(Arc::default)
}

/// Makes interruptions end the process in order.
pub fn listen() {
    let is_ignored = signals::is_ignored(signals::HANGUP);
    // Without a handler an interruption just ends the process: no reason not to go on.
    let _ = ctrlc::set_handler(|| {
        if LEFT_ALONE.load(Ordering::Relaxed) {
            return;
        }
        let is_second = happened_flag().swap(true, Ordering::Relaxed);
        if is_second || !WATCHED.load(Ordering::Relaxed) {
            pinion::report::remove_partials();
            std::process::exit(STATUS.into());
        }
    });
    if is_ignored {
        signals::ignore(signals::HANGUP);
    }
}

/// Lets a write beyond the limit on files (`ulimit -f`) fail as one to a full disk does, instead of ending
/// the process with what it was writing.
pub fn survive_file_limits() {
    signals::ignore(signals::FILE_LIMIT);
}

/// Lets interruptions pass: somebody else on this terminal has them, and says when it is over.
pub fn leave_alone() {
    LEFT_ALONE.store(true, Ordering::Relaxed);
}

/// Makes interruptions end the process at once, without the thread that [`listen`] has: what enters
/// a namespace may have no other thread.
pub fn end_at_once() {
    signals::end_at_once();
}

/// Gives the flag that an interruption sets: from now on whoever asked ends by itself.
pub fn flag() -> Arc<AtomicBool> {
    WATCHED.store(true, Ordering::Relaxed);
    Arc::clone(happened_flag())
}

/// Tells whether an interruption has come.
pub fn happened() -> bool {
    happened_flag().load(Ordering::Relaxed)
}

/// Dispositions; what `nohup` did stays done.
#[cfg(target_os = "linux")]
mod signals {
    use nix::libc;
    use nix::sys::signal::{SigHandler, Signal, signal};

    /// The end of the terminal.
    pub const HANGUP: Signal = Signal::SIGHUP;

    /// Tells whether the process was started so that it ignores a signal.
    pub fn is_ignored(which: Signal) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (which as u32 - 1) & 1 == 1)
    }

    /// A file that grows beyond what the process may write.
    pub const FILE_LIMIT: Signal = Signal::SIGXFSZ;

    pub fn ignore(which: Signal) {
        // SAFETY: to ignore a signal runs no code of ours.
        let _ = unsafe { signal(which, SigHandler::SigIgn) };
    }

    extern "C" fn end(_: libc::c_int) {
        // SAFETY: _exit is safe in a signal handler, and nothing of the process is used after it.
        unsafe { libc::_exit(super::STATUS.into()) }
    }

    pub fn end_at_once() {
        for which in [HANGUP, Signal::SIGINT, Signal::SIGTERM] {
            if !is_ignored(which) {
                // SAFETY: the handler calls _exit alone.
                let _ = unsafe { signal(which, SigHandler::Handler(end)) };
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod signals {
    pub const HANGUP: () = ();

    pub fn is_ignored((): ()) -> bool {
        false
    }

    pub const FILE_LIMIT: () = ();

    pub fn ignore((): ()) {}

    pub fn end_at_once() {}
}
