//! Where two runs part, and what came of it: the first event that differs, how latency moved span by
//! span, what lines of source took, which numbers of the summary are others.
//!
//! Runs are the same each time, so nothing is kept: both runs are made side by side, first whole and
//! added up ([`Measured`]), then as lines of a trace, which are compared as they come ([`streams`]) and
//! end at the first that differs.

mod answer;
mod frames;
mod passages;
pub mod streams;

pub use answer::{Diff, LineSum, Measured};
pub use frames::FrameLines;
pub use passages::{Passages, SPANS};
