//! A run as a trace for Perfetto: one track per HPU and unit, arrows that follow packets.
//!
//! The file holds the packets of Perfetto's protobuf format one after the other, so what is written
//! can be opened whenever a run ends. Times are nanoseconds: a cycle of a clock faster than 1 GHz is
//! cut to its nanosecond.

mod commands;
mod corner;
mod lanes;
mod nic;
pub mod proto;
mod tracks;
mod writer;

pub use corner::Corner;
pub use lanes::Lanes;
pub use nic::NicTrace;
pub use proto::{UNIT_BYTES, UNIT_COUNT, Value};
pub use writer::{Slice, Track, Writer};
