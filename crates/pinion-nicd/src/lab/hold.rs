//! The process that holds a namespace where nothing may be mounted. In: its namespace, made at its
//! start. Out: nothing, it sleeps. It ends when it is told to, when `up` dies before it has noted
//! it, or when the lab's record no longer has it.
//!
//! `pinion lab hold RECORD` makes the namespace and says `ready`; `up` notes the process and says
//! `stay`; only then it leaves the terminal and stays.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, setsid};
use serde::{Deserialize, Serialize};

use super::state::Record;

/// Looks at the record this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a holder may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// What the holder says when its namespace is there.
const READY: &str = "ready";
/// What makes it stay.
const STAY: &str = "stay";

/// A process that holds a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// When it was started, in the system's ticks: tells it from a later process of that id.
    pub started: u64,
}

/// A holder that does not stay yet.
#[derive(Debug)]
pub struct Starting {
    /// The process.
    pub holder: Holder,
    line: ChildStdin,
}

impl Starting {
    /// Makes it stay.
    pub fn release(mut self) {
        // A holder that is gone is found by `status`.
        let _ = writeln!(self.line, "{STAY}");
    }
}

/// Starts a process with a namespace of its own; it stays once it is released.
pub fn start(record: &Path) -> io::Result<Starting> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["lab", "hold"])
        .arg(record)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (line, out) = (child.stdin.take(), child.stdout.take());
    let (Some(line), Some(out)) = (line, out) else {
        return Err(io::Error::other("the pipes are missing"));
    };
    let mut said = String::new();
    BufReader::new(out).read_line(&mut said)?;
    if said.trim() != READY {
        let ended = child.wait_with_output()?;
        return Err(io::Error::other(String::from_utf8_lossy(&ended.stderr).trim().to_owned()));
    }
    let pid = child.id();
    let started = started(pid).ok_or_else(|| io::Error::other("it ended at once"))?;
    Ok(Starting { holder: Holder { pid, started }, line })
}

/// Is that process: makes a namespace, holds it, returns when it is no longer wanted.
///
/// # Errors
/// When no namespace may be made.
pub fn hold(record: &Path) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    println!("{READY}");
    io::stdout().flush()?;
    let mut said = String::new();
    io::stdin().read_line(&mut said)?;
    if said.trim() != STAY {
        return Ok(());
    }
    // Ctrl-C at the terminal is not for it.
    let _ = setsid();
    while Record::has_holder(record, std::process::id()) {
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

impl Holder {
    /// Tells whether the process lives.
    pub fn is_alive(&self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// Ends it, and waits until it has.
    pub fn end(&self) {
        let pid = Pid::from_raw(self.pid as i32);
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            let asked = Instant::now();
            while self.is_alive() && asked.elapsed() < PATIENCE {
                let _ = kill(pid, signal);
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Reads when a process was started; `None` when there is none, or only its remains.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; what follows is state (3) and numbers.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    match *fields.first()? {
        "Z" | "X" => None,
        _ => fields.get(19)?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let pid = std::process::id();
        let me = Holder { pid, started: started(pid).unwrap() };
        assert!(me.is_alive());
        assert!(!Holder { started: me.started + 1, ..me }.is_alive());
        assert_eq!(started(u32::MAX), None);
    }
}
