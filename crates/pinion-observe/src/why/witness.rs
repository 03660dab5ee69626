//! Hears a run and keeps what concerns one packet: its own life, and what the units it went through did
//! at that time.

use rustc_hash::FxHashMap as HashMap;

use pinion_sim::{Clock, Time};
use pinion_spin::{Event, Hears, Interest, Spin, UnitEvent, UnitEventKind};

use super::census::Found;
use super::life::{Command, Life, Ran, Task};
use crate::trace::{Packets, Tracer, clock};
use pinion_app::app::App;
use pinion_app::error::Result;

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
    /// Commands that their interfaces took, until those were done.
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
    pub fn new(app: &App, found: &Found) -> Self {
        let (packet, from, to) = match found {
            Found::Done(target) => {
                (Some(target.packet), target.arrival, target.end.max(target.completion))
            }
            Found::Dropped(dropped) => (None, dropped.time, dropped.time),
        };
        Self {
            clock: clock(app),
            packet,
            from,
            to,
            inside: Packets::new(&app.machine.value),
            lives: HashMap::default(),
            running: HashMap::default(),
            commands: HashMap::default(),
            others: Others::default(),
        }
    }

    /// Gives the life of the packet that is meant.
    pub(super) fn life(&self) -> Option<&Life> {
        self.lives.get(&self.packet?)
    }

    /// Notes what a packet did until `to`, if that counts and it is not the one that is meant.
    fn note(&mut self, list: fn(&mut Others) -> &mut Vec<Deed>, deed: Deed) {
        if deed.to >= self.from && Some(deed.packet) != self.packet {
            list(&mut self.others).push(deed);
        }
    }

    fn hear_unit(&mut self, event: &UnitEvent) {
        let UnitEvent { kind, cluster, hpu, id, address, .. } = *event;
        let time = self.clock.time(event.cycle);
        match kind {
            UnitEventKind::CommandIssue => {
                let Some(&packet) = self.running.get(&(cluster, hpu)) else { return };
                self.commands.insert((cluster, hpu, id), packet);
                let command = Command {
                    id,
                    interface: address,
                    issued: time,
                    out: None,
                    taken: None,
                    done: None,
                };
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
                let message = self.lives.get(&packet).map_or(0, |life| life.message);
                let deed =
                    Deed { packet, message, place: address, hpu: None, from: time, to: time };
                self.note(|others| &mut others.commands, deed);
            }
            _ => self.hear_packet(event, time),
        }
    }

    /// Hears an event that names a packet by its address.
    fn hear_packet(&mut self, event: &UnitEvent, time: Time) {
        let UnitEvent { kind, cluster, hpu, address, .. } = *event;
        let named = matches!(
            kind,
            UnitEventKind::TaskOut
                | UnitEventKind::ClusterTask
                | UnitEventKind::HpuTask
                | UnitEventKind::HpuFeedback
        );
        let Some(inside) = self.inside.at(cluster, address).filter(|_| named) else { return };
        if kind == UnitEventKind::TaskOut {
            let (packet, message) = (inside.packet, inside.message);
            let deed = Deed { packet, message, place: cluster, hpu: None, from: time, to: time };
            self.note(|others| &mut others.dispatched, deed);
        }
        let Some(life) = self.lives.get_mut(&inside.packet) else { return };
        if kind == UnitEventKind::TaskOut {
            life.tasks.push(Task { cluster, out: time, ..Task::default() });
            return;
        }
        let Some(task) = life.tasks.last_mut() else { return };
        match kind {
            UnitEventKind::ClusterTask => task.accepted = Some(time),
            UnitEventKind::HpuTask => task.assigned = Some((time, hpu)),
            _ => task.pushed = Some(time),
        }
    }

    fn task(&mut self, packet: u64) -> Option<&mut Task> {
        self.lives.get_mut(&packet)?.tasks.last_mut()
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
                let (packet, message) = (record.packet, record.message);
                let to = record.inbound;
                let deed = Deed { packet, message, place: 0, hpu: None, from: to, to };
                self.note(|others| &mut others.inbound, deed);
                let life = Life {
                    message,
                    context: record.context,
                    bytes: record.bytes,
                    inbound: record.inbound,
                    written: Time::ZERO,
                    her: Time::ZERO,
                    completion: None,
                    tasks: Vec::new(),
                };
                self.lives.insert(packet, life);
            }
            Event::HandlerStarted { cluster, hpu, task, .. } => {
                self.running.insert((cluster, hpu), task.packet);
            }
            Event::HandlerDone(record) => {
                self.running.remove(&(record.cluster, record.hpu));
                let message = self.lives.get(&record.packet).map_or(0, |life| life.message);
                let deed = Deed {
                    packet: record.packet,
                    message,
                    place: record.cluster,
                    hpu: Some(record.hpu),
                    from: record.start,
                    to: record.end,
                };
                self.note(|others| &mut others.ran, deed);
                let ran = Ran {
                    kind: record.kind,
                    start: record.start,
                    end: record.end,
                    instructions: record.instructions,
                    stalls: record.stalls,
                    failed: record.failed,
                };
                if let Some(task) = self.task(record.packet) {
                    task.handler = Some(ran);
                }
            }
            Event::Transfer(transfer) if transfer.hpu.is_none() => {
                let Some(inside) = self.inside.at(transfer.cluster, transfer.from) else { return };
                let deed = Deed {
                    packet: inside.packet,
                    message: inside.message,
                    place: transfer.cluster,
                    hpu: None,
                    from: transfer.issued,
                    to: transfer.done,
                };
                self.note(|others| &mut others.copied, deed);
                if let Some(task) = self.task(inside.packet) {
                    task.copied = Some((transfer.issued, transfer.done));
                }
            }
            Event::PacketDone(record) => {
                self.inside.remove(record.packet);
                if record.completion < self.from {
                    self.lives.remove(&record.packet);
                } else if let Some(life) = self.lives.get_mut(&record.packet) {
                    (life.written, life.her) = (record.written, record.her);
                    life.completion = Some(record.completion);
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

    fn settle(&mut self, _: Time) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: Time) -> Result<()> {
        Ok(())
    }
}
