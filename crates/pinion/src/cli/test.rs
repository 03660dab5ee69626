//! The command line of `pinion test`.

use std::path::PathBuf;

use clap::Args;

use super::AppArgs;

/// What `pinion test --help` says at its end.
const TEST_NOTES: &str = "\
A test is a [[run]] of the application's expect.toml: what comes in (in, input, generate; of a nanoservice
messages or load; else what `pinion run` takes) and what must come of it: packets (out, output, unmatched),
host memory, printed lines, a bound of latency, any number of the summary. Handler errors fail a test that
does not expect them. Lines of the application's source that no test ran are told at the end.";

#[derive(Debug, Args)]
#[command(after_long_help = TEST_NOTES)]
pub struct TestArgs {
    #[command(flatten)]
    pub app: AppArgs,
    /// File of tests [default: expect.toml beside the application]
    #[arg(long, value_name = "FILE", help_heading = "Which tests")]
    pub expect: Option<PathBuf>,
    /// Only tests with this text in their name (repeatable)
    #[arg(long, value_name = "TEXT", help_heading = "Which tests")]
    pub only: Vec<String>,
    /// Write the results as JUnit's XML
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write which lines ran, and how often, as an lcov tracefile
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub lcov: Option<PathBuf>,
    /// Write the results as JSON; `-` is standard output, and all text goes to standard error
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
}
