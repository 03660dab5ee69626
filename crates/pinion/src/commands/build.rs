//! `pinion build APP`: compiles an application and checks its handlers, or its use of the network
//! registers.

use std::io::Write as _;

use pinion::app::{App, Options};
use pinion::build::Built;
use pinion::error::Result;
use pinion::nanoservice::Setup;
use pinion::service::{AnyApp, Service};

use super::Status;
use crate::cli::{AppArgs, BuildArgs};
use crate::output;

pub fn run(args: &BuildArgs) -> Result<Status> {
    let mut options = options(&args.app);
    options.build.out = args.out.clone();
    options.build.force = args.force;
    options.build.slot = args.slot;
    let app = AnyApp::load(&args.app.app, &options)?;
    show(app.built());
    if let AnyApp::Nanoservice(service) = &app {
        // Handlers are linked for their machine; a nanoservice must only fit it.
        Setup::new(service, &options)?;
    }
    let how = match &app.built().compiler {
        Some(compiler) => format!("built with {compiler}"),
        None => "up to date".to_owned(),
    };
    let what = match &app {
        AnyApp::Handlers(app) => format!("{} bytes of program memory", app.program_bytes()),
        AnyApp::Nanoservice(service) => describe(service),
    };
    output::print(&format!("{}: {how}, {what}\n", app.built().elf.display()));
    Ok(Status::Success)
}

fn describe(service: &Service) -> String {
    let bytes = service.program_bytes();
    match service.harts {
        Some(1) => format!("{bytes} bytes of memory, 1 hart"),
        Some(harts) => format!("{bytes} bytes of memory, {harts} harts"),
        None => format!("{bytes} bytes of memory"),
    }
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
    options.build.folder = args.build_dir.clone();
    options.build.untrusted = args.untrusted;
    options
}

/// Passes on what the compiler wrote.
pub fn show_messages(app: &App) {
    show(&app.built);
}

/// Passes on what a compiler wrote.
pub fn show(built: &Built) {
    let _ = std::io::stderr().lock().write_all(&built.messages);
}
