//! `pinion sweep APP`: an application over a grid of settings: a table, a chart, and how busy the
//! cores were.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pinion::error::{Error, Result};
use pinion::report::write_whole;
use pinion::sweep::{self, Choice, Effort, Observer, Outcome, Progress, Request, Subject};

use super::{Status, engine, interrupt};
use crate::cli::{BuildKind, SweepArgs};
use crate::output;

/// The length of the bar in steps.
const STEPS: u64 = 10_000;

pub fn run(args: &SweepArgs) -> Result<Status> {
    if args.app.build_type != BuildKind::Release {
        let why = "--build-type debug goes with one run: its cycles are none to compare";
        return Err(Error::Usage(why.to_owned()));
    }
    let subject = Subject::load(&args.app.app)?;
    let files = Files::new(&args.out, subject.name());
    let jobs = || std::thread::available_parallelism().map_or(1, usize::from);
    let plan = sweep::plan(Request {
        subject,
        machine: args.app.machine.clone(),
        faithful: args.app.faithful,
        engine_core: args.app.core.choice(args.app.untrusted),
        untrusted: args.app.untrusted,
        cc: args.app.cc.clone(),
        build_dir: args.app.build_dir.clone(),
        elf: args.elf.clone(),
        generate: args.generate.clone(),
        load: args.load.clone(),
        set: args.app.set.clone(),
        seed: args.seed.clone(),
        jobs: args.jobs.unwrap_or_else(jobs),
        journal: files.journal.clone(),
        fresh: args.fresh,
        pinion: sweep::identity(),
    })?;
    let axes = plan.axes().iter().filter(|axis| axis.target == sweep::Target::Machine);
    let first: Vec<String> = axes.map(|axis| format!("{}={}", axis.key, axis.values[0])).collect();
    engine::refuse_needless_core(&args.app, &first)?;
    let choice = Choice { x: args.x.clone(), y: args.y.clone() };
    choice.check(plan.numbers(), plan.axes())?;
    let mut watch = Watch::new(!args.quiet);
    let outcome = sweep::run(&plan, &mut watch);
    watch.bar.finish_and_clear();
    let outcome = outcome?;
    let written = files.write(&outcome, &choice)?;
    output::print_columns(&outcome.to_text());
    let names = written.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    output::print(&format!("\n{}\n{}\n", told(&outcome), names.join(", ")));
    Ok(if outcome.failed() > 0 { Status::HandlersFailed } else { Status::Success })
}

/// Names what a sweep writes.
struct Files {
    csv: PathBuf,
    parquet: PathBuf,
    svg: PathBuf,
    journal: PathBuf,
}

impl Files {
    fn new(folder: &Path, app: &str) -> Self {
        let file = |kind: &str| folder.join(format!("{app}.{kind}"));
        Self {
            csv: file("csv"),
            parquet: file("parquet"),
            svg: file("svg"),
            journal: file("jsonl"),
        }
    }

    /// Writes the tables and, where something varies, the chart; gives the files.
    fn write(&self, outcome: &Outcome, choice: &Choice) -> Result<Vec<&Path>> {
        write_whole(&self.csv, &outcome.to_csv()?)?;
        write_whole(&self.parquet, &outcome.to_parquet())?;
        let mut written = vec![self.csv.as_path(), self.parquet.as_path()];
        if let Some(svg) = sweep::plot(outcome, choice)? {
            write_whole(&self.svg, svg.as_bytes())?;
            written.push(&self.svg);
        }
        Ok(written)
    }
}

/// Tells how the work was done.
fn told(outcome: &Outcome) -> String {
    let Effort { kept, ran, built, workers, wall, busy, waited } = outcome.effort;
    let mut text = format!("{} points", outcome.rows.len());
    if kept > 0 {
        text.push_str(&format!(", {kept} of them kept from before"));
    }
    match outcome.failed() {
        0 => {}
        failed => text.push_str(&format!(", {failed} with a problem")),
    }
    if ran == 0 {
        return text;
    }
    let seconds = wall.as_secs_f64();
    text.push_str(&format!("; {ran} run in {seconds:.1} s by {workers} workers"));
    if built > 0 {
        text.push_str(&format!(", {built} programs built"));
    }
    text.push_str(&format!("; cores busy {:.0} %", busy * 100.0));
    if let Some(waited) = waited.filter(|waited| *waited >= 0.005) {
        text.push_str(&format!(", {:.0} % waited for other programs", waited * 100.0));
    }
    text
}

/// Shows progress and notices interruptions.
struct Watch {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
}

impl Watch {
    fn new(may_show: bool) -> Self {
        let shown = may_show && std::io::stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let style = ProgressStyle::with_template("{bar:30} {msg}");
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, interrupted: interrupt::flag() }
    }
}

impl Observer for Watch {
    fn progress(&mut self, progress: &Progress) -> bool {
        self.bar.set_position((progress.share * STEPS as f64) as u64);
        let left =
            progress.left().map_or_else(String::new, |left| format!(", {} left", short(left)));
        self.bar.set_message(format!(
            "{} of {} points, {:.1}/s{left}",
            progress.done,
            progress.total,
            progress.rate()
        ));
        !self.interrupted.load(Ordering::Relaxed)
    }

    fn compiler(&mut self, messages: &[u8]) {
        self.bar.suspend(|| {
            let _ = std::io::stderr().lock().write_all(messages);
        });
    }
}

/// Writes a time for people who wait.
fn short(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5999 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}
