//! The threads that share a window's work. In: the components that have something to do. Out: the
//! same, a window later. Each thread takes the next component that nobody has; those that took long
//! last time come first, so that all finish at about the same time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::Member;
use super::barrier::Barrier;
use super::component::{Component, Shared, lock};

/// Below so many components a window is one thread's: waking others takes longer.
const ALONE: usize = 2;

/// Holds what the threads share.
pub(super) struct Crew<'a, N> {
    components: &'a [Mutex<Component<N>>],
    shared: &'a Shared,
    barrier: Barrier,
    threads: usize,
    work: Mutex<Vec<u32>>,
    end: AtomicU64,
    cursor: AtomicUsize,
    over: AtomicBool,
    /// By component: how long its last window took, in nanoseconds of the host.
    costs: Vec<AtomicU32>,
}

impl<'a, N: Member> Crew<'a, N> {
    pub fn new(components: &'a [Mutex<Component<N>>], shared: &'a Shared, threads: usize) -> Self {
        Self {
            components,
            shared,
            barrier: Barrier::new(threads),
            threads,
            work: Mutex::new(Vec::new()),
            end: AtomicU64::new(0),
            cursor: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            costs: components.iter().map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Does the work of a thread that is not the leader, until the leader ends the run.
    pub fn follow(&self) {
        let watch = GiveUp(&self.barrier);
        while self.barrier.wait() && !self.over.load(Ordering::Acquire) {
            self.share();
            if !self.barrier.wait() {
                break;
            }
        }
        std::mem::forget(watch);
    }

    /// Lets all threads do a window that ends before `end`; only the leader calls it.
    pub fn window(&self, end: u64) {
        let watch = GiveUp(&self.barrier);
        let mut work = lock(&self.work);
        work.clear();
        let active = (0..self.components.len()).filter(|&i| self.shared.next(i) < end);
        work.extend(active.map(|i| i as u32));
        if self.threads == 1 || work.len() < ALONE {
            for &index in &*work {
                lock(&self.components[index as usize]).window(index as usize, end, self.shared);
            }
        } else {
            let cost = |&index: &u32| self.costs[index as usize].load(Ordering::Relaxed);
            work.sort_by_key(|index| std::cmp::Reverse(cost(index)));
            drop(work);
            self.end.store(end, Ordering::Release);
            self.cursor.store(0, Ordering::Release);
            self.barrier.wait();
            self.share();
            assert!(self.barrier.wait(), "a thread of the fabric failed");
        }
        std::mem::forget(watch);
    }

    /// Ends the run for all threads; only the leader calls it.
    pub fn finish(&self) {
        self.over.store(true, Ordering::Release);
        if self.threads > 1 {
            self.barrier.wait();
        }
    }

    fn share(&self) {
        let end = self.end.load(Ordering::Acquire);
        loop {
            let place = self.cursor.fetch_add(1, Ordering::AcqRel);
            let Some(index) = lock(&self.work).get(place).copied() else { break };
            let index = index as usize;
            let begun = Instant::now();
            lock(&self.components[index]).window(index, end, self.shared);
            let cost = u32::try_from(begun.elapsed().as_nanos()).unwrap_or(u32::MAX);
            self.costs[index].store(cost, Ordering::Relaxed);
        }
    }
}

/// Tells the others when a thread panics: they would wait for it for ever.
struct GiveUp<'a>(&'a Barrier);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}
