//! What a NIC says on its output while programs come, go and are refused. In: notices. Out: those that
//! are let through. Whoever may connect can cause as many as it likes: behind the first ones they
//! come at ever longer intervals, each with how many were left out, so that the output stays small.

use std::time::{Duration, Instant};

use pinion_sim::Time;
use pinion_spin::PacketRecord;

use pinion_observe::report::Sink;
use pinion_run::watch::{Observer, Progress, Seen};

/// Lets so many notices through at once.
const BURST: u32 = 100;
/// The first interval of those behind.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);
/// The longest interval; also how long it must have been quiet for the burst to begin anew.
const LAST_INTERVAL: Duration = Duration::from_secs(3600);

/// Decides which notices are let through.
#[derive(Debug)]
struct Gate {
    let_through: u32,
    left_out: u64,
    interval: Duration,
    /// When one was let through last.
    last: Option<Instant>,
    /// When one was heard last.
    heard: Option<Instant>,
}

impl Gate {
    fn new() -> Self {
        Self { let_through: 0, left_out: 0, interval: FIRST_INTERVAL, last: None, heard: None }
    }

    /// Lets a notice through, with how many before it were left out, or leaves it out.
    fn pass(&mut self, now: Instant) -> Option<u64> {
        let quiet = self.heard.map_or(Duration::ZERO, |heard| now.duration_since(heard));
        self.heard = Some(now);
        if quiet >= LAST_INTERVAL {
            (self.let_through, self.interval) = (0, FIRST_INTERVAL);
        }
        if self.let_through < BURST {
            self.let_through += 1;
        } else if self.last.is_some_and(|last| now.duration_since(last) < self.interval) {
            self.left_out += 1;
            return None;
        } else {
            self.interval = (self.interval * 2).min(LAST_INTERVAL);
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.left_out))
    }
}

/// Passes on what an observer is told, but for what is too much.
pub struct Limited<'a> {
    observer: &'a mut dyn Observer,
    gate: Gate,
}

impl<'a> Limited<'a> {
    /// Stands before an observer.
    pub fn new(observer: &'a mut dyn Observer) -> Self {
        Self { observer, gate: Gate::new() }
    }
}

impl Sink for Limited<'_> {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.observer.line(time, cluster, hpu, text);
    }

    fn packet(&mut self, record: &PacketRecord) {
        self.observer.packet(record);
    }
}

impl Observer for Limited<'_> {
    fn started(&mut self) {
        self.observer.started();
    }

    fn goes_on(&mut self, progress: &Progress) -> bool {
        self.observer.goes_on(progress)
    }

    fn sees(&mut self, seen: &mut dyn Seen) {
        self.observer.sees(seen);
    }

    fn notice(&mut self, text: &str) {
        match self.gate.pass(Instant::now()) {
            None => {}
            Some(0) => self.observer.notice(text),
            Some(left_out) => {
                self.observer.notice(&format!("{text} ({left_out} notices before it left out)"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_let_through_in_drops() {
        let (mut gate, start) = (Gate::new(), Instant::now());
        let mut said = 0;
        let mut counted = 0;
        // Ten notices each second, for a day.
        for tenth in 0..10 * 24 * 3600 {
            if let Some(left_out) = gate.pass(start + Duration::from_millis(100 * tenth)) {
                said += 1;
                counted += left_out + 1;
            }
        }
        assert!((u64::from(BURST)..u64::from(BURST) + 50).contains(&said), "{said}");
        assert_eq!(counted + gate.left_out, 10 * 24 * 3600);
    }

    #[test]
    fn after_quiet_times_all_are_heard_again() {
        let (mut gate, start) = (Gate::new(), Instant::now());
        (0..2 * BURST).for_each(|_| _ = gate.pass(start));
        assert_eq!(gate.pass(start), None);
        let later = start + LAST_INTERVAL;
        assert_eq!(gate.pass(later), Some(u64::from(BURST) + 1));
        assert!((1..BURST).all(|_| gate.pass(later) == Some(0)));
        assert_eq!(gate.pass(later), None);
    }
}
