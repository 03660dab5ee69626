//! A barrier for threads that meet thousands of times a second: it spins for a while, then offers the
//! processor to others, then sleeps.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Turns of spinning before a thread offers its processor to others.
const SPINS: u32 = 4_000;
/// Time that a thread only offers its processor before it sleeps: longer than waking it takes. On a busy
/// computer an offer lasts until the others have had their turns, and then it is the others who wait for one
/// that has nothing to do.
const AWAKE: Duration = Duration::from_millis(1);

/// Makes a number of threads wait for each other.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    spins: u32,
    /// How many sleep.
    sleepers: Mutex<usize>,
    woken: Condvar,
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
            sleepers: Mutex::new(0),
            woken: Condvar::new(),
        }
    }

    /// Waits until all threads are here; tells whether they can still come.
    pub(super) fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            self.round.fetch_add(1, Ordering::SeqCst);
            self.wake();
            return !self.broken.load(Ordering::Acquire);
        }
        let is_over =
            || self.round.load(Ordering::SeqCst) != round || self.broken.load(Ordering::SeqCst);
        for _ in 0..self.spins {
            if is_over() {
                break;
            }
            std::hint::spin_loop();
        }
        let since = Instant::now();
        while !is_over() && since.elapsed() < AWAKE {
            std::thread::yield_now();
        }
        if !is_over() {
            let mut sleepers = self.sleepers();
            *sleepers += 1;
            while !is_over() {
                let waited = self.woken.wait(sleepers);
                sleepers = waited.unwrap_or_else(PoisonError::into_inner);
            }
            *sleepers -= 1;
        }
        !self.broken.load(Ordering::Acquire)
    }

    /// Says that a thread will not come any more: nobody waits for it.
    pub(super) fn give_up(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Wakes who sleeps. Who is about to sleep looks once more with the lock that is taken here.
    fn wake(&self) {
        if *self.sleepers() > 0 {
            self.woken.notify_all();
        }
    }

    fn sleepers(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_sleep_are_woken_and_none_is_ahead() {
        let (barrier, count) = (Barrier::new(3), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (barrier, count) = (&barrier, &count);
                scope.spawn(move || {
                    for round in 0..30 {
                        // Each is late in some rounds, so late that the others sleep.
                        if round % 3 == thread {
                            std::thread::sleep(Duration::from_millis(3));
                        }
                        count.fetch_add(1, Ordering::SeqCst);
                        assert!(barrier.wait());
                        assert!(count.load(Ordering::SeqCst) >= 3 * (round + 1));
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::SeqCst), 90);
    }

    #[test]
    fn nobody_sleeps_for_who_has_given_up() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| barrier.wait());
            std::thread::sleep(Duration::from_millis(20));
            barrier.give_up();
            assert!(!waits.join().expect("it does not panic"));
        });
    }
}
