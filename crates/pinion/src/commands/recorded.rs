//! Recordings: what `--record` keeps, and a recording in an application's place.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use pinion::Error;
use pinion::error::Result;
use pinion::record::{
    Incoming, Kind, Live, Recorder, Recording, Subject, is_recording, names_program, outcome,
    unfinished,
};
use pinion::report::Report;
use pinion::tape::Tape;
use pinion_sim::config::Loaded;
use serde_json::Value;

use super::look;
use crate::cli::{
    AppArgs, Cli, LiveRun, NicArgs, PACKETS, PROGRAM, PeerKind, RunArgs, SERVICE, UpArgs, Verb,
};

/// Keys of a cluster's file that name files: what they name is in the recording.
const FILES: [&str; 3] = [".app", ".machine", ".pcap"];

/// Keeps a run: in a file, or to be compared with another.
#[derive(Default)]
pub struct Keep {
    target: Option<PathBuf>,
    recorder: Option<Recorder>,
    /// Of a live run: what comes in.
    tape: Option<Tape>,
    /// The run is live, or repeats one that was.
    is_live: bool,
    /// The run is compared with another.
    is_compared: bool,
    /// What came of the run, if it is over and compared.
    pub outcome: Option<Value>,
}

impl Keep {
    /// Keeps a run in the file that `--record` names, if it does.
    pub fn of(args: &RunArgs) -> Self {
        Self { target: args.record.clone(), ..Self::default() }
    }

    /// Keeps a run to be compared with another.
    pub fn to_compare() -> Self {
        Self { is_compared: true, ..Self::default() }
    }

    /// Keeps what a run is going to read.
    pub fn begin(&mut self, args: &RunArgs, subject: Subject<'_>) -> Result<()> {
        let Some(target) = &self.target else { return Ok(()) };
        let named = [("--pcap-in", &args.pcap_in), ("--messages", &args.service.messages)];
        let inputs: Vec<(&str, &Path)> =
            named.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?))).collect();
        let is_cluster = matches!(subject, Subject::Cluster(..));
        let words = words(args, is_cluster);
        let incoming = args.live.as_ref().map_or(Incoming::Nothing, |live| {
            self.is_live = true;
            Incoming::Again(Live { address: live.address.clone() }, &live.folder)
        });
        self.recorder = Some(Recorder::begin(target, subject, words, &inputs, incoming)?);
        Ok(())
    }

    /// Keeps what a live run is; gives what keeps what comes in.
    pub fn begin_live(args: &UpArgs, subject: Subject<'_>) -> Result<(Self, Option<Tape>)> {
        let is_cluster = matches!(subject, Subject::Cluster(..));
        let mut words = of_the_machine(&args.app, is_cluster);
        // Elsewhere what a faulty wire did to frames has been done before they are kept.
        let link = args.link.as_ref().filter(|_| is_cluster);
        words.extend(link.map(|link| format!("--link={link}")));
        Self::begin_tape(args.record.as_deref(), subject, words, args.address.clone())
    }

    /// Keeps what a NIC with host programs is; gives what keeps what comes in.
    pub fn begin_nic(
        args: &NicArgs,
        machine: &Loaded<pinion_spin::Machine>,
    ) -> Result<(Self, Option<Tape>)> {
        let set = args.set.iter().map(|text| format!("--set={text}"));
        let contexts = args.contexts.map(|contexts| format!("--contexts={contexts}"));
        let faithful = args.faithful.then(|| "--faithful".to_owned());
        let words = set.chain(contexts).chain(faithful).collect();
        let subject = Subject::Nic(machine, &args.device);
        Self::begin_tape(args.record.as_deref(), subject, words, args.address.clone())
    }

    fn begin_tape(
        target: Option<&Path>,
        subject: Subject<'_>,
        words: Vec<String>,
        address: Option<String>,
    ) -> Result<(Self, Option<Tape>)> {
        let mut keep = Self::default();
        let Some(target) = target else { return Ok((keep, None)) };
        let incoming = Incoming::Now(Live { address });
        let mut recorder = Recorder::begin(target, subject, words, &[], incoming)?;
        keep.is_live = true;
        keep.tape = recorder.tape()?;
        keep.recorder = Some(recorder);
        let tape = keep.tape.clone();
        Ok((keep, tape))
    }

    /// Keeps what came of it.
    pub fn end(&mut self, summary: &dyn Report) -> Result<()> {
        // Of a large cluster it is hundreds of megabytes.
        if self.recorder.is_none() && !self.is_compared {
            return Ok(());
        }
        let all = summary.to_json();
        let outcome = match self.is_live {
            false => outcome::of_the_run(&all),
            true => outcome::of_a_live_run(&all),
        };
        self.tape.take().map_or(Ok(()), |tape| tape.finish())?;
        self.recorder.take().map_or(Ok(()), |recorder| recorder.finish(&outcome))?;
        self.outcome = self.is_compared.then_some(all);
        Ok(())
    }
}

/// Gives the words of the command line that change the machine, and name no file.
fn of_the_machine(args: &AppArgs, is_cluster: bool) -> Vec<String> {
    let names_file = |text: &str| {
        let key = text.split('=').next().unwrap_or_default();
        names_program(text) || is_cluster && FILES.iter().any(|end| key.ends_with(end))
    };
    let set = args.set.iter().filter(|text| !names_file(text));
    let mut words: Vec<String> = set.map(|text| format!("--set={text}")).collect();
    words.extend(args.faithful.then(|| "--faithful".to_owned()));
    words
}

/// Gives the words of the command line that change what is run, and name no file.
fn words(args: &RunArgs, is_cluster: bool) -> Vec<String> {
    let service = &args.service;
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let peer = service.peer.map(|peer| match peer {
        PeerKind::Ack => "ack".to_owned(),
        PeerKind::None => "none".to_owned(),
    });
    let with_values = [
        ("--generate", args.generate.clone()),
        ("--pace", args.pace.clone()),
        ("--seed", number(args.seed)),
        ("--link", args.link.clone()),
        ("--load", service.load.clone()),
        ("--peer", peer),
        ("--start", number(service.start)),
        ("--cycles", number(service.cycles)),
        ("--patience", number(service.patience)),
    ];
    let mut words = of_the_machine(&args.app, is_cluster);
    let given = with_values.into_iter().filter_map(|(option, value)| Some((option, value?)));
    words.extend(given.map(|(option, value)| format!("{option}={value}")));
    words
}

/// Opens the recording that stands in an application's place, and lets the arguments name what is in it.
pub fn open(verb: &mut Verb) -> Result<Option<Recording>> {
    let (args, must) = match verb {
        Verb::Run(args) => (&mut **args, false),
        Verb::Replay(args) => (&mut args.run, true),
        Verb::Trace(args) => (&mut args.run, false),
        Verb::Why(args) => (&mut args.run, false),
        Verb::Profile(args) => (&mut args.run, false),
        Verb::Debug(args) => (&mut args.run, false),
        _ => return Ok(None),
    };
    open_one(args, must)
}

/// Opens the recording that stands in an application's place of a run; `must`: nothing else may.
pub fn open_one(args: &mut RunArgs, must: bool) -> Result<Option<Recording>> {
    let path = args.app.app.clone();
    if !is_recording(&path) {
        let left = unfinished(&path);
        if !path.exists() && is_recording(&left) {
            return Err(Error::Usage(format!(
                "{} does not exist: its run did not end; what is there is in {}",
                path.display(),
                left.display()
            )));
        }
        if must && path.is_file() {
            // Perhaps it is one, and not for this user.
            File::open(&path).map_err(|error| Error::file("read", &path, error))?;
        }
        let why = if path.exists() { "is no recording" } else { "does not exist" };
        return match must {
            false => Ok(None),
            true => Err(Error::Usage(format!(
                "{} {why}; `pinion run APP --record FILE` makes one",
                path.display()
            ))),
        };
    }
    let with = "with an application; a recording has its program and its packets";
    for list in [&PROGRAM[..], &PACKETS, &SERVICE] {
        look::refuse(args, list, with)?;
    }
    let recording = Recording::open(&path)?;
    args.recording = Some(path);
    match recording.head().kind {
        Kind::Nic if must => {}
        Kind::Nic => {
            return Err(Error::Usage(format!(
                "{} is the recording of a NIC with host programs, which `pinion replay` repeats; its \
                 programs came and went, so that there is no application to look at",
                args.app.app.display()
            )));
        }
        _ => place(args, &recording)?,
    }
    Ok(Some(recording))
}

/// Lets arguments name what is in a recording.
fn place(args: &mut RunArgs, recording: &Recording) -> Result<()> {
    let app = recording.app().display().to_string();
    let words = ["pinion", "run", &app].map(str::to_owned);
    let words = words.into_iter().chain(recording.head().arguments.iter().cloned());
    let mut recorded = match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Verb::Run(recorded)) => recorded,
        Ok(_) => return Err(foreign("they are another verb's")),
        Err(error) => return Err(foreign(error.to_string().lines().next().unwrap_or_default())),
    };
    args.app.app = recording.app();
    args.live = recording.head().live.as_ref().map(|live| {
        let folder = recording.folder().to_owned();
        LiveRun { folder, address: live.address.clone() }
    });
    let own = &recorded.app;
    args.app.set = own.set.iter().chain(&args.app.set).cloned().collect();
    args.app.faithful |= own.faithful;
    // It may be anybody's.
    args.app.untrusted = true;
    recorded.pcap_in = recording.file("--pcap-in");
    recorded.service.messages = recording.file("--messages");
    recorded.live.clone_from(&args.live);
    share_packets(&recorded, args);
    Ok(())
}

/// Lets a run have another's packets, which is of a recording.
pub fn share_packets(from: &RunArgs, to: &mut RunArgs) {
    to.pcap_in.clone_from(&from.pcap_in);
    (to.generate, to.pace) = (from.generate.clone(), from.pace.clone());
    (to.seed, to.link) = (from.seed, from.link.clone());
    to.service = from.service.clone();
    to.live.clone_from(&from.live);
}

/// Gives the options of a NIC with host programs that was recorded.
pub fn of_nic(recording: &Recording) -> Result<NicArgs> {
    let head = recording.head();
    let machine = recording.machine().display().to_string();
    let words = ["pinion", "nic", "--machine", &machine, "--device", &head.name].map(str::to_owned);
    match Cli::try_parse_from(words.into_iter().chain(head.arguments.iter().cloned())) {
        Ok(Cli { command: Verb::Nic(args), .. }) if args.command.is_none() => Ok(*args),
        Ok(_) => Err(foreign("they are another verb's")),
        Err(error) => Err(foreign(error.to_string().lines().next().unwrap_or_default())),
    }
}

fn foreign(why: &str) -> Error {
    Error::Usage(format!("the recording's arguments are none of this pinion's: {why}"))
}
