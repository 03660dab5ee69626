//! What of a run is traced: names and numbers come in, are checked against the application, and
//! decide for each instruction and event.

use pinion_sim::{Clock, Time};
use pinion_spin::{ContextId, HandlerKind, RunningTask};

use super::When;
use pinion_app::app::App;
use pinion_app::error::{Error, Result};

/// Chooses what is traced, as a user writes it; nothing chosen means all.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Names HPUs: `1.3` is HPU 3 of cluster 1, `1` every HPU of cluster 1.
    pub hpus: Vec<String>,
    /// Names handlers by their functions.
    pub handlers: Vec<String>,
    /// Names contexts.
    pub contexts: Vec<String>,
    /// Number of packets from 0.
    pub packets: Vec<u64>,
    /// The first cycle or time.
    pub from: Option<When>,
    /// The cycle or time behind the last one.
    pub to: Option<When>,
}

/// Decides what is traced.
#[derive(Debug, Clone)]
pub struct Filter {
    hpus: Vec<(u32, u32)>,
    tasks: Option<Vec<(ContextId, HandlerKind)>>,
    packets: Vec<u64>,
    /// When the trace begins.
    pub from: Time,
    /// When it ends: nothing then is traced any more.
    pub to: Time,
}

impl Filter {
    /// Checks a choice against an application and its machine.
    ///
    /// # Errors
    /// When there is no such HPU, handler or context, or no time between `from` and `to`.
    pub fn new(app: &App, choice: &Choice) -> Result<Self> {
        let clock = clock(app);
        let from = choice.from.map_or(Time::ZERO, |when| when.time(clock));
        let to = choice.to.map_or(Time::MAX, |when| when.time(clock));
        if to <= from {
            let why = "--to is behind the last cycle traced: it must be later than --from";
            return Err(Error::Usage(why.to_owned()));
        }
        let mut hpus = Vec::new();
        for text in &choice.hpus {
            hpus.extend(find_hpus(app, text)?);
        }
        let (packets, tasks) = (choice.packets.clone(), tasks(app, choice)?);
        Ok(Self { hpus, tasks, packets, from, to })
    }

    /// Says whether a moment is traced.
    pub fn has_time(&self, time: Time) -> bool {
        time >= self.from && time < self.to
    }

    /// Says whether an HPU is traced.
    pub fn has_hpu(&self, cluster: u32, hpu: u32) -> bool {
        self.hpus.is_empty() || self.hpus.contains(&(cluster, hpu))
    }

    /// Says whether a packet of a context is traced, whichever handler it is for.
    pub fn has_packet(&self, context: ContextId, packet: u64) -> bool {
        let own = |tasks: &Vec<(ContextId, HandlerKind)>| tasks.iter().any(|(c, _)| *c == context);
        (self.packets.is_empty() || self.packets.contains(&packet))
            && self.tasks.as_ref().is_none_or(own)
    }

    /// Says whether what an HPU does for a task, or between tasks, is traced.
    pub fn has_task(&self, task: Option<&RunningTask>) -> bool {
        let Some(task) = task else { return self.tasks.is_none() && self.packets.is_empty() };
        (self.packets.is_empty() || self.packets.contains(&task.packet))
            && self.tasks.as_ref().is_none_or(|tasks| tasks.contains(&(task.context, task.kind)))
    }
}

/// Gives the clock of an application's machine.
pub fn clock(app: &App) -> Clock {
    Clock::from_hz(app.machine.value.clock.frequency_mhz * 1_000_000)
}

fn find_hpus(app: &App, text: &str) -> Result<Vec<(u32, u32)>> {
    let machine = &app.machine.value.cluster;
    let clusters = machine.count * app.machine.value.units.count;
    let (cluster, hpu) = match text.split_once('.') {
        Some((cluster, hpu)) => (cluster, Some(hpu)),
        None => (text, None),
    };
    let below = |text: &str, limit: u32| text.parse().ok().filter(|number| *number < limit);
    let found = below(cluster, clusters).and_then(|cluster| match hpu {
        Some(hpu) => below(hpu, machine.cores).map(|hpu| vec![(cluster, hpu)]),
        None => Some((0..machine.cores).map(|hpu| (cluster, hpu)).collect()),
    });
    found.ok_or_else(|| {
        Error::Usage(format!(
            "--hpu {text}: write CLUSTER.HPU, from 0.0 to {}.{}, or CLUSTER for all of its HPUs",
            clusters - 1,
            machine.cores - 1
        ))
    })
}

/// Lists the handlers of an application: context, kind, function.
fn handlers(app: &App) -> Vec<(ContextId, HandlerKind, &str)> {
    let mut all = Vec::new();
    for (index, context) in app.contexts.iter().enumerate() {
        for kind in [HandlerKind::Header, HandlerKind::Payload, HandlerKind::Completion] {
            let named = context.handler(kind).map(|found| found.name.as_str());
            all.extend(named.map(|name| (ContextId(index as u32), kind, name)));
        }
    }
    all
}

/// Names a handler.
pub fn handler_name(app: &App, context: ContextId, kind: HandlerKind) -> &str {
    let found = app.contexts.get(context.0 as usize).and_then(|context| context.handler(kind));
    found.map_or("handler", |handler| handler.name.as_str())
}

/// Lists the handlers that are chosen by name or by context; `None`: all are.
fn tasks(app: &App, choice: &Choice) -> Result<Option<Vec<(ContextId, HandlerKind)>>> {
    if choice.handlers.is_empty() && choice.contexts.is_empty() {
        return Ok(None);
    }
    let all = handlers(app);
    let unknown = |option: &str, name: &str, what: &str, known: Vec<&str>| {
        Err(Error::Usage(format!(
            "{option} {name}: there is no such {what}, but {}",
            known.join(", ")
        )))
    };
    if let Some(name) = choice.handlers.iter().find(|name| all.iter().all(|(_, _, n)| n != *name)) {
        return unknown("--handler", name, "handler", all.iter().map(|(_, _, n)| *n).collect());
    }
    let contexts: Vec<&str> = app.contexts.iter().map(|context| context.name.as_str()).collect();
    if let Some(name) = choice.contexts.iter().find(|name| !contexts.contains(&name.as_str())) {
        return unknown("--context", name, "context", contexts);
    }
    let is_chosen =
        |chosen: &[String], name: &str| chosen.is_empty() || chosen.iter().any(|c| c == name);
    let chosen = all.iter().filter(|(context, _, handler)| {
        is_chosen(&choice.handlers, handler)
            && is_chosen(&choice.contexts, contexts[context.0 as usize])
    });
    Ok(Some(chosen.map(|(context, kind, _)| (*context, *kind)).collect()))
}
