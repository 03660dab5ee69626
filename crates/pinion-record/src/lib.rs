//! Runs kept in a file so that they can be repeated exactly: what a run reads goes in (programs,
//! machines, packets, the words of the command line), and what came of it; out comes the same run, on
//! another computer and in years.
//!
//! A recording is a tar archive of plain files that `tar` and a text editor show. [`Recorder`] writes
//! one, [`Recording`] opens one, [`outcome`] tells where two runs' summaries differ, [`diff`] where two runs part.

mod archive;
mod checksums;
pub mod diff;
mod head;
pub mod outcome;
mod pack;
mod unpack;

pub use archive::unfinished;
pub use head::{Head, Kind, Live};
pub use pack::{Incoming, Input, Recorder, Subject, names_program};
pub use unpack::{Recording, is_recording};
