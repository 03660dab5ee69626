//! The command unit: commands of all clusters, each handed to its interface.
//!
//! In: commands from the clusters, one in a cycle. Out: each to the NIC outbound engine
//! ([`crate::outbound`]), the off-cluster DMA ([`crate::off_cluster_dma`]) or, as a HostDirect, the host
//! interface ([`crate::host_interface`]); when it is done, the answer to its HPU. Holds the chosen
//! command. Waits for a free slot of its interface, and for the ports to the NIC's memories. Issue in
//! cycle t, out of the cluster in t + 1, in the interface in t + 2 when nothing is in the way; the HPU
//! sees the answer two cycles after the interface gives it. (Paper §III-A, §III-B2; RTL: command
//! frontend.)

use pinion_sim::arbiter::{Requests, RoundRobin};
use pinion_sim::turn_port::{Side, TurnPort};

use crate::cluster::hpu::driver::{Port, Turn};
use crate::cluster::{Clusters, SPILL_ENTRIES};
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

/// Chooses whose command goes to its interface: one in a cycle. A command that was chosen and whose
/// interface is full holds up those behind it, whatever they are for. (The RTL's cmd_unit has an
/// arbiter for each interface, but what sends and host DMA share behind them is not all modelled: with
/// three arbiters alone, rows `send_and_host-burst_256` and `pingpong_l1-burst_64` and application run
/// `copy_from_host-burst` come out faster than the RTL's. One arbiter stands for both.)
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
        Self { arbiter: RoundRobin::default(), requests: Requests::new(clusters), chosen: None }
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

/// Holds the command unit and what lies behind its interfaces.
#[derive(Clone, Debug)]
pub struct CommandUnit {
    frontend: Frontend,
    /// When the frontend hands the next command over.
    pub wake: Wake,
    /// Takes packets to send.
    pub outbound: OutboundEngine,
    /// Takes transfers between NIC and host memory.
    pub off_cluster_dma: OffClusterDma,
    /// Takes HostDirects, has host memory.
    pub host: HostInterface,
}

/// Names where commands come from and whose ports they share: the clusters' drivers and L1, and the
/// inbound engine's port to packet memory.
pub struct Sources<'a> {
    pub clusters: &'a mut Clusters,
    pub inbound: &'a mut InboundEngine,
}

impl CommandUnit {
    /// Makes an idle unit.
    pub fn new(machine: &Machine) -> Self {
        Self {
            frontend: Frontend::new(machine),
            wake: Wake::default(),
            outbound: OutboundEngine::new(machine),
            off_cluster_dma: OffClusterDma::new(machine),
            host: HostInterface::new(machine),
        }
    }

    /// Forgets all commands; the link, the bus and host memory are kept.
    pub fn reset(&mut self, machine: &Machine) {
        self.frontend = Frontend::new(machine);
        self.wake = Wake::default();
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

    /// Offers the oldest command of a cluster to its interface.
    pub fn offer(&mut self, shared: &mut Shared, cycle: u64, cluster: u32) {
        self.frontend.offer(cluster);
        self.wake_at(shared, cycle);
    }

    /// Lets the frontend hand the next command over at `cycle`.
    fn wake_at(&mut self, shared: &mut Shared, cycle: u64) {
        shared.wake(&mut self.wake, cycle, Due::CommandFrontend);
    }

    /// Hands the next command to its interface.
    #[inline]
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
        let kind = Command::decode(&draft).map_or(Kind::HostDma, |command| command.kind);
        let slots = self.slots(kind);
        if !slots.has_free(now) {
            // Where no slot is known to become free, a command that is done brings one.
            let free = slots.next_free();
            return free.map_or((), |cycle| self.wake_at(shared, cycle));
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
            let interface = kind as u32;
            unit(UnitEventKind::InterfaceCommand, now, cluster, hpu, command % per_hpu, interface)
        });
        let done = self.start_command(shared, from, now, command);
        shared.wheel.push(done, Due::CommandDone(command));
        if more {
            self.wake_at(shared, now + 1);
        }
    }

    /// Gives the cycle at which a command that its interface takes now is done.
    fn start_command(
        &mut self,
        shared: &mut Shared,
        from: &mut Sources<'_>,
        now: u64,
        command: u32,
    ) -> u64 {
        let draft = from.clusters.slot(shared, command).command;
        let Ok(decoded) = Command::decode(&draft) else { return now + 1 };
        let source = shared.memories.place(decoded.nic_address, 0);
        let is_send = decoded.kind == Kind::Send;
        let mut start = if is_send { now.max(self.outbound.not_before()) } else { now };
        if decoded.reads_nic() && !matches!(source, Some(Place::L1 { .. })) {
            let free = match is_send {
                true => self.outbound.next_read(start),
                false => self.off_cluster_dma.next_read(start),
            };
            // Its request goes ahead of the reads before it.
            let comes = match is_send {
                true => 0,
                false => shared.machine.command.read_request_cycles,
            };
            start = free.max(from.inbound.admit_read(start + comes) - comes);
        }
        let taken = match decoded.kind {
            Kind::HostDirect => self.host.take(start),
            Kind::Send => self.outbound.take(start, &decoded, source),
            Kind::HostDma => self.off_cluster_dma.take(start, &decoded, source),
        };
        let mut done = taken.done;
        if let Some(at) = shared_port(&decoded, source) {
            let waits = Self::take_turn(shared, from, now, command, at, &taken);
            match decoded.kind {
                Kind::HostDirect => self.host.slots.put_off(waits),
                Kind::Send => self.outbound.hold(waits),
                Kind::HostDma => self.off_cluster_dma.hold(&decoded, waits),
            }
            done += waits;
        }
        if is_send {
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
        // Packet memory's port is asked for ahead of the data, and waits for them.
        let asks = match port {
            Port::Packets => ready.min(now + shared.machine.command.write_request_cycles),
            Port::L1(_) => ready,
        };
        let (burst, start) =
            Self::port(from, port).book_ahead(now, side, (asks, ready), taken.nic_beats);
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
        let kind = match Command::decode(&slot.command) {
            Ok(decoded) => {
                self.perform(shared, now, &decoded, slot.packet, listener);
                decoded.kind
            }
            Err(_) => Kind::HostDma,
        };
        let interface = kind as u32;
        let free = self.slots(kind).release(now);
        self.wake_at(shared, free);
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

/// Gives the port of the NIC memory that a command reads or writes, if it has to share it, and its
/// side there. Reads of packet memory wait elsewhere: [`InboundEngine::admit_read`].
fn shared_port(decoded: &Command, source: Option<Place>) -> Option<(Port, Side)> {
    let from_host = decoded.writes_nic();
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
}
