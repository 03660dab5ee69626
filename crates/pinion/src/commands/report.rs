//! The end of every run: its summary is printed and written, and gives the exit status.

use pinion::error::Result;
use pinion::report::Report;

use super::Status;
use crate::cli::ReportArgs;
use crate::output;

/// Prints and writes a summary, and gives the exit status. It is printed first: a file may not be
/// writable.
pub fn conclude(args: &ReportArgs, summary: &dyn Report) -> Result<Status> {
    let is_wrong = summary.has_failures() || summary.has_differences();
    output::print_summary(&summary.texts(), is_wrong);
    write(args, summary)
}

/// Writes a summary, if asked to, and gives the exit status.
pub fn write(args: &ReportArgs, summary: &dyn Report) -> Result<Status> {
    if let Some(path) = &args.json {
        output::write_json(path, &format!("{:#}", summary.to_json()))?;
    }
    Ok(match (summary.has_failures(), summary.has_differences()) {
        (true, _) => Status::HandlersFailed,
        (false, true) => Status::Mismatch,
        (false, false) => Status::Success,
    })
}
