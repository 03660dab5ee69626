//! `pinion why APP`: why a packet or message took as long as it did, or was dropped.

use pinion::Error;
use pinion::app::App;
use pinion::cluster::{self, NodeTracer, Plan, Target, Tracing};
use pinion::error::Result;
use pinion::nanoservice::run::Settling;
use pinion::nanoservice::{self, Setup};
use pinion::report::{Ending, Outputs, write_whole};
use pinion::service::Service;
use pinion::trace::{Tracer, clock};
use pinion::why::{self, Longest, Which, nano};
use pinion_net::fabric::Alone;
use pinion_sim::{Clock, Time};
use serde_json::Value;

use super::look::{self, Quiet};
use super::run::{Watch, keep_files_apart, packets};
use super::{Status, debug, engine, interrupt, service};
use crate::cli::{OUTPUTS, RunArgs, WhyArgs};
use crate::output;

pub fn run(args: &WhyArgs) -> Result<Status> {
    keep_files_apart(&args.run, &[("--svg", args.svg.as_ref())])?;
    refuse(args)?;
    let question = Question {
        run: &args.run,
        node: args.node.as_deref(),
        which: args.which(),
        draws: args.svg.is_some(),
        is_quiet: args.run.quiet,
    };
    let told = match question.ask()? {
        Answered::Told(told) => told,
        Answered::Interrupted(what) => {
            output::notice(&format!("interrupted before the {what}'s way was known"));
            return Ok(Status::Interrupted);
        }
    };
    let Told { text, drawn, document, longest } = *told;
    output::print(&text);
    if let Some((path, drawn)) = args.svg.as_ref().zip(drawn) {
        write_whole(path, drawn.as_bytes())?;
    }
    if let Some(path) = &args.run.report.json {
        output::write_json(path, &format!("{:#}", document))?;
    }
    match longest {
        _ if !args.goto => Ok(Status::Success),
        Some(spot) => debug::go_to(&args.run, args.node.clone().or(spot.node), spot.cycle, &spot.longest),
        None => Err(Error::Usage(
            "--goto: nothing of that is at a node that runs a program; `pinion debug --node NAME` opens \
             the debugger on one"
                .to_owned(),
        )),
    }
}

/// Tells why a packet or message of a run took as long as it did, in one of its nodes if it is a cluster's, to
/// somebody who is asked in the midst of something else.
pub fn tell(run: &RunArgs, node: Option<&str>, which: Which) -> Result<String> {
    let question = Question { run, node, which, draws: false, is_quiet: true };
    Ok(match question.ask()? {
        Answered::Told(told) => told.text,
        Answered::Interrupted(_) => String::new(),
    })
}

/// Draws the way of a run's slowest packet, message or request; `None` when somebody interrupted the run.
pub fn slowest(run: &RunArgs) -> Result<Option<String>> {
    // The run has written what it was to.
    let mut run = run.clone();
    let cluster_args = &mut run.cluster;
    for files in [&mut cluster_args.pcap, &mut cluster_args.queue, &mut cluster_args.histogram] {
        files.clear();
    }
    let (node, which) = (None, Which::Slowest);
    let question = Question { run: &run, node, which, draws: true, is_quiet: true };
    Ok(match question.ask()? {
        Answered::Told(told) => told.drawn,
        Answered::Interrupted(_) => None,
    })
}

/// What is asked.
struct Question<'q> {
    run: &'q RunArgs,
    /// The node that is asked about, of a cluster.
    node: Option<&'q str>,
    which: Which,
    /// A picture is wanted.
    draws: bool,
    is_quiet: bool,
}

/// What is answered.
struct Told {
    text: String,
    drawn: Option<String>,
    document: Value,
    longest: Option<Spot>,
}

/// Where the longest part begins.
struct Spot {
    /// The node of a cluster, where nobody has named one.
    node: Option<String>,
    /// The cycle of it.
    cycle: u64,
    longest: Longest,
}

impl Spot {
    /// Counts in the cycles of a clock.
    fn at(clock: Clock, longest: Longest) -> Self {
        Self { node: None, cycle: clock.cycle_at(longest.from), longest }
    }
}

/// What comes of a question.
enum Answered {
    Told(Box<Told>),
    /// Somebody interrupted the run before the way of this was known.
    Interrupted(&'static str),
}

impl Question<'_> {
    fn ask(&self) -> Result<Answered> {
        engine::refuse_core(&self.run.app, engine::INTERPRETED)?;
        if let Some(file) = cluster::locate(&self.run.app.app) {
            let with = "with `pinion run`: why tells of one packet, message or request";
            look::refuse(self.run, &["--pcap", "--queue", "--histogram", "--curve"], with)?;
            let plan = super::cluster::plan_for_a_node(self.run, &file)?;
            return match self.node {
                Some(_) => self.of_node(&plan),
                None => self.of_request(&plan),
            };
        }
        let manifest = pinion::manifest::load(&self.run.app.app)?;
        look::refuse_node(self.node, &manifest)?;
        engine::refuse(&self.run.engine, "the way through the simulated machine is told")?;
        let mut watch = self.watch();
        if manifest.nanoservice().is_some() {
            look::refuse_for_one(self.run, &manifest)?;
            let (service, setup) = service::prepare(self.run, manifest)?;
            return self.of_message((&service, &setup), &mut |ears| {
                let options = service::run_options(self.run, &service, &setup)?;
                let outputs = nanoservice::Outputs::default();
                let run = nanoservice::run::run;
                let summary = run(&service, &setup, options, &outputs, &mut watch, ears)?;
                watch.0.clear();
                Ok(summary.ending != Ending::Interrupted)
            });
        }
        look::refuse_for_handlers(self.run, &manifest)?;
        let app = look::app(self.run, manifest)?;
        self.of_packet(&app, &mut |tracer| {
            let packets = packets(self.run, &app.manifest)?;
            let outputs = Outputs::default();
            let finished = pinion::run::trace(&app, packets, &outputs, &mut watch, tracer)?;
            watch.0.clear();
            // Who has heard enough ends the run, too.
            Ok(finished.summary.ending != Ending::Interrupted || !interrupt::happened())
        })
    }

    fn watch(&self) -> Quiet {
        Quiet(Watch::new(!self.is_quiet))
    }

    /// Makes a run of a cluster, heard by somebody, to its end or a cycle; `false`: somebody interrupted
    /// it.
    fn hear_cluster(&self, plan: &Plan, to: Option<u64>, tracing: Tracing<'_>) -> Result<bool> {
        let mut watch = self.watch();
        let mut options = super::cluster::run_options(self.run, Vec::new())?;
        options.cycles = [options.cycles, to].into_iter().flatten().min();
        let summary = cluster::trace(plan, &options, &mut Alone, &mut watch, tracing)?;
        watch.0.clear();
        Ok(summary.is_some_and(|summary| summary.ending != Ending::Interrupted))
    }

    /// Tells why a request took as long as it did across all nodes of a cluster, or a frame was lost.
    fn of_request(&self, plan: &Plan) -> Result<Answered> {
        if matches!(self.which, Which::Packet(_)) {
            let why = "--packet goes with --node: every node counts its own; --message M is a request of \
                       the whole cluster";
            return Err(Error::Usage(why.to_owned()));
        }
        let hear = &mut |to, tracing: Tracing<'_>| self.hear_cluster(plan, to, tracing);
        let answered = why::cluster::ask(self.which, plan, hear, &mut |answer| {
            let spot = answer.longest().and_then(|(node, longest)| {
                let own = match &plan.group_of(node)?.0.target {
                    Target::Handlers { app } => clock(app),
                    _ => plan.clock,
                };
                let (node, cycle) = (plan.names[node].clone(), own.cycle_at(longest.from));
                Some(Spot { node: Some(node), cycle, longest })
            });
            self.answered(answer.to_text(), answer.to_json(), || answer.to_svg(), spot)
        })?;
        Ok(answered.unwrap_or(Answered::Interrupted("request")))
    }

    /// Tells why a packet or message took as long as it did in a node of a cluster.
    fn of_node(&self, plan: &Plan) -> Result<Answered> {
        let node = super::cluster::find_node(plan, self.node, "asked about")?;
        let (group, _) = plan.group_of(node).expect("every node is in a group");
        let hear = |tracer: NodeTracer<'_>, to: Option<u64>| {
            self.hear_cluster(plan, to, Tracing { nodes: vec![(node, tracer)], network: None })
        };
        match &group.target {
            Target::Nanoservice { service, setup, .. } => self
                .of_message((service, setup), &mut |ears| {
                    hear(NodeTracer::Nano(Box::new(ears)), None)
                }),
            Target::Handlers { app } => self.of_packet(app, &mut |tracer| {
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

    /// Tells why a message to a nanoservice took as long as it did, or a frame was dropped. `hear` makes
    /// the run, heard by somebody; `false`: somebody interrupted it.
    fn of_message(
        &self,
        (service, setup): (&Service, &Setup),
        hear: &mut dyn FnMut(&mut (dyn Settling + Send)) -> Result<bool>,
    ) -> Result<Answered> {
        let Some(answer) = nano::answer(self.which, (service, setup), hear)? else {
            return Ok(Answered::Interrupted("message"));
        };
        let spot = answer.longest().map(|part| Spot::at(answer.clock(), part));
        self.answered(answer.to_text(), answer.to_json(), || answer.to_svg(), spot)
    }

    /// Tells why a packet of handlers took as long as it did, or was dropped. `hear` makes the run, heard
    /// by somebody; `false`: somebody interrupted it.
    fn of_packet(
        &self,
        app: &App,
        hear: &mut dyn FnMut(&mut (dyn Tracer + Send)) -> Result<bool>,
    ) -> Result<Answered> {
        let Some(answer) = why::answer(self.which, app, hear)? else {
            return Ok(Answered::Interrupted("packet"));
        };
        let spot = answer.longest().map(|part| Spot::at(answer.clock(), part));
        self.answered(answer.to_text(), answer.to_json(), || answer.to_svg(), spot)
    }

    fn answered(
        &self,
        text: String,
        document: Value,
        draw: impl FnOnce() -> Result<Option<String>>,
        longest: Option<Spot>,
    ) -> Result<Answered> {
        let drawn = if self.draws { draw()? } else { None };
        Ok(Answered::Told(Box::new(Told { text, drawn, document, longest })))
    }
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
