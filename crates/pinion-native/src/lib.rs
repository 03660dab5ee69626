//! sPIN in software: packet handlers, compiled for this computer, run by worker threads with the
//! NIC's semantics and without its timing.
//!
//! In: frames, one at a time. Out: what handlers send, host memory, and the same events that the
//! simulated NIC reports. A frame is matched by the same engine, goes to the L2 packet buffer and
//! joins its message's queue; header handler before payload handlers before completion handler;
//! payload handlers of a message run in parallel.
//!
//! | unit | file |
//! |---|---|
//! | what a frame goes through | `engine.rs` |
//! | messages and their order | `mpq.rs` |
//! | packets in the L2 packet buffer | `packets.rs` |
//! | workers: inline, or threads with mailboxes | `crew.rs`, `worker.rs` |
//! | the NIC's memories, at the NIC's addresses | `memory.rs` |
//! | a worker's block: registers, task, stack | `block.rs` |
//! | calling handlers, and leaving one that crashed | `entry.rs`, `enter.rs`, `signals.rs`, `watchdog.rs` |
//! | commands and other services | `services.rs`, `command.rs` |
//! | all of it in a process behind walls | `confined/` |
//!
//! Programs are compiled with `-mx32`: 64-bit instructions, 32-bit addresses. They are linked to the
//! addresses of the NIC's memories, which are mapped there: so there is one engine per process at a
//! time, and the computer must be an x86-64 with Linux.
//!
//! A handler that crashes ends its task and nothing else; one that never returns is stopped.
//! Protection between applications is not promised: a handler that writes to a wild address may hit
//! another context's memory, or the engine's. So [`Confined`] has the engine in a process that can touch
//! nothing of this computer. Commands are checked as on the NIC.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod block;
mod command;
mod confined;
mod crew;
mod engine;
mod enter;
mod entry;
mod error;
mod instructions;
mod layout;
mod memory;
mod mpq;
mod outbox;
mod packets;
mod row;
mod scene;
mod services;
mod signals;
mod watchdog;
mod worker;

pub use confined::{Confined, Runner};
pub use engine::{Engine, Incoming, Setup};
pub use error::NativeError;
pub use instructions::Counter;
pub use memory::PROGRAM_LIMIT_BYTES;
pub use worker::{ARITHMETIC_CAUSE, SYSTEM_CALL_CAUSE};
