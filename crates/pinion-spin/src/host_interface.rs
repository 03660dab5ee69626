//! The host interface: PCIe, and host memory behind it.
//!
//! In: what commands write to the host and what they read from it. Out: when it is there. Holds the
//! bus, which is busy while bytes cross it, and host memory. Which of it a context may touch is the
//! IOMMU's affair, in [`crate::shared::Contexts`]: drivers ask it before a command leaves. (Paper
//! §III-A; RTL host_direct, host DMA ports of pspin.)

use pinion_host::{HostMemory, PcieConfig, PcieLink};

use crate::Machine;

/// Host memory that handlers may touch in all, so that a run away handler cannot eat this computer's.
const HOST_MEMORY_LIMIT_BYTES: u64 = 1 << 30;

/// Holds the bus and the memory behind it.
#[derive(Debug)]
pub struct HostInterface {
    /// Host memory, as the NIC sees it.
    pub memory: HostMemory,
    bus: PcieLink,
}

impl HostInterface {
    /// Makes an idle bus and an empty memory.
    pub fn new(machine: &Machine) -> Self {
        Self {
            memory: HostMemory::new(HOST_MEMORY_LIMIT_BYTES),
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
}
