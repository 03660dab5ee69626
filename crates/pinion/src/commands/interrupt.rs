//! Interruption: Ctrl-C, SIGTERM and a terminal that closes come in; a flag that runs look at goes
//! out. A verb that watches it ends in order, with its summary; any other ends at once, and so does
//! everything at the second time, and what only waits for others: a pipe that nobody reads. Who waits for a
//! program that it started, a compiler, ends when that does, and takes away what was begun. Nothing is left
//! under a temporary name, and the status is the same.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use pinion::hardware::stuck::Watch;

use crate::commands::Status;

/// How long a process that was interrupted may wait for others, and how often it is looked at.
const LONGEST_WAIT: Duration = Duration::from_millis(800);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long further signals belong to the first: `timeout` sends one to the process and one to its group.
const SAME_SIGNAL: Duration = Duration::from_millis(250);
/// How long a block of hardware may be at one cycle.
const LONGEST_CYCLE: Duration = Duration::from_secs(20);

/// The exit status of everything that was interrupted (128 and the number of SIGINT, as shells
/// have it).
pub const STATUS: u8 = 130;

static WATCHED: AtomicBool = AtomicBool::new(false);
static LEFT_ALONE: AtomicBool = AtomicBool::new(false);
static HAPPENED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static FIRST: OnceLock<Instant> = OnceLock::new();

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
        let first = FIRST.get_or_init(Instant::now);
        let is_second = happened_flag().swap(true, Ordering::Relaxed);
        if is_second && first.elapsed() < SAME_SIGNAL {
            return;
        }
        if is_second || !WATCHED.load(Ordering::Relaxed) {
            end();
        }
        // Without a thread it waits on; a second interruption ends it.
        let _ = thread::Builder::new().spawn(end_if_waiting);
    });
    if is_ignored {
        signals::ignore(signals::HANGUP);
    }
}

fn end() -> ! {
    pinion::report::remove_partials();
    std::process::exit(STATUS.into());
}

/// Ends the process once it has done nothing for a while but wait.
fn end_if_waiting() {
    let (mut before, mut waited) = (None, Duration::ZERO);
    while waited < LONGEST_WAIT {
        thread::sleep(LOOK_EVERY);
        let done = signals::work_done();
        let waits = done.is_some() && done == before;
        (before, waited) = (done, if waits { waited + LOOK_EVERY } else { Duration::ZERO });
    }
    end();
}

/// Ends the process when a block of hardware does not end a cycle for long, or at an interruption for a moment: it runs in
/// the process, and a loop without end in it lets nothing else come.
pub fn watch_blocks() {
    let watch = || {
        let (mut watch, mut waited) = (Watch::default(), Duration::ZERO);
        loop {
            thread::sleep(LOOK_EVERY);
            let Some(block) = watch.look() else {
                waited = Duration::ZERO;
                continue;
            };
            waited += LOOK_EVERY;
            if waited >= LONGEST_WAIT && happened() {
                end();
            }
            if waited >= LONGEST_CYCLE {
                let seconds = LONGEST_CYCLE.as_secs();
                eprintln!(
                    "pinion: the block {block} has not ended a cycle for {seconds} s: there is a loop without \
                     end in it; nothing is left half written"
                );
                pinion::report::remove_partials();
                std::process::exit(Status::Mistake.code().into());
            }
        }
    };
    // Without a thread it is as it was: a second interruption ends it.
    let _ = thread::Builder::new().spawn(watch);
}

/// Ends a process that cannot go on, for want of memory or stack, as it ends after any other mistake.
pub fn give_up_cleanly() {
    signals::give_up_cleanly();
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

    use crate::commands::Status;

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
        answer(which, SigHandler::SigIgn);
    }

    fn answer(which: Signal, how: SigHandler) {
        // SAFETY: no code of ours runs, or one of the two handlers below, which end the process and wait for nobody.
        let _ = unsafe { signal(which, how) };
    }

    fn leave(status: u8) -> ! {
        // SAFETY: _exit is safe in a signal handler, and nothing of the process is used after it.
        unsafe { libc::_exit(status.into()) }
    }

    extern "C" fn end(_: libc::c_int) {
        leave(super::STATUS)
    }

    pub fn end_at_once() {
        for which in [HANGUP, Signal::SIGINT, Signal::SIGTERM] {
            if !is_ignored(which) {
                answer(which, SigHandler::Handler(end));
            }
        }
    }

    extern "C" fn give_up(_: libc::c_int) {
        pinion::report::try_remove_partials();
        // What it was has been said: by Rust's runtime, or by the block of hardware.
        let _ = nix::unistd::write(std::io::stderr(), LAST_WORDS);
        leave(Status::Mistake.code())
    }

    /// What is said by a process that cannot go on.
    const LAST_WORDS: &[u8] =
        b"pinion: it cannot go on: there is no more memory, or no more stack, than it \
        had (`ulimit -a` shows limits), or something in it gave up; nothing is left half written\n";

    pub fn give_up_cleanly() {
        answer(Signal::SIGABRT, SigHandler::Handler(give_up));
    }

    /// Gives the processor time of each thread but this one, if all of them sleep and none has a program of its
    /// own at work.
    pub fn work_done() -> Option<Vec<(String, String)>> {
        let this = nix::unistd::gettid().to_string();
        let mut all = Vec::new();
        for thread in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
            if *thread.file_name() == *this {
                continue;
            }
            // Where the system does not tell, there is none.
            let children = std::fs::read_to_string(thread.path().join("children"));
            if children.is_ok_and(|children| !children.trim().is_empty()) {
                return None;
            }
            let status = std::fs::read_to_string(thread.path().join("stat")).ok()?;
            // Behind the name, which may hold anything: the state, ten numbers, time in user and in system mode.
            let mut fields = status.rsplit_once(')')?.1.split(' ').skip(1);
            let (state, times) = (fields.next()?, fields.skip(10).take(2).collect::<Vec<_>>());
            if state != "S" {
                return None;
            }
            all.push((thread.file_name().to_string_lossy().into_owned(), times.join(" ")));
        }
        Some(all)
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

    pub fn give_up_cleanly() {}

    pub fn work_done() -> Option<()> {
        None
    }
}
