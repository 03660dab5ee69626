//! Commands under way: from the HPU through their interface and back, and the packets they send.

use std::collections::BTreeMap;
use std::io::Write;

use pinion_sim::Time;

use super::tracks::{Tracks, notes};
use super::{Lanes, Slice, Value, Writer};
use crate::trace::events::INTERFACES;
use crate::trace::inside::Inside;

/// Names a command: cluster, HPU, number.
type Key = (u32, u32, u32);

/// Holds the commands under way.
#[derive(Default)]
pub struct Commands {
    open: BTreeMap<Key, Command>,
    count: u64,
    /// When the packet has left whose command is done next, its bytes, and its number among those that
    /// left.
    departed: Option<(Time, u64, u64)>,
    left: u64,
}

struct Command {
    flow: u64,
    packet: Inside,
    unit: usize,
    kind: usize,
    issued: Time,
    lane: usize,
    /// Its interface, the track there, and when it took the command.
    taken: Option<(usize, usize, Time)>,
    /// Whether its flow has ended in a slice that was written.
    is_ended: bool,
}

impl Commands {
    /// Gives the number of the next command.
    pub fn next(&self) -> u64 {
        self.count
    }

    /// Notes a command that an HPU issued for a packet, and that a flow follows.
    pub fn issue<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        lanes: &mut Lanes,
        key: Key,
        flow: u64,
        (issued, kind, packet, unit): (Time, usize, Inside, usize),
    ) {
        self.count += 1;
        let lane = lanes.open(writer, issued);
        let taken = None;
        let command = Command { flow, packet, unit, kind, issued, lane, taken, is_ended: false };
        self.open.insert(key, command);
    }

    /// Notes that an interface took a command.
    pub fn take<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        tracks: &mut Tracks,
        key: Key,
        (time, interface): (Time, usize),
    ) {
        let Some(command) = self.open.get_mut(&key) else { return };
        if let Some(lanes) = tracks.units[command.unit].interfaces.get_mut(interface) {
            command.taken = Some((interface, lanes.open(writer, time), time));
        }
    }

    /// Notes a packet that leaves: its command is done in this very moment.
    pub fn depart(&mut self, left: Time, bytes: u64) {
        self.departed = Some((left, bytes, self.left));
        self.left += 1;
    }

    /// Writes that an interface is done with a command, and the packet it sent.
    pub fn done<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        tracks: &mut Tracks,
        key: Key,
        time: Time,
    ) {
        let departed = self.departed.take();
        let Some(command) = self.open.get_mut(&key) else { return };
        command.finish_interface(writer, tracks, time, departed.is_none());
        if let Some((left, bytes, frame)) = departed {
            command.is_ended = true;
            let mut notes = notes(&command.packet);
            notes[2] = ("bytes", Value::Count(bytes));
            let ends = vec![command.flow];
            let corner = &tracks.corner;
            let onto = corner.has_cable().then(|| corner.leaving(frame));
            let flows = onto.into_iter().collect();
            let slice = Slice { name: "packet", end: left, flows, ends, notes, ..Slice::default() };
            tracks.units[command.unit].egress.pass(writer, bytes, slice);
        }
    }

    /// Writes that an HPU heard that its command is done.
    pub fn answer<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        tracks: &mut Tracks,
        key: Key,
        time: Time,
    ) {
        let Some(command) = self.open.remove(&key) else { return };
        command.finish(writer, &mut tracks.clusters[key.0 as usize].commands, time);
    }

    /// Writes the commands that are under way when the trace ends.
    pub fn end<W: Write>(&mut self, writer: &mut Writer<W>, tracks: &mut Tracks, now: Time) {
        for (key, mut command) in std::mem::take(&mut self.open) {
            command.finish_interface(writer, tracks, now, true);
            command.finish(writer, &mut tracks.clusters[key.0 as usize].commands, now);
        }
    }
}

impl Command {
    /// Makes a slice of it, in which its flow ends or through which it passes.
    fn slice(&mut self, begin: Time, end: Time, is_last: bool) -> Slice<'static> {
        let name = INTERFACES[self.kind % INTERFACES.len()];
        let flow = vec![self.flow];
        self.is_ended |= is_last;
        let (flows, ends) = if is_last { (Vec::new(), flow) } else { (flow, Vec::new()) };
        Slice { name, begin, end: end.max(begin), flows, ends, notes: notes(&self.packet) }
    }

    fn finish_interface<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        tracks: &mut Tracks,
        time: Time,
        is_last: bool,
    ) {
        if let Some((interface, lane, taken)) = self.taken.take() {
            let slice = self.slice(taken, time, is_last);
            tracks.units[self.unit].interfaces[interface].close(writer, lane, slice);
        }
    }

    fn finish<W: Write>(mut self, writer: &mut Writer<W>, lanes: &mut Lanes, time: Time) {
        let is_last = !self.is_ended;
        let slice = self.slice(self.issued, time, is_last);
        lanes.close(writer, self.lane, slice);
    }
}
