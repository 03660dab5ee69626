//! What is asked of a run. In: Python's keywords. Out: what does not go together, said; the command's words
//! for the same.

use std::path::PathBuf;

use pinion_app::Error;

use pinion_spin::EngineCore;

use crate::again;
use crate::app::{App, Kind};
use crate::packets::{Changes, Source};

/// What is asked of a run, beside application, machine and packets.
#[derive(Default)]
pub struct Asked {
    /// What changes packets on their way.
    pub changes: Changes,
    /// The latency of a nanoservice's link.
    pub link_cycles: Option<u64>,
    /// Whether a nanoservice's other end acknowledges.
    pub peer: Option<bool>,
    /// The cycle in which its requests begin.
    pub start: Option<u64>,
    /// The cycles after which the run ends.
    pub cycles: Option<u64>,
    /// The cycles without a message after which it ends.
    pub patience: Option<u64>,
    /// Worker threads of the native engine.
    pub workers: Option<u32>,
    /// Whether the native engine runs the handlers.
    pub is_native: bool,
    /// How this computer executes what simulated HPUs do.
    pub engine_core: Option<EngineCore>,
    /// Whether every access of memory is checked.
    pub checks: bool,
    /// Whether handlers are told of one by one.
    pub handlers: bool,
    /// Whether messages are told of one by one.
    pub messages: bool,
    /// Whether it is told what units held over time.
    pub queues: bool,
    /// The folder that tables go to instead of being kept.
    pub parquet: Option<PathBuf>,
    /// Contexts whose host memory is wanted.
    pub host_memory: Vec<String>,
    /// Threads that run a cluster's nodes.
    pub threads: Option<u16>,
}

fn core_name(engine_core: EngineCore) -> String {
    match engine_core {
        EngineCore::Translated => "translated".to_owned(),
        EngineCore::Interpreter => "interpreter".to_owned(),
    }
}

impl Asked {
    /// Says the same as the command does.
    pub fn words(&self) -> Vec<String> {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let Changes { pace, seed, link } = &self.changes;
        let peer = self.peer.map(|acks| if acks { "ack" } else { "none" }.to_owned());
        let pairs = [
            ("--engine", self.is_native.then(|| "native".to_owned())),
            ("--engine-core", self.engine_core.map(core_name)),
            ("--workers", number(self.workers.map(u64::from))),
            ("--pace", pace.clone()),
            ("--seed", number(*seed)),
            ("--link", link.clone().or(number(self.link_cycles))),
            ("--peer", peer),
            ("--start", number(self.start)),
            ("--cycles", number(self.cycles)),
            ("--patience", number(self.patience)),
            ("--threads", number(self.threads.map(u64::from))),
        ];
        let given =
            pairs.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?]));
        given.flatten().chain(self.checks.then(|| "--check".to_owned())).collect()
    }

    /// Names what no option of the command asks for, as Python has it.
    pub fn python_alone(&self) -> Vec<String> {
        let truths =
            [("handlers", self.handlers), ("messages", self.messages), ("queues", self.queues)];
        let folder = self.parquet.as_ref();
        let asked = truths.into_iter().filter(|(_, is_asked)| *is_asked);
        let asked = asked.map(|(name, _)| format!("{name}=True"));
        asked
            .chain(
                folder.map(|folder| {
                    format!("parquet={}", again::text(&folder.display().to_string()))
                }),
            )
            .collect()
    }

    /// Refuses what does not go with what is run.
    pub fn check(&self, app: &App, source: &Source) -> pinion_app::Result<()> {
        const HANDLERS: &[Kind] = &[Kind::Handlers];
        const ONE: &[Kind] = &[Kind::Handlers, Kind::Nanoservice];
        const NANO: &[Kind] = &[Kind::Nanoservice];
        const NODES: &[Kind] = &[Kind::Nanoservice, Kind::Cluster];
        let comes_in = !matches!(source, Source::Standard);
        let given = [
            ("packets", comes_in, ONE),
            ("pace", self.changes.pace.is_some(), ONE),
            ("link", self.changes.link.is_some(), &[Kind::Handlers, Kind::Cluster]),
            ("link_cycles", self.link_cycles.is_some(), NANO),
            ("engine", self.is_native, HANDLERS),
            ("engine_core", self.engine_core.is_some(), &[Kind::Handlers, Kind::Cluster]),
            ("workers", self.workers.is_some(), HANDLERS),
            ("handlers", self.handlers, HANDLERS),
            ("host_memory", !self.host_memory.is_empty(), HANDLERS),
            ("peer", self.peer.is_some(), NANO),
            ("start", self.start.is_some(), NANO),
            ("cycles", self.cycles.is_some(), NODES),
            ("patience", self.patience.is_some(), NODES),
            ("threads", self.threads.is_some(), &[Kind::Cluster]),
        ];
        for (name, is_given, kinds) in given {
            if is_given && !kinds.contains(&app.kind) {
                let with = kinds.iter().map(|kind| kind.words()).collect::<Vec<_>>().join(" and ");
                let (is, app) = (app.kind.name(), &app.name);
                return Err(Error::Usage(format!("{name}= goes with {with}; {app}: {is}")));
            }
        }
        let refused = [
            (
                self.changes.seed.is_some() && app.kind != Kind::Cluster && !source.is_seeded(),
                "seed= goes with a Generator: nothing else that comes in is made by chance",
            ),
            (
                self.changes.pace.is_some() && app.kind == Kind::Nanoservice && !source.is_paced(),
                "pace= goes with frames; a Load says itself when requests come (gap=)",
            ),
            (
                self.workers.is_some() && !self.is_native,
                "workers= goes with engine=\"native\"; the simulated machine has HPUs (cluster.count)",
            ),
            (
                self.engine_core.is_some() && (self.is_native || self.checks),
                "engine_core= says how simulated HPUs are executed: not with engine=\"native\", nor with \
                 check=, which looks at every instruction",
            ),
            (self.workers == Some(0), "workers=0: the native engine has at least one"),
            (
                self.is_native && self.checks,
                "check= looks at the accesses of the simulated HPUs, not at those of engine=\"native\"",
            ),
            (
                self.is_native && self.changes.pace.is_some(),
                "pace=: the native engine takes packets as fast as it can",
            ),
            (
                self.queues && (self.checks || self.is_native),
                "queues= follows the units of the simulated machine, in a run of its own: not with check= or \
                 engine=\"native\"",
            ),
            (
                self.parquet.is_some()
                    && app.kind == Kind::Cluster
                    && !(self.messages || self.queues),
                "parquet= of a cluster is for messages=True or queues=True: it has no table of packets",
            ),
            (
                self.messages && self.checks && app.kind == Kind::Cluster,
                "messages= of a cluster is a run of its own: not with check=",
            ),
            (self.link_cycles == Some(0), "link_cycles=0: a link has at least a cycle of latency"),
        ];
        match refused.into_iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, why)) => Err(Error::Usage(why.to_owned())),
            None => Ok(()),
        }
    }
}
