//! Whole-machine tests: a node built from the published machine and the calibration programs, given
//! traffic, listened to.
//!
//! Random tests print their seed; `PINION_TEST_SEED=… cargo test -p pinion-spin --test node NAME`
//! replays one.

mod back_pressure;
mod banks;
mod conservation;
mod cores;
mod determinism;
mod faults;
#[cfg(target_os = "linux")]
mod fpspin;
mod harness;
mod hostile;
mod instructions;
mod limits;
mod lines;
mod order;
mod overrides;
mod registers;
mod results;
mod rewriting;
mod saved;
mod several;
mod shapes;
mod stalled;
mod translated;
mod units;
mod xpulp;
