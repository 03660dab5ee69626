//! The simulation kernel: time, clocks, the event wheel, the calendar of a few cores, arbiters and ports
//! that serve one side at a time, the contract of nodes, the probe, configuration, random numbers.

pub mod arbiter;
pub mod calendar;
pub mod config;
pub mod machine;
pub mod node;
pub mod probe;
pub mod random;
pub mod time;
pub mod turn_port;
pub mod wheel;

pub use time::{Clock, Time};
pub use wheel::Wheel;
