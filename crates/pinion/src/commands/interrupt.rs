//! Interruption: Ctrl-C, SIGTERM and a terminal that closes come in; a flag that runs look at goes
//! out. A verb that watches it ends in order, with its summary; any other ends at once, and so does
//! everything at the second time. Nothing is left under a temporary name, and the status is the same.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The exit status of everything that was interrupted (128 and the number of SIGINT, as shells
/// have it).
pub const STATUS: u8 = 130;

static WATCHED: AtomicBool = AtomicBool::new(false);
static HAPPENED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

fn happened_flag() -> &'static Arc<AtomicBool> {
    HAPPENED.get_or_init(Arc::default)
}

/// Makes interruptions end the process in order.
pub fn listen() {
    let is_ignored = hangup::is_ignored();
    // Without a handler an interruption just ends the process: no reason not to go on.
    let _ = ctrlc::set_handler(|| {
        let is_second = happened_flag().swap(true, Ordering::Relaxed);
        if is_second || !WATCHED.load(Ordering::Relaxed) {
            pinion::report::remove_partials();
            std::process::exit(STATUS.into());
        }
    });
    if is_ignored {
        hangup::ignore();
    }
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

/// What `nohup` did stays done.
#[cfg(target_os = "linux")]
mod hangup {
    use nix::sys::signal::{SigHandler, Signal, signal};

    /// Tells whether the process was started so that it outlives its terminal.
    pub fn is_ignored() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (Signal::SIGHUP as u32 - 1) & 1 == 1)
    }

    pub fn ignore() {
        // SAFETY: to ignore a signal runs no code of ours.
        let _ = unsafe { signal(Signal::SIGHUP, SigHandler::SigIgn) };
    }
}

#[cfg(not(target_os = "linux"))]
mod hangup {
    pub fn is_ignored() -> bool {
        false
    }

    pub fn ignore() {}
}
