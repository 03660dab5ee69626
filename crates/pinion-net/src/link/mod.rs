//! Links from point to point: between two nodes, or a node and a traffic source. In: frames at one
//! end's pins. Out: the same frames at the other end's, later. Holds the frames under way; they wait
//! for the wire where it is slower than the pins, and for the latency.
//!
//! What stands at an end is a [node](pinion_sim::node). A [`Pair`] runs two of them over a [`Link`] in
//! windows no longer than the latency, so that nothing sent in a window arrives in it: the ends may
//! run one after the other or at the same time, with the same result.
//!
//! All times are cycles of the one clock that both ends count.

mod lane;
mod pair;
mod wire;

pub use lane::{Lane, LaneCounts};
pub use pair::{End, Pair};
pub use wire::WireCounts;

pub(crate) use wire::Wire;

use crate::pacing::Rate;
use pinion_sim::node::Trouble;
use thiserror::Error;

/// Bytes that a lane queues at most unless a link says otherwise.
const QUEUE_BYTES: u64 = 1 << 20;

/// Describes a link; both directions are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Cycles from a flit at one end's pins to the same flit at the other's; at least 1.
    pub latency_cycles: u64,
    /// What the wire carries in a second.
    pub rate: Rate,
    /// Cycles in a second, to which the rate is put in relation.
    pub clock_hz: u64,
    /// Bytes that wait for a wire slower than the pins before frames are dropped.
    pub queue_bytes: u64,
}

impl Link {
    /// Makes a link as fast as the pins.
    pub fn new(latency_cycles: u64) -> Self {
        Self { latency_cycles, rate: Rate::Unlimited, clock_hz: 1, queue_bytes: QUEUE_BYTES }
    }

    /// The latency of the published evaluation's links: 140 cycles at 3.2 GHz, which is 43.75 ns
    /// (nanoPU paper, §4.1).
    pub const PUBLISHED_CYCLES: u64 = 140;

    /// Makes the links of the published evaluation, at the speed of the pins.
    pub fn published() -> Self {
        Self::new(Self::PUBLISHED_CYCLES)
    }

    /// Sets what the wire carries in a second, of so many cycles.
    #[must_use]
    pub fn at_rate(self, rate: Rate, clock_hz: u64) -> Self {
        Self { rate, clock_hz, ..self }
    }

    /// Gives the cycles that a bit takes as a fraction; `None`: the wire is as fast as the pins.
    ///
    /// # Errors
    /// When it has a rate and no clock.
    pub(crate) fn cycles_per_bit(&self) -> Result<Option<(u64, u64)>, LinkError> {
        match self.rate.bits_per_s() {
            None => Ok(None),
            Some(_) if self.clock_hz == 0 => Err(LinkError::NoClock { rate: self.rate }),
            Some(bits_per_s) => {
                let divisor = greatest_common_divisor(bits_per_s, self.clock_hz);
                Ok(Some((self.clock_hz / divisor, bits_per_s / divisor)))
            }
        }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Says what is wrong with a link or with what uses it.
#[derive(Debug, Error)]
pub enum LinkError {
    /// Windows need a latency.
    #[error("a link has a latency of at least one cycle: the ends could not take turns otherwise")]
    NoLatency,
    /// A rate in relation to nothing.
    #[error("a link's clock has 0 Hz, so its rate of {rate} bit/s means nothing; set the clock")]
    NoClock {
        /// The rate.
        rate: Rate,
    },
    /// A node cannot go on for a reason outside the simulation.
    #[error(transparent)]
    Node(Trouble),
}
