//! The NIC outbound engine: packets that commands send.
//!
//! In: send commands from the command unit. Out: frames on the link, one after the other at its rate.
//! Holds its commands' slots, when it can read the next packet, when the link is free and when the last
//! packets leave. Waits for the memory that holds the packet, for a free slot, and, before it reads
//! one, while the queue to the link is full. (Paper §III-A; RTL: NIC outbound.)

use std::collections::VecDeque;

use crate::Machine;
use crate::command::Command;
use crate::command::interface::{DataPath, Slots, Taken};
use crate::crossing::Crossing;
use crate::listener::{Event, Listener};
use crate::memory::Place;
use crate::shared::Shared;

/// Holds the engine and the link.
#[derive(Clone, Debug)]
pub struct OutboundEngine {
    /// Its commands.
    pub slots: Slots,
    path: DataPath,
    send_cycles: u64,
    /// Cycle from which data can be read from the NIC's memories.
    reads_from: u64,
    link_free_ps: u64,
    link_mbit_s: u64,
    /// Cycles at which the last packets leave.
    departures: VecDeque<u64>,
    /// Packets that may wait for the link; commands wait beyond.
    queue_packets: usize,
    crossing: Crossing,
}

impl OutboundEngine {
    /// Makes an idle engine.
    pub fn new(machine: &Machine) -> Self {
        Self {
            slots: Slots::new(machine),
            path: DataPath::new(machine),
            send_cycles: machine.command.send_cycles,
            reads_from: 0,
            link_free_ps: 0,
            link_mbit_s: machine.network.rate_mbit_s,
            departures: VecDeque::new(),
            queue_packets: machine.network.queue_packets as usize,
            crossing: Crossing::new(machine),
        }
    }

    /// Forgets its commands; what is on the link goes on.
    pub fn reset(&mut self, machine: &Machine) {
        self.slots = Slots::new(machine);
        self.reads_from = 0;
    }

    /// Gives the cycle from which the next packet could be read from the NIC's memories.
    pub fn next_read(&self, now: u64) -> u64 {
        now.max(self.reads_from)
    }

    /// Gives the beats of a command's packet.
    pub fn beats(&self, command: &Command) -> u64 {
        self.path.nic_beats(command)
    }

    /// Takes a command whose packet lies in L2 and may be read from cycle `now` on.
    pub fn take(&mut self, now: u64, command: &Command, source: Option<Place>) -> Taken {
        let nic_beats = self.path.nic_beats(command);
        let start = self.next_read(now);
        self.reads_from = start + nic_beats;
        let done = start + self.send_cycles + nic_beats + self.path.l2_cycles(source);
        Taken { done: self.slots.answer(done), nic_from: start, nic_beats }
    }

    /// Sends the packet of a command: its data are there now.
    pub fn perform(
        &mut self,
        shared: &mut Shared,
        now: u64,
        command: &Command,
        packet: u32,
        listener: &mut dyn Listener,
    ) {
        let ps = self.send(shared.clock.time(now).ps(), command.bytes);
        let cycle = shared.clock.cycle_at(pinion_sim::Time::from_ps(ps));
        self.departs(cycle);
        let time = shared.time(cycle.max(now));
        let Some(frame) = shared.memories.read(command.nic_address, command.bytes) else {
            return;
        };
        shared.totals.packets_out += 1;
        shared.totals.bytes_out += frame.len() as u64;
        let record = &mut shared.packets[packet].record;
        record.departure = record.departure.or(Some(time));
        let packet = record.packet;
        listener.hear(&Event::Departed { time, frame, packet });
    }

    /// Gives the time bytes take at a rate, in ps.
    fn serialise(bytes: u32, mbit_s: u64) -> u64 {
        if mbit_s == 0 {
            return 0;
        }
        (u64::from(bytes) * 8 * 1_000_000).div_ceil(mbit_s)
    }

    /// Sends a packet whose data are there at `from_ps`; gives when its last bit has left.
    fn send(&mut self, from_ps: u64, bytes: u32) -> u64 {
        let from_ps = self.crossing.out_ps(from_ps);
        self.link_free_ps =
            self.link_free_ps.max(from_ps) + Self::serialise(bytes, self.link_mbit_s);
        self.link_free_ps
    }

    /// Gives the cycle before which it may not start: its queue is full.
    pub fn not_before(&self) -> u64 {
        if self.departures.len() < self.queue_packets {
            return 0;
        }
        self.departures.front().copied().unwrap_or(0)
    }

    /// Notes that a packet leaves at `cycle`.
    fn departs(&mut self, cycle: u64) {
        self.departures.push_back(cycle);
        if self.departures.len() > self.queue_packets {
            self.departures.pop_front();
        }
    }
}
