//! A test's run: an application, a test and its folder come in; what came otherwise goes out.

use std::path::Path;
use std::time::{Duration, Instant};

use pinion_check::{Checker, Verdict};
use pinion_net::capture::{CaptureReader, LinkType, TimedFrame};
use pinion_observe::fault::Fault;
use pinion_observe::profile::HpuProfile;
use pinion_observe::report::{Ending, Outputs, Report, Sink, Summary};
use pinion_sim::Time;
use pinion_sim::probe::Both;
use serde_json::Value;

use crate::compare;
use crate::coverage::Coverage;
use crate::file::{FAILED, Test, Unmatched};
use crate::packet::bytes_difference;
use pinion_app::app::{App, Options};
use pinion_app::error::{Error, Result};
use pinion_app::manifest::Manifest;
use pinion_app::service::Service;
use pinion_app::traffic::{self, Pace, Packets};
use pinion_run::cluster::{self, Plan};
use pinion_run::nanoservice::run::{RunOptions, Settling};
use pinion_run::nanoservice::{self, HartProfile, Script, Setup, Traffic};
use pinion_run::ranks;
use pinion_run::run::Finished;
use pinion_run::watch::{Observer, Progress};

/// Says where packets went that no context matched.
const UNMATCHED: &str = "to the host";

/// What came of a test.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the test.
    pub name: String,
    /// What came otherwise.
    pub failures: Vec<String>,
    /// Cycles that were simulated.
    pub cycles: u64,
    /// The host's time.
    pub host: Duration,
    /// Somebody ended it.
    pub is_interrupted: bool,
}

/// Runs a test of the application in a folder; `watch` may end it.
///
/// # Errors
/// When the application does not build, or an input cannot be read: not what came otherwise.
pub fn run(
    path: &Path,
    folder: &Path,
    test: &Test,
    options: &Options,
    coverage: &mut Coverage,
    watch: &mut dyn Observer,
) -> Result<Outcome> {
    let mut options = options.clone();
    let run = RunArguments::of(test, &mut options)?;
    let begun = Instant::now();
    let job = Job { folder, test, options: &options, run };
    let (failures, cycles, is_interrupted) = match cluster::locate(path) {
        Some(file) => job.cluster(&file, watch)?,
        None => {
            let manifest = pinion_app::manifest::load(path)?;
            match manifest.nanoservice() {
                Some(_) => job.service(manifest, coverage, watch)?,
                None => job.handlers(manifest, coverage, watch)?,
            }
        }
    };
    let (name, host) = (test.name.clone(), begun.elapsed());
    Ok(Outcome { name, failures, cycles, host, is_interrupted })
}

/// What a test's options say of a run.
#[derive(Clone, Copy, Debug, Default)]
struct RunArguments {
    pace: Option<Pace>,
    seed: Option<u64>,
}

impl RunArguments {
    /// Reads a test's options; those of the program and the machine go to `options`.
    fn of(test: &Test, options: &mut Options) -> Result<Self> {
        let wrong = |problem: String| Error::Usage(format!("run `{}`: {problem}", test.name));
        let mut given = Self::default();
        let mut words = test.options.iter();
        while let Some(word) = words.next() {
            if word == "--faithful" {
                options.faithful = true;
                continue;
            }
            let value = words.next().cloned();
            let value = value.ok_or_else(|| wrong(format!("{word}: its value is missing")))?;
            match word.as_str() {
                "--machine" => options.machine = Some(value),
                "--set" => options.overrides.push(value),
                "--pace" => given.pace = Some(value.parse()?),
                "--seed" => {
                    let seed = value.parse();
                    given.seed =
                        Some(seed.map_err(|_| wrong(format!("--seed {value}: write a number")))?);
                }
                _ => {
                    let known = "--machine, --set, --faithful, --pace and --seed";
                    return Err(wrong(format!("{word}: a test takes {known}")));
                }
            }
        }
        Ok(given)
    }
}

struct Job<'a> {
    folder: &'a Path,
    test: &'a Test,
    options: &'a Options,
    run: RunArguments,
}

/// What came otherwise, the cycles, and whether somebody ended the run.
type Ran = (Vec<String>, u64, bool);

impl Job<'_> {
    fn handlers(
        &self,
        manifest: Manifest,
        coverage: &mut Coverage,
        watch: &mut dyn Observer,
    ) -> Result<Ran> {
        let test = self.test;
        if test.messages.is_some() || test.load.is_some() {
            return Err(self.wrong("messages and load go with nanoservices"));
        }
        let packets = self.packets(&manifest)?;
        let app = App::of(manifest, self.options)?;
        let mut ears = Kept::new(watch);
        let mut profile = HpuProfile::new(&app);
        let mut checker = test.checks().then(|| Checker::new(&app));
        let outputs = Outputs::default();
        let finished = match &mut checker {
            None => pinion_run::run::trace(&app, packets, &outputs, &mut ears, &mut profile)?,
            Some(checker) => {
                let mut both = Both::new(&mut profile, checker);
                pinion_run::run::trace(&app, packets, &outputs, &mut ears, &mut both)?
            }
        };
        let kept = (ears.departed, ears.unmatched, ears.lines);
        let summary = &finished.summary;
        coverage.add(&profile.profile(summary.simulated));
        let mut said = self.troubles(summary, &kept.2);
        said.extend(found(checker.map(|checker| checker.verdict(&app))));
        self.packets_out(&kept.0, &mut said)?;
        said.extend(match &test.unmatched {
            None => Vec::new(),
            Some(Unmatched::List(wanted)) => compare::packets(UNMATCHED, wanted, &kept.1, true),
            Some(Unmatched::File(path)) => {
                compare::frames(UNMATCHED, &self.capture(path)?, &kept.1, true)
            }
        });
        self.host_memory(&app, &finished, &mut said)?;
        Ok((said, summary.cycles, summary.ending == Ending::Interrupted))
    }

    fn packets(&self, manifest: &Manifest) -> Result<Packets> {
        let test = self.test;
        let RunArguments { pace, seed } = self.run;
        if let Some(path) = &test.input {
            return Packets::from_capture(&self.folder.join(path), pace);
        }
        if let Some(spec) = &test.generate {
            return Packets::generate(spec, seed, pace);
        }
        if test.packets_in.is_empty() {
            return Packets::of(traffic::standard(manifest, &[])?, seed, pace);
        }
        let mut frames = Vec::new();
        let mut at = 0;
        for packet in &test.packets_in {
            at = packet.at.map_or(at, |at| at.ps);
            let bytes = packet.build().map_err(|problem| self.wrong(&problem))?;
            frames.push(TimedFrame::new(at, bytes));
        }
        if !frames.is_sorted_by_key(|frame| frame.time_ps) {
            return Err(self.wrong("in: packets come in the order of their times"));
        }
        Ok(Packets::list(frames, LinkType::Ethernet))
    }

    fn packets_out(&self, got: &[Vec<u8>], said: &mut Vec<String>) -> Result<()> {
        let test = self.test;
        if let Some(wanted) = &test.out {
            said.extend(compare::packets("out", wanted, got, test.in_order));
        }
        if let Some(path) = &test.output {
            said.extend(compare::frames("out", &self.capture(path)?, got, test.in_order));
        }
        Ok(())
    }

    /// Reads a capture's frames.
    fn capture(&self, path: &Path) -> Result<Vec<Vec<u8>>> {
        let mut reader = CaptureReader::open(self.folder.join(path))?;
        let mut frames = Vec::new();
        while let Some(frame) = reader.next_frame()? {
            frames.push(frame.bytes);
        }
        Ok(frames)
    }

    fn host_memory(&self, app: &App, finished: &Finished, said: &mut Vec<String>) -> Result<()> {
        for host in &self.test.host_memory {
            let wanted = host.bytes(self.folder).map_err(|problem| self.wrong(&problem))?;
            let memory = finished.host_memory(app, &host.context)?;
            let from = usize::try_from(host.offset).unwrap_or(usize::MAX);
            let end = from.checked_add(wanted.len());
            let Some(got) = end.and_then(|end| memory.get(from..end)) else {
                let bytes = memory.len();
                return Err(self.wrong(&format!(
                    "host memory of {} has {bytes} bytes; {} from {from} do not lie in it",
                    host.context,
                    wanted.len()
                )));
            };
            let what = format!("host memory of {} from {from}", host.context);
            said.extend(bytes_difference(&what, &wanted, got));
        }
        Ok(())
    }

    fn service(
        &self,
        manifest: Manifest,
        coverage: &mut Coverage,
        watch: &mut dyn Observer,
    ) -> Result<Ran> {
        let test = self.test;
        if let Some(key) = test.of_handlers() {
            return Err(self.wrong(&format!(
                "{key} goes with packet handlers; a nanoservice has \
                                            messages or load"
            )));
        }
        let service = Service::of(manifest, self.options)?;
        let setup = Setup::new(&service, self.options)?;
        let traffic = match (&test.messages, &test.load) {
            (Some(path), _) => Traffic::Script(Script::read(&self.folder.join(path))?),
            (_, Some(spec)) => Traffic::load(spec, None, &setup, true)?,
            _ => Traffic::of_folder(&service)?,
        };
        let mut ears = Kept::new(watch);
        let mut profile = HartProfile::new(&service, &setup);
        let mut checker = test.checks().then(|| nanoservice::checker(&service, &setup));
        let outputs = nanoservice::Outputs::default();
        let options = RunOptions::of(traffic);
        let mut both;
        let listener: &mut dyn Settling = match &mut checker {
            None => &mut profile,
            Some(checker) => {
                both = Both::new(&mut profile, checker);
                &mut both
            }
        };
        let summary =
            nanoservice::run::run(&service, &setup, options, &outputs, &mut ears, listener)?;
        let printed: Vec<String> = ears.console.lines().map(str::to_owned).collect();
        coverage.add(&profile.profile(summary.cycles));
        let mut said = self.troubles(&summary, &printed);
        let rests = nanoservice::rests(&summary.ending);
        said.extend(found(checker.map(|checker| checker.verdict(&service, rests))));
        Ok((said, summary.cycles, summary.ending == Ending::Interrupted))
    }

    fn cluster(&self, file: &Path, watch: &mut dyn Observer) -> Result<Ran> {
        let test = self.test;
        let given = test.of_handlers().or_else(|| {
            let given = [("messages", test.messages.is_some()), ("load", test.load.is_some())];
            given.iter().find(|(_, given)| *given).map(|(key, _)| *key)
        });
        if let Some(key) = given {
            let why = format!(
                "{key} goes with one application; a cluster has summary, printed and options"
            );
            return Err(self.wrong(&why));
        }
        let plan = Plan::load(file, self.options)?;
        let options = cluster::RunOptions::default();
        let summary = ranks::with(|ranks| match test.checks() {
            true => cluster::check(&plan, &options, ranks, watch),
            false => cluster::run(&plan, &options, ranks, watch),
        })?;
        let Some(mut summary) = summary else { return Ok((Vec::new(), 0, false)) };
        let verdict = summary.check.take();
        let mut said = self.troubles(&summary, &[]);
        said.extend(found(verdict));
        Ok((said, summary.cycles, summary.ending == Ending::Interrupted))
    }

    /// Says what went wrong in a run that printed some lines, and what of its summary is otherwise.
    fn troubles<S>(&self, summary: &Summary<S>, printed: &[String]) -> Vec<String>
    where
        Summary<S>: Report,
    {
        let test = self.test;
        let document: Value = summary.to_json();
        let texts = summary.texts();
        let mut said = Vec::new();
        match (summary.has_failures(), test.exit_status == FAILED) {
            (true, false) => said.push(texts[1].clone()),
            (false, true) => said.push("no handler failed, nor the program".to_owned()),
            _ if summary.has_differences() => said.push(texts[1].clone()),
            _ => {}
        }
        let lines: Vec<&str> = printed
            .iter()
            .map(String::as_str)
            .chain(texts.iter().flat_map(|text| text.lines()))
            .collect();
        for (text, wanted) in &test.printed {
            let found = lines.iter().filter(|line| line.contains(text.as_str())).count();
            if found != *wanted {
                said.push(format!("{found} lines with \"{text}\" printed, {wanted} expected"));
            }
        }
        let keys = test.packets.iter().map(|(key, wanted)| (format!("packets.{key}"), wanted));
        let keys = keys.chain(test.summary.iter().map(|(key, wanted)| (key.clone(), wanted)));
        said.extend(keys.filter_map(|(key, wanted)| compare::summary(&key, wanted, &document)));
        said.extend(test.latency_at_most.and_then(|most| compare::latency(most, &document)));
        said
    }

    fn wrong(&self, problem: &str) -> Error {
        Error::Usage(format!("run `{}`: {problem}", self.test.name))
    }
}

/// Says what a checker found, if there was one and it found something.
fn found(verdict: Option<Verdict>) -> Option<String> {
    let found = verdict.filter(|verdict| !verdict.findings.is_empty());
    found.map(|verdict| verdict.to_text())
}

/// Keeps what comes out of a run, and lets somebody else end it.
struct Kept<'a> {
    watch: &'a mut dyn Observer,
    departed: Vec<Vec<u8>>,
    unmatched: Vec<Vec<u8>>,
    lines: Vec<String>,
    console: String,
}

impl<'a> Kept<'a> {
    fn new(watch: &'a mut dyn Observer) -> Self {
        let (departed, unmatched) = (Vec::new(), Vec::new());
        Self { watch, departed, unmatched, lines: Vec::new(), console: String::new() }
    }
}

impl Sink for Kept<'_> {
    fn line(&mut self, _: Time, _: u32, _: u32, text: &str) {
        self.lines.push(text.to_owned());
    }

    fn departed(&mut self, _: Time, frame: &[u8]) {
        self.departed.push(frame.to_owned());
    }

    fn unmatched(&mut self, _: Time, frame: &[u8]) {
        self.unmatched.push(frame.to_owned());
    }

    fn fault(&mut self, _: &Fault) {}
}

impl Observer for Kept<'_> {
    fn goes_on(&mut self, progress: &Progress) -> bool {
        self.watch.goes_on(progress)
    }

    fn console(&mut self, text: &str) {
        self.console.push_str(text);
    }
}
