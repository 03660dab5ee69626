//! What a NIC can say of itself: counters, memory, and who waits for whom when nothing moves.

use super::Nic;
use crate::Totals;
use crate::cluster::hpu::Waiting;

impl Nic {
    /// Gives the counters; [`Totals::conserved`] checks them.
    pub fn totals(&self) -> Totals {
        let (now, busy) = (self.shared.wheel.now(), self.shared.totals.busy_cycles);
        let running = self.clusters.drivers.iter().filter_map(|driver| driver.running.as_ref());
        Totals {
            busy_cycles: busy + running.map(|task| now.saturating_sub(task.assigned)).sum::<u64>(),
            resident: u64::from(self.inside()),
            instructions: self.shared.totals.instructions + self.clusters.instructions(),
            cycles: self.shared.wheel.now().saturating_sub(self.shared.epoch),
            cache_misses: self.clusters.each.iter().map(|cluster| cluster.cache.misses()).sum(),
            ..self.shared.totals.clone()
        }
    }

    /// Gives the machine that is simulated.
    pub fn machine(&self) -> &crate::Machine {
        &self.shared.machine
    }

    /// Counts the messages whose end has not come and whose completion handler waits for it.
    pub fn unfinished(&self) -> u64 {
        self.mpq.unfinished()
    }

    /// Gives the number of packets inside.
    pub(super) fn inside(&self) -> u32 {
        self.shared.packets.live() + self.inbound.holds()
    }

    /// Reads host memory, as the host sees it.
    pub fn read_host(&self, address: u64, buffer: &mut [u8]) {
        self.commands.host.memory.look(address, buffer);
    }

    /// Writes host memory before or between runs, for handlers that read it; `false` if the address
    /// space ends before.
    #[must_use]
    pub fn write_host(&mut self, address: u64, data: &[u8]) -> bool {
        self.commands.host.memory.write(address, data).is_ok()
    }

    /// Reads NIC memory (L1, L2, program memory) by address; `false` if it lies outside.
    #[must_use]
    pub fn read_memory(&self, address: u32, buffer: &mut [u8]) -> bool {
        let bytes = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        self.shared
            .memories
            .read(address, bytes)
            .map(|found| buffer.copy_from_slice(found))
            .is_some()
    }

    /// Writes NIC memory by address; `false` if it lies outside.
    #[must_use]
    pub fn write_memory(&mut self, address: u32, data: &[u8]) -> bool {
        self.clusters.program.invalidate(address, data.len() as u64);
        self.shared.memories.write(address, data).is_some()
    }

    /// Tells who waits for whom.
    pub(super) fn describe_stuck(&self, now: u64) -> String {
        let mut lines = vec![format!(
            "nothing has moved since {}: {} packets are inside",
            self.shared.time(self.shared.last_progress),
            self.inside()
        )];
        if self.inbound.holds() > 0 {
            lines.push(format!(
                "the inbound engine holds a packet and waits for room in the packet buffer ({} of \
                 {} bytes held)",
                self.inbound.occupied_bytes(&self.shared),
                self.shared.machine.l2_packet.bytes
            ));
        }
        if self.inbound.is_blocked() {
            lines.push("a HER waits for a free cell or queue of the MPQ engine".to_owned());
        }
        lines.extend(self.mpq.describe().into_iter().take(16));
        if let Some(blocks) = self.shared.hardware.0.as_deref() {
            lines.extend(blocks.describe());
        }
        for (cluster, occupancy) in self.dispatcher.occupancy().iter().enumerate() {
            let (spilled, queued) = self.clusters.each[cluster].scheduler.waiting();
            if *occupancy > 0 {
                lines.push(format!(
                    "cluster {cluster}: {occupancy} tasks, {} of them wait for L1 room, the copy or \
                     an HPU",
                    spilled + queued
                ));
            }
        }
        for (id, driver) in self.clusters.drivers.iter().enumerate() {
            let core = &self.clusters.cores[id];
            let Some(running) = &driver.running else {
                if matches!(core.waiting, Waiting::Nothing | Waiting::Ever) {
                    lines.push(format!(
                        "cluster {} HPU {}: {} without a task at pc {:#010x}",
                        core.cluster,
                        core.index,
                        describe(core.waiting),
                        core.model.hart.pc
                    ));
                }
                continue;
            };
            let packet = &self.shared.packets[running.task.packet].record;
            lines.push(format!(
                "cluster {} HPU {}: {:?} handler of message {} (packet {}) {} at pc {:#010x}, for {} \
                 cycles",
                core.cluster,
                core.index,
                running.task.kind,
                packet.message,
                packet.packet,
                describe(core.waiting),
                core.model.hart.pc,
                now - running.assigned
            ));
        }
        for (interface, in_flight) in self.commands.in_flight().into_iter().enumerate() {
            if in_flight > 0 {
                lines
                    .push(format!("command interface {interface}: {in_flight} commands in flight"));
            }
        }
        lines.join("\n  ")
    }
}

pub(super) fn describe(waiting: Waiting) -> String {
    match waiting {
        Waiting::Nothing => "runs".to_owned(),
        Waiting::Event => "sleeps in the event unit".to_owned(),
        Waiting::Task => "waits for its task".to_owned(),
        Waiting::Completion => "waits until its last completion has left".to_owned(),
        Waiting::Issue => "waits to issue a command".to_owned(),
        Waiting::Command(id) => format!("waits for command {id}"),
        Waiting::Dma => "waits for a DMA slot".to_owned(),
        Waiting::DmaTurn => "waits for its turn at the cluster's DMA engine".to_owned(),
        Waiting::Ever => "hangs for ever".to_owned(),
    }
}
