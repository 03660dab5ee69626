//! `pinion why APP`: why a packet took as long as it did, or was dropped.

use pinion::Error;
use pinion::app::App;
use pinion::error::Result;
use pinion::manifest::Manifest;
use pinion::report::{Ending, Outputs, write_whole};
use pinion::trace::Tracer;
use pinion::why::{Answer, Census, Found, Lines, Witness};

use super::look::{self, Quiet};
use super::run::{Watch, keep_files_apart, packets};
use super::{Status, engine};
use crate::cli::{OUTPUTS, WhyArgs};
use crate::output;

pub fn run(args: &WhyArgs) -> Result<Status> {
    keep_files_apart(&args.run, &[("--svg", args.svg.as_ref())])?;
    if pinion::cluster::locate(&args.run.app.app).is_some() {
        let why = "`pinion why` follows a packet through one NIC; of a cluster's node, `pinion trace \
                   --node NAME --perfetto FILE` shows every packet's way";
        return Err(Error::Usage(why.to_owned()));
    }
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    engine::refuse(&args.run.engine, "the way through the simulated machine is told")?;
    refuse(args, &manifest)?;
    let app = look::app(&args.run, manifest)?;
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    let answer = ask(args, &app, &mut watch)?;
    watch.0.clear();
    let Some(answer) = answer else {
        output::notice("interrupted before the packet's way was known");
        return Ok(Status::Interrupted);
    };
    output::print(&answer.to_text());
    if let Some((path, drawn)) = args.svg.as_ref().zip(answer.to_svg()?) {
        write_whole(path, drawn.as_bytes())?;
    }
    if let Some(path) = &args.run.report.json {
        output::write_json(path, &format!("{:#}", answer.to_json()))?;
    }
    Ok(Status::Success)
}

/// Runs the application as often as it takes to tell why; `None`: somebody interrupted it.
fn ask(args: &WhyArgs, app: &App, watch: &mut Quiet) -> Result<Option<Answer>> {
    let mut census = Census::default();
    if !hear(args, app, watch, &mut census)? {
        return Ok(None);
    }
    let found = census.find(args.which())?;
    let mut witness = Witness::new(app, &found);
    if !hear(args, app, watch, &mut witness)? {
        return Ok(None);
    }
    let mut shares = Vec::new();
    if matches!(found, Found::Done(_))
        && let Some(mut lines) = Lines::new(app, &witness)
    {
        if !hear(args, app, watch, &mut lines)? {
            return Ok(None);
        }
        shares = lines.shares(app);
    }
    Ok(Some(Answer::new(app, &found, &witness, shares)))
}

/// Runs the application, heard by `tracer`; `false`: somebody interrupted the run.
fn hear(args: &WhyArgs, app: &App, watch: &mut Quiet, tracer: &mut dyn Tracer) -> Result<bool> {
    let packets = packets(&args.run, &app.manifest)?;
    let end = tracer.end();
    let finished = pinion::run::trace(app, packets, &Outputs::default(), watch, tracer)?;
    let reached = finished.summary.simulated >= end;
    Ok(finished.summary.ending != Ending::Interrupted || reached)
}

/// Refuses what has nothing to do with packet handlers, or with why.
fn refuse(args: &WhyArgs, manifest: &Manifest) -> Result<()> {
    let name = &manifest.app.name;
    if manifest.nanoservice().is_some() {
        return Err(Error::Usage(format!(
            "`pinion why` follows packets of handlers; {name} is a nanoservice, of which `pinion \
             trace` shows every message"
        )));
    }
    look::refuse_for_handlers(&args.run, manifest)?;
    if args.dropped.is_some() && args.svg.is_some() {
        let why = "--svg draws a packet's way through the machine, and a dropped one has none";
        return Err(Error::Usage(why.to_owned()));
    }
    let with = "with `pinion run`: why tells of one packet, and writes --json and --svg";
    look::refuse(&args.run, &OUTPUTS, with)
}
