//! The simulation kernel: time, clocks, the event wheel, the calendar of a few cores, the contract of
//! nodes, the probe, configuration, random numbers.

pub mod calendar;
pub mod config;
pub mod machine;
pub mod node;
pub mod probe;
pub mod random;
pub mod time;
pub mod wheel;

pub use time::{Clock, Time};
pub use wheel::Wheel;
