//! The watchdog: stops handlers that take too long. A thread looks at every worker now and then; a
//! handler that has used its limit of processor time is told to stop by a signal. Processor time,
//! because on a busy computer a thread may wait long without a fault of its handler.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::block::Block;
use crate::error::NativeError;
use crate::signals::STOP;

/// Looks this often.
const PERIOD: Duration = Duration::from_millis(10);
/// The least that a handler gets, whatever its manifest says for the NIC, in nanoseconds.
pub const FLOOR_NS: u64 = 50_000_000;

/// Names a worker to watch.
pub struct Watched {
    /// Its block.
    pub block: *mut Block,
    /// Its thread.
    pub thread: libc::pthread_t,
}

// SAFETY: of the block only atomics are used, and it is mapped until the watchdog has stopped.
unsafe impl Send for Watched {}

/// Holds the watchdog's thread; stops it when dropped.
pub struct Watchdog {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts to watch.
    pub fn start(workers: Vec<Watched>) -> Result<Self, NativeError> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let builder = thread::Builder::new().name("watchdog".to_owned());
        let thread =
            builder.spawn(move || watch(&workers, &asked)).map_err(NativeError::NoThread)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop.store(true, Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic there has been printed; there is nothing else to do about it.
            let _ = thread.join();
        }
    }
}

fn watch(workers: &[Watched], stop: &AtomicBool) {
    let mut seen = vec![(0u64, 0u64); workers.len()];
    while !stop.load(Acquire) {
        thread::park_timeout(PERIOD);
        for (worker, seen) in workers.iter().zip(&mut seen) {
            // SAFETY: mapped until this thread has ended; atomics only.
            let block = unsafe { &*worker.block };
            let sequence = block.sequence.load(Relaxed);
            if sequence.is_multiple_of(2) || block.limit_ns.load(Relaxed) == u64::MAX {
                continue;
            }
            let now = processor_time_ns(worker.thread);
            if seen.0 != sequence {
                *seen = (sequence, now);
            } else if now.saturating_sub(seen.1) > block.limit_ns.load(Relaxed) {
                block.condemned.store(sequence, Relaxed);
                // SAFETY: the thread lives until the watchdog has stopped.
                unsafe { libc::pthread_kill(worker.thread, STOP) };
            }
        }
    }
}

/// Gives the processor time a thread has used.
fn processor_time_ns(thread: libc::pthread_t) -> u64 {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: plain system calls on a thread that lives.
    let found = unsafe {
        libc::pthread_getcpuclockid(thread, &mut clock) == 0
            && libc::clock_gettime(clock, &mut time) == 0
    };
    if found { time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64 } else { 0 }
}
