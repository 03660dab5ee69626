//! Points in time as people write them: `1200` is a cycle, `1.2us` a time.

use std::str::FromStr;

use pinion_sim::config::Duration;
use pinion_sim::{Clock, Time};

use pinion_app::error::{Error, Result};

/// A cycle or a time since the machine was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The cycle's number.
    Cycle(u64),
    /// The time.
    Time(Time),
}

impl FromStr for When {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let plain = text.trim().replace('_', "");
        if let Ok(cycle) = plain.parse() {
            return Ok(Self::Cycle(cycle));
        }
        let time: std::result::Result<Duration, _> = plain.parse();
        time.map(|time| Self::Time(Time::from_ps(time.ps))).map_err(|_| {
            Error::Usage(format!(
                "`{text}` is neither a cycle (1200) nor a time (1.2us; ps, ns, us, ms, s)"
            ))
        })
    }
}

impl When {
    /// Gives the first cycle that is not before it.
    pub fn cycle(self, clock: Clock) -> u64 {
        match self {
            Self::Cycle(cycle) => cycle,
            Self::Time(time) => clock.cycle_at(time),
        }
    }

    /// Gives the time of that cycle.
    pub fn time(self, clock: Clock) -> Time {
        clock.time(self.cycle(clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_and_times_are_told_apart() {
        let clock = Clock::from_hz(3_200_000_000);
        let cycle = |text: &str| text.parse::<When>().map(|when| when.cycle(clock)).ok();
        assert_eq!(cycle("1_200"), Some(1200));
        assert_eq!(cycle("1us"), Some(3200));
        assert_eq!(cycle("625ps"), Some(2));
        assert_eq!(cycle("626ps"), Some(3));
        for wrong in ["", "-1", "1.5", "soon", "1 parsec"] {
            assert_eq!(cycle(wrong), None, "{wrong}");
        }
    }
}
