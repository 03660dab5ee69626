//! How well the simulation keeps up with the host, and when to say that it does not.

use std::time::{Duration, Instant};

use pinion_sim::Time;

use super::queue::Queue;

/// Says that the simulation cannot keep up when a frame waited this long.
const NOTICEABLE_WAIT: Duration = Duration::from_millis(20);
/// Repeats that at most this often.
const NOTICE_EVERY: Duration = Duration::from_secs(5);

/// Measures a live run's pace.
#[derive(Debug, Default)]
pub struct Pace {
    /// Simulated time with packets inside, and the host time it took.
    pub working: (Time, Duration),
    last_notice: Option<Instant>,
    noticed_drops: u64,
}

impl Pace {
    /// Adds a slice of simulated time and the host's time it took.
    pub fn add(&mut self, (simulated, host): (Time, Duration)) {
        self.working.0 = self.working.0 + simulated;
        self.working.1 += host;
    }

    /// Gives what is to be said, now and then, when the simulation cannot keep up.
    pub fn notice(&mut self, queue: &mut Queue) -> Option<String> {
        let waited = std::mem::take(&mut queue.recent_wait);
        let dropped = queue.late + queue.overflowed;
        let is_noticeable = waited >= NOTICEABLE_WAIT || dropped > self.noticed_drops;
        let is_due = self.last_notice.is_none_or(|last| last.elapsed() >= NOTICE_EVERY);
        if !is_noticeable || !is_due {
            return None;
        }
        self.last_notice = Some(Instant::now());
        self.noticed_drops = dropped;
        Some(format!(
            "the simulation does not keep up: it is {:.0} times slower than the hardware while \
             packets are inside; frames wait {} ms, {} dropped so far",
            self.slowdown(),
            waited.as_millis(),
            dropped
        ))
    }

    fn slowdown(&self) -> f64 {
        let simulated = self.working.0.ps() as f64 / 1e12;
        if simulated > 0.0 { self.working.1.as_secs_f64() / simulated } else { 0.0 }
    }

    /// Says how a run on a wire went.
    pub fn remarks(&self, wire: &str, queue: &Queue, bound: Duration) -> Vec<String> {
        let mut remarks = vec![format!(
            "live on {wire}: {:.0} times slower than the hardware while packets were inside; \
             longest wait {:.1} ms",
            self.slowdown(),
            queue.longest_wait.as_secs_f64() * 1e3
        )];
        if queue.late + queue.overflowed > 0 {
            remarks.push(format!(
                "dropped before the NIC: {} frames that waited longer than {} ms, {} that found \
                 the queue full",
                queue.late,
                bound.as_millis(),
                queue.overflowed
            ));
        }
        remarks
    }
}
