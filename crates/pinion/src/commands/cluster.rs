//! `pinion run CLUSTER`: many nodes on one network, on this process's threads and, with MPI, on all
//! ranks' processes.

use std::path::{Path, PathBuf};

use pinion::Error;
use pinion::cluster::{self, Plan, RunOptions, Summary};
use pinion::error::Result;
use pinion::report::write_whole;
use pinion_net::fabric::{Alone, Ranks};

use super::run::Watch;
use super::{Status, build, files, link};
use crate::cli::RunArgs;
use crate::output;

/// Runs the cluster that a file describes.
pub fn run(args: &RunArgs, file: &Path) -> Result<Status> {
    refuse(args)?;
    let captures = captures(args)?;
    let mut options = build::options(&args.app);
    if let Some(seed) = args.seed {
        options.overrides.push(format!("cluster.seed={seed}"));
    }
    let plan = Plan::load(file, &options)?;
    plan.built().for_each(build::show);
    let options = RunOptions {
        threads: args.cluster.threads.map_or(0, usize::from),
        cycles: args.service.cycles,
        patience: args.service.patience,
        faults: link::faults(args.link.as_deref())?,
        captures,
    };
    let mut watch = Watch::new(!args.quiet);
    let mut ranks: Box<dyn Ranks> = Box::new(Alone);
    let summary = cluster::run(&plan, &options, ranks.as_mut(), &mut watch)?;
    watch.clear();
    match summary {
        Some(summary) => conclude(args, &summary),
        None => Ok(Status::Success),
    }
}

fn conclude(args: &RunArgs, summary: &Summary) -> Result<Status> {
    if let Some(path) = &args.report.json {
        write_whole(path, format!("{:#}\n", summary.to_json()).as_bytes())?;
    }
    output::print(&summary.console());
    output::print(&summary.to_text());
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

/// Reads `--pcap CABLE=FILE`.
fn captures(args: &RunArgs) -> Result<Vec<(String, PathBuf)>> {
    let mut captures = Vec::new();
    let mut outputs = files::reports(&args.report);
    for text in &args.cluster.pcap {
        let Some((cable, file)) = text.split_once('=').filter(|(_, file)| !file.is_empty()) else {
            return Err(Error::Usage(format!("--pcap {text}: write it as CABLE=FILE")));
        };
        if captures.iter().any(|(other, _)| other == cable) {
            return Err(Error::Usage(format!("--pcap {cable}: give each cable once")));
        }
        outputs.push(("--pcap", PathBuf::from(file)));
        captures.push((cable.to_owned(), PathBuf::from(file)));
    }
    files::keep_apart(&[], &outputs)?;
    Ok(captures)
}
