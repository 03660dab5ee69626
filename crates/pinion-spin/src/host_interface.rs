//! The host interface: PCIe, and host memory behind it.
//!
//! In: HostDirect commands, and what the off-cluster DMA moves. Out: writes to host memory, data from
//! it. Holds the bus, which is busy while bytes cross it, host memory, and the HostDirects' slots. Waits
//! for the bus. Which of host memory a context may touch is the IOMMU's affair, in
//! [`crate::shared::Contexts`]: drivers ask it before a command leaves. (Paper §III-A; RTL: HostDirect.)

use pinion_host::{HostMemory, PcieConfig, PcieLink};

use crate::Machine;
use crate::command::interface::Slots;
use crate::listener::{Event, Listener};
use crate::shared::Shared;

/// Host memory that handlers may touch in all, so that a run away handler cannot eat this computer's.
const HOST_MEMORY_LIMIT_BYTES: u64 = 1 << 30;

/// Holds the bus and the memory behind it.
#[derive(Clone, Debug)]
pub struct HostInterface {
    /// Host memory, as the NIC sees it.
    pub memory: HostMemory,
    /// HostDirect commands.
    pub slots: Slots,
    direct_cycles: u64,
    bus: PcieLink,
}

impl HostInterface {
    /// Makes an idle bus and an empty memory.
    pub fn new(machine: &Machine) -> Self {
        Self {
            memory: HostMemory::new(HOST_MEMORY_LIMIT_BYTES),
            slots: Slots::new(machine),
            direct_cycles: machine.command.host_direct_cycles,
            bus: PcieLink::new(PcieConfig {
                request_crosses: machine.pcie.read_crossings > 1,
                ..PcieConfig::from_rate(machine.pcie.latency_ps, machine.pcie.rate_mbit_s)
            }),
        }
    }

    /// Moves bytes over the bus from `from_ps` on; gives when they are there.
    pub fn transfer(&mut self, from_ps: u64, bytes: u32, to_host: bool) -> u64 {
        if to_host {
            self.bus.write(from_ps, u64::from(bytes))
        } else {
            self.bus.read(from_ps, u64::from(bytes))
        }
    }

    /// Forgets its commands; the bus and the memory are kept.
    pub fn reset(&mut self, machine: &Machine) {
        self.slots = Slots::new(machine);
    }

    /// Takes a HostDirect at cycle `now`; gives when it is done.
    pub fn take(&mut self, now: u64) -> u64 {
        self.slots.answer(now + self.direct_cycles)
    }

    /// Writes bytes to host memory, for a packet's handler.
    pub fn write(
        &mut self,
        shared: &mut Shared,
        now: u64,
        (address, data): (u64, &[u8]),
        packet: u32,
        listener: &mut dyn Listener,
    ) {
        // Beyond the host memory's limit nothing is written; the handler cannot tell either.
        let _ = self.memory.write(address, data);
        shared.totals.host_writes += 1;
        shared.totals.host_bytes += data.len() as u64;
        if shared.interest.host_writes {
            let (time, packet) = (shared.time(now), shared.packets[packet].record.packet);
            listener.hear(&Event::HostWrite { time, address, data, packet });
        }
    }
}
