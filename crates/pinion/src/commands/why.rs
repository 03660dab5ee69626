//! `pinion why APP`: why a packet or message took as long as it did, or was dropped.

use std::path::Path;

use pinion::Error;
use pinion::app::App;
use pinion::cluster::{self, NodeTracer, Target, Tracing};
use pinion::error::Result;
use pinion::nanoservice::run::Settling;
use pinion::nanoservice::{self, Setup};
use pinion::report::{Ending, Outputs, write_whole};
use pinion::service::Service;
use pinion::trace::Tracer;
use pinion::why::nano::{self, Follower, WorkLines};
use pinion::why::{Answer, Census, Found, Lines, Witness};
use pinion_net::fabric::Alone;
use pinion_sim::Time;
use serde_json::Value;

use super::look::{self, Quiet};
use super::run::{Watch, keep_files_apart, packets};
use super::{Status, engine, service};
use crate::cli::{OUTPUTS, WhyArgs};
use crate::output;

pub fn run(args: &WhyArgs) -> Result<Status> {
    keep_files_apart(&args.run, &[("--svg", args.svg.as_ref())])?;
    refuse(args)?;
    if let Some(file) = cluster::locate(&args.run.app.app) {
        return run_node(args, &file);
    }
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    look::refuse_node(args.node.as_ref(), &manifest)?;
    engine::refuse(&args.run.engine, "the way through the simulated machine is told")?;
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    if manifest.nanoservice().is_some() {
        refuse_packet(args, &manifest.app.name)?;
        look::refuse_for_one(&args.run, &manifest)?;
        let (service, setup) = service::prepare(&args.run, manifest)?;
        return of_message(args, (&service, &setup), &mut |ears| {
            let options = service::run_options(&args.run, &service, &setup)?;
            let outputs = nanoservice::Outputs::default();
            let run = nanoservice::run::run;
            let summary = run(&service, &setup, options, &outputs, &mut watch, ears)?;
            watch.0.clear();
            Ok(summary.ending != Ending::Interrupted)
        });
    }
    look::refuse_for_handlers(&args.run, &manifest)?;
    let app = look::app(&args.run, manifest)?;
    of_packet(args, &app, &mut |tracer| {
        let packets = packets(&args.run, &app.manifest)?;
        let (end, outputs) = (tracer.end(), Outputs::default());
        let finished = pinion::run::trace(&app, packets, &outputs, &mut watch, tracer)?;
        watch.0.clear();
        let reached = finished.summary.simulated >= end;
        Ok(finished.summary.ending != Ending::Interrupted || reached)
    })
}

/// Tells why a packet or message took as long as it did in a node of a cluster.
fn run_node(args: &WhyArgs, file: &Path) -> Result<Status> {
    let with = "with `pinion run`: why tells of one packet or message of a node";
    look::refuse(&args.run, &["--pcap", "--queue", "--histogram", "--curve"], with)?;
    let plan = super::cluster::plan_for_a_node(&args.run, file)?;
    let node = super::cluster::find_node(&plan, args.node.as_deref(), "asked about")?;
    let (group, _) = plan.group_of(node).expect("every node is in a group");
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    let mut hear = |tracer: NodeTracer<'_>, to: Option<u64>| {
        let mut options = super::cluster::run_options(&args.run, Vec::new())?;
        options.cycles = [options.cycles, to].into_iter().flatten().min();
        let tracing = Tracing { nodes: vec![(node, tracer)], network: None };
        let summary = cluster::trace(&plan, &options, &mut Alone, &mut watch, tracing)?;
        watch.0.clear();
        Ok(summary.is_some_and(|summary| summary.ending != Ending::Interrupted))
    };
    match &group.target {
        Target::Nanoservice { service, setup, .. } => {
            refuse_packet(args, &plan.names[node])?;
            of_message(args, (service, setup), &mut |ears| {
                hear(NodeTracer::Nano(Box::new(ears)), None)
            })
        }
        Target::Handlers { app } => of_packet(args, app, &mut |tracer| {
            let end = tracer.end();
            let to = (end != Time::MAX).then(|| plan.clock.cycle_at(end) + 1);
            hear(NodeTracer::Spin(Box::new(tracer)), to)
        }),
        Target::Load { .. } | Target::Frames { .. } => Err(Error::Usage(format!(
            "--node {}: it runs no program; ask about a node that its packets are for",
            plan.names[node]
        ))),
    }
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

/// Tells why a message to a nanoservice took as long as it did, or a frame was dropped. `hear` makes the
/// run, heard by somebody; `false`: somebody interrupted it.
fn of_message(
    args: &WhyArgs,
    (service, setup): (&Service, &Setup),
    hear: &mut dyn FnMut(&mut (dyn Settling + Send)) -> Result<bool>,
) -> Result<Status> {
    let mut follower = Follower::default();
    if !hear(&mut follower)? {
        return Ok(interrupted("message"));
    }
    let found = follower.find(args.which())?;
    let mut shares = Vec::new();
    if let nano::Found::Done(life, _) = &found
        && let Some(mut lines) = WorkLines::new(life)
    {
        if !hear(&mut lines)? {
            return Ok(interrupted("message"));
        }
        shares = lines.shares(service);
    }
    let names = [&service.manifest.app.name, &setup.machine.value.name].map(String::as_str);
    let answer = nano::Answer::new(names, setup.clock, &found, &follower, shares);
    show(args, &answer.to_text(), answer.to_svg()?, &answer.to_json())
}

/// Tells why a packet of handlers took as long as it did, or was dropped. `hear` makes the run, heard by
/// somebody; `false`: somebody interrupted it.
fn of_packet(
    args: &WhyArgs,
    app: &App,
    hear: &mut dyn FnMut(&mut (dyn Tracer + Send)) -> Result<bool>,
) -> Result<Status> {
    let mut census = Census::default();
    if !hear(&mut census)? {
        return Ok(interrupted("packet"));
    }
    let found = census.find(args.which())?;
    let mut witness = Witness::new(app, &found);
    if !hear(&mut witness)? {
        return Ok(interrupted("packet"));
    }
    let mut shares = Vec::new();
    if matches!(found, Found::Done(_))
        && let Some(mut lines) = Lines::new(app, &witness)
    {
        if !hear(&mut lines)? {
            return Ok(interrupted("packet"));
        }
        shares = lines.shares(app);
    }
    let answer = Answer::new(app, &found, &witness, shares);
    show(args, &answer.to_text(), answer.to_svg()?, &answer.to_json())
}

/// Refuses a packet's number, of whom messages are asked about.
fn refuse_packet(args: &WhyArgs, name: &str) -> Result<()> {
    if args.packet.is_none() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "--packet goes with packet handlers; {name} is a nanoservice, to which messages come: \
         --message M"
    )))
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
