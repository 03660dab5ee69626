//! Simulated time in Python's numbers. In: nanoseconds. Out: times.

use pinion_sim::Time;

/// Picoseconds of a nanosecond.
const PS_PER_NS: f64 = 1000.0;

/// The first nanosecond that is not counted: half of what 64 bits of picoseconds hold, or 106 days.
const END_NS: f64 = (1_u64 << 63) as f64 / PS_PER_NS;

/// Gives the time of a number of nanoseconds; `None`: it is none.
pub fn time_of_ns(ns: f64) -> Option<Time> {
    (0.0..END_NS).contains(&ns).then(|| Time::from_ps((ns * PS_PER_NS).round() as u64))
}
