//! Simulated time of a live run. In: the host's clock. Out: when a frame that comes now arrives in
//! simulated time. Holds by how much simulated time lies behind the host's.

use std::time::{Duration, Instant};

use pinion_sim::Time;

/// Maps the host's time to simulated time.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    behind_ps: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// Makes a clock whose simulated time begins now.
    pub fn new() -> Self {
        Self { start: Instant::now(), behind_ps: 0 }
    }

    /// Gives the simulated time that it is now.
    pub fn now(&self) -> Time {
        let elapsed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_ps(elapsed.saturating_mul(1000).saturating_sub(self.behind_ps))
    }

    /// Lets simulated time go no faster than the simulation, which has come to `simulated`: what
    /// the host does next happens there, and not at a time the simulation has yet to reach.
    pub fn hold_at(&mut self, simulated: Time) {
        self.behind_ps += self.now().since(simulated).ps();
    }

    /// Gives how long the host must wait for a simulation that has come to `simulated`.
    pub fn until(&self, simulated: Time) -> Duration {
        Duration::from_nanos(simulated.since(self.now()).ps() / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_simulation_holds_the_clock() {
        let mut clock = Clock::new();
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.now() >= Time::from_ns(5_000_000));
        clock.hold_at(Time::from_ns(1_000));
        assert!(clock.now() < Time::from_ns(5_000_000));
        let ahead = clock.until(Time::from_ns(1_000_000_000));
        assert!(ahead > Duration::from_millis(900) && ahead <= Duration::from_secs(1));
        assert_eq!(clock.until(Time::ZERO), Duration::ZERO);
    }
}
