//! `pinion run CLUSTER`: many nodes on one network, on this process's threads and, with MPI, on all
//! ranks' processes.

use std::path::{Path, PathBuf};

use pinion::Error;
use pinion::app::Options;
use pinion::cluster::{
    self, ClusterGauges, ClusterTrace, Curve, NetworkTracer, NodeTracer, OtherSide, Plan,
    RunOptions, Summary, Target, Tracing,
};
use pinion::error::Result;
use pinion::gauges::{Gauge, Vcd};
use pinion::ranks;
use pinion::record::Subject;
use pinion::report::{Partial, Report as _, write_whole};
use pinion::trace::{Filter, When};
use pinion::traffic::link_faults;
use pinion_net::fabric::{Alone, Ranks};
use pinion_net::tap::InterfaceAddress;
use pinion_sim::Time;

use super::look::{self, Quiet};
use super::recorded::Keep;
use super::run::Watch;
use super::{Status, build, files, page, report, trace};
use crate::cli::{EngineArgs, EngineKind, LiveRun, ReportArgs, RunArgs, TraceArgs};
use crate::output;

/// Names at most so many nodes in an error.
const SHOWN_NAMES: usize = 8;

/// Runs the cluster that a file describes.
pub fn run(args: &RunArgs, file: &Path, keep: &mut Keep) -> Result<Status> {
    refuse(args)?;
    let captures = named_files("--pcap", &args.cluster.pcap)?;
    let queues = named_files("--queue", &args.cluster.queue)?;
    let mut outputs = files::reports(&args.report);
    outputs.extend(args.html.iter().map(|file| ("--html", file.clone())));
    outputs.extend(captures.iter().map(|(_, file)| ("--pcap", file.clone())));
    let recording = args.recording.iter().map(|file| ("APP", file.clone()));
    outputs.extend(args.record.iter().map(|file| ("--record", file.clone())));
    outputs.extend(queues.iter().map(|(_, file)| ("--queue", file.clone())));
    if let Some(file) = &args.cluster.curve {
        outputs.push(("--curve", file.clone()));
        outputs.push(("the chart beside it", file.with_extension("svg")));
    }
    let mut inputs = files::of_application(&args.app);
    inputs.extend(recording);
    files::keep_apart(&inputs, &outputs)?;
    if let Some(live) = &args.live {
        look::refuse(args, &["--html"], "with runs; this is a live run's recording of a cluster")?;
        return replay(args, file, live, keep);
    }
    let mut plan = Plan::load(file, &options(args))?;
    plan.built().for_each(build::show);
    let histograms = histograms(args, &plan)?;
    let mut options = run_options(args, captures)?;
    options.queues = queues.iter().map(|(cable, _)| cable.clone()).collect();
    if let Some(file) = &args.cluster.curve {
        let with = "with one run; --curve makes several: with --set, a recording is run for each";
        look::refuse(args, &["--record"], with)?;
        look::refuse(args, &["--check", "--html"], "with one run; --curve makes several")?;
        let done = ranks::with(|ranks| {
            let mut watch = Watch::new(!args.quiet && ranks.rank() == 0);
            let done = Curve::run(&mut plan, &options, ranks, &mut watch);
            watch.clear();
            done.map(|done| (ranks.rank() == 0).then_some(done))
        })?;
        let Some((curve, failed)) = done else { return Ok(Status::Success) };
        return conclude_curve(args, file, &curve, &failed);
    }
    keep.begin(args, Subject::Cluster(&plan, file))?;
    let summary = ranks::with(|ranks| {
        let mut watch = Watch::new(!args.quiet && ranks.rank() == 0);
        let summary = run_or_check(args, &plan, &options, ranks, &mut watch);
        watch.clear();
        summary
    })?;
    let Some(summary) = summary else { return Ok(Status::Success) };
    // First what is there in any case: a file may not be writable.
    output::print(&summary.section.console());
    let is_wrong = summary.has_failures() || summary.has_differences();
    output::print_summary(&summary.texts(), is_wrong);
    for (load, file) in &histograms {
        let Some(row) = summary.section.loads.iter().find(|row| row.name == *load) else {
            continue;
        };
        let is_hgrm = file.extension().is_some_and(|extension| extension == "hgrm");
        write_whole(file, row.percentiles[usize::from(is_hgrm)].as_bytes())?;
    }
    for (trace, (_, file)) in summary.section.queues.iter().zip(&queues) {
        write_whole(file, summary.section.queue_csv(trace).as_bytes())?;
    }
    page::of_cluster(args, &summary)?;
    let status = report::write(&args.report, &summary)?;
    keep.end(&summary)?;
    Ok(status)
}

/// Runs a cluster, and checks it if that is asked for.
fn run_or_check(
    args: &RunArgs,
    plan: &Plan,
    options: &RunOptions,
    ranks: &mut dyn Ranks,
    watch: &mut Watch,
) -> Result<Option<Summary>> {
    match args.check {
        true => cluster::check(plan, options, ranks, watch),
        false => cluster::run(plan, options, ranks, watch),
    }
}

/// Runs as a live run ran.
fn replay(args: &RunArgs, file: &Path, live: &LiveRun, keep: &mut Keep) -> Result<Status> {
    let plan = load_live(args, file, live)?;
    let run = run_options(args, Vec::new())?;
    keep.begin(args, Subject::Cluster(&plan, file))?;
    let mut watch = Watch::new(!args.quiet);
    let summary = run_or_check(args, &plan, &run, &mut Alone, &mut watch)?;
    watch.clear();
    let Some(summary) = summary else { return Ok(Status::Success) };
    let status = report::conclude(&args.report, &summary)?;
    keep.end(&summary)?;
    Ok(status)
}

/// Reads a cluster that ran live.
fn load_live(args: &RunArgs, file: &Path, live: &LiveRun) -> Result<Plan> {
    let address = live.address.as_deref().unwrap_or_default();
    let kernel = address.parse::<InterfaceAddress>()?;
    let kernel = OtherSide { address: kernel.address, prefix: kernel.prefix };
    Plan::load_live(file, &options(args), kernel)
}

/// Traces one node of the cluster that a file describes, or with `--perfetto` or `--vcd` all of it.
pub fn trace(args: &TraceArgs, file: &Path) -> Result<Status> {
    let run = &args.run;
    let given = [
        ("--queue", !run.cluster.queue.is_empty()),
        ("--histogram", !run.cluster.histogram.is_empty()),
        ("--curve", run.cluster.curve.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::Usage(format!("{option} goes with `pinion run`; a trace shows a node")));
    }
    let captures = named_files("--pcap", &run.cluster.pcap)?;
    let mut outputs = files::reports(&run.report);
    outputs.extend(captures.iter().map(|(_, file)| ("--pcap", file.clone())));
    outputs.extend(args.out.iter().map(|file| ("--out", file.clone())));
    outputs.extend(args.perfetto.iter().map(|file| ("--perfetto", file.clone())));
    outputs.extend(args.vcd.iter().map(|file| ("--vcd", file.clone())));
    files::keep_apart(&files::of_application(&run.app), &outputs)?;
    let plan = plan_for_a_node(run, file)?;
    if args.node.is_none() && args.is_of_units() {
        return trace_all(args, &plan, captures);
    }
    let node = find_node(&plan, args.node.as_deref(), "traced")?;
    let (group, _) = plan.group_of(node).expect("every node is in a group");
    let name = &plan.names[node];
    let mut to = None;
    let (tracer, partial) = match &group.target {
        Target::Nanoservice { service, setup, .. } => {
            trace::refuse_for_services(args, name)?;
            let filter = trace::service_filter(args, setup)?;
            to = filter.to;
            let (out, partial) = trace::open(args)?;
            let tracer = trace::service_tracer(args, service, setup, filter, out)?;
            (NodeTracer::Nano(tracer), partial)
        }
        Target::Handlers { app } => {
            trace::refuse_for_handlers(args, name)?;
            let filter = Filter::new(app, &trace::choice(args)?)?;
            let (out, partial) = trace::open(args)?;
            let tracer = trace::handler_tracer(args, app, filter, out)?;
            if tracer.end() != Time::MAX {
                to = Some(plan.clock.cycle_at(tracer.end()));
            }
            (NodeTracer::Spin(tracer), partial)
        }
        Target::Load { .. } | Target::Frames { .. } => {
            return Err(Error::Usage(format!(
                "--node {name}: it runs no program; trace a node that its packets are for"
            )));
        }
    };
    let mut options = run_options(run, captures)?;
    options.cycles = [options.cycles, to].into_iter().flatten().min();
    let mut watch = Quiet(trace::watch(args));
    let tracing = Tracing { nodes: vec![(node, tracer)], network: None };
    let summary = cluster::trace(&plan, &options, &mut Alone, &mut watch, tracing)?;
    watch.0.clear();
    partial.map_or(Ok(()), Partial::keep)?;
    summary.map_or(Ok(Status::Success), |summary| report::write(&run.report, &summary))
}

/// Traces all nodes of a cluster, and the network between them.
fn trace_all(args: &TraceArgs, plan: &Plan, captures: Vec<(String, PathBuf)>) -> Result<Status> {
    let of_one = [
        ("--hpu", !args.hpu.is_empty()),
        ("--handler", !args.handler.is_empty()),
        ("--context", !args.context.is_empty()),
        ("--packet", !args.packet.is_empty()),
        ("--hart", !args.hart.is_empty()),
    ];
    if let Some((option, _)) = of_one.into_iter().find(|(_, given)| *given) {
        let why = format!("{option} goes with one node: say with --node NAME with which");
        return Err(Error::Usage(why));
    }
    let span = (trace::when(args.from.as_ref())?, trace::when(args.to.as_ref())?);
    let (out, partial) = trace::open(args)?;
    let (nodes, network): (_, Box<dyn NetworkTracer + Send>) = match args.vcd {
        None => {
            let (nodes, network) = ClusterTrace::begin(plan, span, out)?;
            (nodes, Box::new(network))
        }
        Some(_) => {
            let time = |when: Option<When>, none| when.map_or(none, |when| when.time(plan.clock));
            let span = (time(span.0, Time::ZERO), time(span.1, Time::MAX));
            if span.1 <= span.0 {
                let why = "--to is behind the last cycle traced: it must be later than --from";
                return Err(Error::Usage(why.to_owned()));
            }
            let vcd = |gauges: &[Gauge]| Vcd::new(&plan.name, gauges, span, out);
            let (nodes, network) = ClusterGauges::begin(plan, vcd)?;
            (nodes, Box::new(network))
        }
    };
    let mut options = run_options(&args.run, captures)?;
    let to = span.1.map(|to| to.cycle(plan.clock));
    options.cycles = [options.cycles, to].into_iter().flatten().min();
    let mut watch = Quiet(trace::watch(args));
    let tracing = Tracing { nodes, network: Some(network) };
    let summary = cluster::trace(plan, &options, &mut Alone, &mut watch, tracing)?;
    watch.0.clear();
    partial.map_or(Ok(()), Partial::keep)?;
    summary.map_or(Ok(Status::Success), |summary| report::write(&args.run.report, &summary))
}

/// Reads a cluster of which one node is looked into.
pub fn plan_for_a_node(run: &RunArgs, file: &Path) -> Result<Plan> {
    refuse(run)?;
    refuse_ranks("looked into", "it follows what happens to all nodes in order")?;
    let plan = match &run.live {
        None => Plan::load(file, &options(run))?,
        Some(live) => load_live(run, file, live)?,
    };
    plan.built().for_each(build::show);
    Ok(plan)
}

/// Refuses to run with others; `done` says what one process does alone.
fn refuse_ranks(done: &str, because: &str) -> Result<()> {
    match ranks::started() > 1 {
        false => Ok(()),
        true => {
            let why = format!("a cluster is {done} by one process ({because}): leave mpirun out");
            Err(Error::Usage(why))
        }
    }
}

/// Finds the node that is meant; `done` says what becomes of it.
pub fn find_node(plan: &Plan, name: Option<&str>, done: &str) -> Result<usize> {
    let found = name.and_then(|name| plan.names.iter().position(|known| known == name));
    found.ok_or_else(|| {
        let known = plan.names.iter().take(SHOWN_NAMES).map(String::as_str);
        let more = if plan.names.len() > SHOWN_NAMES { ", …" } else { "" };
        let known = known.collect::<Vec<_>>().join(", ");
        Error::Usage(match name {
            Some(name) => format!("--node {name}: there is no such node; there are {known}{more}"),
            None => format!("say with --node NAME which node is {done}: {known}{more}"),
        })
    })
}

/// Turns the arguments into those of a run.
pub fn run_options(args: &RunArgs, captures: Vec<(String, PathBuf)>) -> Result<RunOptions> {
    Ok(RunOptions {
        threads: args.cluster.threads.map_or(0, usize::from),
        cycles: args.service.cycles,
        patience: args.service.patience,
        faults: link_faults(args.link.as_deref())?,
        captures,
        queues: Vec::new(),
        live: args.live.as_ref().map(|live| live.folder.clone()),
    })
}

/// Turns the arguments into options of the plan.
fn options(args: &RunArgs) -> Options {
    let mut options = build::options(&args.app);
    options.overrides.extend(args.seed.map(|seed| format!("cluster.seed={seed}")));
    options
}

/// Writes a curve and its chart; says which runs failed.
fn conclude_curve(
    args: &RunArgs,
    file: &Path,
    curve: &Curve,
    failed: &[Summary],
) -> Result<Status> {
    if curve.points.is_empty() {
        let why =
            format!("the curve has no points, and is not written: {}", curve.remarks.join("; "));
        return match curve.is_interrupted {
            true => {
                output::notice(&why);
                Ok(Status::Interrupted)
            }
            false => Err(Error::Usage(why)),
        };
    }
    let chart = file.with_extension("svg");
    write_whole(file, &curve.to_csv()?)?;
    write_whole(&chart, curve.to_svg()?.as_bytes())?;
    if let Some(path) = &args.report.json {
        output::write_json(path, &format!("{:#}", curve.to_json()))?;
    }
    output::print(&curve.to_text());
    for summary in failed {
        output::print_summary(&summary.texts(), true);
    }
    Ok(match (curve.is_interrupted, failed.is_empty()) {
        (true, _) => Status::Interrupted,
        (false, false) => Status::HandlersFailed,
        (false, true) => Status::Success,
    })
}

/// Reads `--histogram LOAD=FILE`.
fn histograms(args: &RunArgs, plan: &Plan) -> Result<Vec<(String, PathBuf)>> {
    let mut outputs = files::reports(&args.report);
    let mut histograms = Vec::new();
    for text in &args.cluster.histogram {
        let Some((load, file)) = text.split_once('=').filter(|(_, file)| !file.is_empty()) else {
            return Err(Error::Usage(format!("--histogram {text}: write it as LOAD=FILE")));
        };
        let names: Vec<&str> = plan.loads().collect();
        if !names.contains(&load) {
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Error::Usage(format!(
                "--histogram {text}: there is no load generator `{load}`; there are: {known}"
            )));
        }
        outputs.push(("--histogram", PathBuf::from(file)));
        histograms.push((load.to_owned(), PathBuf::from(file)));
    }
    files::keep_apart(&files::of_application(&args.app), &outputs)?;
    Ok(histograms)
}

/// Refuses what goes with one node alone.
fn refuse(args: &RunArgs) -> Result<()> {
    let service = &args.service;
    refuse_reports(&args.report)?;
    refuse_program(args.elf.is_some(), &args.engine)?;
    refuse_all(&[
        ("--pcap-in", args.pcap_in.is_some()),
        ("--generate", args.generate.is_some()),
        ("--pace", args.pace.is_some()),
        ("--load", service.load.is_some()),
        ("--messages", service.messages.is_some()),
        ("--peer", service.peer.is_some()),
        ("--start", service.start.is_some()),
        ("--host-dump", !args.host_dump.is_empty()),
    ])
}

/// Refuses reports about one node alone.
pub fn refuse_reports(report: &ReportArgs) -> Result<()> {
    refuse_all(&[
        ("--pcap-out", report.pcap_out.is_some()),
        ("--unmatched-out", report.unmatched_out.is_some()),
        ("--packets", report.packets.is_some()),
        ("--handlers", report.handlers),
    ])
}

/// Refuses another program than those of the nodes, and another way to run it.
pub fn refuse_program(elf: bool, engine: &EngineArgs) -> Result<()> {
    refuse_all(&[
        ("--elf", elf),
        ("--engine native", engine.engine != EngineKind::Simulator),
        ("--workers", engine.workers.is_some()),
    ])
}

fn refuse_all(given: &[(&str, bool)]) -> Result<()> {
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Error::Usage(format!(
            "{option} goes with one node; of a cluster, cluster.toml says what runs where, \
             `pinion run` with --pcap CABLE=FILE captures a cable, and --json has every node's numbers"
        ))),
    }
}

/// Reads what an option such as `--pcap CABLE=FILE` was given.
fn named_files(option: &str, texts: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let mut named: Vec<(String, PathBuf)> = Vec::new();
    for text in texts {
        let Some((cable, file)) = text.split_once('=').filter(|(_, file)| !file.is_empty()) else {
            return Err(Error::Usage(format!("{option} {text}: write it as CABLE=FILE")));
        };
        if named.iter().any(|(other, _)| other == cable) {
            return Err(Error::Usage(format!("{option} {cable}: give each cable once")));
        }
        named.push((cable.to_owned(), PathBuf::from(file)));
    }
    Ok(named)
}
