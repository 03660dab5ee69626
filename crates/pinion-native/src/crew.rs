//! The workers: one that runs inline, or threads with a mailbox each. Jobs and results change hands
//! in batches, so that a lock is taken once per batch and not per packet.

use std::os::unix::thread::JoinHandleExt as _;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use crate::block;
use crate::error::NativeError;
use crate::outbox::Outbox;
use crate::signals;
use crate::watchdog::Watched;
use crate::worker::{Done, Job, Worker};

/// Hands jobs over when so many are collected.
const JOB_BATCH: usize = 32;
/// Hands results over when so many are collected.
const RESULT_BATCH: usize = 64;
/// Limits the jobs that a worker has at a time.
const OUTSTANDING: u32 = 256;
/// Waits at most so long without looking again.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// Holds what a worker hands back.
#[derive(Debug, Default)]
pub struct Results {
    /// The jobs that are done.
    pub done: Vec<Done>,
    /// What came out of them.
    pub outbox: Outbox,
}

#[derive(Default)]
struct Mailbox {
    jobs: Mutex<Vec<Job>>,
    results: Mutex<Results>,
    stop: AtomicBool,
}

struct Member {
    mailbox: Arc<Mailbox>,
    thread: Option<JoinHandle<()>>,
    collected: Vec<Job>,
    outstanding: u32,
    returned: Results,
}

/// Runs jobs on threads.
pub struct Crew {
    members: Vec<Member>,
}

/// Locks; what a panic left behind is still whole, since nothing panics with the lock held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Crew {
    /// Starts threads for the workers.
    pub fn start(workers: Vec<Worker>) -> Result<Self, NativeError> {
        let mut crew = Self { members: Vec::new() };
        for (index, worker) in workers.into_iter().enumerate() {
            let mailbox = Arc::new(Mailbox::default());
            let (own, engine) = (Arc::clone(&mailbox), thread::current());
            let builder = thread::Builder::new().name(format!("worker {index}"));
            let thread = builder.spawn(move || work(worker, &own, &engine));
            let thread = Some(thread.map_err(NativeError::NoThread)?);
            crew.members.push(Member {
                mailbox,
                thread,
                collected: Vec::new(),
                outstanding: 0,
                returned: Results::default(),
            });
        }
        Ok(crew)
    }

    /// Lists the workers for the watchdog.
    pub fn watched(&self) -> Vec<Watched> {
        let threads = self.members.iter().filter_map(|member| member.thread.as_ref());
        let watched = |(index, thread): (usize, &JoinHandle<()>)| Watched {
            block: block::address(index as u32) as *mut _,
            // A number with glibc, a pointer with musl.
            thread: thread.as_pthread_t() as libc::pthread_t,
        };
        threads.enumerate().map(watched).collect()
    }

    /// Tells whether a worker can take another job.
    pub fn has_room(&self) -> bool {
        self.members.iter().any(|member| member.outstanding < OUTSTANDING)
    }

    /// Gives a job to the worker with the fewest.
    pub fn give(&mut self, job: Job) {
        let Some(member) = self.members.iter_mut().min_by_key(|member| member.outstanding) else {
            return;
        };
        member.outstanding += 1;
        member.collected.push(job);
        if member.collected.len() >= JOB_BATCH {
            member.hand_over();
        }
    }

    /// Hands over what is collected.
    pub fn flush(&mut self) {
        self.members.iter_mut().for_each(Member::hand_over);
    }

    /// Takes what workers have handed back, for [`Crew::returned`]; waits for something if asked to.
    pub fn collect(&mut self, wait: bool) {
        self.flush();
        loop {
            let mut any = false;
            for member in &mut self.members {
                let results = &mut member.returned;
                std::mem::swap(results, &mut *lock(&member.mailbox.results));
                any |= !results.done.is_empty() || !results.outbox.is_empty();
                member.outstanding -= results.done.len() as u32;
            }
            let is_busy = self.members.iter().any(|member| member.outstanding > 0);
            if any || !wait || !is_busy {
                return;
            }
            assert!(!self.has_lost_one(), "a worker thread has ended by itself");
            thread::park_timeout(LONGEST_WAIT);
        }
    }

    /// Gives what a worker has handed back; whoever looks at it empties it. `None`: no such worker.
    pub fn returned(&mut self, worker: u32) -> Option<&mut Results> {
        self.members.get_mut(worker as usize).map(|member| &mut member.returned)
    }

    fn has_lost_one(&self) -> bool {
        self.members.iter().any(|member| member.thread.as_ref().is_none_or(JoinHandle::is_finished))
    }
}

impl Drop for Crew {
    /// Ends the threads, when what they have is done.
    fn drop(&mut self) {
        for member in &mut self.members {
            member.mailbox.stop.store(true, Release);
            if let Some(thread) = member.thread.take() {
                thread.thread().unpark();
                // A panic there has been printed; there is nothing else to do about it.
                let _ = thread.join();
            }
        }
    }
}

impl Member {
    fn hand_over(&mut self) {
        if self.collected.is_empty() {
            return;
        }
        lock(&self.mailbox.jobs).append(&mut self.collected);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

fn work(mut worker: Worker, mailbox: &Mailbox, engine: &Thread) {
    worker.settle_down();
    let (mut jobs, mut done) = (Vec::new(), Vec::new());
    loop {
        std::mem::swap(&mut jobs, &mut *lock(&mailbox.jobs));
        if jobs.is_empty() {
            if mailbox.stop.load(Acquire) {
                break;
            }
            thread::park();
            continue;
        }
        for job in jobs.drain(..) {
            done.push(worker.run(job));
            if done.len() >= RESULT_BATCH {
                hand_back(&mut worker, &mut done, mailbox, engine);
            }
        }
        hand_back(&mut worker, &mut done, mailbox, engine);
    }
    signals::release();
}

fn hand_back(worker: &mut Worker, done: &mut Vec<Done>, mailbox: &Mailbox, engine: &Thread) {
    let mut results = lock(&mailbox.results);
    results.done.append(done);
    results.outbox.append(worker.outbox());
    drop(results);
    engine.unpark();
}
