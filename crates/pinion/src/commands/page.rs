//! `pinion run APP --html FILE`: the run on one page. The run is heard closely; the slowest packet's way is
//! asked afterwards, by runs that are the same.

use pinion::Result;
use pinion::app::App;
use pinion::cluster;
use pinion::gauges::{NANO_CHARTS, NIC_CHARTS};
use pinion::nanoservice::run::RunOptions;
use pinion::nanoservice::{self, HartProfile, Setup};
use pinion::page::{Curves, Latencies, Page, annotated};
use pinion::profile::{HpuProfile, Profile, Rows, Sources};
use pinion::report::{Ending, Outputs, Report, Sink, write_whole};
use pinion::run::{self, Finished};
use pinion::service::Service;
use pinion::traffic::Packets;
use pinion::watch::{Observer, Progress};
use pinion_sim::Time;
use pinion_sim::probe::Both;
use pinion_spin::PacketRecord;

use super::run::Watch;
use super::{profile, why};
use crate::cli::RunArgs;

/// Functions and lines in the table of where cycles went.
const TOP: usize = 12;

/// Runs packet handlers, and writes the page.
pub fn of_handlers(
    args: &RunArgs,
    app: &App,
    packets: Packets,
    outputs: &Outputs,
    watch: &mut Watch,
) -> Result<Finished> {
    let (mut ears, mut units) = (HpuProfile::new(app), profile::nic_units(app));
    let mut noting = Noting { watch, latencies: Latencies::default() };
    let mut both = Both::new(&mut ears, &mut units);
    let finished = run::trace(app, packets, outputs, &mut noting, &mut both)?;
    let Noting { watch, latencies } = noting;
    watch.clear();
    let summary = &finished.summary;
    let title = format!("{} on {}", app.manifest.app.name, app.machine.value.name);
    let mut page = begin(&title, summary);
    way(&mut page, args, &summary.ending);
    let every = match latencies.every() {
        1 => String::new(),
        every => format!(", of each {every}th packet"),
    };
    if let Some(curves) = latencies.over_time() {
        page.curves(&format!("Latency over time{every}"), &curves);
    }
    if let Some(curves) = latencies.shares() {
        page.curves(&format!("Shares of latency{every}"), &curves);
    }
    units.sink.follower.end_at(summary.cycles);
    if let Some(curves) = Curves::of_occupancy(&units.sink.follower, &NIC_CHARTS) {
        page.curves("Queues and units over time", &curves);
    }
    cycles(&mut page, &ears.profile(summary.simulated));
    end(args, &page, summary)?;
    Ok(finished)
}

/// Runs a nanoservice, and writes the page.
pub fn of_service(
    args: &RunArgs,
    (service, setup): (&Service, &Setup),
    options: RunOptions,
    outputs: &nanoservice::Outputs,
    watch: &mut Watch,
) -> Result<nanoservice::Summary> {
    let (mut ears, mut units) =
        (HartProfile::new(service, setup), profile::nano_units(service, setup));
    let both = Both::new(&mut ears, &mut units);
    let summary = nanoservice::run::run(service, setup, options, outputs, watch, both)?;
    watch.clear();
    units.sink.follower.end_at(summary.cycles);
    let machine = &setup.machine.value.name;
    let mut page = begin(&format!("{} on {machine}", service.manifest.app.name), &summary);
    way(&mut page, args, &summary.ending);
    if let Some(curves) = Curves::of_occupancy(&units.sink.follower, &NANO_CHARTS) {
        page.curves("Queues and units over time", &curves);
    }
    cycles(&mut page, &ears.profile(summary.cycles));
    end(args, &page, &summary)?;
    Ok(summary)
}

/// Writes the page of a cluster, if it is wanted: its summary, and its slowest request's way.
pub fn of_cluster(args: &RunArgs, summary: &cluster::Summary) -> Result<()> {
    if args.html.is_none() {
        return Ok(());
    }
    let mut page = begin(&summary.name, summary);
    way(&mut page, args, &summary.ending);
    end(args, &page, summary)
}

fn begin(title: &str, summary: &dyn Report) -> Page {
    let mut page = Page::new(title);
    page.text("Summary", &summary.to_text());
    page
}

/// Adds the way of what took longest.
fn way(page: &mut Page, args: &RunArgs, ending: &Ending) {
    const HEADING: &str = "Where the slowest one's time went";
    if *ending != Ending::Finished {
        return;
    }
    match why::slowest(args) {
        Ok(Some(svg)) => page.picture(HEADING, &svg),
        Ok(None) => {}
        // The run is done, and there may be none: nothing matched.
        Err(error) => page.text(HEADING, &error.to_string()),
    }
}

/// Adds where cycles went, and the source.
fn cycles(page: &mut Page, profile: &Profile<'_>) {
    let mut sources = Sources::default();
    let rows = Rows::with(profile, &mut sources);
    page.text("Where cycles went", &profile.to_text(&rows, TOP, false));
    let source = annotated(profile, &rows, &mut sources);
    if !source.is_empty() {
        page.html("Source", source);
    }
}

fn end(args: &RunArgs, page: &Page, summary: &dyn Report) -> Result<()> {
    let html = page.to_html(&summary.to_json());
    args.html.as_ref().map_or(Ok(()), |file| write_whole(file, html.as_bytes()))
}

/// Passes everything on, and notes how long packets took.
struct Noting<'w> {
    watch: &'w mut Watch,
    latencies: Latencies,
}

impl Sink for Noting<'_> {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.watch.line(time, cluster, hpu, text);
    }

    fn packet(&mut self, record: &PacketRecord) {
        self.latencies.packet(record);
    }
}

impl Observer for Noting<'_> {
    fn goes_on(&mut self, progress: &Progress) -> bool {
        self.watch.goes_on(progress)
    }

    fn console(&mut self, text: &str) {
        self.watch.console(text);
    }

    fn notice(&mut self, text: &str) {
        self.watch.notice(text);
    }
}
