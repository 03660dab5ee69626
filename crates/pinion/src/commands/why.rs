//! `pinion why APP`: why a packet or message took as long as it did, or was dropped.

use pinion::Error;
use pinion::app::App;
use pinion::error::Result;
use pinion::manifest::Manifest;
use pinion::nanoservice::run::Settling;
use pinion::nanoservice::{self, Setup};
use pinion::report::{Ending, Outputs, write_whole};
use pinion::service::Service;
use pinion::trace::Tracer;
use pinion::why::nano::{self, Follower, WorkLines};
use pinion::why::{Answer, Census, Found, Lines, Witness};

use super::look::{self, Quiet};
use super::run::{Watch, keep_files_apart, packets};
use super::{Status, engine, service};
use crate::cli::{OUTPUTS, WhyArgs};
use crate::output;
use serde_json::Value;

pub fn run(args: &WhyArgs) -> Result<Status> {
    keep_files_apart(&args.run, &[("--svg", args.svg.as_ref())])?;
    if pinion::cluster::locate(&args.run.app.app).is_some() {
        let why = "`pinion why` follows a packet through one NIC; of a cluster's node, `pinion trace \
                   --node NAME --perfetto FILE` shows every packet's way";
        return Err(Error::Usage(why.to_owned()));
    }
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    engine::refuse(&args.run.engine, "the way through the simulated machine is told")?;
    refuse(args)?;
    if manifest.nanoservice().is_some() {
        return run_service(args, manifest);
    }
    look::refuse_for_handlers(&args.run, &manifest)?;
    let app = look::app(&args.run, manifest)?;
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    let answer = ask(args, &app, &mut watch)?;
    watch.0.clear();
    let Some(answer) = answer else { return Ok(interrupted("packet")) };
    show(args, &answer.to_text(), answer.to_svg()?, &answer.to_json())
}

fn interrupted(what: &str) -> Status {
    output::notice(&format!("interrupted before the {what}'s way was known"));
    Status::Interrupted
}

/// Prints an answer, and writes the files that are asked for.
fn show(args: &WhyArgs, text: &str, drawn: Option<String>, document: &Value) -> Result<Status> {
    output::print(text);
    if let Some((path, drawn)) = args.svg.as_ref().zip(drawn) {
        write_whole(path, drawn.as_bytes())?;
    }
    if let Some(path) = &args.run.report.json {
        output::write_json(path, &format!("{document:#}"))?;
    }
    Ok(Status::Success)
}

/// Tells why a message to a nanoservice took as long as it did, or a frame was dropped.
fn run_service(args: &WhyArgs, manifest: Manifest) -> Result<Status> {
    if args.packet.is_some() {
        return Err(Error::Usage(format!(
            "--packet goes with packet handlers; {} is a nanoservice, to which messages come: \
             --message M",
            manifest.app.name
        )));
    }
    look::refuse_for_one(&args.run, &manifest)?;
    let (service, setup) = service::prepare(&args.run, manifest)?;
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    let mut follower = Follower::default();
    if !hear_service(args, (&service, &setup), &mut watch, &mut follower)? {
        return Ok(interrupted("message"));
    }
    let found = follower.find(args.which())?;
    let mut shares = Vec::new();
    if let nano::Found::Done(life, _) = &found
        && let Some(mut lines) = WorkLines::new(life)
    {
        if !hear_service(args, (&service, &setup), &mut watch, &mut lines)? {
            return Ok(interrupted("message"));
        }
        shares = lines.shares(&service);
    }
    watch.0.clear();
    let names = [&service.manifest.app.name, &setup.machine.value.name].map(String::as_str);
    let answer = nano::Answer::new(names, setup.clock, &found, &follower, shares);
    show(args, &answer.to_text(), answer.to_svg()?, &answer.to_json())
}

/// Runs a nanoservice, heard by `ears`; `false`: somebody interrupted the run.
fn hear_service(
    args: &WhyArgs,
    (service, setup): (&Service, &Setup),
    watch: &mut Quiet,
    ears: &mut dyn Settling,
) -> Result<bool> {
    let options = service::run_options(&args.run, service, setup)?;
    let outputs = nanoservice::Outputs::default();
    let summary = nanoservice::run::run(service, setup, options, &outputs, watch, ears)?;
    Ok(summary.ending != Ending::Interrupted)
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

/// Refuses what has nothing to do with why.
fn refuse(args: &WhyArgs) -> Result<()> {
    if args.dropped.is_some() && args.svg.is_some() {
        let why = "--svg draws a packet's way through the machine, and a dropped one has none";
        return Err(Error::Usage(why.to_owned()));
    }
    let with = "with `pinion run`: why tells of one packet, and writes --json and --svg";
    look::refuse(&args.run, &OUTPUTS, with)
}
