//! `pinion build APP`: compiles an application, or all of a cluster, and checks its handlers, or its
//! use of the network registers.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use pinion::app::{App, Options};
use pinion::build::{BuildType, Built};
use pinion::cluster::{self, Plan, Target};
use pinion::error::{Error, Result};
use pinion::nanoservice::Setup;
use pinion::service::{AnyApp, Service};

use super::{Status, engine, files};
use crate::cli::{AppArgs, BuildArgs, BuildKind};
use crate::output;

pub fn run(args: &BuildArgs) -> Result<Status> {
    engine::refuse_core(&args.app, "nothing is run here")?;
    let mut options = options(&args.app);
    options.build.out = args.out.clone();
    options.build.force = args.force;
    options.build.slot = args.slot;
    if let Some(file) = cluster::locate(&args.app.app) {
        return all(args, &file, &options);
    }
    if let Some(out) = &args.out {
        files::refuse_the_same(&files::of_application(&args.app), &[("--out", out.clone())])?;
    }
    let app = AnyApp::load(&args.app.app, &options)?;
    show(app.built());
    if let AnyApp::Nanoservice(service) = &app {
        // Handlers are linked for their machine; a nanoservice must only fit it.
        Setup::new(service, &options)?;
    }
    output::print(&match &app {
        AnyApp::Handlers(app) => of_handlers(app),
        AnyApp::Nanoservice(service) => of_service(service),
    });
    Ok(Status::Success)
}

/// Builds the programs of a cluster, each once.
fn all(args: &BuildArgs, file: &Path, options: &Options) -> Result<Status> {
    let refused = [("--out", args.out.is_some()), ("--slot", args.slot.is_some())];
    if let Some((option, _)) = refused.into_iter().find(|(_, given)| *given) {
        return Err(Error::Usage(format!(
            "{option} goes with one application; a cluster has several, and --build-dir says below \
             which folder they are built"
        )));
    }
    let plan = Plan::load(file, options)?;
    plan.built().for_each(show);
    let mut told = BTreeSet::new();
    for group in &plan.groups {
        let (built, line) = match &group.target {
            Target::Handlers { app } => (&app.built, of_handlers(app)),
            Target::Nanoservice { service, .. } => (&service.built, of_service(service)),
            Target::Load { .. } | Target::Frames { .. } => continue,
        };
        if told.insert(&built.elf) {
            output::print(&line);
        }
    }
    Ok(Status::Success)
}

fn of_handlers(app: &App) -> String {
    line(&app.built, &format!("{} bytes of program memory", app.program_bytes()))
}

fn of_service(service: &Service) -> String {
    line(&service.built, &describe(service))
}

fn line(built: &Built, what: &str) -> String {
    let how = match &built.compiler {
        Some(compiler) => format!("built with {compiler}"),
        None => "up to date".to_owned(),
    };
    format!("{}: {how}, {what}\n", built.elf.display())
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
        engine_core: args.core.choice(args.untrusted),
        ..Options::default()
    };
    options.build.cc = args.cc.clone();
    options.build.build_type = match args.build_type {
        BuildKind::Release => BuildType::Release,
        BuildKind::Debug => BuildType::Debug,
    };
    options.build.folder = args.build_dir.clone();
    options.build.untrusted = args.untrusted;
    options
}

/// Passes on what the compiler wrote.
pub fn show_messages(app: &App) {
    show(&app.built);
}

/// Passes on what a compiler wrote; says that a program for a debugger is another one.
pub fn show(built: &Built) {
    let _ = std::io::stderr().lock().write_all(&built.messages);
    if let Some(text) = another_program(built) {
        output::notice(&text);
    }
}

/// Gives what there is to say of a build, for who shows it in a way of their own.
pub fn said(built: &Built) -> Vec<String> {
    let messages = String::from_utf8_lossy(&built.messages).trim_end().to_owned();
    Some(messages)
        .filter(|text| !text.is_empty())
        .into_iter()
        .chain(another_program(built))
        .collect()
}

fn another_program(built: &Built) -> Option<String> {
    (built.build_type == BuildType::Debug).then(|| {
        format!(
            "{} was compiled for a debugger (-Og): another program, with other cycles than without \
             --build-type debug",
            built.elf.display()
        )
    })
}
