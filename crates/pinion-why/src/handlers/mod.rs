//! Why a packet took as long as it did, or was dropped.
//!
//! Runs are the same each time, so nothing need be kept in advance: a [`Census`] hears a run and says
//! which packet is meant; a [`Witness`] hears the same run again and keeps what concerns that packet,
//! unit by unit, and who was in its way; [`Lines`] hears its handlers instruction by instruction. Out
//! comes an [`Answer`]: spans whose durations add up to the packet's latency exactly, as text, JSON or
//! a picture.

mod answer;
mod ask;
mod cause;
mod census;
mod chain;
mod drop;
mod life;
mod lines;
mod subject;
mod witness;

pub use answer::Answer;
pub(crate) use answer::{handler_json, write_handler};
pub use ask::answer;
pub use census::{Census, Found, Target};
pub(crate) use chain::{RUN, follow};
pub use lines::Lines;
pub use subject::{Elf, Subject};
pub use witness::Witness;
