//! The chain of what happened to a packet, from its arrival to its end: spans that follow each other
//! without a gap, so that their durations add up to its latency.

use pinion_sim::Time;

use super::census::Target;
use super::life::{Life, Task};
use super::witness::{Deed, Others, Witness};
use crate::way::{Part, listed};
use pinion_app::app::App;
use pinion_observe::trace::{INTERFACES, SEND, clock, handler_name};

/// Others that are named at most.
const MOST_NAMED: usize = 3;

/// Names what a packet goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It waits for the inbound engine.
    Arrival,
    /// It waits for the L2 packet buffer's port.
    PortWait,
    /// It is matched and written to the L2 packet buffer.
    Inbound,
    /// Its HER waits for room in the MPQ engine.
    HerWait,
    /// It waits in its message's MPQ, and for the dispatcher.
    Mpq,
    /// It waits for room in a cluster.
    ClusterRoom,
    /// It waits for the cluster's DMA engine.
    DmaWait,
    /// It is copied to L1.
    Copy,
    /// It waits for an HPU.
    HpuWait,
    /// The HPU takes it.
    Take,
    /// Its handler runs.
    Run,
    /// A command waits to leave its cluster.
    CommandOut,
    /// A command waits for its interface.
    Interface,
    /// The interface reads and sends.
    Command,
    /// The frame leaves over the link.
    Link,
    /// Its handler has ended and waits for its commands.
    CommandsWait,
    /// Its completion goes back.
    Completion,
}

impl Step {
    /// Gives the step's name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::PortWait => "port_wait",
            Self::Inbound => "inbound",
            Self::HerWait => "her_wait",
            Self::Mpq => "mpq",
            Self::ClusterRoom => "cluster_room",
            Self::DmaWait => "dma_wait",
            Self::Copy => "copy",
            Self::HpuWait => "hpu_wait",
            Self::Take => "take",
            Self::Run => "run",
            Self::CommandOut => "command_out",
            Self::Interface => "interface",
            Self::Command => "command",
            Self::Link => "link",
            Self::CommandsWait => "commands_wait",
            Self::Completion => "completion",
        }
    }

    /// Says whether what happens is said of the packet, and not of something else that is under way.
    pub(super) const fn is_of_packet(self) -> bool {
        matches!(
            self,
            Self::Arrival
                | Self::PortWait
                | Self::Inbound
                | Self::Mpq
                | Self::ClusterRoom
                | Self::DmaWait
                | Self::Copy
                | Self::HpuWait
                | Self::CommandsWait
        )
    }

    /// Says whether the packet waits for others, and nothing is done for it.
    pub const fn is_wait(self) -> bool {
        matches!(
            self,
            Self::Arrival
                | Self::PortWait
                | Self::HerWait
                | Self::Mpq
                | Self::ClusterRoom
                | Self::DmaWait
                | Self::HpuWait
                | Self::CommandOut
                | Self::Interface
                | Self::CommandsWait
        )
    }
}

/// A part of a packet's way.
#[derive(Clone, Debug)]
pub struct Span {
    /// What it is.
    pub step: Step,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// What happens, in words.
    pub what: String,
    /// Who was in its way, the last one first.
    pub behind: Vec<Blocker>,
    /// Number of those who were, too, and are not named.
    pub more: usize,
}

/// Another packet that was in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// Its number.
    pub packet: u64,
    /// The cluster and HPU on which its handler ran, if that was in the way.
    pub hpu: Option<(u32, u32)>,
}

impl std::fmt::Display for Blocker {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.hpu {
            None => write!(to, "{}", self.packet),
            Some((cluster, hpu)) => write!(to, "{} (HPU {cluster}.{hpu})", self.packet),
        }
    }
}

impl Span {
    /// Gives what it takes, in ps.
    pub fn ps(&self) -> u64 {
        self.to.since(self.from).ps()
    }

    /// Names who was in its way, if anybody was.
    pub fn behind(&self) -> Option<String> {
        let mut names: Vec<String> = self.behind.iter().map(Blocker::to_string).collect();
        if self.more > 0 {
            names.push(format!("{} more", self.more));
        }
        listed("packet", names)
    }

    /// Gives it as a part of any way.
    pub fn part(&self) -> Part {
        Part {
            name: self.step.name(),
            is_wait: self.step.is_wait(),
            from: self.from,
            to: self.to,
            what: self.what.clone(),
            behind: self.behind(),
        }
    }
}

/// Who was in the way: some of them, and the number of the others.
type Behind = (Vec<Blocker>, usize);

/// A packet's way.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// Its parts, one after the other.
    pub spans: Vec<Span>,
}

impl Chain {
    /// Follows the packet that a witness has kept.
    pub fn of(app: &App, witness: &Witness, target: &Target) -> Self {
        let mut builder = Builder {
            app,
            others: &witness.others,
            at: target.arrival,
            end: target.end,
            spans: Vec::new(),
        };
        if let Some(life) = witness.life() {
            builder.follow(life, target.departed);
        }
        builder.step(
            target.end,
            Step::Completion,
            "its completion goes back to the MPQ engine",
            nobody,
        );
        Self { spans: builder.spans }
    }

    /// Gives what all of it takes, in ps.
    pub fn ps(&self) -> u64 {
        self.spans.iter().map(Span::ps).sum()
    }
}

struct Builder<'a> {
    app: &'a App,
    others: &'a Others,
    /// Until when the packet was followed.
    at: Time,
    /// When it is through.
    end: Time,
    spans: Vec<Span>,
}

impl Builder<'_> {
    /// Adds a span until `to`, if there is any time to it.
    fn step(&mut self, to: Time, step: Step, what: &str, behind: impl FnOnce() -> Behind) {
        let to = to.min(self.end);
        if to > self.at {
            let (what, (behind, more)) = (what.to_owned(), behind());
            self.spans.push(Span { step, from: self.at, to, what, behind, more });
            self.at = to;
        }
    }

    fn follow(&mut self, life: &Life, departed: bool) {
        let (from, others) = (self.at, self.others);
        let before =
            || named(others.inbound.iter().filter(|deed| within(deed, from, life.record.inbound)));
        self.step(life.record.inbound, Step::Arrival, "waits for the inbound engine", before);
        let taken = self.at;
        let begun = Time::from_ps(
            life.record.written.ps().saturating_sub(self.writing_ps(life.record.bytes)),
        );
        let before = || named(others.inbound.iter().filter(|deed| within(deed, from, taken)));
        self.step(begun, Step::PortWait, "waits for the L2 packet buffer's port", before);
        let what = "is matched and written to the L2 packet buffer";
        self.step(life.record.written, Step::Inbound, what, nobody);
        let from = self.at;
        let gone = others.dispatched.iter().filter(|deed| within(deed, from, life.record.her));
        let what = "its HER waits for room in the MPQ engine";
        self.step(life.record.her, Step::HerWait, what, || named(gone));
        for task in &life.tasks {
            self.follow_to_hpu(life, task);
            let sent = task.commands.iter().find(|command| command.interface == SEND);
            if let Some(sent) = sent.filter(|_| departed) {
                return self.send(life, task, sent);
            }
            self.run(life, task);
        }
    }

    /// Gives what it takes to match a packet and to write it where nothing is in the way, in ps.
    fn writing_ps(&self, bytes: u32) -> u64 {
        let inbound = &self.app.machine.value.inbound;
        clock(self.app).time(inbound.latency_cycles + inbound.port_cycles(bytes)).ps()
    }

    /// Follows a task until its handler begins.
    fn follow_to_hpu(&mut self, life: &Life, task: &Task) {
        let (from, others, cluster) = (self.at, self.others, task.cluster);
        let own =
            |deed: &&Deed| deed.message == life.record.message && within(deed, from, task.out);
        let before = || {
            let ran = named(others.ran.iter().filter(own));
            let dispatched =
                || named(others.dispatched.iter().filter(|d| within(d, from, task.out)));
            if ran.0.is_empty() { dispatched() } else { ran }
        };
        let what = format!("waits in the MPQ of message {}", life.record.message);
        self.step(task.out, Step::Mpq, &what, before);
        let here = |deed: &&Deed| deed.place == cluster;
        let from = self.at;
        if let Some(accepted) = task.accepted {
            let what = format!("waits for room in cluster {cluster}");
            let ran = others.ran.iter().filter(here);
            let before = || named(ran.filter(|deed| within(deed, from, accepted)));
            self.step(accepted, Step::ClusterRoom, &what, before);
        }
        let from = self.at;
        if let Some((issued, done)) = task.copied {
            let what = format!("waits for cluster {cluster}'s DMA engine");
            let copied = others.copied.iter().filter(here);
            let before = || named(copied.filter(|deed| deed.from <= issued && deed.to >= from));
            self.step(issued, Step::DmaWait, &what, before);
            self.step(done, Step::Copy, "is copied to L1", nobody);
        }
        let from = self.at;
        if let Some((assigned, hpu)) = task.assigned {
            let what = format!("waits for an HPU of cluster {cluster}");
            let ran = others.ran.iter().filter(here);
            let before = || named(ran.filter(|deed| within(deed, from, assigned)));
            self.step(assigned, Step::HpuWait, &what, before);
            if let Some(ran) = &task.handler {
                self.step(ran.start, Step::Take, &format!("HPU {cluster}.{hpu} takes it"), nobody);
            }
        }
    }

    /// Follows a task from its handler's begin to its completion's leaving.
    fn run(&mut self, life: &Life, task: &Task) {
        if let Some(ran) = &task.handler {
            let handler = handler_name(self.app, life.record.context, ran.kind);
            self.step(ran.end, Step::Run, &format!("{handler} runs"), nobody);
        }
        if let Some(pushed) = task.pushed {
            let what = "waits for its commands, and for its completion to leave";
            self.step(pushed, Step::CommandsWait, what, nobody);
        }
    }

    /// Follows the first frame that a handler sends until it has left.
    fn send(&mut self, life: &Life, task: &Task, command: &super::life::Command) {
        let others = self.others;
        let handler = task
            .handler
            .as_ref()
            .map_or("handler", |ran| handler_name(self.app, life.record.context, ran.kind));
        self.step(command.issued, Step::Run, &format!("{handler} runs until it sends"), nobody);
        if let Some(out) = command.out {
            self.step(out, Step::CommandOut, "the command leaves its cluster", nobody);
        }
        let name = INTERFACES[SEND as usize];
        let at_interface = |from: Time, to: Time| {
            let own = others.commands.iter().filter(|deed| deed.place == SEND);
            named(own.filter(|deed| within(deed, from, to)))
        };
        let from = self.at;
        if let Some(taken) = command.taken {
            let what = format!("the command waits for the {name} interface");
            self.step(taken, Step::Interface, &what, || at_interface(from, taken));
        }
        if let Some(done) = command.done {
            let what = "the outbound engine reads the frame";
            self.step(done, Step::Command, what, nobody);
        }
        self.step(self.end, Step::Link, "the frame leaves over the link", nobody);
    }
}

/// Says whether something was over between two moments.
fn within(deed: &Deed, from: Time, to: Time) -> bool {
    deed.to >= from && deed.to <= to
}

fn nobody() -> Behind {
    (Vec::new(), 0)
}

/// Names some of those who were in the way, the last one first.
fn named<'a>(deeds: impl Iterator<Item = &'a Deed>) -> Behind {
    let blocker = |deed: &Deed| {
        let hpu = deed.hpu.map(|hpu| (deed.place, hpu));
        Blocker { packet: deed.packet, hpu }
    };
    let mut all: Vec<Blocker> = deeds.map(blocker).collect();
    all.reverse();
    let mut seen = rustc_hash::FxHashSet::default();
    all.retain(|blocker| seen.insert(blocker.packet));
    let more = all.len().saturating_sub(MOST_NAMED);
    all.truncate(MOST_NAMED);
    (all, more)
}
