//! Hears a NIC and writes its tracks: what each unit does for a packet becomes a slice, when it ends.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;

use pinion_sim::{Clock, Time};
use pinion_spin::{
    DropReason, Event, HandlerRecord, Hears, Interest, PacketRecord, RunningTask, Spin,
    TransferRecord, UnitEvent, UnitEventKind,
};
use rustc_hash::FxHashMap;

use super::commands::Commands;
use super::tracks::{Tracks, notes};
use super::{Corner, Slice, Value, Writer, written};
use crate::trace::filter::{clock, handler_name};
use crate::trace::inside::{Inside, Packets};
use crate::trace::{Filter, Tracer};
use pinion_app::app::App;
use pinion_app::error::Result;

/// Names what the arbiter chose, by the state of the queue (RTL mpq_engine).
const TASKS: [&str; 7] = [
    "task",
    "header task",
    "header task",
    "payload task",
    "payload task",
    "completion task",
    "completion task",
];

/// Writes a run of packet handlers as a trace for Perfetto.
pub struct NicTrace<'a, W> {
    app: &'a App,
    clock: Clock,
    filter: Filter,
    writer: Writer<W>,
    tracks: Tracks,
    packets: Packets,
    commands: Commands,
    /// By unit: when the arbiter chose the task that waits to be dispatched, and the state it was in.
    chosen: Vec<Option<(Time, u32)>>,
    running: BTreeMap<(u32, u32), Running>,
    /// Bytes in the packet buffer, of all packets.
    buffered: u64,
    busy: u64,
    /// Frames that came by a cable and were not taken: their numbers, and when each was whole.
    coming: VecDeque<(Time, u64)>,
    /// Frames that came by a cable.
    came: u64,
    /// By packet: the flow that brought it along its cable, until its HER is handed over.
    brought: FxHashMap<u64, u64>,
}

/// Holds what an HPU works at.
struct Running {
    task: RunningTask,
    since: Time,
    /// Flows of the commands it issued.
    flows: Vec<u64>,
}

impl<'a, W: Write> NicTrace<'a, W> {
    /// Begins the trace of a run of an application.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(app: &'a App, filter: Filter, corner: Corner, out: W) -> Result<Self> {
        let mut writer = Writer::new(out, &corner);
        let tracks = Tracks::new(&mut writer, &app.machine.value, corner);
        written(writer.check())?;
        Ok(Self {
            app,
            clock: clock(app),
            filter,
            writer,
            tracks,
            packets: Packets::new(&app.machine.value),
            commands: Commands::default(),
            chosen: vec![None; app.machine.value.units.count as usize],
            running: BTreeMap::new(),
            buffered: 0,
            busy: 0,
            coming: VecDeque::new(),
            came: 0,
            brought: FxHashMap::default(),
        })
    }

    /// Says whether a packet is traced.
    fn is_traced(&self, inside: &Inside) -> bool {
        self.filter.has_packet(inside.context, inside.packet)
            && self.filter.has_time(inside.inbound)
    }

    fn taken(&mut self, record: &PacketRecord, address: u32) {
        let inside = self.packets.insert(record, address);
        self.buffered += self.room(record.bytes);
        self.writer.count(self.tracks.buffered, record.inbound, self.buffered);
        if let Some(flow) = self.came_by_cable(record.arrival) {
            self.brought.insert(inside.packet, flow);
        }
        if self.is_traced(&inside) {
            let (name, flows) = ("packet", vec![self.tracks.flow_of(inside.packet)]);
            let notes = notes(&inside);
            let slice = Slice { name, end: record.arrival, flows, notes, ..Slice::default() };
            self.tracks.ingress.pass(&mut self.writer, u64::from(record.bytes), slice);
        }
    }

    /// Gives the flow of the frame that came by a cable and was whole at a time, and forgets those before.
    fn came_by_cable(&mut self, whole: Time) -> Option<u64> {
        let mut last = None;
        while let Some((_, frame)) = self.coming.front().filter(|(time, _)| *time <= whole) {
            last = Some(self.tracks.corner.arriving(*frame));
            self.coming.pop_front();
        }
        last
    }

    /// Counts the bytes that a packet takes in the packet buffer.
    fn room(&self, bytes: u32) -> u64 {
        let align = self.app.machine.value.inbound.align_bytes;
        u64::from(bytes.max(1).next_multiple_of(align))
    }

    fn her(&mut self, time: Time, cluster: u32, address: u32) {
        let mut inside = self.packets.take_up_to(cluster, address);
        let her = inside.pop();
        for dropped in inside {
            self.packets.remove(dropped.packet);
            self.brought.remove(&dropped.packet);
            self.gone(time, &dropped, "packet is dropped");
        }
        let brought = her.and_then(|inside| self.brought.remove(&inside.packet));
        if let Some(inside) = her.filter(|inside| self.is_traced(inside)) {
            let (begin, flows) = (inside.inbound, vec![self.tracks.flow_of(inside.packet)]);
            let (name, notes) = ("packet to L2, HER", notes(&inside));
            let slice =
                Slice { name, begin, end: time, flows, ends: brought.into_iter().collect(), notes };
            let unit = self.packets.unit_of(cluster) as usize;
            self.tracks.units[unit].inbound.slice(&mut self.writer, slice);
        }
    }

    /// Frees a packet's room and ends its flow.
    fn gone(&mut self, time: Time, inside: &Inside, what: &str) {
        self.buffered = self.buffered.saturating_sub(self.room(inside.bytes));
        self.writer.count(self.tracks.buffered, time, self.buffered);
        if self.is_traced(inside) {
            self.end_flow(time, inside, what);
        }
    }

    fn end_flow(&mut self, time: Time, inside: &Inside, what: &str) {
        let (ends, notes) = (vec![self.tracks.flow_of(inside.packet)], notes(inside));
        let slice = Slice { name: what, begin: time, end: time, flows: vec![], ends, notes };
        let unit = (inside.packet % self.tracks.units.len() as u64) as usize;
        self.writer.instant(self.tracks.units[unit].completions, slice);
    }

    fn transfer(&mut self, transfer: &TransferRecord) {
        let inside = match (transfer.hpu, transfer.packet) {
            (None, _) => self.packets.at(transfer.cluster, transfer.from),
            (Some(_), packet) => packet.and_then(|packet| self.packets.number(packet)),
        };
        let Some(inside) = inside.filter(|inside| self.is_traced(inside)) else { return };
        let mut notes = vec![("packet", Value::Count(inside.packet))];
        if let Some(hpu) = transfer.hpu {
            notes.push(("hpu", Value::Count(u64::from(hpu))));
        }
        notes.push(("from", Value::Address(u64::from(transfer.from))));
        notes.push(("to", Value::Address(u64::from(transfer.to))));
        notes.push(("bytes", Value::Count(u64::from(transfer.bytes))));
        let is_copy = transfer.hpu.is_none();
        let slice = Slice {
            name: if is_copy { "packet to L1" } else { "handler's transfer" },
            begin: transfer.issued,
            end: transfer.done,
            // A handler's transfer is part of what the HPU does, not of the packet's way.
            flows: if is_copy { vec![self.tracks.flow_of(inside.packet)] } else { Vec::new() },
            ends: Vec::new(),
            notes,
        };
        let lanes = &mut self.tracks.clusters[transfer.cluster as usize].dma;
        lanes.slice(&mut self.writer, slice);
    }

    fn started(&mut self, time: Time, hpu: (u32, u32), task: RunningTask) {
        self.occupy(time, hpu, true);
        self.running.insert(hpu, Running { task, since: time, flows: Vec::new() });
    }

    fn occupy(&mut self, time: Time, hpu: (u32, u32), occupied: bool) {
        self.busy = if occupied { self.busy + 1 } else { self.busy.saturating_sub(1) };
        self.writer.count(self.tracks.busy, time, self.busy);
        self.writer.count(self.tracks.occupied(hpu), time, u64::from(occupied));
    }

    fn ended(&mut self, record: &HandlerRecord) {
        let hpu = (record.cluster, record.hpu);
        let running = self.running.remove(&hpu);
        self.occupy(record.end, hpu, false);
        let inside = self.packets.number(record.packet);
        let Some(inside) = inside.filter(|inside| self.is_traced(inside)) else { return };
        let stalls = &record.stalls;
        let mut notes = notes(&inside);
        notes.push(("instructions", Value::Count(record.instructions)));
        notes.extend(
            [
                ("stalls.load_use", stalls.load_use),
                ("stalls.branch", stalls.branch),
                ("stalls.arithmetic", stalls.arithmetic),
                ("stalls.fetch", stalls.fetch),
                ("stalls.l1", stalls.l1),
                ("stalls.remote", stalls.remote),
                ("stalls.command", stalls.command),
            ]
            .map(|(name, cycles)| (name, Value::Count(cycles))),
        );
        if record.failed {
            notes.push(("failed", Value::Text("by an exception or the watchdog".to_owned())));
        }
        let name = handler_name(self.app, record.context, record.kind);
        let flows = running.map_or_else(Vec::new, |running| running.flows);
        let flows = [vec![self.tracks.flow_of(record.packet)], flows].concat();
        let (begin, end) = (record.start, record.end);
        let slice = Slice { name, begin, end, flows, ends: vec![], notes };
        self.writer.slice(self.tracks.hpu(hpu), slice);
    }

    fn unit(&mut self, unit: &UnitEvent) {
        let time = self.clock.time(unit.cycle);
        let key = (unit.cluster, unit.hpu, unit.id);
        let owner = self.packets.unit_of(unit.cluster) as usize;
        if unit.kind == UnitEventKind::CommandIssue {
            return self.issued(time, unit, owner);
        }
        let (writer, tracks) = (&mut self.writer, &mut self.tracks);
        match unit.kind {
            UnitEventKind::HerIn => self.her(time, unit.cluster, unit.address),
            UnitEventKind::MpqArbitrated => self.chosen[owner] = Some((time, unit.address)),
            UnitEventKind::TaskOut => self.dispatched(time, unit, owner),
            UnitEventKind::InterfaceCommand => {
                self.commands.take(writer, tracks, key, (time, unit.address as usize));
            }
            UnitEventKind::InterfaceResponse => self.commands.done(writer, tracks, key, time),
            UnitEventKind::CommandResponse => self.commands.answer(writer, tracks, key, time),
            _ => {}
        }
    }

    fn issued(&mut self, time: Time, unit: &UnitEvent, owner: usize) {
        let key = (unit.cluster, unit.hpu, unit.id);
        let packet = self.running.get(&(unit.cluster, unit.hpu)).map(|running| running.task.packet);
        let inside = packet.and_then(|packet| self.packets.number(packet));
        let Some(inside) = inside.filter(|inside| self.is_traced(inside)) else { return };
        let what = (time, unit.address as usize, inside, owner);
        let flow = self.tracks.flow_of_command(self.commands.next());
        let lanes = &mut self.tracks.clusters[unit.cluster as usize].commands;
        self.commands.issue(&mut self.writer, lanes, key, flow, what);
        if let Some(running) = self.running.get_mut(&(unit.cluster, unit.hpu)) {
            running.flows.push(flow);
        }
    }

    fn dispatched(&mut self, time: Time, unit: &UnitEvent, owner: usize) {
        let Some((begin, state)) = self.chosen[owner].take() else { return };
        let inside = self.packets.at(unit.cluster, unit.address);
        let Some(inside) = inside.filter(|inside| self.is_traced(inside)) else { return };
        let mut notes = notes(&inside);
        notes.push(("cluster", Value::Count(u64::from(unit.cluster))));
        let name = TASKS[state as usize % TASKS.len()];
        let flows = vec![self.tracks.flow_of(inside.packet)];
        let slice = Slice { name, begin, end: time, flows, ends: vec![], notes };
        self.writer.slice(self.tracks.units[owner].scheduler, slice);
    }
}

impl<W: Write> Hears<Spin> for NicTrace<'_, W> {
    fn interest(&self) -> Interest {
        Interest { handlers: true, units: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match *event {
            Event::PacketTaken { record, address } => self.taken(record, address),
            Event::Transfer(transfer) => self.transfer(transfer),
            Event::HandlerStarted { time, cluster, hpu, task, .. } => {
                self.started(time, (cluster, hpu), task);
            }
            Event::HandlerDone(record) => self.ended(record),
            Event::Unit(ref unit) => self.unit(unit),
            Event::Departed { time, frame, .. } => self.commands.depart(time, frame.len() as u64),
            Event::PacketDone(record) => {
                if let Some(inside) = self.packets.remove(record.packet) {
                    self.gone(record.completion, &inside, "packet is done");
                }
            }
            Event::Dropped { time, reason: DropReason::NoQueue, .. } => {
                if let Some(inside) = self.packets.take_next() {
                    self.packets.remove(inside.packet);
                    self.gone(time, &inside, "packet is dropped");
                }
            }
            _ => {}
        }
    }
}

impl<W: Write> Tracer for NicTrace<'_, W> {
    fn end(&self) -> Time {
        self.filter.to
    }

    fn comes_by_cable(&mut self, whole: Time) {
        self.coming.push_back((whole, self.came));
        self.came += 1;
    }

    fn settle(&mut self, _: Time) -> Result<()> {
        written(self.writer.check())
    }

    fn finish(&mut self, now: Time) -> Result<()> {
        for (hpu, running) in std::mem::take(&mut self.running) {
            let inside = self.packets.number(running.task.packet);
            let Some(inside) = inside.filter(|inside| self.is_traced(inside)) else { continue };
            let name = handler_name(self.app, running.task.context, running.task.kind);
            let flows = [vec![self.tracks.flow_of(inside.packet)], running.flows].concat();
            let mut notes = notes(&inside);
            notes.push(("unfinished", Value::Text("the trace ends before it".to_owned())));
            let (begin, end) = (running.since, now.max(running.since));
            let slice = Slice { name, begin, end, flows, ends: vec![], notes };
            self.writer.slice(self.tracks.hpu(hpu), slice);
        }
        self.commands.end(&mut self.writer, &mut self.tracks, now);
        for inside in self.packets.all() {
            if self.is_traced(&inside) {
                self.end_flow(now, &inside, "packet is inside when the trace ends");
            }
        }
        written(self.writer.flush())
    }
}
