//! A tap on a port. In: frames that pass it, either way, a window at a time. Out: a capture in order
//! of time. Holds the frames of a window.

use crate::capture::{CaptureError, CaptureWriter};
use pinion_sim::Clock;

/// Writes what passes a port; a frame's time is that of its first flit there.
pub struct PortTap {
    writer: CaptureWriter,
    clock: Clock,
    window: Vec<(u64, Vec<u8>)>,
}

impl PortTap {
    /// Writes to a capture, in time of `clock`.
    pub fn new(writer: CaptureWriter, clock: Clock) -> Self {
        Self { writer, clock, window: Vec::new() }
    }

    /// Notes a frame; frames of the same window may come in any order.
    pub fn note(&mut self, first_flit: u64, frame: &[u8]) {
        self.window.push((first_flit, frame.to_vec()));
    }

    /// Writes the frames before `cycle`; none earlier will come.
    ///
    /// # Errors
    /// When the capture cannot be written.
    pub fn settle(&mut self, cycle: u64) -> Result<(), CaptureError> {
        self.window.sort_by_key(|(first, _)| *first);
        let settled = self.window.partition_point(|(first, _)| *first < cycle);
        for (first, frame) in self.window.drain(..settled) {
            self.writer.write(self.clock.time(first).ps(), &frame)?;
        }
        Ok(())
    }

    /// Writes the rest, completes the capture and gives the number of frames in it.
    ///
    /// # Errors
    /// When the capture cannot be written.
    pub fn finish(mut self) -> Result<u64, CaptureError> {
        self.settle(u64::MAX)?;
        self.writer.finish()
    }
}
