//! Inputs that are wrong, for everything of Pinion that reads what others wrote. In: a target's name and
//! bytes. Out: what the reader says of them, and never a panic, a reader that does not come back, or one that
//! takes memory without end.
//!
//! [`targets::TARGETS`] is the one list. [`driver`] mutates inputs on stable Rust and keeps those of which
//! something new is said; `fuzz/` gives the same targets to `cargo fuzz`, which is guided by coverage.

pub mod driver;
pub mod mutate;
pub mod seeds;
pub mod targets;

pub use driver::{Failure, Limits, Report, drive, replay};
pub use targets::{TARGETS, Target, find};
