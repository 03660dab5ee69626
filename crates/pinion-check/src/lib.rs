//! What is wrong with the memory of handlers and nanoservices, as a run shows it: the checker of
//! `pinion run --check`.
//!
//! A [`Checker`] hears a NIC instruction by instruction. Of every byte of the handlers' memories and of
//! every register it knows which bits were ever written; of every shared word who touched it last, and
//! of every HPU what it knows of the others (happens-before, by vector clocks); of every command and
//! copy which bytes it may still use. Out comes a [`Verdict`]: findings with both accesses by function,
//! line, packet, HPU and cycle, and what to do. A [`NanoChecker`] does the same of a nanoPU's harts, and
//! holds the words that they read and write against what messages' headers announce.
//!
//! | part | file |
//! |---|---|
//! | which bits a result has from nobody | `defined.rs`, `registers.rs` |
//! | whose an address is | `map.rs`, `packets.rs` |
//! | who knows of what, who touched a word last | `shared.rs`, `clocks.rs`, `cells.rs` |
//! | what orders handlers | `checker/tasks.rs`, `checker/atomics.rs` |
//! | commands and copies | `operations.rs`, `checker/devices.rs` |
//! | instructions, one by one | `checker/mod.rs`, `checker/memory.rs`, `hart.rs` |
//! | a nanoPU's instructions and words | `nano/mod.rs`, `nano/memory.rs`, `nano/messages.rs` |
//! | a nanoservice's program and stacks | `nano/program.rs`, `nano/hart.rs`, `nano/bits.rs` |
//! | messages between nodes, exceptions | `nano/post.rs`, `nano/exceptions.rs` |
//! | what the lines of source say | `lines.rs` |
//! | what is said | `findings.rs`, `checker/told.rs`, `nano/told.rs` |

mod cells;
mod checker;
mod clocks;
mod defined;
mod findings;
mod hart;
mod lines;
mod map;
mod nano;
mod operations;
mod packets;
mod registers;
mod shared;

pub use checker::Checker;
pub use lines::{INTENDED, Lines, SYNCHRONISES};
pub use nano::{NanoChecker, Parcel, Post, Program};
pub use pinion_observe::check::{Access, Deed, Finding, Kind, Seen, Told, Verdict, Who};
