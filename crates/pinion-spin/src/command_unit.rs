//! The command unit: commands of all clusters, each handed to its interface.
//!
//! In: commands from the clusters, one of each in a cycle. Out: each to the NIC outbound engine
//! ([`crate::outbound`]), the off-cluster DMA ([`crate::off_cluster_dma`]) or, as a HostDirect, the host
//! interface ([`crate::host_interface`]); when it is done, the answer to its HPU. Holds the chosen
//! commands. Waits for a free slot of its interface, and for the ports to the NIC's memories. Issue in
//! cycle t, out of the cluster in t + 1, in the interface in t + 2 when nothing is in the way; the HPU
//! sees the answer two cycles after the interface gives it. (Paper §III-A, §III-B2; RTL: command
//! frontend.)

mod answers;
mod beside;

use pinion_l2_port::reads::NicSide;
use pinion_sim::arbiter::LockedArbiter;
use pinion_sim::turn_port::Side;

use crate::cluster::hpu::driver::Turn;
use crate::cluster::{Clusters, SPILL_ENTRIES};
use crate::command::cluster_path::{ClusterPath, InL1, Line};
use crate::command::interface::{Slots, Taken};
use crate::command::{Command, Kind};
use crate::host_interface::HostInterface;
use crate::inbound::InboundEngine;
use crate::listener::Listener;
use crate::memory::Place;
use crate::off_cluster_dma::OffClusterDma;
use crate::outbound::OutboundEngine;
use crate::shared::{Shared, unit};
use crate::wake::{Due, Wake};
use crate::{Machine, UnitEventKind};
use answers::{AnswerTurns, Done};

/// Lets each interface choose among the clusters' oldest commands, one in a cycle. A command that was chosen stays so
/// while its interface is full. (RTL: cmd_unit, i_cmd_intf_arb.)
#[derive(Clone, Debug)]
struct Frontend {
    /// By interface, in the order of [`Kind`].
    choices: [LockedArbiter; 3],
}

impl Frontend {
    /// Makes an idle one.
    fn new(machine: &Machine) -> Self {
        let choice = |_| LockedArbiter::new(machine.cluster.count);
        Self { choices: std::array::from_fn(choice) }
    }

    /// Notes that a cluster offers a command from cycle `from` on.
    fn offer(&mut self, from: u64, cluster: u32, kind: Kind) {
        self.choices[kind as usize].ask(from, cluster);
    }

    /// Gives the cluster that each interface has chosen; it stays chosen until its command is taken.
    fn choose(&mut self, now: u64) -> [Option<u32>; 3] {
        self.choices.each_mut().map(|choice| choice.choose(now))
    }

    /// Notes that the command which an interface chose was taken at cycle `now`.
    fn take(&mut self, now: u64, interface: usize) {
        self.choices[interface].take(now);
    }

    /// Gives the cycle after `now` in which something can be chosen, if all interfaces have room.
    fn next(&self, now: u64) -> Option<u64> {
        self.choices.iter().filter_map(|choice| choice.next(now)).min()
    }
}

/// The interfaces, in the order in which they are served in a cycle.
const KINDS: [Kind; 3] = [Kind::HostDirect, Kind::Send, Kind::HostDma];

/// Holds the command unit and what lies behind its interfaces.
#[derive(Clone, Debug)]
pub struct CommandUnit {
    frontend: Frontend,
    /// The way into the clusters' L1.
    pub path: ClusterPath,
    /// When the frontend hands the next command over.
    pub wake: Wake,
    /// What is done, on its way back.
    pub answers: AnswerTurns,
    /// Takes packets to send.
    pub outbound: OutboundEngine,
    /// Takes transfers between NIC and host memory.
    pub off_cluster_dma: OffClusterDma,
    /// Takes HostDirects, has host memory.
    pub host: HostInterface,
}

/// Names where commands come from and whose port they share: the clusters' drivers, the inbound engine.
pub struct Sources<'a> {
    pub clusters: &'a mut Clusters,
    pub inbound: &'a mut InboundEngine,
}

impl CommandUnit {
    /// Makes an idle unit.
    pub fn new(machine: &Machine) -> Self {
        Self {
            frontend: Frontend::new(machine),
            path: ClusterPath::new(machine),
            wake: Wake::default(),
            answers: AnswerTurns::new(),
            outbound: OutboundEngine::new(machine),
            off_cluster_dma: OffClusterDma::new(machine),
            host: HostInterface::new(machine),
        }
    }

    /// Forgets all commands; link, bus and host memory are kept.
    pub fn reset(&mut self, machine: &Machine) {
        self.frontend = Frontend::new(machine);
        self.path = ClusterPath::new(machine);
        self.wake = Wake::default();
        self.answers = AnswerTurns::new();
        self.outbound.reset(machine);
        self.off_cluster_dma = OffClusterDma::new(machine);
        self.host.reset(machine);
    }

    /// Gives the number of commands that each interface holds, in the order of [`Kind`].
    pub fn in_flight(&self) -> [u32; 3] {
        [&self.host.slots, &self.outbound.slots, &self.off_cluster_dma.slots].map(Slots::in_flight)
    }

    fn slots(&mut self, kind: Kind) -> &mut Slots {
        match kind {
            Kind::HostDirect => &mut self.host.slots,
            Kind::Send => &mut self.outbound.slots,
            Kind::HostDma => &mut self.off_cluster_dma.slots,
        }
    }

    /// Lets a cluster offer its oldest command from `cycle` on.
    pub fn offer(
        &mut self,
        shared: &mut Shared,
        clusters: &mut Clusters,
        cycle: u64,
        cluster: u32,
    ) {
        let oldest = clusters.each[cluster as usize].commands.spill.front();
        let Some(&(command, _)) = oldest else { return };
        let draft = clusters.slot(shared, command).command;
        let kind = Command::decode(&draft).map_or(Kind::HostDma, |command| command.kind);
        self.frontend.offer(cycle, cluster, kind);
        self.wake_at(shared, cycle);
    }

    /// Lets the frontend hand the next commands over at `cycle`.
    pub fn wake_at(&mut self, shared: &mut Shared, cycle: u64) {
        shared.wake(&mut self.wake, cycle, Due::CommandFrontend);
    }

    /// Hands commands to the interfaces, one to each that has room.
    #[inline]
    pub fn step(
        &mut self,
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        listener: &mut dyn Listener,
    ) {
        if shared.hardware.commands().is_some_and(|seat| !seat.compares) {
            return self.step_block(shared, from, now, listener);
        }
        let chosen = self.frontend.choose(now);
        for kind in KINDS {
            let Some(cluster) = chosen[kind as usize] else { continue };
            let slots = self.slots(kind);
            if slots.has_free(now) {
                self.hand_over(shared, from, now, (cluster, kind), listener);
            } else if let Some(free) = slots.next_free() {
                // Where no slot is known to become free, a command that is done brings one.
                self.wake_at(shared, free);
            }
        }
        if let Some(next) = self.frontend.next(now) {
            self.wake_at(shared, next);
        }
    }

    /// Hands the commands over that a block gives the interfaces.
    fn step_block(
        &mut self,
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        listener: &mut dyn Listener,
    ) {
        for kind in KINDS {
            let is_full = !self.slots(kind).has_free(now);
            let chosen = shared.hardware.commands().and_then(|seat| seat.chosen(kind));
            if let Some(cluster) = chosen {
                self.frontend.choices[kind as usize].remove(now, cluster);
                self.hand_over(shared, from, now, (cluster, kind), listener);
            }
            // It steps when the model would, so that what happens in a cycle happens in the same order.
            let arbiter = &self.frontend.choices[kind as usize];
            let next = match arbiter.asking(now) != 0 {
                true if is_full => self.slots(kind).next_free(),
                true => Some(now + 1),
                false => arbiter.next(now),
            };
            if let Some(next) = next {
                self.wake_at(shared, next.max(now + 1));
            }
        }
    }

    /// Gives the clusters that have a command for each interface in a cycle, a bit each.
    pub fn offered(&self, cycle: u64) -> [u64; 3] {
        self.frontend.choices.each_ref().map(|choice| choice.asking(cycle))
    }

    /// Describes what its interfaces hold.
    pub fn describe(&self) -> String {
        let chosen = self.frontend.choices.each_ref().map(LockedArbiter::chosen);
        format!("commands in each interface: {:?}, clusters chosen: {chosen:?}", self.in_flight())
    }

    /// Hands a cluster's oldest command to its interface.
    fn hand_over(
        &mut self,
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        (cluster, kind): (u32, Kind),
        listener: &mut dyn Listener,
    ) {
        self.frontend.take(now, kind as usize);
        let spill = &mut from.clusters.each[cluster as usize].commands.spill;
        let was_full = spill.len() >= SPILL_ENTRIES;
        let Some((command, _)) = spill.pop_front() else { return };
        let next = spill.front().map(|&(_, came)| came);
        if was_full {
            from.clusters.wake_cluster_command(shared, now + 1, cluster);
        }
        if let Some(came) = next {
            self.offer(shared, from.clusters, (came + 1).max(now + 1), cluster);
        }
        let slot = *from.clusters.slot(shared, command);
        if let Some(seat) = shared.hardware.commands() {
            seat.follow(kind, cluster, slot.packet);
        }
        let per_hpu = shared.machine.command.per_hpu;
        let hpu = command / per_hpu % shared.machine.cluster.cores;
        shared.tell(listener, || {
            let id = command % per_hpu;
            unit(UnitEventKind::InterfaceCommand, now, cluster, hpu, id, kind as u32)
        });
        beside::show(shared, now, command, &slot);
        self.slots(kind).occupy();
        self.start(shared, from, now, command);
    }

    /// Starts a command that its interface has taken: it goes to a cluster's L1, or is done at a known time.
    fn start(&mut self, shared: &mut Shared, from: &mut Sources<'_>, now: u64, command: u32) {
        let draft = from.clusters.slot(shared, command).command;
        let Ok(decoded) = Command::decode(&draft) else {
            return shared.wheel.push(now + 1, Due::CommandDone(command));
        };
        let Some(line) = Line::of(&decoded) else {
            let done = self.host.take(now);
            return self.finish(shared, &decoded, (command, done));
        };
        // What was read before it is known before it.
        self.advance_path(now, from.clusters);
        if self.path.has_ended() {
            self.pass(shared, from, now);
        }
        match shared.memories.place(decoded.nic_address, 0) {
            Some(Place::L1 { cluster, offset }) if !self.path.has_waiting(line) => {
                self.ask_cluster(now, &decoded, (line, InL1 { cluster, offset }), command);
                beside::show_asks(shared, &decoded, command, self.off_cluster_dma.asked_from());
                self.wake_path(shared);
            }
            _ if self.path.is_busy(line) => self.path.wait(line, command),
            source => {
                let done = self.start_in_l2(shared, from, now, (command, &decoded), source);
                self.path.note_elsewhere(line, done);
                self.finish(shared, &decoded, (command, done));
            }
        }
    }

    /// Lets a command ask for a cluster's L1.
    fn ask_cluster(&mut self, now: u64, decoded: &Command, to: (Line, InL1), command: u32) {
        match to.0 {
            Line::Sends => {
                let from = now.max(self.outbound.not_before());
                self.path.ask(from, to, self.outbound.beats(decoded), command);
            }
            Line::ToHost => {
                self.path.ask(now, to, self.off_cluster_dma.nic_beats(decoded), command)
            }
            Line::FromHost => {
                let (data_from, beats) = self.off_cluster_dma.data_from_host(now, decoded);
                self.path.write(now, (to.1, data_from), beats, command);
            }
        }
    }

    /// Goes through the cycles before `now` with the bursts to and from the clusters' L1, beside their DMA engines.
    #[inline]
    pub fn advance_path(&mut self, now: u64, clusters: &mut Clusters) {
        let Clusters { each, dma_ports, .. } = clusters;
        self.path.advance(now, |cluster, offset, cycle| {
            each[cluster as usize].dma.gives_superbank(cycle, offset, dma_ports)
        });
    }

    /// Goes on with the bursts to and from the clusters' L1 until cycle `now`: what has ended by then
    /// lets its command be done.
    pub fn pass(&mut self, shared: &mut Shared, from: &mut Sources<'_>, now: u64) {
        self.advance_path(now, from.clusters);
        while let Some((line, command, last_beat)) = self.path.take_ended() {
            let draft = from.clusters.slot(shared, command).command;
            let Ok(decoded) = Command::decode(&draft) else { continue };
            beside::show_last_beat(shared, line, command, last_beat);
            let done = match line {
                Line::Sends => self.outbound.slots.answer(last_beat + 1),
                Line::ToHost => self.off_cluster_dma.written_to_host(last_beat, &decoded),
                Line::FromHost => self.off_cluster_dma.written_to_l1(last_beat),
            };
            self.finish(shared, &decoded, (command, done));
            for waiting in self.path.take_waiting(line) {
                self.start(shared, from, now, waiting);
            }
        }
        self.wake_path(shared);
    }

    /// Goes on with the bursts when the next command may be done.
    fn wake_path(&mut self, shared: &mut Shared) {
        if let Some(next) = self.path.next_end() {
            let next = next.max(shared.wheel.now() + 1);
            shared.wake(&mut self.path.wake, next, Due::ClusterPath);
        }
    }

    /// Lets a command be done, which is so at a cycle beside what the host adds.
    fn finish(&mut self, shared: &mut Shared, decoded: &Command, (command, done): (u32, u64)) {
        let done = match decoded.kind {
            Kind::Send => done,
            _ => {
                let ps = shared.clock.time(done).ps();
                let there = self.host.transfer(ps, decoded.bytes, decoded.to_host);
                shared.clock.cycle_at(pinion_sim::Time::from_ps(there)).max(done)
            }
        };
        shared.wheel.push(done, Due::CommandDone(command));
    }

    /// Gives the cycle at which a command is done that does not go to a cluster's L1.
    fn start_in_l2(
        &mut self,
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        (command, decoded): (u32, &Command),
        source: Option<Place>,
    ) -> u64 {
        let is_send = decoded.kind == Kind::Send;
        let is_packet = matches!(source, Some(Place::L2Packet(_)));
        let mut start = if is_send { now.max(self.outbound.not_before()) } else { now };
        if decoded.reads_nic() {
            // A copy's request goes ahead of the reads before it.
            let engine = &self.off_cluster_dma;
            let (free, comes, beats) = match is_send {
                true => (self.outbound.next_read(start), 0, self.outbound.beats(decoded)),
                false => {
                    (engine.next_read(start), engine.request_cycles, engine.nic_beats(decoded))
                }
            };
            start = free.max(from.inbound.admit_read(start + comes) - comes);
            if is_packet {
                let side = if is_send { NicSide::Sends } else { NicSide::ToHost };
                let (reads, read) = (&mut from.clusters.dma_ports.reads, (start + comes, beats));
                start += reads.note_nic_read(now, side, read, decoded.nic_address);
            }
        }
        let taken = match is_send {
            true => self.outbound.take(start, decoded, source),
            false => self.off_cluster_dma.take(start, decoded, source),
        };
        beside::show_start(shared, decoded, command, &taken);
        beside::show_asks(shared, decoded, command, self.off_cluster_dma.asked_from());
        if !decoded.writes_nic() || !is_packet {
            return taken.done;
        }
        let waits = Self::take_turn(shared, from, now, command, &taken);
        self.off_cluster_dma.hold(waits);
        taken.done + waits
    }

    /// Books packet memory's port for a command that writes there; gives the cycles it has to wait.
    /// The port is asked for ahead of the data, and waits for them.
    fn take_turn(
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        command: u32,
        taken: &Taken,
    ) -> u64 {
        let ready = taken.nic_from.max(now);
        let asks = ready.min(now + shared.machine.command.write_request_cycles);
        let port = from.inbound.port();
        let (burst, start) = port.book_ahead(now, Side::Guest, (asks, ready), taken.nic_beats);
        from.clusters.slot(shared, command).turn = Some(Turn { burst, start });
        start - ready
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
        let port = from.inbound.port();
        let start = port.start(Side::Guest, turn.burst).unwrap_or(turn.start);
        if start > turn.start {
            from.clusters.slot(shared, command).turn = Some(Turn { start, ..turn });
        } else {
            port.forget(now, Side::Guest, turn.burst);
        }
        start.saturating_sub(turn.start)
    }

    /// Performs a command that is done.
    #[inline]
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
        let (kind, to_host) = match Command::decode(&slot.command) {
            Ok(decoded) => {
                self.perform(shared, now, &decoded, slot.packet, listener);
                (decoded.kind, decoded.to_host)
            }
            Err(_) => (Kind::HostDma, false),
        };
        beside::show_done(shared, now, (command, &slot), &self.host.memory);
        self.answers.add(now, Done { command, kind, to_host });
        shared.wake(&mut self.answers.wake, now + 1, Due::CommandAnswer);
        let per_hpu = shared.machine.command.per_hpu;
        let core = command / per_hpu;
        let cores = shared.machine.cluster.cores;
        let (cluster, hpu) = (core / cores, core % cores);
        shared.tell(listener, || {
            unit(
                UnitEventKind::InterfaceResponse,
                now,
                cluster,
                hpu,
                command % per_hpu,
                kind as u32,
            )
        });
    }

    /// Lets a command's interface perform it.
    fn perform(
        &mut self,
        shared: &mut Shared,
        now: u64,
        command: &Command,
        packet: u32,
        listener: &mut dyn Listener,
    ) {
        match command.kind {
            Kind::HostDirect => {
                let bytes = command.data.to_le_bytes();
                let data = &bytes[..command.bytes.min(8) as usize];
                self.host.write(shared, now, (command.host_address, data), packet, listener);
            }
            Kind::Send => self.outbound.perform(shared, now, command, packet, listener),
            Kind::HostDma => {
                let host = &mut self.host;
                self.off_cluster_dma.perform(shared, now, command, packet, host, listener);
            }
        }
    }
}

#[cfg(test)]
mod tests;
