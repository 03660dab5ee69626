//! `pinion why APP`: why a packet or message took as long as it did, or was dropped.

use pinion::Error;
use pinion::app::App;
use pinion::cluster::{self, NodeTracer, Plan, Target, Tracing};
use pinion::error::Result;
use pinion::nanoservice::run::Settling;
use pinion::nanoservice::{self, Setup};
use pinion::report::{Ending, Outputs, write_whole};
use pinion::service::Service;
use pinion::trace::Tracer;
use pinion::watch::Unobserved;
use pinion::why::cluster::{Ears, Visits};
use pinion::why::nano::{self, Follower, WorkLines};
use pinion::why::{self, Answer, Census, Found, Lines, Spent, Which, Witness};
use pinion_net::fabric::Alone;
use pinion_sim::Time;
use serde_json::Value;

use super::look::{self, Quiet};
use super::run::{Watch, keep_files_apart, packets};
use super::{Status, debug, engine, interrupt, service};
use crate::cli::{OUTPUTS, RunArgs, WhyArgs};
use crate::output;

pub fn run(args: &WhyArgs) -> Result<Status> {
    keep_files_apart(&args.run, &[("--svg", args.svg.as_ref())])?;
    refuse(args)?;
    if let Some(file) = cluster::locate(&args.run.app.app) {
        refuse_goto(args, "a cluster")?;
        let with = "with `pinion run`: why tells of one packet, message or request";
        look::refuse(&args.run, &["--pcap", "--queue", "--histogram", "--curve"], with)?;
        let plan = super::cluster::plan_for_a_node(&args.run, &file)?;
        return match &args.node {
            Some(_) => run_node(args, &plan),
            None => of_request(args, &plan),
        };
    }
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    look::refuse_node(args.node.as_ref(), &manifest)?;
    engine::refuse(&args.run.engine, "the way through the simulated machine is told")?;
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    if manifest.nanoservice().is_some() {
        look::refuse_for_one(&args.run, &manifest)?;
        refuse_goto(args, "a nanoservice")?;
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
        let outputs = Outputs::default();
        let finished = pinion::run::trace(&app, packets, &outputs, &mut watch, tracer)?;
        watch.0.clear();
        // Who has heard enough ends the run, too.
        Ok(finished.summary.ending != Ending::Interrupted || !interrupt::happened())
    })
}

/// Makes a run of a cluster, heard by somebody, to its end or a cycle; `false`: somebody interrupted it.
fn hear_cluster(
    args: &WhyArgs,
    plan: &Plan,
    to: Option<u64>,
    tracing: Tracing<'_>,
) -> Result<bool> {
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    let mut options = super::cluster::run_options(&args.run, Vec::new())?;
    options.cycles = [options.cycles, to].into_iter().flatten().min();
    let summary = cluster::trace(plan, &options, &mut Alone, &mut watch, tracing)?;
    watch.0.clear();
    Ok(summary.is_some_and(|summary| summary.ending != Ending::Interrupted))
}

/// Tells why a request took as long as it did across all nodes of a cluster, or a frame was lost.
fn of_request(args: &WhyArgs, plan: &Plan) -> Result<Status> {
    if args.packet.is_some() {
        let why = "--packet goes with --node: every node counts its own; --message M is a request of the \
                   whole cluster";
        return Err(Error::Usage(why.to_owned()));
    }
    let mut ears = Ears::new(plan);
    if !hear_cluster(args, plan, None, ears.tracing())? {
        return Ok(interrupted("request"));
    }
    let heard = ears.heard(plan);
    let answer = if let Which::Dropped(index) = args.which() {
        let lost = heard.find_lost(index)?;
        why::cluster::Answer::of_lost(&heard, lost)
    } else {
        let meant = heard.find(args.which())?;
        let mut visits = Visits::new(plan, &heard, &meant.journey);
        if let Some(tracing) = visits.tracing()
            && !hear_cluster(args, plan, None, tracing)?
        {
            return Ok(interrupted("request"));
        }
        if let Some(tracing) = visits.tracing_handlers()
            && !hear_cluster(args, plan, None, tracing)?
        {
            return Ok(interrupted("request"));
        }
        why::cluster::Answer::new(&heard, meant, visits.heard())
    };
    show(args, &answer.to_text(), answer.to_svg()?, &answer.to_json())
}

/// Tells why a packet or message took as long as it did in a node of a cluster.
fn run_node(args: &WhyArgs, plan: &Plan) -> Result<Status> {
    let node = super::cluster::find_node(plan, args.node.as_deref(), "asked about")?;
    let (group, _) = plan.group_of(node).expect("every node is in a group");
    let hear = |tracer: NodeTracer<'_>, to: Option<u64>| {
        hear_cluster(args, plan, to, Tracing { nodes: vec![(node, tracer)], network: None })
    };
    match &group.target {
        Target::Nanoservice { service, setup, .. } => {
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
    let mut follower = Follower::new(setup);
    if !hear(&mut follower)? {
        return Ok(interrupted("message"));
    }
    let found = follower.find(args.which())?;
    let mut shares = Vec::new();
    if let Some(mut lines) = found.life().and_then(|life| WorkLines::new(&follower, life)) {
        if !hear(&mut lines)? {
            return Ok(interrupted("message"));
        }
        shares = lines.shares(service);
    }
    let names = [&service.manifest.app.name, &setup.machine.value.name].map(String::as_str);
    let answer = nano::Answer::new(names, &found, &follower, shares);
    show(args, &answer.to_text(), answer.to_svg()?, &answer.to_json())
}

/// Tells why a packet of handlers took as long as it did, or was dropped. `hear` makes the run, heard by
/// somebody; `false`: somebody interrupted it.
fn of_packet(
    args: &WhyArgs,
    app: &App,
    hear: &mut dyn FnMut(&mut (dyn Tracer + Send)) -> Result<bool>,
) -> Result<Status> {
    let Some(answer) = answer(args.which(), app, hear)? else { return Ok(interrupted("packet")) };
    let status = show(args, &answer.to_text(), answer.to_svg()?, &answer.to_json())?;
    match answer.longest().filter(|_| args.goto) {
        Some(longest) => debug::go_to(&args.run, app, &longest),
        None => Ok(status),
    }
}

/// Finds the answer; `None`: somebody interrupted a run.
fn answer(
    which: Which,
    app: &App,
    hear: &mut dyn FnMut(&mut (dyn Tracer + Send)) -> Result<bool>,
) -> Result<Option<Answer>> {
    let mut census = Census::default();
    if !hear(&mut census)? {
        return Ok(None);
    }
    let found = census.find(which)?;
    let mut witness = Witness::new(app, &found);
    if !hear(&mut witness)? {
        return Ok(None);
    }
    let mut spent = Spent::default();
    if matches!(found, Found::Done(_))
        && let Some(mut lines) = Lines::new(app, &witness)
    {
        if !hear(&mut lines)? {
            return Ok(None);
        }
        spent = lines.spent(app);
    }
    Ok(Some(Answer::new(app, &found, &witness, spent)))
}

/// Tells why a packet of a run of handlers took as long as it did, to somebody who is asked in the midst
/// of something else.
pub fn tell(run: &RunArgs, which: Which) -> Result<String> {
    let manifest = pinion::manifest::load(&run.app.app)?;
    let app = App::of(manifest, &look::options(run))?;
    let found = answer(which, &app, &mut |tracer| {
        let packets = packets(run, &app.manifest)?;
        pinion::run::trace(&app, packets, &Outputs::default(), &mut Unobserved, tracer)?;
        Ok(true)
    })?;
    Ok(found.map_or(String::new(), |answer| answer.to_text()))
}

/// Refuses `--goto` where it leads nowhere.
fn refuse_goto(args: &WhyArgs, what: &str) -> Result<()> {
    let why = || format!("--goto opens the debugger on a packet's handlers; this is {what}");
    if args.goto { Err(Error::Usage(why())) } else { Ok(()) }
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
