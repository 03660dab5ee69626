//! The command `pinion`: parses the arguments, runs one verb, says what went wrong in one
//! paragraph.
//!
//! Exit status: 0 success; 1 a comparison failed (`calibrate`, `figure`, or messages'
//! answers); 2 a mistake in what was given, or a file or standard output that cannot be written; 3
//! the run ended and handlers, or the program, had failed; 130 it was interrupted.

mod cli;
mod commands;
#[cfg(test)]
mod failing_disk;
mod output;
mod stack;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use commands::Status;
use pinion::Error;

fn main() -> ExitCode {
    stack::with_enough(run)
}

fn run() -> ExitCode {
    let (status, error) = match cli::Cli::try_parse() {
        Ok(mut cli) => commands::dispatch(&mut cli.command),
        Err(answer) => {
            // Help and version are for standard output, mistakes for standard error.
            output::note(answer.print());
            let is_mistake = answer.exit_code() != 0;
            (if is_mistake { Status::Mistake } else { Status::Success }, None)
        }
    };
    if let Some(error) = &error {
        if let Error::CompilerFailed { output, .. } = error {
            let _ = std::io::stderr().lock().write_all(output);
        }
        let text = error.to_string();
        match text.split_once('\n').filter(|_| matches!(error, Error::Other(_))) {
            // What a block of hardware did takes some lines.
            Some((first, rest)) => {
                output::notice(first);
                let _ = writeln!(std::io::stderr().lock(), "{rest}");
            }
            None => output::notice(&pinion::error::paragraph(error)),
        }
    }
    let failure = output::take_failure();
    if let Some(failure) = &failure {
        output::notice(&format!("cannot write to standard output: {failure}"));
    }
    match (failure, status) {
        (Some(_), Status::Success) => ExitCode::from(Status::Mistake.code()),
        _ => ExitCode::from(status.code()),
    }
}
