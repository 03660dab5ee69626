//! Failures that explain themselves: what a machine held when a program went wrong comes in; what is
//! wrong in words, the lines of source that led there, and everything held come out, as text and as
//! JSON. One record and one way to write it, whatever machine ran the program.
//!
//! | part | file |
//! |---|---|
//! | the record, and equal ones counted | `record.rs` |
//! | code, names and debug information | `program.rs` |
//! | who called whom | `unwind.rs` |
//! | the loop that does not end | `endless.rs` |
//! | what is wrong, in words: of handlers, of nanoservices | `handler.rs`, `thread.rs` |
//! | what it says | `explain.rs`, `packet.rs`, `text.rs`, `json.rs` |

mod endless;
mod explain;
mod handler;
mod json;
mod packet;
pub mod program;
mod record;
mod text;
mod thread;
pub mod unwind;

pub use explain::{Explained, Wrong, merged};
pub use handler::{Nic, explain_all};
pub use packet::SHOWN_BYTES;
pub use program::Program;
pub use record::{Fault, HandlerOrigin, Ledger, MessageOrigin, Origin, Registers, ThreadOrigin};
pub use thread::Threads;
