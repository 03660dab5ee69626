//! One file per verb: parsed arguments come in, an exit status or an error goes out.

mod attach;
mod bench;
mod build;
mod calibrate;
mod cluster;
mod dap;
mod debug;
mod diff;
mod doctor;
pub mod engine;
mod figure;
mod files;
mod fpspin;
mod hardware;
mod interrupt;
mod lab;
mod look;
mod machine;
mod new;
mod nic;
mod p4;
mod page;
mod profile;
mod pspin;
mod recorded;
mod replay;
mod report;
mod run;
mod service;
mod shell;
mod sweep;
mod test;
mod trace;
mod up;
mod why;

use pinion::Error;
use pinion::error::Result;
use pinion::hardware::choice::is_difference;

use crate::cli::Verb;
use crate::output;

/// Tells how a command that did its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// All is well.
    Success,
    /// The comparison asked for failed.
    Mismatch,
    /// What was given is wrong, or something the command needs failed.
    Mistake,
    /// The run ended, and handlers or the program had failed.
    HandlersFailed,
    /// It was interrupted: by Ctrl-C, SIGTERM or the end of its terminal.
    Interrupted,
}

impl Status {
    /// Gives the process's exit status.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Mismatch => 1,
            Self::Mistake => 2,
            Self::HandlersFailed => 3,
            Self::Interrupted => interrupt::STATUS,
        }
    }
}

/// Runs one verb; gives its exit status, and what went wrong.
pub fn dispatch(verb: &mut Verb) -> (Status, Option<Error>) {
    interrupt::survive_file_limits();
    interrupt::give_up_cleanly();
    match verb {
        Verb::Lab(_) => interrupt::end_at_once(),
        _ => interrupt::listen(),
    }
    let (status, error) = match run_verb(verb) {
        Ok(status) => (status, None),
        Err(error) if is_difference(&error.to_string()) => (Status::Mismatch, Some(error)),
        Err(error) => (Status::Mistake, Some(error)),
    };
    // Whatever else came of it: it is not all that was asked for.
    (if interrupt::happened() { Status::Interrupted } else { status }, error)
}

fn run_verb(verb: &mut Verb) -> Result<Status> {
    output::keep_for_json(match verb {
        Verb::Run(args) => args.report.json.as_deref(),
        Verb::Replay(args) => args.run.report.json.as_deref(),
        Verb::Diff(args) => args.run.report.json.as_deref(),
        Verb::Trace(args) => args.run.report.json.as_deref(),
        Verb::Why(args) => args.run.report.json.as_deref(),
        Verb::Profile(args) => args.run.report.json.as_deref(),
        Verb::Test(args) => args.json.as_deref(),
        Verb::Up(args) => args.report.json.as_deref(),
        Verb::Nic(args) => args.report.json.as_deref(),
        Verb::Bench(args) => args.json.as_deref(),
        Verb::P4(args) => args.json(),
        _ => None,
    });
    if let Verb::Replay(args) = verb {
        replay::refuse(args)?;
    }
    // Its files are there until the verb has ended.
    let recording = recorded::open(verb)?;
    match verb {
        Verb::Run(args) => run::run(args),
        Verb::Replay(args) => match &recording {
            Some(recording) => replay::run(args, recording),
            None => unreachable!("what is no recording has been refused"),
        },
        Verb::Diff(args) => diff::run(args),
        Verb::Trace(args) => trace::run(args),
        Verb::Why(args) => why::run(args),
        Verb::Profile(args) => profile::run(args),
        Verb::Debug(args) => debug::run(args),
        Verb::Dap(args) => dap::run(args),
        Verb::Test(args) => test::run(args),
        Verb::Up(args) => up::run(args),
        Verb::Nic(args) => nic::run(args),
        Verb::New(args) => new::run(args),
        Verb::Build(args) => build::run(args),
        Verb::Calibrate(args) => calibrate::run(args),
        Verb::Figure(args) => figure::run(args),
        Verb::Sweep(args) => sweep::run(args),
        Verb::Bench(args) => bench::run(args),
        Verb::Machine(args) => machine::run(args),
        Verb::P4(args) => p4::run(args),
        Verb::Hardware(args) => hardware::run(args),
        Verb::Pspin(args) => pspin::run(args),
        Verb::Fpspin(args) => fpspin::run(args),
        Verb::Lab(args) => lab::run(args),
        Verb::Doctor => doctor::run(),
        Verb::Completions(args) => shell::completions(args),
        Verb::Man(args) => shell::man(args),
    }
}
