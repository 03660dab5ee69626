//! The way of commands out of a cluster: an arbiter over its HPUs and a spill register.
//!
//! In: commands that wait in the HPUs' drivers. Out: one a cycle, to the command unit. Holds up to two;
//! full, it makes the drivers keep theirs. (Paper §III-B2; RTL: the
//! cluster's command arbiter, spill_register.)

use super::Clusters;
use crate::UnitEventKind;
use crate::cluster::hpu::driver::CommandSlot;
use crate::listener::Listener;
use crate::shared::{Shared, unit};
use crate::wake::Due;

impl Clusters {
    /// Lets a cluster's commands leave at `cycle`.
    pub fn wake_cluster_command(&mut self, shared: &mut Shared, cycle: u64, cluster: u32) {
        shared.wake(
            &mut self.each[cluster as usize].commands.wake,
            cycle,
            Due::ClusterCommand(cluster),
        );
    }

    /// Sends one command of a cluster on its way; says whether it is the cluster's oldest, which the
    /// command unit sees in the next cycle.
    #[inline]
    pub fn cluster_command(
        &mut self,
        shared: &mut Shared,
        now: u64,
        cluster: u32,
        listener: &mut dyn Listener,
    ) -> bool {
        let units = &mut self.each[cluster as usize];
        let (granted, next) = units.commands.grant(now);
        if let Some(next) = next {
            self.wake_cluster_command(shared, next, cluster);
        }
        let Some(hpu) = granted else { return false };
        let core = self.core_id(cluster, hpu);
        let Some(id) = self.drivers[core].queue.pop_front() else { return false };
        let more = !self.drivers[core].queue.is_empty();
        if let Some(seat) = shared.hardware.driver(core) {
            let command = &self.drivers[core].slots[id as usize].command;
            seat.take_command(id, command.info, &command.words);
        }
        let units = &mut self.each[cluster as usize];
        if more {
            units.commands.arbiter.ask(now + 1, hpu);
        }
        let command = core as u32 * shared.machine.command.per_hpu + id;
        units.commands.spill.push_back((command, now));
        let is_oldest = units.commands.spill.len() == 1;
        shared.tell(listener, || unit(UnitEventKind::CommandOut, now, cluster, hpu, id, 0));
        if more {
            self.wake_cluster_command(shared, now + 1, cluster);
        }
        is_oldest
    }

    /// Gives the slot of a command.
    pub fn slot(&mut self, shared: &mut Shared, command: u32) -> &mut CommandSlot {
        let per_hpu = shared.machine.command.per_hpu;
        &mut self.drivers[(command / per_hpu) as usize].slots[(command % per_hpu) as usize]
    }
}
