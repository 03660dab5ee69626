//! The command `pinion`: parses the arguments, runs one verb, says what went wrong in one
//! paragraph.
//!
//! Exit status: 0 success; 1 a comparison failed (`calibrate`, or messages'
//! answers); 2 a mistake in what was given; 3
//! the run ended and handlers, or the program, had failed.

mod cli;
mod commands;
mod output;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use pinion::Error;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::dispatch(&cli.command) {
        Ok(status) => ExitCode::from(status.code()),
        Err(error) => {
            let mut stderr = std::io::stderr().lock();
            if let Error::CompilerFailed { output, .. } = &error {
                let _ = stderr.write_all(output);
            }
            let _ = writeln!(stderr, "pinion: {}", pinion::error::paragraph(&error));
            ExitCode::from(2)
        }
    }
}
