//! Frames that left during a run. In: each, with its time. Out: `bytes` of Python, made when they are asked
//! for: a run that nobody asks for its frames pays for one copy of each.

use std::sync::{Mutex, PoisonError};

use pinion_sim::Time;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

/// Frames with their times, one behind the other in one piece of memory.
#[derive(Default)]
pub struct Frames {
    times: Vec<Time>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Frames {
    /// Adds a frame that left.
    pub fn push(&mut self, time: Time, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.times.push(time);
        self.ends.push(self.bytes.len());
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[*start..*end])
    }
}

/// The same for Python.
pub struct Departed {
    times: Vec<Time>,
    /// Empty once Python has them.
    kept: Mutex<Frames>,
    made: PyOnceLock<Vec<Py<PyBytes>>>,
}

impl Departed {
    /// Counts them.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Gives the times at which they left, in nanoseconds.
    pub fn times_ns(&self) -> Vec<f64> {
        self.times.iter().map(|time| time.ns()).collect()
    }

    /// Gives them, the same objects each time.
    pub fn bytes<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let make = || {
            let kept =
                std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
            kept.iter().map(|frame| PyBytes::new(py, frame).unbind()).collect()
        };
        let made = self.made.get_or_init(py, make);
        made.iter().map(|frame| frame.bind(py).clone()).collect()
    }
}

impl From<Frames> for Departed {
    fn from(mut frames: Frames) -> Self {
        let times = std::mem::take(&mut frames.times);
        Self { times, kept: Mutex::new(frames), made: PyOnceLock::new() }
    }
}
