//! `pinion profile APP`: where every cycle of handlers, a nanoservice or a node of a cluster went.

use std::path::Path;

use pinion::Error;
use pinion::app::App;
use pinion::cluster::{self, NodeTracer, Target, Tracing};
use pinion::error::Result;
use pinion::gauges::{
    Gauged, Gauges as _, NANO_CHARTS, NIC_CHARTS, NanoGauges, NicGauges, Occupancy, Timeline,
};
use pinion::manifest::Manifest;
use pinion::nanoservice::{self, HartProfile, Setup, run};
use pinion::profile::{HpuProfile, Listing, Profile, Rows};
use pinion::report::{Ending, Outputs, write_whole};
use pinion::service::Service;
use pinion::trace::clock;
use pinion_isa::elf::Image;
use pinion_net::fabric::Alone;
use pinion_sim::probe::Both;

use super::look::{self, Quiet};
use super::run::{Watch, keep_files_apart, packets};
use super::{Status, engine, service};
use crate::cli::{PROFILE_REFUSES, ProfileArgs};
use crate::output;

pub fn run(args: &ProfileArgs) -> Result<Status> {
    let table = args.occupancy.as_ref().map(|path| path.with_extension("csv"));
    let files = [
        ("--occupancy", args.occupancy.as_ref()),
        ("the table beside --occupancy", table.as_ref()),
        ("--flame", args.flame.as_ref()),
        ("--speedscope", args.speedscope.as_ref()),
        ("--pprof", args.pprof.as_ref()),
        ("--lcov", args.lcov.as_ref()),
    ];
    keep_files_apart(&args.run, &files)?;
    refuse(args)?;
    engine::refuse_core(&args.run.app, engine::INTERPRETED)?;
    if let Some(file) = cluster::locate(&args.run.app.app) {
        return profile_node(args, &file);
    }
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    look::refuse_node(args.node.as_deref(), &manifest)?;
    look::refuse_for_one(&args.run, &manifest)?;
    engine::refuse(&args.run.engine, "a profile counts the simulated machine's cycles")?;
    if manifest.nanoservice().is_some() {
        return profile_service(args, manifest);
    }
    profile_handlers(args, manifest)
}

/// Profiles packet handlers.
fn profile_handlers(args: &ProfileArgs, manifest: Manifest) -> Result<Status> {
    look::refuse_for_handlers(&args.run, &manifest)?;
    let packets = packets(&args.run, &manifest)?;
    let app = look::app(&args.run, manifest)?;
    check(args, &app.image, &app.built.elf)?;
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    let mut ears = HpuProfile::new(&app);
    let outputs = Outputs::default();
    let finished = match &args.occupancy {
        None => pinion::run::trace(&app, packets, &outputs, &mut watch, &mut ears)?,
        Some(path) => {
            let mut units = nic_units(&app);
            let mut both = Both::new(&mut ears, &mut units);
            let finished = pinion::run::trace(&app, packets, &outputs, &mut watch, &mut both)?;
            units.sink.follower.end_at(finished.summary.cycles);
            write_occupancy(path, &units.sink.follower)?;
            finished
        }
    };
    watch.0.clear();
    let summary = &finished.summary;
    let errors = summary.section.totals.faults;
    if errors > 0 {
        output::notice(&format!("{errors} handler errors, which `pinion run` explains"));
    }
    show(args, &ears.profile(summary.simulated), summary.ending.clone())
}

/// Listens to how busy a machine's units are.
pub type Units<G> = Gauged<G, Timeline<Occupancy>>;

/// Listens to the units of packet handlers' NIC.
pub fn nic_units(app: &App) -> Units<NicGauges> {
    let gauges = NicGauges::new(app, true);
    let title = format!("{} on {}", app.manifest.app.name, app.machine.value.name);
    let occupancy = Occupancy::new(title, clock(app), &NIC_CHARTS, gauges.gauges());
    gauges.followed(occupancy)
}

/// Listens to the units of a nanoservice's node.
pub fn nano_units(service: &Service, setup: &Setup) -> Units<NanoGauges> {
    let machine = &setup.machine.value;
    let gauges = NanoGauges::new(setup.clock, machine.core.count);
    let title = format!("{} on {}", service.manifest.app.name, machine.name);
    let occupancy = Occupancy::new(title, setup.clock, &NANO_CHARTS, gauges.gauges());
    gauges.followed(occupancy)
}

/// Draws how busy units were, and writes the table beside.
fn write_occupancy(path: &Path, occupancy: &Occupancy) -> Result<()> {
    write_whole(path, occupancy.to_svg()?.as_bytes())?;
    write_whole(&path.with_extension("csv"), occupancy.to_csv()?.as_bytes())
}

/// Profiles a nanoservice.
fn profile_service(args: &ProfileArgs, manifest: Manifest) -> Result<Status> {
    let (service, setup) = service::prepare(&args.run, manifest)?;
    let options = service::run_options(&args.run, &service, &setup)?;
    check(args, &service.image, &service.built.elf)?;
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    let mut ears = HartProfile::new(&service, &setup);
    let outputs = nanoservice::Outputs::default();
    let summary = match &args.occupancy {
        None => run::run(&service, &setup, options, &outputs, &mut watch, &mut ears)?,
        Some(path) => {
            let mut units = nano_units(&service, &setup);
            let both = Both::new(&mut ears, &mut units);
            let summary = run::run(&service, &setup, options, &outputs, &mut watch, both)?;
            units.sink.follower.end_at(summary.cycles);
            write_occupancy(path, &units.sink.follower)?;
            summary
        }
    };
    watch.0.clear();
    show(args, &ears.profile(summary.cycles), summary.ending)
}

/// Profiles a node of the cluster that a file describes.
fn profile_node(args: &ProfileArgs, file: &Path) -> Result<Status> {
    let plan = super::cluster::plan_for_a_node(&args.run, file)?;
    let node = super::cluster::find_node(&plan, args.node.as_deref(), "profiled")?;
    let (group, _) = plan.group_of(node).expect("every node is in a group");
    let options = super::cluster::run_options(&args.run, Vec::new())?;
    let mut watch = Quiet(Watch::new(!args.run.quiet));
    let mut run = |tracer: NodeTracer<'_>| {
        let tracing = Tracing { nodes: vec![(node, tracer)], network: None };
        let summary = cluster::trace(&plan, &options, &mut Alone, &mut watch, tracing)?;
        watch.0.clear();
        Ok::<_, Error>(summary.map_or((Ending::Interrupted, 0), |end| (end.ending, end.cycles)))
    };
    match &group.target {
        Target::Nanoservice { service, setup, .. } => {
            check(args, &service.image, &service.built.elf)?;
            let mut ears = HartProfile::new(service, setup);
            let (ending, cycles) = match &args.occupancy {
                None => run(NodeTracer::Nano(Box::new(&mut ears)))?,
                Some(path) => {
                    let mut units = nano_units(service, setup);
                    let both = Both::new(&mut ears, &mut units);
                    let (ending, cycles) = run(NodeTracer::Nano(Box::new(both)))?;
                    units.sink.follower.end_at(cycles);
                    write_occupancy(path, &units.sink.follower)?;
                    (ending, cycles)
                }
            };
            show(args, &ears.profile(cycles), ending)
        }
        Target::Handlers { app } => {
            check(args, &app.image, &app.built.elf)?;
            let mut ears = HpuProfile::new(app);
            let (ending, cycles) = match &args.occupancy {
                None => run(NodeTracer::Spin(Box::new(&mut ears)))?,
                Some(path) => {
                    let mut units = nic_units(app);
                    let both = Both::new(&mut ears, &mut units);
                    let ended = run(NodeTracer::Spin(Box::new(both)))?;
                    write_occupancy(path, &units.sink.follower)?;
                    ended
                }
            };
            show(args, &ears.profile(plan.clock.time(cycles)), ending)
        }
        Target::Load { .. } | Target::Frames { .. } => Err(Error::Usage(format!(
            "--node {}: it runs no program; profile a node that its packets are for",
            plan.names[node]
        ))),
    }
}

/// Says what is listed beneath the tables.
fn listings(args: &ProfileArgs) -> Vec<Listing> {
    let source = args.source.then_some(Listing::Source);
    source.into_iter().chain(args.disassembly.iter().cloned().map(Listing::Function)).collect()
}

/// Checks that a program has what is to be listed.
fn check(args: &ProfileArgs, image: &Image, elf: &Path) -> Result<()> {
    listings(args).iter().try_for_each(|listing| listing.check(image, elf))
}

/// Shows a profile and writes the files that are asked for.
fn show(args: &ProfileArgs, profile: &Profile<'_>, ending: Ending) -> Result<Status> {
    let rows = Rows::of(profile);
    output::print(&profile.to_text(&rows, args.top, args.harts));
    for listing in listings(args) {
        output::print(&format!("\n{}", profile.listing(&rows, &listing)?));
    }
    if let Some(path) = &args.flame {
        write_whole(path, profile.to_flame_graph(&rows)?.as_bytes())?;
    }
    if let Some(path) = &args.speedscope {
        write_whole(path, format!("{}\n", profile.to_speedscope(&rows)).as_bytes())?;
    }
    if let Some(path) = &args.pprof {
        write_whole(path, &profile.to_pprof(&rows))?;
    }
    if let Some(path) = &args.lcov {
        write_whole(path, profile.to_lcov().as_bytes())?;
    }
    if let Some(path) = &args.run.report.json {
        output::write_json(path, &format!("{:#}", profile.to_json(&rows)))?;
    }
    if ending == Ending::Interrupted {
        output::notice("interrupted: the profile is of the cycles until then");
        return Ok(Status::Interrupted);
    }
    Ok(Status::Success)
}

/// Refuses what goes with runs.
fn refuse(args: &ProfileArgs) -> Result<()> {
    let with = "with `pinion run`: a profile is shown as text, and written by --json, --flame, \
                --speedscope, --pprof and --lcov";
    PROFILE_REFUSES[1..].iter().try_for_each(|options| look::refuse(&args.run, options, with))
}
