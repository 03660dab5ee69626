//! A barrier for threads that meet thousands of times a second: it spins for a while, then lets
//! others have the processor.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Turns of spinning before a thread offers its processor to others.
const SPINS: u32 = 4_000;

/// Makes a number of threads wait for each other.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    spins: u32,
}

impl Barrier {
    pub(super) fn new(threads: usize) -> Self {
        // Who spins on a processor that another thread needs holds all up.
        let has_processors =
            std::thread::available_parallelism().is_ok_and(|count| count.get() >= threads);
        Self {
            spins: if has_processors { SPINS } else { 0 },
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all threads are here; tells whether they can still come.
    pub(super) fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.fetch_add(1, Ordering::AcqRel);
            return !self.broken.load(Ordering::Acquire);
        }
        let mut turns = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            turns += 1;
            if turns < self.spins { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        !self.broken.load(Ordering::Acquire)
    }

    /// Says that a thread will not come any more: nobody waits for it.
    pub(super) fn give_up(&self) {
        self.broken.store(true, Ordering::Release);
    }
}
