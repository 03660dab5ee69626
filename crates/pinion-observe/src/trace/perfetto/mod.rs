//! A run as a trace for Perfetto: one track per HPU and unit, arrows that follow packets.
//! `pinion-perfetto` writes the format.

mod commands;
mod nic;
mod tracks;

use std::io;

use pinion_app::error::{Error, Result};

pub use nic::NicTrace;
pub use pinion_perfetto::{
    Corner, Lanes, Slice, Track, UNIT_BYTES, UNIT_COUNT, Value, Writer, proto,
};

/// Tells that a trace could not be written.
///
/// # Errors
/// What was to be written and was not.
pub fn written(result: io::Result<()>) -> Result<()> {
    result.map_err(|error| Error::part("cannot write the trace", error))
}
