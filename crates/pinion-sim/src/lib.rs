//! The simulation kernel: time, clocks, the event wheel, the calendar of a few cores, arbiters and ports
//! that serve one side at a time, the contracts of nodes and of blocks of hardware, the probe, configuration,
//! random numbers, the order and the digits of what is written of a run.

pub mod arbiter;
pub mod axi_path;
pub mod beat_windows;
pub mod block;
pub mod calendar;
pub mod config;
pub mod digits;
pub mod machine;
pub mod node;
pub mod order;
pub mod probe;
pub mod queued_port;
pub mod random;
pub mod superbanks;
pub mod time;
pub mod turn_port;
pub mod wheel;

pub use time::{Clock, Time};
pub use wheel::Wheel;
