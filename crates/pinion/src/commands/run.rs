//! `pinion run APP`: an application on a capture or on generated packets.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pinion::Error;
use pinion::app::App;
use pinion::check::Checker;
use pinion::error::Result;
use pinion::hardware::choice::Choice;
use pinion::manifest::Manifest;
use pinion::record::Subject;
use pinion::report::{Outputs, Sink, write_whole};
use pinion::run::{self, Finished};
use pinion::tape::Played;
use pinion::traffic::{self, Pace, Packets, link_faults};
use pinion::watch::{Observer, Progress};
use pinion_sim::Time;

use super::Status;
use super::recorded::Keep;
use super::{build, cluster, engine, files, interrupt, look, page, report, service};
use crate::cli::{CLUSTER, ReportArgs, RunArgs, SERVICE};
use crate::output;

/// Shows the progress bar on runs longer than this.
const BAR_AFTER: Duration = Duration::from_secs(1);

pub fn run(args: &RunArgs) -> Result<Status> {
    keeping(args, &mut Keep::of(args))
}

/// Does the same, and keeps what is run and what comes of it.
pub fn keeping(args: &RunArgs, keep: &mut Keep) -> Result<Status> {
    keep_files_apart(args, &[("--html", args.html.as_ref())])?;
    engine::refuse_needless_core(&args.app, &args.app.set)?;
    if args.check {
        engine::refuse_core(&args.app, engine::INTERPRETED)?;
    }
    if let Some(file) = pinion::cluster::locate(&args.app.app) {
        engine::refuse_hardware(&args.engine, "a cluster has several nodes")?;
        return cluster::run(args, &file, keep);
    }
    let with = format!("with clusters; {} is none: it has no cluster.toml", args.app.app.display());
    look::refuse(args, &CLUSTER, &with)?;
    let manifest = pinion::manifest::load(&args.app.app)?;
    if manifest.nanoservice().is_some() {
        engine::refuse_native(&args.engine, "a nanoservice runs on its simulated node")?;
        return service::run(args, manifest, keep);
    }
    let name = &manifest.app.name;
    let with = "has packet handlers, which take --pcap-in or --generate";
    look::refuse(args, &SERVICE, &format!("with nanoservices; {name} {with}"))?;
    let packets = packets(args, &manifest)?;
    let mut options = look::options(args);
    if args.check {
        engine::refuse(&args.engine, "--check looks at the accesses of the simulated HPUs")?;
    }
    if args.html.is_some() {
        engine::refuse(&args.engine, "--html shows the simulated machine")?;
        engine::refuse_core(&args.app, engine::INTERPRETED)?;
    }
    if args.record.is_some() {
        engine::refuse(&args.engine, "--record keeps a run that is the same each time")?;
    }
    let workers = engine::choose(&args.engine, &manifest, &mut options)?;
    if workers.is_some() {
        engine::refuse_core(&args.app, "--engine native has none")?;
    }
    if workers.is_some() && args.pace.is_some() {
        return Err(Error::Usage(
            "--pace: the native engine takes packets as fast as it can".to_owned(),
        ));
    }
    let hardware = engine::hardware(&args.engine)?;
    if let Some(hardware) = &hardware {
        engine::refuse_with_hardware(args, hardware)?;
    }
    let app = App::of(manifest, &options)?;
    build::show_messages(&app);
    let dumps = dumps(&args.host_dump, &app)?;
    keep.begin(args, Subject::Handlers(&app))?;
    let mut watch = Watch::behind(hardware.as_ref(), !args.quiet);
    let outputs = outputs(&args.report);
    let finished = match (args.check, &args.html) {
        (true, _) => check(&app, packets, &outputs, &mut watch)?,
        (false, Some(_)) => page::of_handlers(args, &app, packets, &outputs, &mut watch)?,
        (false, None) => match &hardware {
            Some(blocks) => run::run_with_hardware(&app, packets, &outputs, &mut watch, blocks)?,
            None => go(&app, packets, workers, &outputs, &mut watch)?,
        },
    };
    watch.clear();
    let status = conclude(&args.report, &app, &finished, &dumps)?;
    keep.end(&finished.summary)?;
    Ok(status)
}

/// Runs on the simulator, and checks every access.
fn check(app: &App, packets: Packets, outputs: &Outputs, watch: &mut Watch) -> Result<Finished> {
    let mut checker = Checker::new(app);
    let mut finished = run::trace(app, packets, outputs, watch, &mut checker)?;
    finished.summary.check = Some(checker.verdict(app));
    Ok(finished)
}

/// Runs on the simulator, or on the native engine with so many workers.
fn go(
    app: &App,
    packets: Packets,
    workers: Option<u32>,
    outputs: &Outputs,
    watch: &mut Watch,
) -> Result<Finished> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if let Some(workers) = workers {
        return pinion::native::run(app, packets, workers, outputs, watch);
    }
    debug_assert!(workers.is_none(), "refused where there is no native engine");
    run::run(app, packets, outputs, watch)
}

/// Checks that no output overwrites an input or another output.
pub fn keep_files_apart(args: &RunArgs, more: &[(&'static str, Option<&PathBuf>)]) -> Result<()> {
    let messages = ("--messages", &args.service.messages);
    let recording = ("APP", &args.recording);
    let inputs = [recording, ("--pcap-in", &args.pcap_in), ("--elf", &args.elf), messages];
    let mut inputs: Vec<_> =
        inputs.into_iter().filter_map(|(option, path)| Some((option, path.clone()?))).collect();
    inputs.extend(files::of_application(&args.app));
    inputs.extend(files::named("--hardware", &args.engine.hardware));
    let mut outputs = files::reports(&args.report);
    outputs.extend(more.iter().filter_map(|(option, file)| Some((*option, file.cloned()?))));
    outputs.extend(args.record.iter().map(|file| ("--record", file.clone())));
    outputs.extend(files::named("--host-dump", &args.host_dump));
    outputs.extend(files::named("--ports", &args.engine.ports));
    files::keep_apart(&inputs, &outputs)
}

/// Opens the packets that the arguments ask for.
pub fn packets(args: &RunArgs, manifest: &Manifest) -> Result<Packets> {
    let pace = args.pace.as_deref().map(str::parse::<Pace>).transpose()?;
    if let Some(live) = &args.live {
        return Ok(Packets::live(Played::open(&live.folder)?));
    }
    let packets = match (&args.pcap_in, &args.generate) {
        (Some(path), _) => Packets::from_capture(path, pace),
        (None, Some(spec)) => Packets::generate(spec, args.seed, pace),
        (None, None) => Packets::of(traffic::standard(manifest, &[])?, args.seed, pace),
    }?;
    match link_faults(args.link.as_deref())? {
        Some(faults) => packets.over(&faults),
        None => Ok(packets),
    }
}

/// Turns the arguments about outputs into the library's.
pub fn outputs(args: &ReportArgs) -> Outputs {
    Outputs {
        pcap_out: args.pcap_out.clone(),
        unmatched_out: args.unmatched_out.clone(),
        packets: args.packets.clone(),
        handlers: args.handlers,
    }
}

/// Reads and checks `--host-dump CONTEXT=FILE`.
fn dumps(texts: &[String], app: &App) -> Result<Vec<(String, PathBuf)>> {
    let parse = |text: &String| {
        let (context, file) = text
            .split_once('=')
            .filter(|(_, file)| !file.is_empty())
            .ok_or_else(|| Error::Usage(format!("--host-dump {text}: write it as CONTEXT=FILE")))?;
        if app.context(context).is_none() {
            let names = app.context_names().join(", ");
            return Err(Error::Usage(format!(
                "--host-dump {text}: there is no context `{context}`, but {names}"
            )));
        }
        Ok((context.to_owned(), PathBuf::from(file)))
    };
    texts.iter().map(parse).collect()
}

/// Prints the summary, writes what belongs to the end of a run, and gives the exit status.
fn conclude(
    args: &ReportArgs,
    app: &App,
    finished: &Finished,
    dumps: &[(String, PathBuf)],
) -> Result<Status> {
    for (context, file) in dumps {
        write_whole(file, &finished.host_memory(app, context)?)?;
    }
    report::conclude(args, &finished.summary)
}

/// Shows handlers' output and progress, and notices interruptions.
pub struct Watch {
    /// `None`: it is not looked at yet, and an interruption ends the process.
    interrupted: Option<Arc<AtomicBool>>,
    bar: Option<ProgressBar>,
    may_show: bool,
}

impl Watch {
    /// Starts to watch; a bar is shown on a terminal only.
    pub fn new(may_show: bool) -> Self {
        let may_show = shows(may_show);
        Self { interrupted: Some(interrupt::flag()), bar: None, may_show }
    }

    /// Starts to watch a run in front of which blocks of hardware are made, which takes its time and looks at
    /// nothing: an interruption ends that at once.
    pub fn behind(hardware: Option<&Choice>, may_show: bool) -> Self {
        match hardware {
            None => Self::new(may_show),
            Some(_) => Self { interrupted: None, bar: None, may_show: shows(may_show) },
        }
    }

    /// Removes the bar.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Prints text beside the bar.
    pub fn print(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::print(text)),
            None => output::print(text),
        }
    }

    /// Tells the user something beside the bar.
    fn tell(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::notice(text)),
            None => output::notice(text),
        }
    }

    fn show(&mut self, progress: &Progress) {
        if !self.may_show || progress.host < BAR_AFTER {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| new_bar(progress.total));
        bar.set_position(progress.done);
        let left = progress.total.map_or(String::new(), |total| remaining(progress, total));
        let simulated = match progress.simulated {
            Time::ZERO => "native engine".to_owned(),
            time => format!("{time} simulated"),
        };
        bar.set_message(format!("{simulated}{left}"));
    }
}

fn shows(may_show: bool) -> bool {
    may_show && std::io::stderr().is_terminal()
}

fn new_bar(total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = match total {
        Some(_) => "{bar:30} {human_pos} of {human_len} packets, {msg}",
        None => "{spinner} {human_pos} packets, {msg}",
    };
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Tells how long the rest takes at the pace so far.
fn remaining(progress: &Progress, total: u64) -> String {
    let left = total.saturating_sub(progress.done) as f64 / progress.done.max(1) as f64;
    format!(", {:.0} s left", progress.host.as_secs_f64() * left)
}

impl Sink for Watch {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.print(&format!("[{time} cluster {cluster} HPU {hpu}] {text}\n"));
    }
}

impl Observer for Watch {
    fn goes_on(&mut self, progress: &Progress) -> bool {
        self.show(progress);
        !self.interrupted.get_or_insert_with(interrupt::flag).load(Ordering::Relaxed)
    }

    fn console(&mut self, text: &str) {
        self.print(text);
    }

    fn notice(&mut self, text: &str) {
        self.tell(text);
    }
}
