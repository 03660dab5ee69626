//! `pinion build APP`: compiles an application and checks its handlers.

use std::io::Write as _;

use pinion::app::{App, Options};
use pinion::error::Result;

use super::Status;
use crate::cli::{AppArgs, BuildArgs};
use crate::output;

pub fn run(args: &BuildArgs) -> Result<Status> {
    let mut options = options(&args.app);
    options.build.out = args.out.clone();
    options.build.force = args.force;
    let app = App::load(&args.app.app, &options)?;
    show_messages(&app);
    let how = match &app.built.compiler {
        Some(compiler) => format!("built with {compiler}"),
        None => "up to date".to_owned(),
    };
    let program = app.program_bytes();
    output::print(&format!(
        "{}: {how}, {program} bytes of program memory\n",
        app.built.elf.display()
    ));
    Ok(Status::Success)
}

/// Turns the arguments every verb with an application has into options.
pub fn options(args: &AppArgs) -> Options {
    let mut options = Options {
        machine: args.machine.clone(),
        overrides: args.set.clone(),
        faithful: args.faithful,
        ..Options::default()
    };
    options.build.cc = args.cc.clone();
    options
}

/// Passes on what the compiler wrote.
pub fn show_messages(app: &App) {
    let _ = std::io::stderr().lock().write_all(&app.built.messages);
}
