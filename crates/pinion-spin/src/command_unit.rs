//! The command unit's interfaces: HostDirect, NIC outbound, host DMA.
//!
//! In: commands from the clusters, one per cycle and interface. Out: the cycle each is done. Holds
//! how many are in flight and the ports their data go through. Makes commands wait when too many
//! are in flight. (Paper §III-B2 and §III-A; RTL command frontend, off-cluster DMA, NIC outbound.)

use std::collections::VecDeque;

use crate::arbiter::{Requests, RoundRobin};
use crate::cluster::{Clusters, SPILL_ENTRIES};
use crate::host_interface::HostInterface;
use crate::hpu::driver::{CommandWords, Port, Turn};
use crate::inbound::InboundEngine;
use crate::listener::{Event, Listener};
use crate::memory::Place;
use crate::outbound::OutboundEngine;
use crate::shared::{Shared, unit};
use crate::turn_port::{Side, TurnPort};
use crate::wake::{Due, Wake};
use crate::{Machine, UnitEventKind};

/// Names the kinds of commands, in the order of their interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Up to eight bytes written to host memory straight from the command.
    HostDirect = 0,
    /// A packet sent to the network.
    Send = 1,
    /// A transfer between NIC and host memory.
    HostDma = 2,
}

/// Number of interfaces.
pub const INTERFACES: usize = 3;

/// Holds a command, decoded.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// What it does.
    pub kind: Kind,
    /// Address in the NIC.
    pub nic_address: u32,
    /// Address in host memory.
    pub host_address: u64,
    /// Bytes.
    pub bytes: u32,
    /// Whether it goes from the NIC to the host.
    pub to_host: bool,
    /// The data of a HostDirect.
    pub data: u64,
}

/// Largest HostDirect in bytes.
const HOST_DIRECT_BYTES: u32 = 8;

impl Command {
    /// Decodes the words a core wrote.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(draft: &CommandWords) -> Result<Self, &'static str> {
        let w = draft.words;
        let wide = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let command = match draft.info >> 1 & 3 {
            0 => Self {
                kind: Kind::HostDma,
                nic_address: w[2],
                host_address: wide(w[1], w[0]),
                bytes: w[3],
                to_host: w[4] & 1 == 1,
                data: 0,
            },
            1 => Self {
                kind: Kind::Send,
                nic_address: w[2],
                host_address: 0,
                bytes: w[4],
                to_host: false,
                data: 0,
            },
            2 => Self {
                kind: Kind::HostDirect,
                nic_address: 0,
                host_address: wide(w[1], w[0]),
                bytes: w[2] >> 1,
                to_host: true,
                data: wide(w[4], w[3]),
            },
            _ => return Err("no such command type"),
        };
        if command.kind == Kind::HostDirect && command.bytes > HOST_DIRECT_BYTES {
            return Err("a HostDirect of more than 8 bytes");
        }
        Ok(command)
    }
}

/// Chooses whose command goes to its interface: one in a cycle. A command that was chosen and whose
/// interface is full holds up those behind it, whatever they are for. (That one arbiter stands before
/// all interfaces is our reading of application runs `strided_ddt_96-burst` and `copy_from_host-burst`
/// of the ground truth, not of the RTL's source.)
#[derive(Clone, Debug)]
pub struct Frontend {
    arbiter: RoundRobin,
    requests: Requests,
    chosen: Option<u32>,
}

impl Frontend {
    /// Makes an idle one.
    fn new(machine: &Machine) -> Self {
        let clusters = machine.cluster.count;
        Self { arbiter: RoundRobin::new(clusters), requests: Requests::new(clusters), chosen: None }
    }

    /// Notes that a cluster has a command to offer.
    pub fn offer(&mut self, cluster: u32) {
        self.requests.set(cluster, true);
    }

    /// Chooses a cluster; it stays chosen until its command is taken.
    pub fn choose(&mut self) -> Option<u32> {
        if self.chosen.is_none() {
            self.chosen = self.arbiter.grant(&self.requests);
        }
        self.chosen
    }

    /// Notes that the chosen cluster's command was taken; says whether others offer theirs.
    pub fn take(&mut self) -> bool {
        if let Some(cluster) = self.chosen.take() {
            self.requests.set(cluster, false);
        }
        !self.requests.is_empty()
    }
}

/// Serves the commands of one kind.
#[derive(Clone, Debug)]
pub struct Interface {
    in_flight: u32,
    /// Cycles from which slots are free again.
    releases: VecDeque<u64>,
    limit: u32,
    /// Cycles from which data can be read from the NIC's memories, written to the host, and read
    /// from the host.
    reads_from: u64,
    host_writes_from: u64,
    host_reads_from: u64,
    /// Where data were read last, and from which cycle on.
    last_source: Option<Place>,
    last_start: u64,
    /// Where a copy from the host went last.
    last_target: Option<Place>,
    last_done: u64,
}

/// Says when a command that was taken uses the NIC's memories and when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Cycle it is done.
    pub done: u64,
    /// Cycle of the first beat that it reads from, or writes to, a memory of the NIC.
    pub nic_from: u64,
    /// Its beats there.
    pub nic_beats: u64,
}

/// Cycles from the last beat that a copy from the host writes to the command's end.
const WRITE_RESPONSE_CYCLES: u64 = 3;

/// Gives the timing of commands.
#[derive(Clone, Debug)]
pub struct Timing {
    send_cycles: u64,
    host_dma_cycles: u64,
    host_direct_cycles: u64,
    from_l2_cycles: u64,
    from_host_cycles: u64,
    source_switch_cycles: u64,
    turnaround_cycles: u64,
    port_bytes: u32,
}

impl Timing {
    /// Takes the numbers from a machine.
    pub fn new(machine: &Machine) -> Self {
        let command = &machine.command;
        Self {
            send_cycles: command.send_cycles,
            host_dma_cycles: command.host_dma_cycles,
            host_direct_cycles: command.host_direct_cycles,
            from_l2_cycles: command.from_l2_cycles,
            from_host_cycles: command.from_host_cycles,
            source_switch_cycles: command.source_switch_cycles,
            turnaround_cycles: command.slot_turnaround_cycles,
            port_bytes: command.port_bytes,
        }
    }
}

impl Interface {
    /// Makes an idle interface.
    pub fn new(machine: &Machine) -> Self {
        Self {
            in_flight: 0,
            releases: VecDeque::with_capacity(machine.command.per_interface as usize),
            limit: machine.command.per_interface,
            reads_from: 0,
            host_writes_from: 0,
            host_reads_from: 0,
            last_source: None,
            last_start: 0,
            last_target: None,
            last_done: 0,
        }
    }

    /// Says whether it can take a command at cycle `now`.
    pub fn has_slot(&mut self, now: u64) -> bool {
        while self.releases.front().is_some_and(|&at| at <= now) {
            self.releases.pop_front();
            self.in_flight -= 1;
        }
        self.in_flight < self.limit
    }

    /// Gives the cycle in which its next slot is free, where that is known.
    pub fn next_slot(&self) -> Option<u64> {
        self.releases.front().copied()
    }

    /// Takes a command at cycle `now`; its data may not move before `not_before`. Gives the cycle it
    /// is done, beside what the host or the network adds.
    pub fn take(
        &mut self,
        now: u64,
        not_before: u64,
        command: &Command,
        source: Option<Place>,
        timing: &Timing,
    ) -> Taken {
        self.in_flight += 1;
        let mut taken = match command.kind {
            Kind::HostDirect => {
                Taken { done: now + timing.host_direct_cycles, nic_from: now, nic_beats: 0 }
            }
            Kind::Send | Kind::HostDma => {
                self.move_data(now.max(not_before), command, source, timing)
            }
        };
        self.last_done = taken.done.max(self.last_done + 1);
        taken.done = self.last_done;
        taken
    }

    fn move_data(
        &mut self,
        now: u64,
        command: &Command,
        source: Option<Place>,
        timing: &Timing,
    ) -> Taken {
        let port = u64::from(timing.port_bytes);
        let span = |address: u64| (address % port + u64::from(command.bytes)).div_ceil(port);
        let host_beats = if command.kind == Kind::HostDma { span(command.host_address) } else { 0 };
        let nic_beats = span(u64::from(command.nic_address)).max(1);
        let beats = nic_beats.max(host_beats);
        let (l2, memory) = match source {
            Some(Place::L1 { cluster, .. }) => (0, Some(Place::L1 { cluster, offset: 0 })),
            Some(_) => (timing.from_l2_cycles, Some(Place::L2Packet(0))),
            None => (0, None),
        };
        let switch = |last: Option<Place>| match last {
            Some(last) if Some(last) != memory => timing.source_switch_cycles,
            _ => 0,
        };
        if command.kind == Kind::HostDma && !command.to_host {
            // Row from_host_l1_send-burst_256: the next cluster's data come a cycle later.
            let start = now.max(self.host_reads_from + switch(self.last_target));
            self.last_target = memory;
            self.host_reads_from = start + beats;
            let in_l2 =
                u64::from(!matches!(source, Some(Place::L1 { .. }))) * timing.from_l2_cycles;
            let done = start + timing.host_dma_cycles + timing.from_host_cycles + beats + in_l2;
            let nic_from = done.saturating_sub(nic_beats + WRITE_RESPONSE_CYCLES);
            return Taken { done, nic_from, nic_beats };
        }
        let free = now.max(self.reads_from);
        let switch = switch(self.last_source);
        let start = match command.kind {
            // The off-cluster DMA reads a cycle later from the next cluster; what it writes may still
            // follow without a gap, from its buffer (rows to_host_l1-burst_64, to_host_l1-burst_128).
            Kind::HostDma => now.max(self.reads_from + switch),
            // A packet's first beat is asked for a cycle later when the source changes, which shows
            // behind packets of a single beat (rows pingpong_l1-burst_64, send_and_host-burst_256).
            Kind::Send | Kind::HostDirect => free.max(self.last_start + 1 + switch),
        };
        self.last_start = start;
        self.last_source = memory;
        self.reads_from = start + nic_beats;
        if command.kind == Kind::Send {
            let done = start + timing.send_cycles + beats + l2;
            return Taken { done, nic_from: start, nic_beats };
        }
        // Where the host's address is not aligned, there is a beat more to write than to read.
        let write = free.max(self.host_writes_from);
        self.host_writes_from = write + beats;
        let done = write + timing.host_dma_cycles + beats + l2;
        Taken { done, nic_from: start, nic_beats }
    }

    /// Gives the cycle from which the next command's data could be read from the NIC's memories.
    pub fn next_read(&self, now: u64) -> u64 {
        now.max(self.reads_from)
    }

    /// Notes that a command's data have to wait for `cycles` at a memory of the NIC.
    pub fn hold(&mut self, command: &Command, cycles: u64) {
        match command.kind == Kind::HostDma && !command.to_host {
            true => self.host_reads_from += cycles,
            false => self.reads_from += cycles,
        }
        self.last_done += cycles;
    }

    /// Notes that a command is done at cycle `now`; gives the cycle its slot is free.
    pub fn release(&mut self, now: u64, timing: &Timing) -> u64 {
        let at = now + timing.turnaround_cycles;
        self.releases.push_back(at);
        at
    }

    /// Gives the number of commands it holds.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

/// Holds the command unit and what lies behind its interfaces.
#[derive(Debug)]
pub struct CommandUnit {
    frontend: Frontend,
    /// When the frontend hands the next command over.
    wake: Wake,
    interfaces: Vec<Interface>,
    timing: Timing,
    /// The way of packets to the wire.
    pub outbound: OutboundEngine,
    /// The way to host memory.
    pub host: HostInterface,
}

/// Names where commands come from and whose ports they share: the clusters' drivers and L1, and the
/// inbound engine's port to packet memory.
pub struct Sources<'a> {
    /// Issue commands, hold L1.
    pub clusters: &'a mut Clusters,
    /// Writes packet memory.
    pub inbound: &'a mut InboundEngine,
}

impl CommandUnit {
    /// Makes an idle unit.
    pub fn new(machine: &Machine) -> Self {
        Self {
            frontend: Frontend::new(machine),
            wake: Wake::default(),
            interfaces: (0..INTERFACES).map(|_| Interface::new(machine)).collect(),
            timing: Timing::new(machine),
            outbound: OutboundEngine::new(machine),
            host: HostInterface::new(machine),
        }
    }

    /// Forgets all commands; the link, the bus and host memory are kept.
    pub fn reset(&mut self, machine: &Machine) {
        self.frontend = Frontend::new(machine);
        self.wake = Wake::default();
        self.interfaces = (0..INTERFACES).map(|_| Interface::new(machine)).collect();
    }

    /// Takes the event at `cycle`; `false`: it is stale.
    pub fn is_due(&mut self, cycle: u64) -> bool {
        self.wake.take(cycle)
    }

    /// Gives the number of commands that each interface holds.
    pub fn in_flight(&self) -> impl Iterator<Item = u32> {
        self.interfaces.iter().map(Interface::in_flight)
    }

    /// Offers the oldest command of a cluster to its interface.
    pub fn offer(&mut self, shared: &mut Shared, cycle: u64, cluster: u32) {
        self.frontend.offer(cluster);
        self.wake(shared, cycle);
    }

    /// Lets the frontend hand the next command over at `cycle`.
    fn wake(&mut self, shared: &mut Shared, cycle: u64) {
        shared.wake(&mut self.wake, cycle, Due::CommandFrontend);
    }

    /// Hands the next command to its interface.
    pub fn step(
        &mut self,
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        listener: &mut dyn Listener,
    ) {
        let Some(cluster) = self.frontend.choose() else { return };
        let Some(&(command, _)) = from.clusters.each[cluster as usize].commands.spill.front()
        else {
            return;
        };
        let draft = from.clusters.slot(shared, command).command;
        let interface =
            Command::decode(&draft).map_or(Kind::HostDma, |command| command.kind) as u32;
        let unit_ = &mut self.interfaces[interface as usize];
        if !unit_.has_slot(now) {
            // Where no slot is known to become free, a command that is done brings one.
            let free = unit_.next_slot();
            return free.map_or((), |cycle| self.wake(shared, cycle));
        }
        let more = self.frontend.take();
        let units = &mut from.clusters.each[cluster as usize];
        let was_full = units.commands.spill.len() >= SPILL_ENTRIES;
        units.commands.spill.pop_front();
        let next = units.commands.spill.front().copied();
        if was_full {
            from.clusters.wake_cluster_command(shared, now + 1, cluster);
        }
        if let Some((_, came)) = next {
            self.offer(shared, (came + 1).max(now + 1), cluster);
        }
        let per_hpu = shared.machine.command.per_hpu;
        let hpu = command / per_hpu % shared.machine.cluster.cores;
        shared.tell(listener, || {
            unit(UnitEventKind::InterfaceCommand, now, cluster, hpu, command % per_hpu, interface)
        });
        let done = self.start_command(shared, from, now, interface, command);
        shared.wheel.push(done, Due::CommandDone(command));
        if more {
            self.wake(shared, now + 1);
        }
    }

    /// Gives the cycle at which a command that its interface takes now is done.
    fn start_command(
        &mut self,
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        interface: u32,
        command: u32,
    ) -> u64 {
        let draft = from.clusters.slot(shared, command).command;
        let Ok(decoded) = Command::decode(&draft) else { return now + 1 };
        let source = shared.memories.place(decoded.nic_address, 0);
        let mut not_before =
            if decoded.kind == Kind::Send { self.outbound.not_before() } else { 0 };
        let reads = decoded.kind == Kind::Send || decoded.kind == Kind::HostDma && decoded.to_host;
        if reads && !matches!(source, Some(Place::L1 { .. })) {
            let free = self.interfaces[interface as usize].next_read(now.max(not_before));
            not_before = from.inbound.read_start(free);
        }
        let taken = self.interfaces[interface as usize].take(
            now,
            not_before,
            &decoded,
            source,
            &self.timing,
        );
        let mut done = taken.done;
        if let Some(at) = shared_port(&decoded, source) {
            let waits = Self::take_turn(shared, from, now, command, at, &taken);
            self.interfaces[interface as usize].hold(&decoded, waits);
            done += waits;
        }
        if decoded.kind == Kind::Send {
            return done;
        }
        let ps = shared.clock.time(done).ps();
        let there = self.host.transfer(ps, decoded.bytes, decoded.to_host);
        shared.clock.cycle_at(pinion_sim::Time::from_ps(there)).max(done)
    }

    /// Books the port of the NIC memory that a command reads or writes; gives the cycles it has to
    /// wait there.
    fn take_turn(
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        command: u32,
        (port, side): (Port, Side),
        taken: &Taken,
    ) -> u64 {
        let ready = taken.nic_from.max(now);
        let (burst, start) = Self::port(from, port).book(now, side, ready, taken.nic_beats);
        from.clusters.slot(shared, command).turn = Some(Turn { port, side, burst, start });
        start - ready
    }

    /// Gives a port that commands share.
    fn port<'a>(from: &'a mut Sources<'_>, port: Port) -> &'a mut TurnPort {
        match port {
            Port::L1(cluster) => &mut from.clusters.each[cluster as usize].host_port,
            Port::Packets => from.inbound.port(),
        }
    }

    /// Gives the cycles by which others have put off a command's turn since it was last looked at.
    fn put_off(
        &mut self,
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        command: u32,
    ) -> u64 {
        let Some(turn) = from.clusters.slot(shared, command).turn.take() else { return 0 };
        let port = Self::port(from, turn.port);
        let start = port.start(turn.side, turn.burst).unwrap_or(turn.start);
        if start > turn.start {
            from.clusters.slot(shared, command).turn = Some(Turn { start, ..turn });
        } else {
            port.forget(now, turn.side, turn.burst);
        }
        start.saturating_sub(turn.start)
    }

    /// Performs a command that is done.
    pub fn command_done(
        &mut self,
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        command: u32,
        listener: &mut dyn Listener,
    ) {
        let moved = self.put_off(shared, from, now, command);
        if moved > 0 {
            return shared.wheel.push(now + moved, Due::CommandDone(command));
        }
        let slot = *from.clusters.slot(shared, command);
        let kind = match Command::decode(&slot.command) {
            Ok(decoded) => {
                self.perform_command(shared, now, &decoded, slot.packet, listener);
                decoded.kind
            }
            Err(_) => Kind::HostDma,
        };
        let interface = kind as u32;
        let free = self.interfaces[interface as usize].release(now, &self.timing);
        self.wake(shared, free);
        let response = now + shared.machine.command.response_cycles;
        shared.wheel.push(response, Due::CommandResponse(command));
        let per_hpu = shared.machine.command.per_hpu;
        let core = command / per_hpu;
        let (cluster, hpu) =
            (core / shared.machine.cluster.cores, core % shared.machine.cluster.cores);
        shared.tell(listener, || {
            unit(UnitEventKind::InterfaceResponse, now, cluster, hpu, command % per_hpu, interface)
        });
    }

    fn perform_command(
        &mut self,
        shared: &mut Shared,
        now: u64,
        command: &Command,
        packet: u32,
        listener: &mut dyn Listener,
    ) {
        let number = shared.packets[packet].record.packet;
        let time = shared.time(now);
        match command.kind {
            Kind::Send => {
                let ps = self.outbound.send(shared.clock.time(now).ps(), command.bytes);
                let cycle = shared.clock.cycle_at(pinion_sim::Time::from_ps(ps));
                self.outbound.departs(cycle);
                let left = shared.time(cycle.max(now));
                let Some(frame) = shared.memories.read(command.nic_address, command.bytes) else {
                    return;
                };
                shared.totals.packets_out += 1;
                shared.totals.bytes_out += frame.len() as u64;
                let record = &mut shared.packets[packet].record;
                record.departure = record.departure.or(Some(left));
                listener.hear(&Event::Departed { time: left, frame, packet: number });
            }
            Kind::HostDirect => {
                let bytes = command.data.to_le_bytes();
                let data = &bytes[..command.bytes.min(8) as usize];
                self.write_to_host(shared, time, command.host_address, data, number, listener);
            }
            Kind::HostDma if command.to_host => {
                let mut data = std::mem::take(&mut shared.scratch);
                data.clear();
                let read = shared.memories.read(command.nic_address, command.bytes);
                data.extend_from_slice(read.unwrap_or(&[]));
                self.write_to_host(shared, time, command.host_address, &data, number, listener);
                shared.scratch = data;
            }
            Kind::HostDma => {
                let mut data = std::mem::take(&mut shared.scratch);
                data.clear();
                data.resize(command.bytes as usize, 0);
                let _ = self.host.memory.read(command.host_address, &mut data);
                listener.supply(time, command.host_address, &mut data);
                let _ = shared.memories.write(command.nic_address, &data);
                shared.scratch = data;
            }
        }
    }

    fn write_to_host(
        &mut self,
        shared: &mut Shared,
        time: pinion_sim::Time,
        address: u64,
        data: &[u8],
        packet: u64,
        listener: &mut dyn Listener,
    ) {
        // Beyond the host memory's limit nothing is written; the handler cannot tell either.
        let _ = self.host.memory.write(address, data);
        shared.totals.host_writes += 1;
        shared.totals.host_bytes += data.len() as u64;
        if shared.interest.host_writes {
            listener.hear(&Event::HostWrite { time, address, data, packet });
        }
    }
}

/// Gives the port of the NIC memory that a command reads or writes, if it has to share it, and its
/// side there. Reads of packet memory wait elsewhere: [`InboundEngine::read_start`].
fn shared_port(decoded: &Command, source: Option<Place>) -> Option<(Port, Side)> {
    let from_host = decoded.kind == Kind::HostDma && !decoded.to_host;
    let port = match source {
        Some(Place::L1 { cluster, .. }) => Port::L1(cluster),
        Some(Place::L2Packet(_)) if from_host => Port::Packets,
        _ => return None,
    };
    Some((port, if from_host { Side::Guest } else { Side::Stream }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    fn host_dma(bytes: u32) -> Command {
        Command {
            kind: Kind::HostDma,
            nic_address: 0x1c40_0000,
            host_address: 1 << 60,
            bytes,
            to_host: true,
            data: 0,
        }
    }

    #[test]
    fn takes_the_measured_cycles() {
        let machine = machine();
        let timing = Timing::new(&machine);
        let l1 = Some(Place::L1 { cluster: 0, offset: 0x4400 });
        let l2 = Some(Place::L2Packet(0));
        for (bytes, source, cycles) in [(64, l1, 15), (1024, l1, 30), (64, l2, 17), (1024, l2, 32)]
        {
            let mut interface = Interface::new(&machine);
            let taken = interface.take(100, 0, &host_dma(bytes), source, &timing);
            assert_eq!(taken.done, 100 + cycles);
        }
    }

    #[test]
    fn holds_seven_commands() {
        let machine = machine();
        let timing = Timing::new(&machine);
        let mut interface = Interface::new(&machine);
        for now in 0..7 {
            assert!(interface.has_slot(now));
            interface.take(now, 0, &host_dma(64), None, &timing);
        }
        assert!(!interface.has_slot(7));
        assert_eq!(interface.release(15, &timing), 17);
        assert!(!interface.has_slot(16));
        assert!(interface.has_slot(17));
    }

    /// A command that was chosen stays so while its interface is full, and those behind it wait.
    #[test]
    fn the_chosen_command_stays_chosen() {
        let mut frontend = Frontend::new(&machine());
        assert_eq!(frontend.choose(), None);
        frontend.offer(2);
        assert_eq!(frontend.choose(), Some(2));
        frontend.offer(0);
        assert_eq!(frontend.choose(), Some(2));
        assert!(frontend.take());
        assert_eq!(frontend.choose(), Some(0));
        assert!(!frontend.take());
    }

    /// Copies from the host to one cluster follow each other beat by beat, those to another a cycle
    /// later (row from_host_l1_send-burst_256).
    #[test]
    fn copies_from_the_host_change_clusters_in_a_cycle() {
        let machine = machine();
        let timing = Timing::new(&machine);
        let mut interface = Interface::new(&machine);
        let read = Command { to_host: false, nic_address: 0x1000_4400, ..host_dma(256) };
        let mut done = |cluster| {
            let target = Some(Place::L1 { cluster, offset: 0x4400 });
            interface.take(100, 0, &read, target, &timing).done
        };
        let first = done(0);
        assert_eq!([done(0), done(1), done(1)], [first + 4, first + 9, first + 13]);
    }

    #[test]
    fn decodes_the_words() {
        let direct = CommandWords { info: 4, words: [0x10, 0x1000_0000, 8 << 1 | 1, 2, 1, 0, 0] };
        let command = Command::decode(&direct).expect("well formed");
        assert_eq!(command.host_address, 0x1000_0000_0000_0010);
        assert_eq!((command.bytes, command.data), (8, 0x1_0000_0002));
        let words = [0; 7];
        assert!(Command::decode(&CommandWords { info: 6, words }).is_err());
    }
}
