//! Commands in their HPU: checked and issued by a core, answered when the command unit has done them.

use pinion_host::Access;

use super::CommandSlot;
use crate::UnitEventKind;
use crate::cluster::Clusters;
use crate::cluster::hpu::Waiting;
use crate::cluster::hpu::permissions::Right;
use crate::command::{Command, Kind};
use crate::listener::Listener;
use crate::scene::Refused;
use crate::shared::{Shared, unit};
use crate::wake::Due;

impl Clusters {
    /// Issues the command a core has written; `None`: it has to wait.
    pub fn issue_command(
        &mut self,
        shared: &mut Shared,
        now: u64,
        core: usize,
        listener: &mut dyn Listener,
    ) -> Option<u32> {
        if self.has_no_task(shared, core) {
            return Some(0); // nobody's command: as one that is done
        }
        let driver = &self.drivers[core];
        let running = driver.running?;
        if driver.completion.is_some() || self.had_completion(shared, core) {
            return None;
        }
        let id = self.free_slot(shared, core)?;
        let draft = driver.draft;
        if shared.machine.protection.check_commands
            && let Err(what) = self.check_command(shared, core, running.context)
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
            self.report_refusal(shared, now, core, what, refused, listener);
            return Some(id); // refused: it counts as done at once
        }
        let driver = &mut self.drivers[core];
        driver.slots[id as usize] =
            CommandSlot { busy: true, command: draft, packet: running.task.packet, turn: None };
        let is_first = driver.queue.is_empty();
        driver.queue.push_back(id);
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        if is_first {
            self.each[cluster as usize].commands.arbiter.ask(now + 1, hpu);
        }
        self.wake_cluster_command(shared, now + 1, cluster);
        shared.tell(listener, || {
            let interface = Command::decode(&draft).map_or(3, |command| command.kind as u32);
            unit(UnitEventKind::CommandIssue, now, cluster, hpu, id, interface)
        });
        Some(id)
    }

    /// Checks a command against what its handler may touch.
    fn check_command(
        &mut self,
        shared: &mut Shared,
        core: usize,
        context: u32,
    ) -> Result<(), &'static str> {
        let command = Command::decode(&self.drivers[core].draft)?;
        if command.kind != Kind::HostDirect {
            let right = if command.kind == Kind::HostDma && !command.to_host {
                Right::Write
            } else {
                Right::Read
            };
            let (address, bytes) = (command.nic_address, command.bytes);
            if shared.memories.read(address, bytes).is_none() {
                return Err("its NIC address is not in the NIC's memories");
            }
            if !self.cores[core].permissions.covers(address, bytes, right) {
                return Err("its NIC address is not within what the handler may touch");
            }
        }
        if command.kind == Kind::Send {
            if command.bytes == 0 || command.bytes > shared.machine.inbound.max_packet_bytes {
                return Err("the packet to send is empty or larger than the machine takes");
            }
            return Ok(());
        }
        if shared.machine.pcie.iommu {
            let access = if command.to_host { Access::Write } else { Access::Read };
            let (address, bytes) = (command.host_address, u64::from(command.bytes));
            if shared.contexts.iommu.check(context, access, address, bytes).is_err() {
                return Err("its host address is not within the context's host memory (IOMMU)");
            }
        }
        Ok(())
    }

    /// Tells the HPU that its command is done.
    #[inline]
    pub fn command_response(
        &mut self,
        shared: &mut Shared,
        now: u64,
        command: u32,
        listener: &mut dyn Listener,
    ) {
        let per_hpu = shared.machine.command.per_hpu;
        let core = (command / per_hpu) as usize;
        let id = command % per_hpu;
        if let Some(seat) = shared.hardware.driver(core)
            && !seat.respond(id)
        {
            return shared.wheel.push(now + 1, Due::CommandResponse(command));
        }
        self.drivers[core].slots[id as usize].busy = false;
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        shared.tell(listener, || unit(UnitEventKind::CommandResponse, now, cluster, hpu, id, 0));
        match self.cores[core].waiting {
            Waiting::Issue => self.resume(shared, core, now + 1),
            Waiting::Command(waited) if waited == id => self.resume(shared, core, now),
            _ => {}
        }
        self.offer_completion(shared, now, core);
    }
}
