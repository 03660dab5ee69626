//! When requests are due. In: the time of the one before, or of the answer to it. Out: a cycle.
//! Holds the exact time of the next request, with its fraction of a cycle.

use super::Distribution;
use rand_pcg::Pcg64Mcg;

/// Says when requests come.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Open loop: requests come whether or not the earlier ones are answered.
    Open {
        /// Cycles between two requests.
        gap: Distribution,
        /// How exactly that is kept.
        timing: Timing,
    },
    /// Closed loop: an answer makes room for the next request.
    Closed {
        /// Requests without an answer at a time.
        outstanding: u32,
        /// Cycles between an answer and the next request.
        think: Distribution,
    },
}

/// Says how exactly arrival times are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// To the cycle; gaps add up without loss.
    #[default]
    Exact,
    /// Requests leave at starts of windows, one per window at most, and the next gap counts from
    /// there: a gap is rounded up to windows, so the load is lower than the gap's mean says. FireSim's
    /// switch polls its load generator that way, in windows of the link's latency (140 cycles).
    Windowed {
        /// Cycles of a window.
        window_cycles: u64,
    },
}

impl Arrivals {
    /// Gives an open loop whose gaps have another mean and the same shape.
    #[must_use]
    pub fn with_gap(&self, mean_cycles: f64) -> Self {
        match self {
            Self::Open { gap, timing } => {
                Self::Open { gap: gap.with_mean(mean_cycles), timing: *timing }
            }
            Self::Closed { .. } => {
                let gap = Distribution::Fixed { cycles: mean_cycles };
                Self::Open { gap, timing: Timing::Exact }
            }
        }
    }
}

/// Finds the cycles in which requests of an open loop are due.
#[derive(Clone, Debug)]
pub(super) struct Clockwork {
    timing: Timing,
    exact: f64,
    last: Option<u64>,
}

impl Clockwork {
    /// Starts to count at `start`.
    pub(super) fn new(timing: Timing, start: u64) -> Self {
        Self { timing, exact: start as f64, last: None }
    }

    /// Gives the next cycle, always a later one.
    pub(super) fn next(&mut self, gap: &Distribution, random: &mut Pcg64Mcg) -> u64 {
        let (gap_cycles, _) = gap.sample(random);
        self.exact += gap_cycles;
        let earliest = self.last.map_or(0, |last| last + 1);
        let due = (self.exact.ceil() as u64).max(earliest);
        let due = match self.timing {
            Timing::Exact => due,
            Timing::Windowed { window_cycles } => {
                let due = due.next_multiple_of(window_cycles.max(1));
                self.exact = due as f64;
                due
            }
        };
        self.last = Some(due);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng as _;

    fn due(timing: Timing, gap: &Distribution, count: usize) -> Vec<u64> {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut clockwork = Clockwork::new(timing, 1000);
        (0..count).map(|_| clockwork.next(gap, &mut random)).collect()
    }

    #[test]
    fn exact_gaps_add_up_without_loss() {
        let fixed = Distribution::Fixed { cycles: 2.5 };
        assert_eq!(due(Timing::Exact, &fixed, 4), [1003, 1005, 1008, 1010]);
        let poisson = Distribution::Exponential { mean_cycles: 900.0 };
        let last = due(Timing::Exact, &poisson, 100_000)[99_999];
        assert!(((last - 1000) as f64 / 100_000.0 - 900.0).abs() < 9.0, "{last}");
    }

    #[test]
    fn windows_hold_one_request_and_stretch_the_gaps_by_half_of_one() {
        let windowed = Timing::Windowed { window_cycles: 140 };
        let times = due(windowed, &Distribution::Exponential { mean_cycles: 900.0 }, 50_000);
        assert!(times.iter().all(|due| due % 140 == 0));
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 140));
        let mean = (times[49_999] - times[0]) as f64 / 49_999.0;
        assert!((mean - 971.8).abs() < 10.0, "{mean}"); // 140 / (1 - exp(-140 / 900))
        let none = Distribution::Fixed { cycles: 0.0 };
        assert_eq!(due(windowed, &none, 3), [1120, 1260, 1400]);
        assert_eq!(due(Timing::Exact, &none, 3), [1000, 1001, 1002]);
    }
}
