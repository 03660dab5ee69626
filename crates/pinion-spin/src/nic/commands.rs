//! The way of a command: from the HPU through the cluster to its interface, and the answer back.
//!
//! Issue in cycle t, out of the cluster in t + 1, in the interface in t + 2 when nothing is in the
//! way; the HPU sees the answer two cycles after the interface gives it.

use std::collections::VecDeque;

use pinion_host::{Access, PcieConfig, PcieLink};

use super::{Due, Nic, crossing::Crossing, unit};
use crate::cluster::SPILL_ENTRIES;
use crate::command::{Command, Kind, Taken};
use crate::hpu::Waiting;
use crate::hpu::driver::{CommandSlot, Port, Turn};
use crate::hpu::permissions::Right;
use crate::listener::{Event, Listener};
use crate::memory::Place;
use crate::scene::Refused;
use crate::turn_port::{Side, TurnPort};
use crate::{Machine, UnitEventKind};

/// Holds what lies behind the interfaces: the link and the PCIe bus.
#[derive(Debug)]
pub struct Egress {
    link_free_ps: u64,
    link_mbit_s: u64,
    /// Cycles at which the last packets leave.
    departures: VecDeque<u64>,
    /// Packets that may wait for the link; the outbound engine waits beyond.
    queue_packets: usize,
    bus: PcieLink,
    crossing: Crossing,
}

impl Egress {
    /// Makes an idle link and bus.
    pub fn new(machine: &Machine) -> Self {
        Self {
            link_free_ps: 0,
            link_mbit_s: machine.network.rate_mbit_s,
            departures: VecDeque::new(),
            queue_packets: machine.network.queue_packets as usize,
            bus: PcieLink::new(PcieConfig {
                request_crosses: machine.pcie.read_crossings > 1,
                ..PcieConfig::from_rate(machine.pcie.latency_ps, machine.pcie.rate_mbit_s)
            }),
            crossing: Crossing::new(machine),
        }
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

    /// Moves bytes over the bus from `from_ps` on; gives when they are there.
    fn transfer(&mut self, from_ps: u64, bytes: u32, to_host: bool) -> u64 {
        if to_host {
            self.bus.write(from_ps, u64::from(bytes))
        } else {
            self.bus.read(from_ps, u64::from(bytes))
        }
    }

    /// Gives the cycle before which the outbound engine may not start: its queue is full.
    fn not_before(&self) -> u64 {
        if self.departures.len() < self.queue_packets {
            return 0;
        }
        self.departures.front().copied().unwrap_or(0)
    }

    fn departs(&mut self, cycle: u64) {
        self.departures.push_back(cycle);
        if self.departures.len() > self.queue_packets {
            self.departures.pop_front();
        }
    }
}

impl Nic {
    fn slot(&mut self, command: u32) -> &mut CommandSlot {
        let per_hpu = self.machine.command.per_hpu;
        &mut self.drivers[(command / per_hpu) as usize].slots[(command % per_hpu) as usize]
    }

    /// Issues the command a core has written; `None`: it has to wait.
    pub(super) fn issue_command(
        &mut self,
        now: u64,
        core: usize,
        listener: &mut dyn Listener,
    ) -> Option<u32> {
        let driver = &self.drivers[core];
        let running = driver.running?;
        if driver.completion.is_some() {
            return None;
        }
        let id = driver.slots.iter().position(|slot| !slot.busy)? as u32;
        let draft = driver.draft;
        if self.machine.protection.check_commands
            && let Err(what) = self.check_command(core, running.context)
        {
            let command = Command::decode(&draft).ok();
            let refused = Refused {
                nic_address: command.as_ref().map_or(0, |command| command.nic_address),
                other_address: command
                    .as_ref()
                    .filter(|command| command.kind != Kind::Send)
                    .map(|command| command.host_address),
                bytes: command.as_ref().map_or(0, |command| command.bytes),
            };
            self.report_refusal(now, core, what, refused, listener);
            return Some(id); // refused: it counts as done at once
        }
        let driver = &mut self.drivers[core];
        driver.slots[id as usize] =
            CommandSlot { busy: true, command: draft, packet: running.task.packet, turn: None };
        driver.queue.push_back(id);
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        self.clusters[cluster as usize].command_requests.set(hpu, true);
        self.wake_cluster_command(now + 1, cluster);
        self.tell(listener, || {
            let interface = Command::decode(&draft).map_or(3, |command| command.kind as u32);
            unit(UnitEventKind::CommandIssue, now, cluster, hpu, id, interface)
        });
        Some(id)
    }

    /// Checks a command against what its handler may touch.
    fn check_command(&mut self, core: usize, context: u32) -> Result<(), &'static str> {
        let command = Command::decode(&self.drivers[core].draft)?;
        if command.kind != Kind::HostDirect {
            let right = if command.kind == Kind::HostDma && !command.to_host {
                Right::Write
            } else {
                Right::Read
            };
            let (address, bytes) = (command.nic_address, command.bytes);
            if self.memories.read(address, bytes).is_none() {
                return Err("its NIC address is not in the NIC's memories");
            }
            if !self.cores[core].permissions.covers(address, bytes, right) {
                return Err("its NIC address is not within what the handler may touch");
            }
        }
        if command.kind == Kind::Send {
            if command.bytes == 0 || command.bytes > self.machine.inbound.max_packet_bytes {
                return Err("the packet to send is empty or larger than the machine takes");
            }
            return Ok(());
        }
        if self.machine.pcie.iommu {
            let access = if command.to_host { Access::Write } else { Access::Read };
            let (address, bytes) = (command.host_address, u64::from(command.bytes));
            if self.iommu.check(context, access, address, bytes).is_err() {
                return Err("its host address is not within the context's host memory (IOMMU)");
            }
        }
        Ok(())
    }

    fn wake_cluster_command(&mut self, cycle: u64, cluster: u32) {
        if self.wakes.cluster_command[cluster as usize].request(cycle) {
            self.wheel.push(cycle, Due::ClusterCommand(cluster));
        }
    }

    /// Sends one command of a cluster on its way.
    pub(super) fn cluster_command(&mut self, now: u64, cluster: u32, listener: &mut dyn Listener) {
        let units = &mut self.clusters[cluster as usize];
        if units.commands.len() >= SPILL_ENTRIES {
            return; // an interface takes one and wakes this cluster
        }
        let Some(hpu) = units.command_arbiter.grant(&units.command_requests) else { return };
        let core = self.core_id(cluster, hpu);
        let Some(id) = self.drivers[core].queue.pop_front() else { return };
        let more = !self.drivers[core].queue.is_empty();
        let units = &mut self.clusters[cluster as usize];
        units.command_requests.set(hpu, more);
        let again = !units.command_requests.is_empty();
        let command = core as u32 * self.machine.command.per_hpu + id;
        units.commands.push_back((command, now));
        if units.commands.len() == 1 {
            self.offer_to_interface(now + 1, cluster);
        }
        self.tell(listener, || unit(UnitEventKind::CommandOut, now, cluster, hpu, id, 0));
        if again {
            self.wake_cluster_command(now + 1, cluster);
        }
    }

    /// Offers the oldest command of a cluster to its interface.
    fn offer_to_interface(&mut self, cycle: u64, cluster: u32) {
        self.command_frontend.offer(cluster);
        self.wake_command_frontend(cycle);
    }

    fn wake_command_frontend(&mut self, cycle: u64) {
        if self.wakes.command_frontend.request(cycle) {
            self.wheel.push(cycle, Due::CommandFrontend);
        }
    }

    /// Hands the next command to its interface.
    pub(super) fn command_frontend(&mut self, now: u64, listener: &mut dyn Listener) {
        let Some(cluster) = self.command_frontend.choose() else { return };
        let Some(&(command, _)) = self.clusters[cluster as usize].commands.front() else { return };
        let draft = self.slot(command).command;
        let interface =
            Command::decode(&draft).map_or(Kind::HostDma, |command| command.kind) as u32;
        let unit_ = &mut self.interfaces[interface as usize];
        if !unit_.has_slot(now) {
            // Where no slot is known to become free, a command that is done brings one.
            let free = unit_.next_slot();
            return free.map_or((), |cycle| self.wake_command_frontend(cycle));
        }
        let more = self.command_frontend.take();
        let units = &mut self.clusters[cluster as usize];
        let was_full = units.commands.len() >= SPILL_ENTRIES;
        units.commands.pop_front();
        let next = units.commands.front().copied();
        if was_full {
            self.wake_cluster_command(now + 1, cluster);
        }
        if let Some((_, from)) = next {
            self.offer_to_interface((from + 1).max(now + 1), cluster);
        }
        let per_hpu = self.machine.command.per_hpu;
        let hpu = command / per_hpu % self.machine.cluster.cores;
        self.tell(listener, || {
            unit(UnitEventKind::InterfaceCommand, now, cluster, hpu, command % per_hpu, interface)
        });
        let done = self.start_command(now, interface, command);
        self.wheel.push(done, Due::CommandDone(command));
        if more {
            self.wake_command_frontend(now + 1);
        }
    }

    /// Gives the cycle at which a command that its interface takes now is done.
    fn start_command(&mut self, now: u64, interface: u32, command: u32) -> u64 {
        let draft = self.slot(command).command;
        let Ok(decoded) = Command::decode(&draft) else { return now + 1 };
        let source = self.memories.place(decoded.nic_address, 0);
        let mut not_before = if decoded.kind == Kind::Send { self.egress.not_before() } else { 0 };
        let reads = decoded.kind == Kind::Send || decoded.kind == Kind::HostDma && decoded.to_host;
        if reads && !matches!(source, Some(Place::L1 { .. })) {
            let from = self.interfaces[interface as usize].next_read(now.max(not_before));
            not_before = self.ingress.read_start(from);
        }
        let taken = self.interfaces[interface as usize].take(
            now,
            not_before,
            &decoded,
            source,
            &self.command_timing,
        );
        let done = taken.done + self.take_turn(now, command, &decoded, source, &taken);
        if decoded.kind == Kind::Send {
            return done;
        }
        let ps = self.clock.time(done).ps();
        let there = self.egress.transfer(ps, decoded.bytes, decoded.to_host);
        self.clock.cycle_at(pinion_sim::Time::from_ps(there)).max(done)
    }

    /// Books the port of the NIC memory that a command reads or writes, if it has to share it; gives
    /// the cycles it has to wait there. Reads of packet memory wait elsewhere: `Ingress::read_start`.
    fn take_turn(
        &mut self,
        now: u64,
        command: u32,
        decoded: &Command,
        source: Option<Place>,
        taken: &Taken,
    ) -> u64 {
        let from_host = decoded.kind == Kind::HostDma && !decoded.to_host;
        let port = match source {
            Some(Place::L1 { cluster, .. }) => Port::L1(cluster),
            Some(Place::L2Packet(_)) if from_host => Port::Packets,
            _ => return 0,
        };
        let side = if from_host { Side::Guest } else { Side::Stream };
        let ready = taken.nic_from.max(now);
        let (burst, start) = self.port(port).book(now, side, ready, taken.nic_beats);
        self.slot(command).turn = Some(Turn { port, side, burst, start });
        self.interfaces[decoded.kind as usize].hold(decoded, start - ready);
        start - ready
    }

    fn port(&mut self, port: Port) -> &mut TurnPort {
        match port {
            Port::L1(cluster) => &mut self.clusters[cluster as usize].host_port,
            Port::Packets => self.ingress.port(),
        }
    }

    /// Gives the cycles by which others have put off a command's turn since it was last looked at.
    fn put_off(&mut self, now: u64, command: u32) -> u64 {
        let Some(turn) = self.slot(command).turn.take() else { return 0 };
        let port = self.port(turn.port);
        let start = port.start(turn.side, turn.burst).unwrap_or(turn.start);
        if start > turn.start {
            self.slot(command).turn = Some(Turn { start, ..turn });
        } else {
            port.forget(now, turn.side, turn.burst);
        }
        start.saturating_sub(turn.start)
    }

    /// Performs a command that is done.
    pub(super) fn command_done(&mut self, now: u64, command: u32, listener: &mut dyn Listener) {
        let moved = self.put_off(now, command);
        if moved > 0 {
            return self.wheel.push(now + moved, Due::CommandDone(command));
        }
        let slot = *self.slot(command);
        let kind = match Command::decode(&slot.command) {
            Ok(decoded) => {
                self.perform_command(now, &decoded, slot.packet, listener);
                decoded.kind
            }
            Err(_) => Kind::HostDma,
        };
        let interface = kind as u32;
        let free = self.interfaces[interface as usize].release(now, &self.command_timing);
        self.wake_command_frontend(free);
        let response = now + self.machine.command.response_cycles;
        self.wheel.push(response, Due::CommandResponse(command));
        let per_hpu = self.machine.command.per_hpu;
        let core = command / per_hpu;
        let (cluster, hpu) = (core / self.machine.cluster.cores, core % self.machine.cluster.cores);
        self.tell(listener, || {
            unit(UnitEventKind::InterfaceResponse, now, cluster, hpu, command % per_hpu, interface)
        });
    }

    fn perform_command(
        &mut self,
        now: u64,
        command: &Command,
        packet: u32,
        listener: &mut dyn Listener,
    ) {
        let number = self.packets[packet].record.packet;
        let time = self.time(now);
        match command.kind {
            Kind::Send => {
                let ps = self.egress.send(self.clock.time(now).ps(), command.bytes);
                let cycle = self.clock.cycle_at(pinion_sim::Time::from_ps(ps));
                self.egress.departs(cycle);
                let left = self.time(cycle.max(now));
                let Some(frame) = self.memories.read(command.nic_address, command.bytes) else {
                    return;
                };
                self.totals.packets_out += 1;
                self.totals.bytes_out += frame.len() as u64;
                let record = &mut self.packets[packet].record;
                record.departure = record.departure.or(Some(left));
                listener.hear(&Event::Departed { time: left, frame, packet: number });
            }
            Kind::HostDirect => {
                let bytes = command.data.to_le_bytes();
                let data = &bytes[..command.bytes.min(8) as usize];
                self.write_to_host(time, command.host_address, data, number, listener);
            }
            Kind::HostDma if command.to_host => {
                let mut data = std::mem::take(&mut self.scratch);
                data.clear();
                let read = self.memories.read(command.nic_address, command.bytes);
                data.extend_from_slice(read.unwrap_or(&[]));
                self.write_to_host(time, command.host_address, &data, number, listener);
                self.scratch = data;
            }
            Kind::HostDma => {
                let mut data = std::mem::take(&mut self.scratch);
                data.clear();
                data.resize(command.bytes as usize, 0);
                let _ = self.host.read(command.host_address, &mut data);
                listener.supply(time, command.host_address, &mut data);
                let _ = self.memories.write(command.nic_address, &data);
                self.scratch = data;
            }
        }
    }

    fn write_to_host(
        &mut self,
        time: pinion_sim::Time,
        address: u64,
        data: &[u8],
        packet: u64,
        listener: &mut dyn Listener,
    ) {
        // Beyond the host memory's limit nothing is written; the handler cannot tell either.
        let _ = self.host.write(address, data);
        self.totals.host_writes += 1;
        self.totals.host_bytes += data.len() as u64;
        if self.interest.host_writes {
            listener.hear(&Event::HostWrite { time, address, data, packet });
        }
    }

    /// Tells the HPU that its command is done.
    pub(super) fn command_response(&mut self, now: u64, command: u32, listener: &mut dyn Listener) {
        let per_hpu = self.machine.command.per_hpu;
        let core = (command / per_hpu) as usize;
        let id = command % per_hpu;
        self.drivers[core].slots[id as usize].busy = false;
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        self.tell(listener, || unit(UnitEventKind::CommandResponse, now, cluster, hpu, id, 0));
        match self.cores[core].waiting {
            Waiting::Issue => self.resume(core, now + 1),
            Waiting::Command(waited) if waited == id => self.resume(core, now),
            _ => {}
        }
        self.offer_completion(now, core);
    }
}
