//! What a debugger sees of a NIC, beside its memories: harts, what they work at, the packets inside.

use pinion_isa::Hart;

use super::Nic;
use super::report::describe;
use crate::cluster::pe_interconnect::DRIVER;
use crate::memory::PERIPHERALS;
use crate::{PacketRecord, RunningTask};

impl Nic {
    /// Gives an HPU's hart as it stands: it runs ahead of the NIC until it touches something shared.
    pub fn hart(&self, cluster: u32, hpu: u32) -> &Hart<u32> {
        &self.clusters.cores[self.clusters.core_id(cluster, hpu)].model.hart
    }

    /// Says what an HPU works at; `None` between tasks.
    pub fn task(&self, cluster: u32, hpu: u32) -> Option<RunningTask> {
        self.clusters.running_task(&self.shared, self.clusters.core_id(cluster, hpu))
    }

    /// Says what an HPU waits for, in words.
    pub fn doing(&self, cluster: u32, hpu: u32) -> String {
        describe(self.clusters.cores[self.clusters.core_id(cluster, hpu)].waiting)
    }

    /// Looks at a register of an HPU's driver that tells its task; `None`: none is at this address.
    pub fn task_register(&self, cluster: u32, hpu: u32, address: u32) -> Option<u32> {
        let driver = &self.clusters.drivers[self.clusters.core_id(cluster, hpu)];
        driver.look_at_task(address.wrapping_sub(PERIPHERALS + DRIVER))
    }

    /// Lists the packets inside, by number.
    pub fn packets(&self) -> Vec<&PacketRecord> {
        let mut packets: Vec<_> = self.shared.packets.inside().map(|one| &one.record).collect();
        packets.sort_by_key(|record| record.packet);
        packets
    }
}
