//! What is wrong with handlers' memory, as a run shows it: the checker of `pinion run --check`.
//!
//! A [`Checker`] hears a run instruction by instruction. Of every byte of the handlers' memories and of
//! every register it knows which bits were ever written; of every shared word who touched it last, and
//! of every HPU what it knows of the others (happens-before, by vector clocks); of every command and
//! copy which bytes it may still use. Out comes a [`Verdict`]: findings with both accesses by function,
//! line, packet, HPU and cycle, and what to do.
//!
//! | part | file |
//! |---|---|
//! | which bits a result has from nobody | `defined.rs` |
//! | whose an address is | `map.rs`, `packets.rs` |
//! | who knows of what, who touched a word last | `shared.rs`, `clocks.rs`, `cells.rs` |
//! | what orders handlers | `checker/tasks.rs`, `checker/atomics.rs` |
//! | commands and copies | `operations.rs`, `checker/devices.rs` |
//! | instructions, one by one | `checker/mod.rs`, `checker/memory.rs`, `hart.rs` |
//! | what the lines of source say | `lines.rs` |
//! | what is said | `findings.rs`, `checker/told.rs` |

mod cells;
mod checker;
mod clocks;
mod defined;
mod findings;
mod hart;
mod lines;
mod map;
mod operations;
mod packets;
mod shared;

pub use checker::Checker;
pub use lines::{INTENDED, SYNCHRONISES};
pub use pinion_observe::check::{Access, Deed, Kind, Seen, Told, Verdict};
