//! The chain of what happened to a packet, from its arrival to its end.

use pinion_sim::Time;

use super::life::{Command, Life, Task};
use super::subject::Subject;
use super::witness::{Deed, Others, Witness};
use crate::locks::{Holder, LOCK_WAIT, LockWait};
use crate::way::{Behind, Blocker, Builder, Seat, Step, Who};
use pinion_observe::trace::{INTERFACES, SEND};

const ARRIVAL: Step = Step::wait("arrival");
const PORT_WAIT: Step = Step::wait("port_wait");
const INBOUND: Step = Step::own("inbound");
const HER_WAIT: Step = Step::other_waits("her_wait");
const MPQ: Step = Step::wait("mpq");
const CLUSTER_ROOM: Step = Step::wait("cluster_room");
const DMA_WAIT: Step = Step::wait("dma_wait");
const COPY: Step = Step::own("copy");
const HPU_WAIT: Step = Step::wait("hpu_wait");
const TAKE: Step = Step::other("take");
/// Its handler runs.
pub const RUN: Step = Step::other("run");
const COMMAND_OUT: Step = Step::other_waits("command_out");
const INTERFACE: Step = Step::other_waits("interface");
const COMMAND: Step = Step::other("command");
const LINK: Step = Step::other("link");
const COMMANDS_WAIT: Step = Step::wait("commands_wait");
const COMPLETION: Step = Step::other("completion");

/// Names the packet whose handler had a lock.
fn named_holder(holder: &Holder) -> Option<Blocker> {
    let (cluster, hpu) = holder.seat;
    let who = Who::Packet(holder.packet?);
    Some(Blocker { who, at: Some(Seat::Hpu(cluster, hpu)), held_ps: None })
}

/// Follows the packet that a witness has kept until its end: the n-th packet that its handlers sent has left
/// (`sent`), or its completion is back. `locks` are what its handlers waited for meanwhile.
pub fn follow<'s>(
    builder: &mut Builder,
    subject: impl Into<Subject<'s>>,
    witness: &Witness,
    locks: &[LockWait],
    (sent, end): (Option<usize>, Time),
) {
    let subject = subject.into();
    let mut follower = Follower { subject, others: &witness.others, locks, builder, end };
    if let Some(life) = witness.life() {
        follower.follow(life, sent);
    }
    let what = "its completion goes back to the MPQ engine";
    follower.step(end, COMPLETION, what, Behind::nobody);
}

struct Follower<'a> {
    subject: Subject<'a>,
    others: &'a Others,
    locks: &'a [LockWait],
    builder: &'a mut Builder,
    /// When it is through.
    end: Time,
}

impl Follower<'_> {
    fn step(&mut self, to: Time, step: Step, what: &str, behind: impl FnOnce() -> Behind) {
        self.builder.step(to.min(self.end), step, what, behind);
    }

    fn follow(&mut self, life: &Life, sent: Option<usize>) {
        let (from, others) = (self.builder.at(), self.others);
        let before =
            || named(others.inbound.iter().filter(|deed| within(deed, from, life.record.inbound)));
        self.step(life.record.inbound, ARRIVAL, "waits for the inbound engine", before);
        let taken = self.builder.at();
        let begun = Time::from_ps(
            life.record.written.ps().saturating_sub(self.writing_ps(life.record.bytes)),
        );
        let before = || named(others.inbound.iter().filter(|deed| within(deed, from, taken)));
        self.step(begun, PORT_WAIT, "waits for the L2 packet buffer's port", before);
        let what = "is matched and written to the L2 packet buffer";
        self.step(life.record.written, INBOUND, what, Behind::nobody);
        let from = self.builder.at();
        let gone = others.dispatched.iter().filter(|deed| within(deed, from, life.record.her));
        let what = "its HER waits for room in the MPQ engine";
        self.step(life.record.her, HER_WAIT, what, || named(gone));
        let mut before = 0;
        for task in &life.tasks {
            self.follow_to_hpu(life, task);
            let sends = || task.commands.iter().filter(|command| command.interface == SEND);
            if let Some(command) = sent.and_then(|nth| sends().nth(nth.checked_sub(before)?)) {
                return self.send(life, task, command);
            }
            before += sends().count();
            self.run(life, task);
        }
    }

    /// Gives what it takes to match a packet and to write it where nothing is in the way, in ps.
    fn writing_ps(&self, bytes: u32) -> u64 {
        let inbound = &self.subject.machine.inbound;
        self.subject.clock().time(inbound.latency_cycles + inbound.port_cycles(bytes)).ps()
    }

    /// Follows a task until its handler begins.
    fn follow_to_hpu(&mut self, life: &Life, task: &Task) {
        let (from, others, cluster) = (self.builder.at(), self.others, task.cluster);
        let own =
            |deed: &&Deed| deed.message == life.record.message && within(deed, from, task.out);
        let before = || {
            let ran = named(others.ran.iter().filter(own));
            let dispatched =
                || named(others.dispatched.iter().filter(|d| within(d, from, task.out)));
            if ran.is_empty() { dispatched() } else { ran }
        };
        let what = format!("waits in the MPQ of message {}", life.record.message);
        self.step(task.out, MPQ, &what, before);
        let here = |deed: &&Deed| deed.place == cluster;
        let from = self.builder.at();
        if let Some(accepted) = task.accepted {
            let what = format!("waits for room in cluster {cluster}");
            let ran = others.ran.iter().filter(here);
            let before = || named(ran.filter(|deed| within(deed, from, accepted)));
            self.step(accepted, CLUSTER_ROOM, &what, before);
        }
        let from = self.builder.at();
        if let Some((issued, done)) = task.copied {
            let what = format!("waits for cluster {cluster}'s DMA engine");
            let copied = others.copied.iter().filter(here);
            let before = || named(copied.filter(|deed| deed.from <= issued && deed.to >= from));
            self.step(issued, DMA_WAIT, &what, before);
            self.step(done, COPY, "is copied to L1", Behind::nobody);
        }
        let from = self.builder.at();
        if let Some((assigned, hpu)) = task.assigned {
            let what = format!("waits for an HPU of cluster {cluster}");
            let ran = others.ran.iter().filter(here);
            let before = || named(ran.filter(|deed| within(deed, from, assigned)));
            self.step(assigned, HPU_WAIT, &what, before);
            if let Some(ran) = &task.handler {
                self.step(
                    ran.start,
                    TAKE,
                    &format!("HPU {cluster}.{hpu} takes it"),
                    Behind::nobody,
                );
            }
        }
    }

    /// Follows a task from its handler's begin to its completion's leaving.
    fn run(&mut self, life: &Life, task: &Task) {
        if let Some(ran) = &task.handler {
            let handler = self.subject.handler_name(life.record.context, ran.kind);
            self.run_until(ran.end, &format!("{handler} runs"));
        }
        if let Some(pushed) = task.pushed {
            let what = "waits for its commands, and for its completion to leave";
            self.step(pushed, COMMANDS_WAIT, what, Behind::nobody);
        }
    }

    /// Follows a handler until a moment: it runs, and waits for locks that others have.
    fn run_until(&mut self, to: Time, what: &str) {
        let (from, locks) = (self.builder.at(), self.locks);
        for lock in locks.iter().filter(|lock| lock.from >= from && lock.to <= to) {
            self.step(lock.from, RUN, what, Behind::nobody);
            self.step(lock.to, LOCK_WAIT, &lock.words(), || lock.behind(named_holder));
        }
        self.step(to, RUN, what, Behind::nobody);
    }

    /// Follows the first frame that a handler sends until it has left.
    fn send(&mut self, life: &Life, task: &Task, command: &Command) {
        let others = self.others;
        let handler = task
            .handler
            .as_ref()
            .map_or("handler", |ran| self.subject.handler_name(life.record.context, ran.kind));
        self.run_until(command.issued, &format!("{handler} runs until it sends"));
        if let Some(out) = command.out {
            self.step(out, COMMAND_OUT, "the command leaves its cluster", Behind::nobody);
        }
        let name = INTERFACES[SEND as usize];
        let at_interface = |from: Time, to: Time| {
            let own = others.commands.iter().filter(|deed| deed.place == SEND);
            named(own.filter(|deed| within(deed, from, to)))
        };
        let from = self.builder.at();
        if let Some(taken) = command.taken {
            let what = format!("the command waits for the {name} interface");
            self.step(taken, INTERFACE, &what, || at_interface(from, taken));
        }
        if let Some(done) = command.done {
            let what = "the outbound engine reads the frame";
            self.step(done, COMMAND, what, Behind::nobody);
        }
        self.step(self.end, LINK, "the frame leaves over the link", Behind::nobody);
    }
}

/// Says whether something was over between two moments.
fn within(deed: &Deed, from: Time, to: Time) -> bool {
    deed.to >= from && deed.to <= to
}

/// Names some of those who were in the way, the last one first.
fn named<'a>(deeds: impl DoubleEndedIterator<Item = &'a Deed>) -> Behind {
    Behind::of(deeds.rev().map(|deed| Blocker {
        who: Who::Packet(deed.packet),
        at: deed.hpu.map(|hpu| Seat::Hpu(deed.place, hpu)),
        held_ps: None,
    }))
}
