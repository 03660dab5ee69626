//! A NIC's state by name, for a debugger and for tests; and whether others share it.

use pinion_sim::node::tell_part;

use super::Nic;
use crate::units::Units;

impl Nic {
    /// Tells names and numbers of the state, unit by unit along a packet's way.
    pub fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("cycle", self.cycle());
        tell("packets", u64::from(self.shared.packets.live()));
        tell("inbound.holds", u64::from(self.inbound.holds()));
        tell("inbound.is_blocked", u64::from(self.inbound.is_blocked()));
        tell("packet_buffer.occupied_bytes", u64::from(self.inbound.occupied_bytes(&self.shared)));
        tell_part("mpq", tell, |tell| self.mpq.state(tell));
        for (cluster, tasks) in self.dispatcher.occupancy().into_iter().enumerate() {
            let (spilled, queued) = self.clusters.each[cluster].scheduler.waiting();
            tell_part(&format!("cluster.{cluster}"), tell, |tell| {
                tell("tasks", u64::from(tasks));
                tell("waiting", (spilled + queued) as u64);
            });
        }
        for (id, core) in self.clusters.cores.iter().enumerate() {
            tell_part(&format!("core.{id}"), tell, |tell| {
                tell("pc", u64::from(core.model.hart.pc));
                tell("instructions", core.model.hart.instret);
                for register in 1..32 {
                    tell(&format!("x{register}"), u64::from(core.model.hart.x[register]));
                }
            });
        }
        for (interface, in_flight) in self.commands.in_flight().into_iter().enumerate() {
            tell(&format!("command.{interface}.in_flight"), in_flight as u64);
        }
    }

    /// Names the memory that other processes map, if they do: its bytes are not the NIC's alone.
    pub fn shared_memory(&self) -> Option<&'static str> {
        let handler = self.shared.memories.is_shared().then_some("the NIC's L2 handler memory");
        let host = &self.commands.host.memory;
        handler.or_else(|| host.is_shared().then_some("host memory"))
    }
}

impl Units {
    /// Tells names and numbers of the state; of several units, `unit.0.` stands in front.
    pub fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        match self.nics() {
            [nic] => nic.state(tell),
            nics => {
                for (number, nic) in nics.iter().enumerate() {
                    tell_part(&format!("unit.{number}"), tell, |tell| nic.state(tell));
                }
            }
        }
    }

    /// Names the memory that other processes map, if they do.
    pub fn shared_memory(&self) -> Option<&'static str> {
        self.nics().iter().find_map(Nic::shared_memory)
    }
}
