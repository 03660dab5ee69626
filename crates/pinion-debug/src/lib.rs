//! A debugger for programs in the network: a run that can be stopped anywhere and gone back in, and gdb's
//! remote protocol and editors' on it.
//!
//! The simulator does the same every time, so a place in a run is a [`Position`]: a cycle, and in it
//! whose turn it is. To go there is to run there, from the last snapshot before it; to go back is
//! to go to an earlier place. Nothing of the machine is changed: what a debugged run does is what
//! any run does, and a run that is not debugged has nothing of this in it.
//!
//! | part | file |
//! |---|---|
//! | a place in a run | `position.rs` |
//! | what is debugged, as a contract | `debuggee.rs`, in the words of `terms.rs`; how it gets on, `drive.rs` |
//! | a sPIN NIC; a nanoPU; a node of a cluster | `nic/`; `nano/`; `among.rs`, `tap.rs` |
//! | nanoPUs and clusters that are or were live | `slices.rs`; a run, whichever it is, `runs.rs` |
//! | what is heard of a machine | `log.rs`, `hearer.rs`; harts' registers at a position, though cores run ahead, `harts.rs` |
//! | what stops a run: breakpoints, watchpoints, packets, messages, faults | `conditions.rs`, `hunt.rs` |
//! | forward and back | `timeline/` |
//! | memory and names at a position | `view.rs`, `words.rs` |
//! | what users ask for in words | `console.rs` |
//! | gdb's protocol | `stub/`, `session.rs` |
//! | a live NIC, nanoPU or cluster | `nic/live.rs`, `slices/ongoing.rs`, `visit.rs` |
//! | the Debug Adapter Protocol, of editors | `dap/` |
//! | lines, variables and types of the program | `symbols/` |
//! | gdb itself | `gdb.rs` |

pub mod among;
mod conditions;
pub mod console;
pub mod dap;
pub mod debuggee;
pub mod drive;
pub mod gdb;
pub mod harts;
pub mod hearer;
mod hunt;
pub mod log;
mod nano;
mod nic;
mod position;
pub mod runs;
pub mod session;
#[cfg(target_os = "linux")]
pub mod slices;
mod stub;
pub mod symbols;
mod tap;
pub mod terms;
mod timeline;
mod view;
#[cfg(target_os = "linux")]
pub mod visit;
mod words;

pub use conditions::{Access, Conditions, Event, Watchpoint};
pub use debuggee::Debuggee;
pub use hunt::{Candidate, Goal, Hunt, Reason};
pub use log::Target;
pub use nano::Nano;
pub use nic::Nic;
pub use position::Position;
pub use runs::service;
pub use terms::{Command, Reached, Said, Task, Width};
pub use timeline::{Arrival, Timeline};
pub use words::Wrong;
