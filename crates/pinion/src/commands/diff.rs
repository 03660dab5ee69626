//! `pinion diff APP OTHER`: where two runs part.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufWriter;
use std::thread::{self, ScopedJoinHandle};

use pinion::Error;
use pinion::app::App;
use pinion::cluster::{self, ClusterGauges, NodeTracer, Plan, Target, Tracing};
use pinion::debug::{Goal, Position, Timeline};
use pinion::error::Result;
use pinion::gauges::{Gauges as _, Held, NanoGauges, NicGauges};
use pinion::nanoservice::{self, HartProfile, Setup, run as nano};
use pinion::profile::HpuProfile;
use pinion::record::diff::streams::{Feed, compare, stream};
use pinion::record::diff::{Diff, FrameLines, Measured, Passages};
use pinion::report::{Ending, Outputs, Report as _};
use pinion::run;
use pinion::service::Service;
use pinion::trace::{Choice, Filter, SourceLines, TextTrace, clock};
use pinion_net::fabric::Alone;
use pinion_sim::probe::Both;

use super::look::{self, Quiet};
use super::run::{Watch, keep_files_apart, packets};
use super::{Status, engine, recorded, service};
use crate::cli::{DiffArgs, PROFILE_REFUSES, RunArgs};
use crate::output;

/// Bytes of a trace that are compared at once.
const PIECE_BYTES: usize = 1 << 16;

/// What a trace is written to while it is compared.
type Out = BufWriter<Feed>;

pub fn run(args: &DiffArgs) -> Result<Status> {
    keep_files_apart(&args.run, &[])?;
    let with = "with `pinion run`: what differs is shown as text, and written by --json";
    PROFILE_REFUSES[1..].iter().try_for_each(|options| look::refuse(&args.run, options, with))?;
    engine::refuse_core(&args.run.app, engine::INTERPRETED)?;
    engine::refuse(&args.run.engine, "runs of the simulated machine are compared")?;
    let mut both = [args.run.clone(), args.run.clone()];
    both[1].app.app = args.other.clone().unwrap_or_else(|| args.run.app.app.clone());
    // Their files are there until the end.
    let held = [recorded::open_one(&mut both[0], false)?, recorded::open_one(&mut both[1], false)?];
    share(&mut both);
    let second = &mut both[1];
    second.app.set.extend(args.other_set.iter().cloned());
    second.app.machine = args.other_machine.clone().or(second.app.machine.take());
    second.seed = args.other_seed.or(second.seed);
    let [first, second] = both.each_ref().map(|of_run| Side::load(of_run, args.node.as_deref()));
    let sides = [first?, second?];
    let kinds = sides.each_ref().map(Side::kind);
    if kinds[0] != kinds[1] {
        let [one, other] = kinds;
        let why = format!(
            "the first run is of {one}, the second of {other}: these have nothing in common"
        );
        return Err(Error::Usage(why));
    }
    let diff = diff(&sides, !args.run.quiet)?;
    drop(held);
    let Some(mut diff) = diff else {
        output::notice("interrupted before the runs were compared");
        return Ok(Status::Interrupted);
    };
    name(&mut diff, args);
    output::print(&diff.to_text(args.top));
    if let Some(path) = &args.run.report.json {
        output::write_json(path, &format!("{:#}", diff.to_json()))?;
    }
    Ok(if diff.is_empty() { Status::Success } else { Status::Mismatch })
}

/// Lets both have the packets of the one that is a recording.
fn share(both: &mut [RunArgs; 2]) {
    let [first, second] = both;
    match (&first.recording, &second.recording) {
        (Some(_), None) => recorded::share_packets(first, second),
        (None, Some(_)) => recorded::share_packets(second, first),
        _ => {}
    }
}

/// Adds to the runs' names what they were changed by.
fn name(diff: &mut Diff, args: &DiffArgs) {
    let paths = [&args.run.app.app, args.other.as_ref().unwrap_or(&args.run.app.app)];
    let mut changes: Vec<String> =
        args.other_set.iter().map(|change| format!("--set {change}")).collect();
    changes.extend(args.other_machine.as_ref().map(|name| format!("--machine {name}")));
    changes.extend(args.other_seed.map(|seed| format!("--seed {seed}")));
    for (number, (run, path)) in diff.runs.iter_mut().zip(paths).enumerate() {
        let own = if number == 1 { changes.join(" ") } else { String::new() };
        let own = if own.is_empty() { own } else { format!(", {own}") };
        run.name = format!("{} ({}{own})", run.name, path.display());
    }
}

/// Makes both runs whole, side by side, then again as traces that are compared as they come; `None`:
/// somebody interrupted them. `shows`: how far the first has come may be shown.
fn diff(sides: &[Side<'_>; 2], shows: bool) -> Result<Option<Diff>> {
    let [one, other] = sides;
    let (first, second) = thread::scope(|scope| {
        let second = thread::Builder::new().spawn_scoped(scope, || other.measure(false)).ok();
        let first = one.measure(shows);
        // Where the computer gives no thread, one after the other.
        let join = |second: ScopedJoinHandle<'_, _>| second.join().expect("a run does not panic");
        (first, second.map_or_else(|| other.measure(false), join))
    });
    let (Some(first), Some(second)) = (first?, second?) else { return Ok(None) };
    let instructions = one.program() == other.program();
    let [(one_feed, one_lines), (other_feed, other_lines)] = [stream(), stream()];
    let (parting, first_end, second_end) = thread::scope(|scope| {
        // What they tell is compared as it comes: these must be threads.
        let begun = |error| Error::part("cannot start a thread for each of the two runs", error);
        let first = move || one.trace(one_feed, instructions);
        let first = thread::Builder::new().spawn_scoped(scope, first).map_err(begun)?;
        let second = move || other.trace(other_feed, instructions);
        let second = thread::Builder::new().spawn_scoped(scope, second).map_err(begun)?;
        let parting = compare(one_lines, other_lines, one.titles());
        let [first, second] = [first, second].map(|run| run.join().expect("a run does not panic"));
        Ok::<_, Error>((parting, first, second))
    })?;
    let ended = [first_end?, second_end?];
    if parting.is_ok() && ended.contains(&Ending::Interrupted) {
        return Ok(None);
    }
    // Handlers' traces have the time in front of the cycle.
    let cycle = parting.as_ref().err().and_then(|parting| parting.cycle(one.titles()));
    let states = cycle.map_or(Ok(Vec::new()), |cycle| states(sides, cycle))?;
    let events = one.events(instructions);
    Ok(Some(Diff { runs: [first, second], events, parting, states }))
}

/// Tells what the units of both runs hold otherwise at the end of a cycle.
fn states([one, other]: &[Side<'_>; 2], cycle: u64) -> Result<Vec<(String, [u64; 2])>> {
    let (first, second) = (one.state(cycle)?, other.state(cycle)?);
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let values = |name: &String| [&first, &second].map(|of| of.get(name).copied().unwrap_or(0));
    let both = names.into_iter().map(|name| (name.clone(), values(name)));
    Ok(both.filter(|(_, [one, other])| one != other).collect())
}

/// One of the runs.
struct Side<'a> {
    args: &'a RunArgs,
    what: What,
}

enum What {
    Handlers(Box<App>),
    Service(Box<Service>, Box<Setup>),
    Cluster(Box<Plan>, Option<usize>),
}

impl<'a> Side<'a> {
    /// Builds what is run.
    fn load(args: &'a RunArgs, node: Option<&str>) -> Result<Self> {
        let what = match cluster::locate(&args.app.app) {
            Some(file) => {
                let plan = super::cluster::plan_for_a_node(args, &file)?;
                let node =
                    node.map(|name| super::cluster::find_node(&plan, Some(name), "compared"));
                What::Cluster(Box::new(plan), node.transpose()?)
            }
            None => {
                let manifest = pinion::manifest::load(&args.app.app)?;
                look::refuse_node(node, &manifest)?;
                if manifest.nanoservice().is_some() {
                    look::refuse_for_one(args, &manifest)?;
                    let (service, setup) = service::prepare(args, manifest)?;
                    What::Service(Box::new(service), Box::new(setup))
                } else {
                    look::refuse_for_handlers(args, &manifest)?;
                    What::Handlers(Box::new(look::app(args, manifest)?))
                }
            }
        };
        Ok(Self { args, what })
    }

    fn kind(&self) -> &'static str {
        match &self.what {
            What::Handlers(_) => "packet handlers",
            What::Service(..) => "a nanoservice",
            What::Cluster(..) => "a cluster",
        }
    }

    /// Gives the bytes of the program that is followed.
    fn program(&self) -> Option<Vec<u8>> {
        let elf = match &self.what {
            What::Handlers(app) => &app.built.elf,
            What::Service(service, _) => &service.built.elf,
            What::Cluster(plan, node) => match &plan.group_of((*node)?)?.0.target {
                Target::Nanoservice { service, .. } => &service.built.elf,
                Target::Handlers { app } => &app.built.elf,
                Target::Load { .. } | Target::Frames { .. } => return None,
            },
        };
        pinion_input::bytes(elf).ok()
    }

    /// Gives what units hold at the end of a cycle, by name: of a node its own, of a cluster those of all
    /// nodes and of the network.
    fn state(&self, cycle: u64) -> Result<BTreeMap<String, u64>> {
        let mut watch = Quiet(Watch::new(false));
        match &self.what {
            What::Handlers(app) if self.args.live.is_none() => self.state_of_nic(app, cycle),
            What::Handlers(app) => {
                let gauges = NicGauges::new(app, false);
                let held = Held::new(gauges.gauges(), clock(app).time(cycle));
                let mut ears = gauges.followed(held);
                let packets = packets(self.args, &app.manifest)?;
                run::trace(app, packets, &Outputs::default(), &mut watch, &mut ears)?;
                Ok(ears.sink.follower.into_values())
            }
            What::Service(service, setup) => {
                let mut options = service::run_options(self.args, service, setup)?;
                options.cycles = [options.cycles, Some(cycle + 1)].into_iter().flatten().min();
                let gauges = NanoGauges::new(setup.clock, setup.machine.value.core.count);
                let held = Held::new(gauges.gauges(), setup.clock.time(cycle));
                let mut ears = gauges.followed(held);
                let none = nanoservice::Outputs::default();
                nano::run(service, setup, options, &none, &mut watch, &mut ears)?;
                Ok(ears.sink.follower.into_values())
            }
            What::Cluster(plan, node) => self.state_of_cluster(plan, *node, cycle),
        }
    }

    /// Gives what the units of a cluster hold at the end of a cycle of a node, or of the network.
    fn state_of_cluster(
        &self,
        plan: &Plan,
        node: Option<usize>,
        cycle: u64,
    ) -> Result<BTreeMap<String, u64>> {
        let target = node.and_then(|node| plan.group_of(node)).map(|(group, _)| &group.target);
        let until = match target {
            Some(Target::Nanoservice { setup, .. }) => setup.clock.time(cycle),
            Some(Target::Handlers { app }) => clock(app).time(cycle),
            _ => plan.clock.time(cycle),
        };
        let (nodes, mut gauges) =
            ClusterGauges::begin(plan, |gauges| Ok(Held::new(gauges, until)))?;
        let mut options = super::cluster::run_options(self.args, Vec::new())?;
        // Nodes run ahead within a window: one more cycle than the moment's is enough.
        let end = plan.clock.cycle_at(until) + 2;
        options.cycles = [options.cycles, Some(end)].into_iter().flatten().min();
        let tracing = Tracing { nodes, network: Some(Box::new(&mut gauges)) };
        let mut watch = Quiet(Watch::new(false));
        cluster::trace(plan, &options, &mut Alone, &mut watch, tracing)?;
        let values = gauges.into_follower().into_values();
        let Some(node) = node else { return Ok(values) };
        let within = format!("{}.", plan.names[node]);
        let of_node = |(name, value): (String, u64)| {
            name.strip_prefix(&within).map(|name| (name.to_owned(), value))
        };
        Ok(values.into_iter().filter_map(of_node).collect())
    }

    /// Gives what the units of a NIC hold, all that it can be asked for without cores' registers.
    fn state_of_nic(&self, app: &App, cycle: u64) -> Result<BTreeMap<String, u64>> {
        let mut timeline = Timeline::new(app, packets(self.args, &app.manifest)?)?;
        timeline.go(true, Goal::Position(Position::end(cycle)))?;
        let mut state = BTreeMap::new();
        timeline.state(&mut |name, value| {
            if name.split('.').all(|part| part != "core") {
                state.insert(name.to_owned(), value);
            }
        });
        Ok(state)
    }

    /// Counts the lines of titles that the trace begins with.
    fn titles(&self) -> usize {
        let is_of_handlers = match &self.what {
            What::Handlers(_) => true,
            What::Service(..) | What::Cluster(_, None) => false,
            What::Cluster(plan, Some(node)) => {
                let group = plan.group_of(*node);
                group.is_some_and(|(group, _)| matches!(group.target, Target::Handlers { .. }))
            }
        };
        usize::from(is_of_handlers)
    }

    /// Says what lines of the trace tell of.
    fn events(&self, instructions: bool) -> &'static str {
        match (&self.what, instructions) {
            (What::Cluster(_, None), _) => "what frames do between nodes",
            (_, true) => "instructions and what units do",
            (_, false) => "what units do",
        }
    }

    /// Gives the options of a cluster's run, which is made beside another one: each takes half of the
    /// processors, for threads that wait for each other take turns where there are too few.
    fn cluster_options(&self) -> Result<cluster::RunOptions> {
        let mut options = super::cluster::run_options(self.args, Vec::new())?;
        if options.threads == 0 {
            let processors = thread::available_parallelism().map_or(1, usize::from);
            options.threads = (processors / 2).max(1);
        }
        Ok(options)
    }

    /// Makes the run whole, and adds up; `None`: somebody interrupted it.
    fn measure(&self, shows: bool) -> Result<Option<Measured>> {
        let mut watch = Quiet(Watch::new(shows));
        let mut measured = Measured::default();
        let ending = match &self.what {
            What::Handlers(app) => {
                let (mut profile, mut passages) = (HpuProfile::new(app), Passages::default());
                let packets = packets(self.args, &app.manifest)?;
                let mut both = Both::new(&mut profile, &mut passages);
                let none = Outputs::default();
                let done = run::trace(app, packets, &none, &mut watch, &mut both)?;
                measured.add_lines(&profile.profile(done.summary.simulated));
                measured.passages = Some(passages);
                (measured.name, measured.outcome) = (done.summary.title(), done.summary.to_json());
                done.summary.ending
            }
            What::Service(service, setup) => {
                let options = service::run_options(self.args, service, setup)?;
                let mut profile = HartProfile::new(service, setup);
                let none = nanoservice::Outputs::default();
                let done = nano::run(service, setup, options, &none, &mut watch, &mut profile)?;
                measured.add_lines(&profile.profile(done.cycles));
                (measured.name, measured.outcome) = (done.title(), done.to_json());
                done.ending
            }
            What::Cluster(plan, _) => {
                let options = self.cluster_options()?;
                let done = cluster::run(plan, &options, &mut Alone, &mut watch)?;
                let Some(done) = done else { return Ok(None) };
                (measured.name, measured.outcome) = (done.title(), done.to_json());
                done.ending
            }
        };
        watch.0.clear();
        Ok((ending != Ending::Interrupted).then_some(measured))
    }

    /// Makes the run again, and writes its trace; tells how that ended.
    fn trace(&self, feed: Feed, instructions: bool) -> Result<Ending> {
        let out = BufWriter::with_capacity(PIECE_BYTES, feed);
        let mut watch = Quiet(Watch::new(false));
        match &self.what {
            What::Handlers(app) => {
                let mut tracer = of_handlers(app, instructions, out)?;
                let packets = packets(self.args, &app.manifest)?;
                let none = Outputs::default();
                let done = run::trace(app, packets, &none, &mut watch, &mut tracer)?;
                Ok(done.summary.ending)
            }
            What::Service(service, setup) => {
                let options = service::run_options(self.args, service, setup)?;
                let tracer = of_service(service, setup, instructions, out);
                let none = nanoservice::Outputs::default();
                Ok(nano::run(service, setup, options, &none, &mut watch, tracer)?.ending)
            }
            What::Cluster(plan, node) => {
                let options = self.cluster_options()?;
                let tracing = of_cluster(plan, *node, instructions, out)?;
                let done = cluster::trace(plan, &options, &mut Alone, &mut watch, tracing)?;
                Ok(done.map_or(Ending::Interrupted, |done| done.ending))
            }
        }
    }
}

fn of_handlers(app: &App, instructions: bool, out: Out) -> Result<TextTrace<'_, Out>> {
    let filter = Filter::new(app, &Choice::default())?;
    Ok(TextTrace::new(app, filter, (instructions, true), out))
}

fn of_service<'a>(
    service: &'a Service,
    setup: &Setup,
    instructions: bool,
    out: Out,
) -> nanoservice::Trace<'a, Out> {
    let filter =
        nanoservice::Filter { no_instructions: !instructions, ..nanoservice::Filter::default() };
    let sources = SourceLines::read(&service.built.elf);
    nanoservice::Trace::new(&service.image, sources, setup.clock, filter, out)
}

fn of_cluster(
    plan: &Plan,
    node: Option<usize>,
    instructions: bool,
    out: Out,
) -> Result<Tracing<'_>> {
    let Some(node) = node else {
        let network = Some(Box::new(FrameLines::new(plan, out)) as Box<_>);
        return Ok(Tracing { nodes: Vec::new(), network });
    };
    let (group, _) = plan.group_of(node).expect("every node is in a group");
    let tracer = match &group.target {
        Target::Nanoservice { service, setup, .. } => {
            NodeTracer::Nano(Box::new(of_service(service, setup, instructions, out)))
        }
        Target::Handlers { app } => {
            NodeTracer::Spin(Box::new(of_handlers(app, instructions, out)?))
        }
        Target::Load { .. } | Target::Frames { .. } => {
            return Err(Error::Usage(format!(
                "--node {}: it runs no program; compare a node that its packets are for",
                plan.names[node]
            )));
        }
    };
    Ok(Tracing { nodes: vec![(node, tracer)], network: None })
}
