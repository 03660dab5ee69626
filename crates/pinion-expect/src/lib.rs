//! Tests of applications: what must come out of a run, as its author writes it down.
//!
//! In: an `expect.toml` beside an application: packets in; packets out, host memory, lines printed,
//! bounds of latency, any number of the summary. Out: per test what came otherwise, and which lines of
//! the program ran.
//!
//! | part | file |
//! |---|---|
//! | the file | `file.rs` |
//! | a packet as people write it | `packet.rs` |
//! | a test's run | `run.rs` |
//! | what came otherwise | `compare.rs` |
//! | lines that ran | `coverage.rs` |
//! | what comes out | `report.rs`, `junit.rs` |

mod compare;
mod coverage;
mod file;
mod junit;
mod packet;
mod report;
mod run;

pub use compare::frames as differences;
pub use coverage::Coverage;
pub use file::{FILE_NAME, Suite, Test};
pub use packet::describe;
pub use report::Results;
pub use run::{Outcome, run};
