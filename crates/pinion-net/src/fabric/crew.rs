//! The threads that share a window's work. In: the components that have something to do. Out: the
//! same, a window later.
//!
//! Each thread has its share, about as much work as the others' by what the components took last time,
//! and the same components in every window as far as that goes: their state is in its processor's
//! caches. A thread that is through takes from the others' shares. Which thread does what changes
//! nothing but time.
//!
//! On a computer that has other things to do a thread may wait for milliseconds until another one's share of
//! microseconds is done. What a window took longer than its work the leader owes: it does the next windows
//! alone, while the others sleep, until it has done some times as much work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Builder};
use std::time::Instant;

use pinion_sim::node::Node;

use super::barrier::Barrier;
use super::component::{Component, lock};
use super::shared::Shared;

/// Below so much work, in nanoseconds of the host, a window is one thread's: meeting others takes
/// about half a microsecond.
const ALONE_NS: u64 = 2_000;

/// Work that is done alone for each nanosecond that was waited for in vain: a busy computer costs a part of
/// one thread's time at most, 1 / `ALONE_PER_WAIT`.
const ALONE_PER_WAIT: u64 = 4;

/// Parts of a thread's share above which a component is dealt by itself.
const LARGE: u64 = 8;

/// Holds what the threads share.
pub(super) struct Crew<'a, N> {
    components: &'a [Mutex<Component<N>>],
    shared: &'a Shared,
    barrier: Barrier,
    /// The window's components, one thread's share after the other's.
    work: Vec<AtomicU32>,
    shares: Vec<Share>,
    end: AtomicU64,
    over: AtomicBool,
    /// By component: how long its windows took lately, in nanoseconds of the host.
    costs: Vec<AtomicU32>,
    /// Work, in nanoseconds of the host, that the leader does alone before it asks the others again.
    alone: AtomicU64,
}

/// One thread's share of the work; two in a line of the cache would slow each other.
#[derive(Default)]
#[repr(align(64))]
struct Share {
    next: AtomicUsize,
    end: AtomicUsize,
}

impl<'a, N: Node + Send> Crew<'a, N> {
    fn new(components: &'a [Mutex<Component<N>>], shared: &'a Shared, threads: usize) -> Self {
        let zeros = || components.iter().map(|_| AtomicU32::new(0)).collect();
        Self {
            components,
            shared,
            barrier: Barrier::new(threads),
            work: zeros(),
            shares: (0..threads).map(|_| Share::default()).collect(),
            end: AtomicU64::new(0),
            over: AtomicBool::new(false),
            costs: zeros(),
            alone: AtomicU64::new(0),
        }
    }

    /// Runs what leads so many threads, itself the first of them; alone where the computer gives no more.
    pub fn led<T>(
        components: &'a [Mutex<Component<N>>],
        shared: &'a Shared,
        threads: usize,
        lead: impl FnOnce(&Self) -> T,
    ) -> T {
        let crew = Self::new(components, shared, threads);
        let done = thread::scope(|scope| {
            // A leader that fails, or begins again, leaves nobody waiting.
            let watch = GiveUp(&crew.barrier);
            for thread in 1..threads {
                let crew = &crew;
                let follower = Builder::new().spawn_scoped(scope, move || crew.follow(thread));
                if follower.is_err() {
                    return Err(lead);
                }
            }
            let done = lead(&crew);
            std::mem::forget(watch);
            crew.finish();
            Ok(done)
        });
        done.unwrap_or_else(|lead| Self::led(components, shared, 1, lead))
    }

    /// Does the work of a thread that is not the leader, until the leader ends the run.
    fn follow(&self, thread: usize) {
        let watch = GiveUp(&self.barrier);
        while self.barrier.wait() && !self.over.load(Ordering::Acquire) {
            self.share(thread);
            if !self.barrier.wait() {
                break;
            }
        }
        std::mem::forget(watch);
    }

    /// Lets all threads do a window that ends before `end`; only the leader calls it.
    pub fn window(&self, end: u64, active: &[u32]) {
        if self.shares.len() == 1 {
            for &index in active {
                self.step(index as usize, end);
            }
            return;
        }
        let total: u64 = active.iter().map(|&index| self.cost(index)).sum();
        let alone = self.alone.load(Ordering::Relaxed);
        if active.len() < 2 || total < ALONE_NS || alone > 0 {
            self.alone.store(alone.saturating_sub(total), Ordering::Relaxed);
            let mut begun = Instant::now();
            active.iter().for_each(|&index| begun = self.measured(index as usize, end, begun));
            return;
        }
        let begun = Instant::now();
        self.deal(active, total);
        self.end.store(end, Ordering::Release);
        self.barrier.wait();
        self.share(0);
        assert!(self.barrier.wait(), "a thread of the fabric failed");
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let waited = took.saturating_sub(total);
        self.alone.store(waited.saturating_mul(ALONE_PER_WAIT), Ordering::Relaxed);
    }

    /// Ends the run for all threads; only the leader calls it.
    fn finish(&self) {
        self.over.store(true, Ordering::Release);
        if self.shares.len() > 1 {
            self.barrier.wait();
        }
    }

    fn cost(&self, index: u32) -> u64 {
        u64::from(self.costs[index as usize].load(Ordering::Relaxed)).max(1)
    }

    /// Deals the work: large components one by one to whom has least, then the others in order.
    fn deal(&self, active: &[u32], total: u64) {
        let threads = self.shares.len() as u64;
        let large = (total / threads / LARGE).max(1);
        let mut dealt: Vec<(u64, Vec<u32>)> = vec![(0, Vec::new()); self.shares.len()];
        let mut alone: Vec<u32> =
            active.iter().copied().filter(|&index| self.cost(index) > large).collect();
        alone.sort_by_key(|&index| std::cmp::Reverse((self.cost(index), index)));
        for index in alone {
            if let Some(least) = dealt.iter_mut().min_by_key(|(cost, _)| *cost) {
                least.0 += self.cost(index);
                least.1.push(index);
            }
        }
        let mut thread = 0;
        for &index in active.iter().filter(|&&index| self.cost(index) <= large) {
            while thread + 1 < dealt.len() && dealt[thread].0 >= total / threads {
                thread += 1;
            }
            dealt[thread].0 += self.cost(index);
            dealt[thread].1.push(index);
        }
        let mut place = 0;
        for (share, (_, list)) in self.shares.iter().zip(&dealt) {
            share.next.store(place, Ordering::Relaxed);
            for &index in list {
                self.work[place].store(index, Ordering::Relaxed);
                place += 1;
            }
            share.end.store(place, Ordering::Relaxed);
        }
    }

    /// Does a thread's share, then what is left of the others'.
    fn share(&self, thread: usize) {
        let end = self.end.load(Ordering::Acquire);
        let mut begun = Instant::now();
        for offset in 0..self.shares.len() {
            let share = &self.shares[(thread + offset) % self.shares.len()];
            let last = share.end.load(Ordering::Relaxed);
            while share.next.load(Ordering::Relaxed) < last {
                let place = share.next.fetch_add(1, Ordering::AcqRel);
                if place >= last {
                    break;
                }
                let index = self.work[place].load(Ordering::Relaxed);
                begun = self.measured(index as usize, end, begun);
            }
        }
    }

    /// Does a component's window and notes how long it took since `begun`; gives the time.
    fn measured(&self, index: usize, end: u64, begun: Instant) -> Instant {
        self.step(index, end);
        let now = Instant::now();
        let took = u32::try_from((now - begun).as_nanos()).unwrap_or(u32::MAX);
        let before = self.costs[index].load(Ordering::Relaxed);
        // Half the new, half the old: one interruption of the host's does not upset the shares.
        self.costs[index].store(before / 2 + took / 2, Ordering::Relaxed);
        now
    }

    fn step(&self, index: usize, end: u64) {
        lock(&self.components[index]).window(index, end, self.shared);
    }
}

/// Tells the others when a thread panics: they would wait for it for ever.
struct GiveUp<'a>(&'a Barrier);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}
