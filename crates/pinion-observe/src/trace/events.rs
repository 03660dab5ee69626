//! What a run's events look like as text; which packet and HPU they belong to.

use std::collections::HashMap;

use pinion_sim::{Clock, Time};
use pinion_spin::{ContextId, Event, UnitEvent, UnitEventKind};

use super::filter::{clock, handler_name};
use super::inside::{Inside, Packets};
use pinion_app::app::App;

/// Names the command interfaces by their numbers.
pub const INTERFACES: [&str; 4] = ["HostDirect", "NIC send", "host DMA", "invalid"];

/// Describes one event.
pub struct Told {
    /// When it happened.
    pub time: Time,
    /// Name of the HPU it belongs to, if it belongs to one.
    pub hpu: Option<(u32, u32)>,
    /// Name of the packet it belongs to, if it belongs to one.
    pub packet: Option<(ContextId, u64)>,
    /// What is written.
    pub text: String,
}

/// Names a packet by its context and number.
const fn name(inside: Inside) -> (ContextId, u64) {
    (inside.context, inside.packet)
}

/// Turns events into text; remembers what later ones refer to.
pub struct Events<'a> {
    app: &'a App,
    clock: Clock,
    packets: Packets,
    /// What each HPU works at.
    running: HashMap<(u32, u32), (ContextId, u64)>,
    /// What each HPU's unfinished line of output holds.
    output: HashMap<(u32, u32), Vec<u8>>,
}

impl<'a> Events<'a> {
    /// Begins to listen to a run.
    pub fn new(app: &'a App) -> Self {
        Self {
            app,
            clock: clock(app),
            packets: Packets::new(&app.machine.value),
            running: HashMap::new(),
            output: HashMap::new(),
        }
    }

    /// Describes an event, if there is anything to say.
    pub fn describe(&mut self, event: &Event<'_>) -> Option<Told> {
        let told = |time, hpu, packet, text| Some(Told { time, hpu, packet, text });
        match *event {
            Event::Unmatched { time, frame } => {
                let text = format!("a packet of {} B matches no context", frame.len());
                told(time, None, None, text)
            }
            Event::Dropped { time, reason, frame } => {
                let text = format!("a packet of {} B is dropped: {}", frame.len(), reason.name());
                told(time, None, None, text)
            }
            Event::PacketTaken { record, address } => {
                let packet = (record.context, record.packet);
                self.packets.insert(record, address);
                let text = format!(
                    "packet {} of message {} is written to {address:08x} ({} B, {}), arrived at {:.1} ns",
                    record.packet,
                    record.message,
                    record.bytes,
                    self.app.contexts[record.context.0 as usize].name,
                    record.arrival.ns(),
                );
                told(record.inbound, None, Some(packet), text)
            }
            Event::HandlerStarted { time, cluster, hpu, task } => {
                let packet = (task.context, task.packet);
                self.running.insert((cluster, hpu), packet);
                let handler = handler_name(self.app, task.context, task.kind);
                let text = format!("{handler} begins for packet {}", task.packet);
                told(time, Some((cluster, hpu)), Some(packet), text)
            }
            Event::HandlerDone(record) => {
                let handler = handler_name(self.app, record.context, record.kind);
                let how = if record.failed { "fails" } else { "ends" };
                let text = format!(
                    "{handler} {how} for packet {}: {} instructions in {}",
                    record.packet,
                    record.instructions,
                    record.end.since(record.start)
                );
                let packet = (record.context, record.packet);
                told(record.end, Some((record.cluster, record.hpu)), Some(packet), text)
            }
            Event::Transfer(transfer) => {
                let packet = match transfer.hpu {
                    Some(hpu) => self.running.get(&(transfer.cluster, hpu)).copied(),
                    None => self.packets.at(transfer.cluster, transfer.from).map(name),
                };
                let who = match transfer.hpu {
                    Some(hpu) => format!("for HPU {}.{hpu}", transfer.cluster),
                    None => "to bring a packet".to_owned(),
                };
                let text = format!(
                    "cluster {}'s DMA copies {} B from {:08x} to {:08x} {who}, until {:.1} ns",
                    transfer.cluster,
                    transfer.bytes,
                    transfer.from,
                    transfer.to,
                    transfer.done.ns()
                );
                let hpu = transfer.hpu.map(|hpu| (transfer.cluster, hpu));
                told(transfer.issued, hpu, packet, text)
            }
            Event::PacketDone(record) => {
                self.packets.remove(record.packet);
                let packet = Some((record.context, record.packet));
                told(record.completion, None, packet, format!("packet {} is done", record.packet))
            }
            Event::Departed { time, frame, packet } => {
                let text =
                    format!("a packet of {} B has left, sent for packet {packet}", frame.len());
                told(time, None, self.packet(packet), text)
            }
            Event::HostWrite { time, address, data, packet } => {
                let text = format!(
                    "{} B are written to host {address:#x} for packet {packet}",
                    data.len()
                );
                told(time, None, self.packet(packet), text)
            }
            Event::Output { time, cluster, hpu, byte } => self.output(time, (cluster, hpu), byte),
            Event::HandlerFault {
                time, context, packet, cluster, hpu, fault, pc, address, ..
            } => {
                let text = format!("fault: {fault:?} at PC {pc:08x}, address {address:08x}");
                told(time, Some((cluster, hpu)), Some((context, packet)), text)
            }
            Event::MessageEvicted { time, message, .. } => told(
                time,
                None,
                None,
                format!("message {message} is given up: its packets stay away"),
            ),
            Event::Unit(ref unit) => self.unit(unit),
            Event::HostRead { .. } | Event::Instruction(_) => None,
        }
    }

    fn packet(&self, packet: u64) -> Option<(ContextId, u64)> {
        self.packets.number(packet).map(name)
    }

    /// Collects what an HPU prints until the line is complete.
    fn output(&mut self, time: Time, hpu: (u32, u32), byte: u8) -> Option<Told> {
        let line = self.output.entry(hpu).or_default();
        if byte != b'\n' {
            line.push(byte);
            return None;
        }
        let text = format!("prints: {}", String::from_utf8_lossy(line));
        line.clear();
        Some(Told { time, hpu: Some(hpu), packet: self.running.get(&hpu).copied(), text })
    }

    /// Describes the steps that no other event tells of.
    fn unit(&mut self, unit: &UnitEvent) -> Option<Told> {
        let hpu = (unit.cluster, unit.hpu);
        let known = self.packets.at(unit.cluster, unit.address).map(name);
        let number = known.map_or_else(|| "?".to_owned(), |(_, packet)| packet.to_string());
        let (hpu, packet, text) = match unit.kind {
            UnitEventKind::HerIn => {
                self.packets.take_up_to(unit.cluster, unit.address);
                (None, known, format!("packet {number}'s HER reaches the packet scheduler"))
            }
            UnitEventKind::TaskOut => (
                None,
                known,
                format!("a task for packet {number} goes to cluster {}", unit.cluster),
            ),
            UnitEventKind::CommandIssue => {
                let kind = INTERFACES[unit.address as usize % INTERFACES.len()];
                (
                    Some(hpu),
                    self.running.get(&hpu).copied(),
                    format!("command {} ({kind}) issued", unit.id),
                )
            }
            UnitEventKind::CommandResponse => {
                (Some(hpu), self.running.get(&hpu).copied(), format!("command {} is done", unit.id))
            }
            _ => return None,
        };
        Some(Told { time: self.clock.time(unit.cycle), hpu, packet, text })
    }
}
