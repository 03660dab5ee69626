//! `pinion run CLUSTER`: many nodes on one network, on this process's threads and, with MPI, on all
//! ranks' processes.

use std::path::{Path, PathBuf};

use pinion::Error;
use pinion::cluster::{self, Curve, Plan, RunOptions, Summary};
use pinion::error::Result;
use pinion::ranks;
use pinion::report::write_whole;

use super::run::Watch;
use super::{Status, build, files, link};
use crate::cli::RunArgs;
use crate::output;

/// Runs the cluster that a file describes.
pub fn run(args: &RunArgs, file: &Path) -> Result<Status> {
    refuse(args)?;
    let captures = named_files("--pcap", &args.cluster.pcap)?;
    let queues = named_files("--queue", &args.cluster.queue)?;
    let mut outputs = files::reports(&args.report);
    outputs.extend(captures.iter().map(|(_, file)| ("--pcap", file.clone())));
    outputs.extend(queues.iter().map(|(_, file)| ("--queue", file.clone())));
    files::keep_apart(&[], &outputs)?;
    let mut options = build::options(&args.app);
    if let Some(seed) = args.seed {
        options.overrides.push(format!("cluster.seed={seed}"));
    }
    let mut plan = Plan::load(file, &options)?;
    plan.built().for_each(build::show);
    let histograms = histograms(args, &plan)?;
    let options = RunOptions {
        threads: args.cluster.threads.map_or(0, usize::from),
        cycles: args.service.cycles,
        patience: args.service.patience,
        faults: link::faults(args.link.as_deref())?,
        captures,
        queues: queues.iter().map(|(cable, _)| cable.clone()).collect(),
    };
    if let Some(file) = &args.cluster.curve {
        let done = ranks::with(|ranks| {
            let mut watch = Watch::new(!args.quiet && ranks.rank() == 0);
            let done = Curve::run(&mut plan, &options, ranks, &mut watch);
            watch.clear();
            done.map(|done| (ranks.rank() == 0).then_some(done))
        })?;
        let Some((curve, failed)) = done else { return Ok(Status::Success) };
        return conclude_curve(args, file, &curve, &failed);
    }
    let summary = ranks::with(|ranks| {
        let mut watch = Watch::new(!args.quiet && ranks.rank() == 0);
        let summary = cluster::run(&plan, &options, ranks, &mut watch);
        watch.clear();
        summary
    })?;
    let Some(summary) = summary else { return Ok(Status::Success) };
    // First what is there in any case: a file may not be writable.
    output::print(&summary.console());
    output::print_summary(&summary.texts(), summary.has_failures());
    for (load, file) in &histograms {
        let Some(row) = summary.loads.iter().find(|row| row.name == *load) else { continue };
        let is_hgrm = file.extension().is_some_and(|extension| extension == "hgrm");
        write_whole(file, row.percentiles[usize::from(is_hgrm)].as_bytes())?;
    }
    for (trace, (_, file)) in summary.queues.iter().zip(&queues) {
        write_whole(file, summary.queue_csv(trace).as_bytes())?;
    }
    conclude(args, &summary)
}

/// Writes a curve and its chart; says which runs failed.
fn conclude_curve(
    args: &RunArgs,
    file: &Path,
    curve: &Curve,
    failed: &[Summary],
) -> Result<Status> {
    let chart = file.with_extension("svg");
    files::keep_apart(
        &[],
        &[("--curve", file.to_owned()), ("the chart beside it", chart.clone())],
    )?;
    write_whole(file, &curve.to_csv()?)?;
    write_whole(&chart, curve.to_svg()?.as_bytes())?;
    if let Some(path) = &args.report.json {
        let points = curve.points.iter().map(|point| {
            let mut report = point.report.clone();
            report["load"] = point.load.as_str().into();
            report["gap_cycles"] = point.gap_cycles.into();
            report
        });
        let all = serde_json::Value::Array(points.collect());
        output::write_json(path, &format!("{all:#}"))?;
    }
    output::print(&curve.to_text());
    for summary in failed {
        output::print_summary(&summary.texts(), true);
    }
    Ok(if failed.is_empty() { Status::Success } else { Status::HandlersFailed })
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
    files::keep_apart(&[], &outputs)?;
    Ok(histograms)
}

fn conclude(args: &RunArgs, summary: &Summary) -> Result<Status> {
    if let Some(path) = &args.report.json {
        output::write_json(path, &format!("{:#}", summary.to_json()))?;
    }
    Ok(if summary.has_failures() { Status::HandlersFailed } else { Status::Success })
}

/// Refuses what goes with one node alone.
fn refuse(args: &RunArgs) -> Result<()> {
    let (report, service) = (&args.report, &args.service);
    let given = [
        ("--elf", args.elf.is_some()),
        ("--pcap-in", args.pcap_in.is_some()),
        ("--generate", args.generate.is_some()),
        ("--pace", args.pace.is_some()),
        ("--load", service.load.is_some()),
        ("--messages", service.messages.is_some()),
        ("--peer", service.peer.is_some()),
        ("--start", service.start.is_some()),
        ("--pcap-out", report.pcap_out.is_some()),
        ("--unmatched-out", report.unmatched_out.is_some()),
        ("--packets", report.packets.is_some()),
        ("--handlers", report.handlers),
        ("--host-dump", !args.host_dump.is_empty()),
        ("--engine native", args.engine.engine != crate::cli::EngineKind::Simulator),
        ("--workers", args.engine.workers.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Error::Usage(format!(
            "{option} goes with one node; of a cluster, cluster.toml says what runs where, --pcap \
             CABLE=FILE captures a cable and --json has every node's numbers"
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
