//! Hears a run and keeps what concerns one packet: its own life, and what the units it went through did
//! at that time.

use rustc_hash::FxHashMap as HashMap;

use pinion_sim::{Clock, Time};
use pinion_spin::{
    DropReason, Event, HandlerRecord, Hears, Interest, Spin, UnitEvent, UnitEventKind,
};

use super::census::Found;
use super::life::{Command, Life, Task};
use super::subject::Subject;
use pinion_observe::trace::{Packets, Tracer};

/// Something that another packet did.
#[derive(Clone, Copy, Debug)]
pub struct Deed {
    /// Who.
    pub packet: u64,
    /// Its message id.
    pub message: u32,
    /// Where: a cluster, or a command interface.
    pub place: u32,
    /// HPU, of a handler that ran.
    pub hpu: Option<u32>,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
}

/// What others did while a packet was under way, in order of the time they were through.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// Packets that the inbound engine took.
    pub inbound: Vec<Deed>,
    /// Tasks that went to clusters.
    pub dispatched: Vec<Deed>,
    /// Packets that were copied to L1.
    pub copied: Vec<Deed>,
    /// Handlers that ran.
    pub ran: Vec<Deed>,
    /// Commands that their interfaces were done with.
    pub commands: Vec<Deed>,
}

/// Hears a run until a packet is through.
pub struct Witness {
    clock: Clock,
    /// The packet that is meant, if it was not dropped.
    packet: Option<u64>,
    /// From when on others count.
    from: Time,
    to: Time,
    inside: Packets,
    /// Packets that are inside or were not gone when the one that is meant came.
    pub(super) lives: HashMap<u64, Life>,
    /// What each HPU works at: its packet.
    running: HashMap<(u32, u32), u64>,
    /// Whose command an HPU's n-th is.
    commands: HashMap<(u32, u32, u32), u64>,
    pub(super) others: Others,
}

impl Witness {
    /// Makes a witness for the packet that was found.
    pub fn new<'s>(subject: impl Into<Subject<'s>>, found: &Found) -> Self {
        let subject = subject.into();
        match found {
            Found::Done(target) => {
                let to = target.end.max(target.completion);
                Self { to, ..Self::of(subject, Some(target.packet), target.arrival) }
            }
            Found::Dropped(dropped) => {
                Self { to: dropped.time, ..Self::of(subject, None, dropped.time) }
            }
        }
    }

    /// Makes a witness for a packet, which others are in the way of from a moment on.
    pub fn of_packet<'s>(subject: impl Into<Subject<'s>>, packet: u64, from: Time) -> Self {
        Self::of(subject.into(), Some(packet), from)
    }

    fn of(subject: Subject<'_>, packet: Option<u64>, from: Time) -> Self {
        Self {
            clock: subject.clock(),
            packet,
            from,
            to: Time::MAX,
            inside: Packets::new(subject.machine),
            lives: HashMap::default(),
            running: HashMap::default(),
            commands: HashMap::default(),
            others: Others::default(),
        }
    }

    /// Gives when the packet that is meant had arrived.
    pub fn arrival(&self) -> Option<Time> {
        self.life().map(|life| life.record.arrival)
    }

    /// Gives the handlers of the packet that is meant, one after the other.
    pub fn handlers(&self) -> impl Iterator<Item = &HandlerRecord> {
        self.life().into_iter().flat_map(Life::handlers)
    }

    /// Gives the life of the packet that is meant.
    pub(super) fn life(&self) -> Option<&Life> {
        self.lives.get(&self.packet?)
    }

    /// Tells what a packet did between two moments, if that counts and it is not the one that is meant.
    fn deed(
        &self,
        packet: u64,
        (place, hpu): (u32, Option<u32>),
        (from, to): (Time, Time),
    ) -> Option<Deed> {
        let message = self.lives.get(&packet).map_or(0, |life| life.record.message);
        let deed = Deed { packet, message, place, hpu, from, to };
        (to >= self.from && Some(packet) != self.packet).then_some(deed)
    }

    fn hear_unit(&mut self, event: &UnitEvent) {
        let UnitEvent { kind, cluster, hpu, id, address, .. } = *event;
        let time = self.clock.time(event.cycle);
        match kind {
            UnitEventKind::HerIn => {
                // Those before it were dropped.
                let mut gone = self.inside.take_up_to(cluster, address);
                gone.pop();
                gone.iter().for_each(|inside| self.forget(inside.packet));
            }
            UnitEventKind::TaskOut => {
                let Some(inside) = self.inside.at(cluster, address) else { return };
                let deed = self.deed(inside.packet, (cluster, None), (time, time));
                self.others.dispatched.extend(deed);
                if let Some(life) = self.lives.get_mut(&inside.packet) {
                    life.tasks.push(Task { cluster, out: time, ..Task::default() });
                }
            }
            UnitEventKind::ClusterTask => {
                self.task_at(cluster, address, |task| task.accepted = Some(time));
            }
            UnitEventKind::HpuTask => {
                self.task_at(cluster, address, |task| task.assigned = Some((time, hpu)));
            }
            UnitEventKind::HpuFeedback => {
                self.task_at(cluster, address, |task| task.pushed = Some(time));
            }
            UnitEventKind::CommandIssue => {
                let Some(&packet) = self.running.get(&(cluster, hpu)) else { return };
                self.commands.insert((cluster, hpu, id), packet);
                let interface = address;
                let command =
                    Command { id, interface, issued: time, out: None, taken: None, done: None };
                if let Some(task) = self.task(packet) {
                    task.commands.push(command);
                }
            }
            UnitEventKind::CommandOut => {
                self.command(cluster, hpu, id, |command| command.out = Some(time));
            }
            UnitEventKind::InterfaceCommand => {
                self.command(cluster, hpu, id, |command| command.taken = Some(time));
            }
            UnitEventKind::InterfaceResponse => {
                self.command(cluster, hpu, id, |command| command.done = Some(time));
                let Some(&packet) = self.commands.get(&(cluster, hpu, id)) else { return };
                let deed = self.deed(packet, (address, None), (time, time));
                self.others.commands.extend(deed);
            }
            _ => {}
        }
    }

    /// Forgets a packet that was dropped.
    fn forget(&mut self, packet: u64) {
        self.inside.remove(packet);
        self.lives.remove(&packet);
    }

    /// Gives the task that a packet is at.
    fn task(&mut self, packet: u64) -> Option<&mut Task> {
        self.lives.get_mut(&packet)?.tasks.last_mut()
    }

    /// Changes the task that the packet at an address is at.
    fn task_at(&mut self, cluster: u32, address: u32, change: impl FnOnce(&mut Task)) {
        let packet = self.inside.at(cluster, address).map(|inside| inside.packet);
        if let Some(task) = packet.and_then(|packet| self.task(packet)) {
            change(task);
        }
    }

    fn command(&mut self, cluster: u32, hpu: u32, id: u32, change: impl FnOnce(&mut Command)) {
        let Some(&packet) = self.commands.get(&(cluster, hpu, id)) else { return };
        let Some(task) = self.task(packet) else { return };
        let mut commands = task.commands.iter_mut().rev();
        if let Some(command) = commands.find(|command| command.id == id) {
            change(command);
        }
    }
}

impl Hears<Spin> for Witness {
    fn interest(&self) -> Interest {
        Interest { handlers: true, units: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match *event {
            Event::PacketTaken { record, address } => {
                self.inside.insert(record, address);
                let life = Life { record: record.clone(), is_done: false, tasks: Vec::new() };
                self.lives.insert(record.packet, life);
                let deed = self.deed(record.packet, (0, None), (record.inbound, record.inbound));
                self.others.inbound.extend(deed);
            }
            Event::HandlerStarted { cluster, hpu, task, .. } => {
                self.running.insert((cluster, hpu), task.packet);
            }
            Event::HandlerDone(record) => {
                let (place, hpu) = (record.cluster, Some(record.hpu));
                self.running.remove(&(record.cluster, record.hpu));
                let deed = self.deed(record.packet, (place, hpu), (record.start, record.end));
                self.others.ran.extend(deed);
                if let Some(task) = self.task(record.packet) {
                    task.handler = Some(record.clone());
                }
            }
            Event::Transfer(transfer) if transfer.hpu.is_none() => {
                let Some(inside) = self.inside.at(transfer.cluster, transfer.from) else { return };
                let copied = (transfer.issued, transfer.done);
                let deed = self.deed(inside.packet, (transfer.cluster, None), copied);
                self.others.copied.extend(deed);
                if let Some(task) = self.task(inside.packet) {
                    task.copied = Some(copied);
                }
            }
            Event::PacketDone(record) => {
                self.inside.remove(record.packet);
                if record.completion < self.from {
                    self.lives.remove(&record.packet);
                } else if let Some(life) = self.lives.get_mut(&record.packet) {
                    (life.record, life.is_done) = (record.clone(), true);
                }
            }
            Event::Dropped { reason: DropReason::NoQueue, .. } => {
                if let Some(inside) = self.inside.take_next() {
                    self.forget(inside.packet);
                }
            }
            Event::Unit(ref event) => self.hear_unit(event),
            _ => {}
        }
    }
}

impl Tracer for Witness {
    fn end(&self) -> Time {
        self.to
    }
}
