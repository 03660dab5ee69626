//! `pinion completions SHELL` and `pinion man`: what shells complete and `man` shows, made of the same
//! description of the command line as `--help`.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use pinion::error::{Error, Result};
use pinion::report::write_whole;

use super::Status;
use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::output;

/// Prints what a shell completes.
pub fn completions(args: &CompletionsArgs) -> Result<Status> {
    let mut script = Vec::new();
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Ok(Status::Success)
}

/// Prints the manual page, or writes all pages.
pub fn man(args: &ManArgs) -> Result<Status> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    match &args.out {
        None => output::print(&String::from_utf8_lossy(&page(&command)?)),
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
            let count = write_pages(folder, &command)?;
            output::print(&format!("{}: {count} pages\n", folder.display()));
        }
    }
    Ok(Status::Success)
}

/// Writes the page of a command and those of the commands below it; counts them.
fn write_pages(folder: &Path, command: &Command) -> Result<usize> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    write_whole(&folder.join(format!("{name}.1")), &page(command)?)?;
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    shown.map(|verb| write_pages(folder, verb)).try_fold(1, |sum, count| Ok(sum + count?))
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let written = Man::new(command.clone()).render(&mut text);
    written.map_err(|error| Error::part("cannot write the manual page", error))?;
    Ok(text)
}
