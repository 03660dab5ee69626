//! `pinion run APP` for a nanoservice: a program on a node, its requests, what came of them.

use pinion::Error;
use pinion::app::Options;
use pinion::error::Result;
use pinion::hardware::choice::Choice;
use pinion::manifest::Manifest;
use pinion::nanoservice;
use pinion::nanoservice::live::Recorded;
use pinion::nanoservice::run::{self, RunOptions};
use pinion::nanoservice::{Outputs, Script, Setup, Traffic};
use pinion::record::Subject;
use pinion::service::Service;
use pinion::traffic::{Pace, Packets};
use pinion_nanopu::event::Deaf;
use pinion_net::link::Link;

use super::recorded::Keep;
use super::run::Watch;
use super::{Status, build, engine, look, page, report};
use crate::cli::{PeerKind, ReportArgs, RunArgs};

pub fn run(args: &RunArgs, manifest: Manifest, keep: &mut Keep) -> Result<Status> {
    let (service, setup) = prepare(args, manifest)?;
    let mut run = run_options(args, &service, &setup)?;
    run.hardware = engine::hardware(&args.engine)?;
    if let Some(hardware) = &run.hardware {
        engine::refuse_with_hardware(args, hardware)?;
    }
    let hardware = run.hardware.as_ref().map(Choice::summary);
    keep.begin(args, Subject::Nanoservice(&service, &setup))?;
    let mut watch = Watch::behind(run.hardware.as_ref(), !args.quiet);
    let outputs = outputs(&args.report);
    let mut summary = match (args.check, &args.html) {
        (true, _) => nanoservice::check(&service, &setup, run, &outputs, &mut watch)?,
        (false, Some(_)) => page::of_service(args, (&service, &setup), run, &outputs, &mut watch)?,
        (false, None) => run::run(&service, &setup, run, &outputs, &mut watch, Deaf)?,
    };
    watch.clear();
    summary.remarks.extend(hardware);
    let status = report::conclude(&args.report, &summary)?;
    keep.end(&summary)?;
    Ok(status)
}

/// Checks the options, builds the program and loads its machine.
pub fn prepare(args: &RunArgs, manifest: Manifest) -> Result<(Service, Setup)> {
    refuse(args)?;
    load(manifest, &look::options(args))
}

/// Turns the arguments about outputs into the library's.
pub fn outputs(args: &ReportArgs) -> Outputs {
    Outputs { pcap_out: args.pcap_out.clone(), packets: args.packets.clone() }
}

/// Builds a nanoservice and loads its machine.
pub fn load(manifest: Manifest, options: &Options) -> Result<(Service, Setup)> {
    let service = Service::of(manifest, options)?;
    build::show(&service.built);
    let setup = Setup::new(&service, options)?;
    Ok((service, setup))
}

/// Refuses what goes with handlers alone.
fn refuse(args: &RunArgs) -> Result<()> {
    refuse_reports(&args.report)?;
    look::refuse_seed(args, args.generate.is_some() || args.service.load.is_some())?;
    if args.host_dump.is_empty() {
        return Ok(());
    }
    let why = "--host-dump goes with packet handlers; a nanoservice has no host memory";
    Err(Error::Usage(why.to_owned()))
}

/// Refuses reports that go with handlers alone.
pub fn refuse_reports(args: &ReportArgs) -> Result<()> {
    let why = if args.unmatched_out.is_some() {
        "--unmatched-out goes with packet handlers; a nanoservice's dropped frames are counted by \
         reason, and --packets lists all"
    } else if args.handlers {
        "--handlers goes with packet handlers; a nanoservice's summary has a row per hart"
    } else {
        return Ok(());
    };
    Err(Error::Usage(why.to_owned()))
}

/// Turns the arguments into the library's.
pub fn run_options(args: &RunArgs, service: &Service, setup: &Setup) -> Result<RunOptions> {
    let given = &args.service;
    let answers = given.peer != Some(PeerKind::None);
    let options = RunOptions {
        answers,
        cycles: given.cycles,
        patience: given.patience.unwrap_or(run::PATIENCE_CYCLES),
        link_cycles: args.link.as_deref().map_or(Ok(Link::PUBLISHED_CYCLES), link_cycles)?,
        start: given.start,
        ..RunOptions::of(traffic(args, service, setup, answers)?)
    };
    if options.link_cycles == 0 {
        return Err(Error::Usage("--link 0: a link has at least a cycle of latency".to_owned()));
    }
    Ok(options)
}

fn link_cycles(text: &str) -> Result<u64> {
    text.parse().map_err(|_| {
        Error::Usage(format!(
            "--link {text}: for a nanoservice, write the link's latency in cycles; faults go with \
             packet handlers"
        ))
    })
}

fn traffic(args: &RunArgs, service: &Service, setup: &Setup, answers: bool) -> Result<Traffic> {
    if let Some(live) = &args.live {
        let kernel = live.address.as_deref().map(str::parse).transpose()?;
        return Ok(Traffic::Live(Recorded { folder: live.folder.clone(), kernel }));
    }
    let pace = args.pace.as_deref().map(str::parse::<Pace>).transpose()?;
    if pace.is_some() && args.pcap_in.is_none() && args.generate.is_none() {
        let why = "--pace goes with --pcap-in; a load says itself when requests come (gap=)";
        return Err(Error::Usage(why.to_owned()));
    }
    if let Some(path) = &args.pcap_in {
        return Ok(Traffic::Frames(Packets::from_capture(path, pace)?));
    }
    if let Some(spec) = &args.generate {
        return Traffic::generate(spec, args.seed, pace, setup);
    }
    if let Some(text) = &args.service.load {
        return Traffic::load(text, args.seed, setup, answers);
    }
    if let Some(path) = &args.service.messages {
        return Ok(Traffic::Script(Script::read(path)?));
    }
    Traffic::of_folder(service)
}
