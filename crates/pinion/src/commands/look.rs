//! What the verbs share that look into a run of `pinion run`: trace, why, profile and debug.

use pinion::Error;
use pinion::app::{App, Options};
use pinion::error::Result;
use pinion::manifest::Manifest;
use pinion::report::Sink;
use pinion::watch::{Observer, Progress};

use super::build;
use super::run::Watch;
use crate::cli::{CLUSTER, RunArgs, SERVICE};

/// Builds the packet handlers that the arguments name.
pub fn app(args: &RunArgs, manifest: Manifest) -> Result<App> {
    let app = App::of(manifest, &options(args))?;
    build::show_messages(&app);
    Ok(app)
}

/// Turns the arguments about program and machine into the library's.
pub fn options(args: &RunArgs) -> Options {
    let mut options = build::options(&args.app);
    options.elf = args.elf.clone();
    options
}

/// Refuses a seed that has nothing to choose; `is_drawn`: what comes in is left to chance where it is no
/// capture's.
pub fn refuse_seed(args: &RunArgs, is_drawn: bool) -> Result<()> {
    let is_fixed = args.pcap_in.is_some() || args.live.is_some() || !is_drawn;
    if args.seed.is_none() || !is_fixed {
        return Ok(());
    }
    let why = "--seed goes with packets that are drawn (--generate, [traffic] of app.toml, --load), not \
               with those of captures, messages and recordings of live runs";
    Err(Error::Usage(why.to_owned()))
}

/// Refuses what goes with nanoservices and clusters, of packet handlers.
pub fn refuse_for_handlers(args: &RunArgs, manifest: &Manifest) -> Result<()> {
    let name = &manifest.app.name;
    refuse_for_one(args, manifest)?;
    refuse_seed(args, true)?;
    refuse(args, &SERVICE, &format!("with nanoservices; {name} has packet handlers"))
}

/// Refuses what goes with clusters, of one application.
pub fn refuse_for_one(args: &RunArgs, manifest: &Manifest) -> Result<()> {
    refuse(args, &CLUSTER, &format!("with clusters; {} is one application", manifest.app.name))
}

/// Refuses `--node`, of one application.
pub fn refuse_node(node: Option<&str>, manifest: &Manifest) -> Result<()> {
    let why = || format!("--node goes with clusters; {} is one application", manifest.app.name);
    node.map_or(Ok(()), |_| Err(Error::Usage(why())))
}

/// Refuses options that go with something else; `with` says with what.
pub fn refuse(args: &RunArgs, options: &[&'static str], with: &str) -> Result<()> {
    match args.given(options) {
        None => Ok(()),
        Some(option) => Err(Error::Usage(format!("{option} goes {with}"))),
    }
}

/// Passes nothing on that would stand between the lines a verb writes.
pub struct Quiet(pub Watch);

impl Sink for Quiet {}

impl Observer for Quiet {
    fn goes_on(&mut self, progress: &Progress) -> bool {
        self.0.goes_on(progress)
    }

    fn notice(&mut self, text: &str) {
        self.0.notice(text);
    }
}
