//! `pinion trace APP`: what handlers, a nanoservice or a node of a cluster do, instruction by
//! instruction as text, or as tracks for Perfetto.

use std::io::{BufWriter, Write};
use std::path::Path;

use pinion::Error;
use pinion::app::App;
use pinion::error::Result;
use pinion::gauges::{Gauges as _, NanoGauges, NicGauges, Vcd};
use pinion::manifest::Manifest;
use pinion::nanoservice::run::{self, Settling};
use pinion::nanoservice::{self, NodeTrace, Setup, Trace};
use pinion::report::{Ending, Partial};
use pinion::service::Service;
use pinion::trace::perfetto::{Corner, NicTrace};
use pinion::trace::{Choice, Filter, SourceLines, TextTrace, Tracer, When};
use pinion::traffic::Packets;
use pinion::watch::Observer as _;
use pinion_net::capture::CaptureReader;
use pinion_sim::Time;

use super::look::{self, Quiet};
use super::run::{Watch, keep_files_apart, outputs, packets};
use super::{Status, cluster, engine, report, service};
use crate::cli::TraceArgs;
use crate::output;

pub fn run(args: &TraceArgs) -> Result<Status> {
    let files = [
        ("--out", args.out.as_ref()),
        ("--perfetto", args.perfetto.as_ref()),
        ("--vcd", args.vcd.as_ref()),
    ];
    keep_files_apart(&args.run, &files)?;
    let with = "with `pinion run`: a trace shows what happens, right or wrong";
    look::refuse(&args.run, &["--check"], with)?;
    look::refuse(&args.run, &["--html", "--record"], "with `pinion run`")?;
    if args.file().is_none() && args.run.report.json.as_deref().is_some_and(output::is_stdout) {
        let why = "--json - and the trace would both go to standard output: add --out FILE";
        return Err(Error::Usage(why.to_owned()));
    }
    engine::refuse_core(&args.run.app, engine::INTERPRETED)?;
    if let Some(file) = pinion::cluster::locate(&args.run.app.app) {
        return cluster::trace(args, &file);
    }
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    look::refuse_node(args.node.as_deref(), &manifest)?;
    engine::refuse(&args.run.engine, "a trace shows the simulated machine")?;
    look::refuse_for_one(&args.run, &manifest)?;
    if manifest.nanoservice().is_some() {
        return trace_service(args, manifest);
    }
    trace_handlers(args, manifest)
}

/// Traces packet handlers.
fn trace_handlers(args: &TraceArgs, manifest: Manifest) -> Result<Status> {
    look::refuse_for_handlers(&args.run, &manifest)?;
    refuse_for_handlers(args, &manifest.app.name)?;
    let with = "with pinion run; a trace shows writes to host memory";
    look::refuse(&args.run, &["--host-dump"], with)?;
    if args.run.report.handlers && args.run.report.json.is_none() {
        let why = "--handlers goes with --json here: a trace prints no summary";
        return Err(Error::Usage(why.to_owned()));
    }
    let packets = packets(&args.run, &manifest)?;
    check_packets(args, &packets)?;
    let app = look::app(&args.run, manifest)?;
    let filter = Filter::new(&app, &choice(args)?)?;
    let (file, partial) = open(args)?;
    let mut tracer = handler_tracer(args, &app, filter, file)?;
    let outputs = outputs(&args.run.report);
    let mut watch = Quiet(watch(args));
    let finished = pinion::run::trace(&app, packets, &outputs, &mut watch, tracer.as_mut())?;
    let is_empty = tracer.is_empty();
    watch.0.clear();
    partial.map_or(Ok(()), Partial::keep)?;
    let status = report::write(&args.run.report, &finished.summary)?;
    let summary = &finished.summary;
    summary.remarks.iter().for_each(|remark| watch.0.notice(remark));
    if summary.ending == Ending::Finished {
        refuse_packets(args, summary.section.totals.packets_in)?;
    }
    if is_empty {
        let why = format!(
            "nothing is traced: the run ended in cycle {}, and nothing before is what was chosen",
            summary.cycles
        );
        watch.0.notice(&why);
    }
    Ok(status)
}

/// Refuses what goes with nanoservices alone.
pub fn refuse_for_handlers(args: &TraceArgs, name: &str) -> Result<()> {
    if args.hart.is_empty() {
        return Ok(());
    }
    let why = format!("--hart goes with nanoservices; {name} has packet handlers");
    Err(Error::Usage(why))
}

/// Makes who traces handlers.
pub fn handler_tracer<'a>(
    args: &TraceArgs,
    app: &'a App,
    filter: Filter,
    out: Out,
) -> Result<Box<dyn Tracer + Send + 'a>> {
    if args.vcd.is_some() {
        let gauges = NicGauges::new(app, false);
        let span = (filter.from, filter.to);
        let vcd = Vcd::new(&app.manifest.app.name, gauges.gauges(), span, out)?;
        return Ok(Box::new(gauges.followed(vcd)));
    }
    if args.perfetto.is_some() {
        return Ok(Box::new(NicTrace::new(app, filter, Corner::only(), out)?));
    }
    let wants = (!args.no_instructions, !args.no_events);
    Ok(Box::new(TextTrace::new(app, filter, wants, out)))
}

/// Refuses packets that the run will not have, where that is known before.
fn check_packets(args: &TraceArgs, packets: &Packets) -> Result<()> {
    if args.packet.is_empty() || args.run.link.is_some() {
        return Ok(());
    }
    let count = match &args.run.pcap_in {
        Some(path) => Some(count_frames(path)?),
        None => packets.total(),
    };
    count.map_or(Ok(()), |count| refuse_packets(args, count))
}

fn count_frames(path: &Path) -> Result<u64> {
    let mut reader = CaptureReader::open(path)?;
    let mut count = 0;
    while reader.next_frame()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Refuses packets of a run that has so many.
fn refuse_packets(args: &TraceArgs, count: u64) -> Result<()> {
    match args.packet.iter().find(|packet| **packet >= count) {
        None => Ok(()),
        Some(packet) => Err(Error::Usage(match count {
            0 => format!("--packet {packet}: the run has no packets"),
            _ => format!("--packet {packet}: the run has packets 0 to {}", count - 1),
        })),
    }
}

pub fn choice(args: &TraceArgs) -> Result<Choice> {
    Ok(Choice {
        hpus: args.hpu.clone(),
        handlers: args.handler.clone(),
        contexts: args.context.clone(),
        packets: args.packet.clone(),
        from: when(args.from.as_ref())?,
        to: when(args.to.as_ref())?,
    })
}

pub fn when(text: Option<&String>) -> Result<Option<When>> {
    text.map(|text| text.parse()).transpose()
}

/// Bytes of a trace that are written at once.
const OUT_BYTES: usize = 1 << 16;

/// What a trace is written to.
pub type Out = BufWriter<Box<dyn Write + Send>>;

/// Opens what the trace is written to; a file has its name once it is complete.
pub fn open(args: &TraceArgs) -> Result<(Out, Option<Partial>)> {
    let (out, partial): (Box<dyn Write + Send>, _) = match args.file() {
        Some(path) => {
            let (file, partial) = Partial::create(path)?;
            (Box::new(file), Some(partial))
        }
        None => (Box::new(std::io::stdout()), None),
    };
    Ok((BufWriter::with_capacity(OUT_BYTES, out), partial))
}

/// Watches with a bar when the trace goes to a file.
pub fn watch(args: &TraceArgs) -> Watch {
    Watch::new(!args.run.quiet && args.file().is_some())
}

/// Traces a nanoservice.
fn trace_service(args: &TraceArgs, manifest: Manifest) -> Result<Status> {
    refuse_for_services(args, &manifest.app.name)?;
    let (service, setup) = service::prepare(&args.run, manifest)?;
    let filter = service_filter(args, &setup)?;
    let mut options = service::run_options(&args.run, &service, &setup)?;
    options.cycles = [options.cycles, filter.to].into_iter().flatten().min();
    let outputs = service::outputs(&args.run.report);
    let mut watch = Quiet(watch(args));
    let (out, partial) = open(args)?;
    let tracer = service_tracer(args, &service, &setup, filter, out)?;
    let summary = run::run(&service, &setup, options, &outputs, &mut watch, tracer)?;
    watch.0.clear();
    partial.map_or(Ok(()), Partial::keep)?;
    report::write(&args.run.report, &summary)
}

/// Makes what writes a nanoservice's trace.
pub fn service_tracer<'a>(
    args: &TraceArgs,
    service: &'a Service,
    setup: &Setup,
    filter: nanoservice::Filter,
    out: Out,
) -> Result<Box<dyn Settling + Send + 'a>> {
    let harts = setup.machine.value.core.count;
    if args.vcd.is_some() {
        let gauges = NanoGauges::new(setup.clock, harts);
        let time = |cycle| setup.clock.time(cycle);
        let span = (time(filter.from), filter.to.map_or(Time::MAX, time));
        let vcd = Vcd::new(&service.manifest.app.name, gauges.gauges(), span, out)?;
        return Ok(Box::new(gauges.followed(vcd)));
    }
    if args.perfetto.is_some() {
        return Ok(Box::new(NodeTrace::new(setup.clock, filter, harts, Corner::only(), out)?));
    }
    let lines = SourceLines::read(&service.built.elf);
    Ok(Box::new(Trace::new(&service.image, lines, setup.clock, filter, out)))
}

/// Refuses what goes with packet handlers alone.
pub fn refuse_for_services(args: &TraceArgs, name: &str) -> Result<()> {
    let handlers_only = [
        ("--hpu", args.hpu.is_empty()),
        ("--handler", args.handler.is_empty()),
        ("--context", args.context.is_empty()),
        ("--packet", args.packet.is_empty()),
    ];
    if let Some((option, _)) = handlers_only.iter().find(|(_, is_absent)| !is_absent) {
        return Err(Error::Usage(format!(
            "{option} goes with packet handlers; {} is a nanoservice, whose trace --hart, --from \
             and --to narrow down",
            name
        )));
    }
    Ok(())
}

/// Says what is traced of a node.
pub fn service_filter(args: &TraceArgs, setup: &Setup) -> Result<nanoservice::Filter> {
    let cycle = |when: Option<When>| when.map(|when| when.cycle(setup.clock));
    let from = cycle(when(args.from.as_ref())?).unwrap_or(0);
    let to = cycle(when(args.to.as_ref())?);
    if to.is_some_and(|to| to <= from) {
        let why = "--to is the cycle behind the last one: it must be greater than --from";
        return Err(Error::Usage(why.to_owned()));
    }
    let harts = setup.machine.value.core.count;
    if let Some(hart) = args.hart.iter().find(|hart| u32::from(**hart) >= harts) {
        return Err(Error::Usage(format!(
            "--hart {hart}: the machine has harts 0 to {}",
            harts - 1
        )));
    }
    Ok(nanoservice::Filter {
        harts: args.hart.clone(),
        from,
        to,
        no_instructions: args.no_instructions,
        no_events: args.no_events,
    })
}
