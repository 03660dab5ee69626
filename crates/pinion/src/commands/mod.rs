//! One file per verb: parsed arguments come in, an exit status or an error goes out.

mod build;
mod calibrate;
mod cluster;
mod doctor;
pub mod engine;
mod figure;
mod files;
mod fpspin;
mod lab;
mod link;
mod machine;
mod new;
mod nic;
mod pspin;
mod run;
mod service;
mod sweep;
mod trace;
mod up;

use pinion::error::Result;

use crate::cli::Verb;

/// Tells how a command that did its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// All is well.
    Success,
    /// The comparison asked for failed.
    Mismatch,
    /// The run ended, and handlers or the program had failed.
    HandlersFailed,
}

impl Status {
    /// Gives the process's exit status.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Mismatch => 1,
            Self::HandlersFailed => 3,
        }
    }
}

/// Runs one verb.
pub fn dispatch(verb: &Verb) -> Result<Status> {
    match verb {
        Verb::Run(args) => run::run(args),
        Verb::Trace(args) => trace::run(args),
        Verb::Up(args) => up::run(args),
        Verb::Nic(args) => nic::run(args),
        Verb::New(args) => new::run(args),
        Verb::Build(args) => build::run(args),
        Verb::Calibrate(args) => calibrate::run(args),
        Verb::Figure(args) => figure::run(args),
        Verb::Sweep(args) => sweep::run(args),
        Verb::Machine(args) => machine::run(args),
        Verb::Pspin(args) => pspin::run(args),
        Verb::Fpspin(args) => fpspin::run(args),
        Verb::Lab(args) => lab::run(args),
        Verb::Doctor => doctor::run(),
    }
}
