//! Faults of a link: loss, repetition, reordering and flipped bits, by chance and by seed. In: frames
//! with their times. Out: those that arrive, with theirs. Holds the frames that others overtake. The
//! same seed and the same frames give the same faults.
//!
//! A [`FaultSpec`] says how likely each is; a [`FaultLane`] does it to one direction of a link, a
//! [`FaultyWay`] to one that has MACs at its ends and counts cycles.

mod error;
mod lane;
mod spec;
mod way;

#[cfg(test)]
mod tests;

pub use error::FaultError;
pub use lane::{FaultCounts, FaultLane};
pub use spec::{FaultSpec, Way};
pub use way::{FaultyWay, Through};
