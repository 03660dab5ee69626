//! How a live NIC's simulated time goes on. In: frames that wait, and what a run of the NIC gave. Out: how
//! long a slice was. Holds whether there is anything to do, and where simulated time stands.

use std::time::{Duration, Instant};

use pinion_sim::Time;
use pinion_spin::Outcome;

use super::queue::Queue;
use super::{SLICE_PS, Standing};
use pinion_app::error::Result;

/// What a NIC tells when it has run for a slice: how that ended, its time, and how many packets are
/// inside.
pub type Ran = (Outcome, Time, u64);

/// Holds where a NIC's simulated time stands.
#[derive(Debug)]
pub struct Slices {
    /// The end of the last slice, if packets were inside: cores may have nothing to tell until behind it.
    reached: Time,
    /// Whether nothing happens until a frame comes.
    pub is_idle: bool,
    /// Why nothing moves any more, if so.
    pub stuck: Option<String>,
}

impl Default for Slices {
    fn default() -> Self {
        Self { reached: Time::ZERO, is_idle: true, stuck: None }
    }
}

impl Slices {
    /// Gives the simulated time that it is for a NIC whose own time is `nic`.
    pub fn now(&self, nic: Time) -> Time {
        nic.max(self.reached)
    }

    /// Takes over from whoever has let the NIC go on meanwhile, up to a time.
    pub fn take_over(&mut self, reached: Time, is_idle: bool) {
        (self.reached, self.is_idle) = (reached, is_idle);
    }

    /// Tells how the NIC stands.
    pub(super) fn standing(&self) -> Standing {
        match &self.stuck {
            Some(_) => Standing::Ended,
            None if self.is_idle => Standing::Idle,
            None => Standing::Works,
        }
    }

    /// Lets `run` take frames and go on until a time, if there is something to do for a NIC whose own time
    /// is `nic`; gives the simulated time with packets inside and the host's time it took. `known`: the
    /// slice's end, in a run that is repeated.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn next(
        &mut self,
        queue: &mut Queue,
        (nic, known): (Time, Option<Time>),
        run: impl FnOnce(Time, &mut Queue) -> Result<Ran>,
    ) -> Result<Option<(Time, Duration)>> {
        if self.is_idle && queue.is_empty() && known.is_none() {
            return Ok(None);
        }
        let (started, before) = (Instant::now(), self.now(nic));
        let until = before.max(queue.newest_arrival()) + Time::from_ps(SLICE_PS);
        let until = known.unwrap_or(until);
        queue.first_given = None;
        let (outcome, nic, inside) = run(until, queue)?;
        self.reached = if outcome == Outcome::TimeReached { until } else { Time::ZERO };
        let from = if self.is_idle { queue.first_given.unwrap_or(before) } else { before };
        self.is_idle = match outcome {
            Outcome::Stuck(report) => {
                self.stuck = Some(report);
                true
            }
            // Timers may still run, but time that passes without packets is the host's.
            Outcome::TimeReached => inside == 0,
            Outcome::Idle | Outcome::Finished => true,
        };
        Ok(Some((self.now(nic).since(from.max(before)), started.elapsed())))
    }
}
