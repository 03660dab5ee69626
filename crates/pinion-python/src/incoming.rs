//! Frames that come in. In: each with its time, from whatever gives them. Out: all of them, in order, or what is wrong
//! with one.

use pinion_net::capture::TimedFrame;
use pyo3::prelude::*;

use crate::errors;

/// Bytes that all frames of a run may have together, each with [`FRAME_BYTES`] more.
const LONGEST_BYTES: usize = 1 << 30;
/// Bytes that a frame takes besides its own.
const FRAME_BYTES: usize = 64;
/// Frames after which signals of Python's are looked for: what gives frames may never end.
const LOOK_EVERY: usize = 1024;

/// Counts the bytes of frames, which are bounded.
#[derive(Default)]
pub struct Counted {
    frames: usize,
    bytes: usize,
}

impl Counted {
    /// Counts a frame.
    ///
    /// # Errors
    /// When Ctrl-C was pressed, or when they are too many.
    pub fn add(
        &mut self,
        py: Python<'_>,
        bytes: usize,
        place: impl FnOnce() -> String,
    ) -> PyResult<()> {
        self.bytes += bytes + FRAME_BYTES;
        if self.bytes > LONGEST_BYTES {
            let why = "these are more than 1 GiB of frames, or never end; a capture may be longer";
            return Err(errors::usage(py, &format!("{}: {why}", place())));
        }
        if self.frames.is_multiple_of(LOOK_EVERY) {
            py.check_signals()?;
        }
        self.frames += 1;
        Ok(())
    }
}

/// Frames that come in, bounded.
#[derive(Default)]
pub struct Incoming {
    frames: Vec<TimedFrame>,
    counted: Counted,
}

impl Incoming {
    /// Gives the arrival of the last, or 0.
    pub fn last_ps(&self) -> u64 {
        self.frames.last().map_or(0, |last| last.time_ps)
    }

    /// Counts them.
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// When Ctrl-C was pressed, or with what is wrong with the frame.
    pub fn add(
        &mut self,
        py: Python<'_>,
        time_ps: u64,
        bytes: Vec<u8>,
        place: impl Fn() -> String,
    ) -> PyResult<()> {
        let wrong = |why: &str| Err(errors::usage(py, &format!("{}: {why}", place())));
        if bytes.is_empty() {
            return wrong("a frame has a byte at least; this one has none");
        }
        if time_ps < self.last_ps() {
            return wrong("it arrives before the one in front of it");
        }
        self.counted.add(py, bytes.len(), &place)?;
        let original_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.frames.push(TimedFrame { time_ps, bytes, original_bytes });
        Ok(())
    }

    /// Gives them all.
    pub fn all(self) -> Vec<TimedFrame> {
        self.frames
    }
}
