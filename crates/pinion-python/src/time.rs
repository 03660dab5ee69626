//! Simulated time in Python's numbers. In: nanoseconds. Out: times.

use pinion_sim::Time;

/// Picoseconds of a nanosecond.
const PS_PER_NS: f64 = 1000.0;

/// Gives the time of a number of nanoseconds; `None`: it is none.
pub fn time_of_ns(ns: f64) -> Option<Time> {
    (ns.is_finite() && ns >= 0.0).then(|| Time::from_ps((ns * PS_PER_NS).round() as u64))
}
