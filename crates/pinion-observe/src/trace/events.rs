//! What a run's events look like as text; which packet and HPU they belong to.

use std::fmt::Write as _;

use pinion_sim::digits::Ns;
use pinion_sim::{Clock, Time};
use pinion_spin::{ContextId, Event, UnitEvent, UnitEventKind};
use rustc_hash::FxHashMap;

use super::filter::{clock, handler_name};
use super::inside::{Inside, Packets};
use pinion_app::app::App;

/// Names the command interfaces by their numbers.
pub const INTERFACES: [&str; 4] = ["HostDirect", "NIC send", "host DMA", "invalid"];

/// The number of the one that sends packets.
pub const SEND: u32 = 1;

/// Describes one event.
pub struct Told {
    /// When it happened.
    pub time: Time,
    /// Name of the HPU it belongs to, if it belongs to one.
    pub hpu: Option<(u32, u32)>,
    /// Name of the packet it belongs to, if it belongs to one.
    pub packet: Option<(ContextId, u64)>,
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
    running: FxHashMap<(u32, u32), (ContextId, u64)>,
    /// What each HPU's unfinished line of output holds.
    output: FxHashMap<(u32, u32), Vec<u8>>,
}

impl<'a> Events<'a> {
    /// Begins to listen to a run.
    pub fn new(app: &'a App) -> Self {
        Self {
            app,
            clock: clock(app),
            packets: Packets::new(&app.machine.value),
            running: FxHashMap::default(),
            output: FxHashMap::default(),
        }
    }

    /// Describes an event, if there is anything to say: its words are written behind `text`.
    pub fn describe(&mut self, event: &Event<'_>, text: &mut String) -> Option<Told> {
        let told = |time, hpu, packet| Some(Told { time, hpu, packet });
        match *event {
            Event::Unmatched { time, frame } => {
                let _ = write!(text, "a packet of {} B matches no context", frame.len());
                told(time, None, None)
            }
            Event::Dropped { time, reason, frame } => {
                let _ = write!(text, "a packet of {} B is dropped: {}", frame.len(), reason.name());
                told(time, None, None)
            }
            Event::PacketTaken { record, address } => {
                let packet = (record.context, record.packet);
                self.packets.insert(record, address);
                let _ = write!(
                    text,
                    "packet {} of message {} is written to {address:08x} ({} B, {}), arrived at {} ns",
                    record.packet,
                    record.message,
                    record.bytes,
                    self.app.contexts[record.context.0 as usize].name,
                    Ns(record.arrival),
                );
                told(record.inbound, None, Some(packet))
            }
            Event::HandlerStarted { time, cluster, hpu, task, .. } => {
                let packet = (task.context, task.packet);
                self.running.insert((cluster, hpu), packet);
                let handler = handler_name(self.app, task.context, task.kind);
                let _ = write!(text, "{handler} begins for packet {}", task.packet);
                told(time, Some((cluster, hpu)), Some(packet))
            }
            Event::HandlerDone(record) => {
                let handler = handler_name(self.app, record.context, record.kind);
                let how = if record.failed { "fails" } else { "ends" };
                let _ = write!(
                    text,
                    "{handler} {how} for packet {}: {} instructions in {}",
                    record.packet,
                    record.instructions,
                    record.end.since(record.start)
                );
                let packet = (record.context, record.packet);
                told(record.end, Some((record.cluster, record.hpu)), Some(packet))
            }
            Event::Transfer(transfer) => {
                let packet = match transfer.hpu {
                    Some(hpu) => self.running.get(&(transfer.cluster, hpu)).copied(),
                    None => self.packets.at(transfer.cluster, transfer.from).map(name),
                };
                let _ = write!(
                    text,
                    "cluster {}'s DMA copies {} B from {:08x} to {:08x} ",
                    transfer.cluster, transfer.bytes, transfer.from, transfer.to,
                );
                let _ = match transfer.hpu {
                    Some(hpu) => write!(text, "for HPU {}.{hpu}", transfer.cluster),
                    None => write!(text, "to bring a packet"),
                };
                let _ = write!(text, ", until {} ns", Ns(transfer.done));
                let hpu = transfer.hpu.map(|hpu| (transfer.cluster, hpu));
                told(transfer.issued, hpu, packet)
            }
            Event::PacketDone(record) => {
                self.packets.remove(record.packet);
                let packet = Some((record.context, record.packet));
                let _ = write!(text, "packet {} is done", record.packet);
                told(record.completion, None, packet)
            }
            Event::Departed { time, frame, packet } => {
                let _ = write!(
                    text,
                    "a packet of {} B has left, sent for packet {packet}",
                    frame.len()
                );
                told(time, None, self.packet(packet))
            }
            Event::HostWrite { time, address, data, packet } => {
                let _ = write!(
                    text,
                    "{} B are written to host {address:#x} for packet {packet}",
                    data.len()
                );
                told(time, None, self.packet(packet))
            }
            Event::Output { time, cluster, hpu, byte } => {
                self.output(time, (cluster, hpu), byte, text)
            }
            Event::HandlerFault {
                time, context, packet, cluster, hpu, fault, pc, address, ..
            } => {
                let _ = write!(text, "fault: {fault:?} at PC {pc:08x}, address {address:08x}");
                told(time, Some((cluster, hpu)), Some((context, packet)))
            }
            Event::MessageEvicted { time, message, .. } => {
                let _ = write!(text, "message {message} is given up: its packets stay away");
                told(time, None, None)
            }
            Event::Unit(ref unit) => self.unit(unit, text),
            Event::HostRead { .. } | Event::Instruction(_) => None,
        }
    }

    fn packet(&self, packet: u64) -> Option<(ContextId, u64)> {
        self.packets.number(packet).map(name)
    }

    /// Collects what an HPU prints until the line is complete.
    fn output(&mut self, time: Time, hpu: (u32, u32), byte: u8, text: &mut String) -> Option<Told> {
        let line = self.output.entry(hpu).or_default();
        if byte != b'\n' {
            line.push(byte);
            return None;
        }
        let _ = write!(text, "prints: {}", String::from_utf8_lossy(line));
        line.clear();
        Some(Told { time, hpu: Some(hpu), packet: self.running.get(&hpu).copied() })
    }

    /// Describes the steps that no other event tells of.
    fn unit(&mut self, unit: &UnitEvent, text: &mut String) -> Option<Told> {
        let known = || self.packets.at(unit.cluster, unit.address).map(name);
        let running = || self.running.get(&(unit.cluster, unit.hpu)).copied();
        let (is_hpu, packet) = match unit.kind {
            UnitEventKind::HerIn => {
                let packet = known();
                push_packet(text, packet);
                text.push_str("'s HER reaches the packet scheduler");
                self.packets.take_up_to(unit.cluster, unit.address);
                (false, packet)
            }
            UnitEventKind::TaskOut => {
                let packet = known();
                text.push_str("a task for ");
                push_packet(text, packet);
                let _ = write!(text, " goes to cluster {}", unit.cluster);
                (false, packet)
            }
            UnitEventKind::CommandIssue => {
                let kind = INTERFACES[unit.address as usize % INTERFACES.len()];
                let _ = write!(text, "command {} ({kind}) issued", unit.id);
                (true, running())
            }
            UnitEventKind::CommandResponse => {
                let _ = write!(text, "command {} is done", unit.id);
                (true, running())
            }
            _ => return None,
        };
        let hpu = is_hpu.then_some((unit.cluster, unit.hpu));
        Some(Told { time: self.clock.time(unit.cycle), hpu, packet })
    }
}

/// Writes which packet it is, by its number where that is known.
fn push_packet(text: &mut String, packet: Option<(ContextId, u64)>) {
    let _ = match packet {
        Some((_, number)) => write!(text, "packet {number}"),
        None => write!(text, "packet ?"),
    };
}
