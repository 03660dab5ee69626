//! Accesses of the host to NIC memory (`spin_nicmem_write`, `spin_nicmem_read`), over the host's
//! own port: one after the other in each direction, a beat per cycle after the latency of the
//! inbound engine's port, which is of the same kind. (The published PCIe master adds no latency of
//! its own; the numbers are ours.)

use std::collections::VecDeque;

use pinion_sim::{Clock, Time};
use pinion_spin::{Machine, Nic};

use crate::inbox::{Transfer, TransferData};
use crate::state;
use crate::statistics::Statistics;

/// Holds accesses on their way.
#[derive(Debug)]
pub struct Transfers {
    writes: Port,
    reads: Port,
    latency_cycles: u64,
    beat_bytes: u64,
}

/// Holds one direction.
#[derive(Debug, Default)]
struct Port {
    free_cycle: u64,
    pending: VecDeque<(Time, Transfer)>,
}

impl Transfers {
    /// Makes an idle port.
    pub fn new(machine: &Machine) -> Self {
        Self {
            writes: Port::default(),
            reads: Port::default(),
            latency_cycles: machine.inbound.latency_cycles,
            beat_bytes: u64::from(machine.inbound.port_bytes),
        }
    }

    /// Starts an access in cycle `now`.
    pub fn start(&mut self, now: u64, transfer: Transfer, clock: Clock) {
        let beats = (transfer.data.bytes() as u64).div_ceil(self.beat_bytes).max(1);
        let port = match transfer.data {
            TransferData::Write(_) => &mut self.writes,
            TransferData::Read(..) => &mut self.reads,
        };
        port.free_cycle = port.free_cycle.max(now + self.latency_cycles) + beats;
        port.pending.push_back((clock.time(port.free_cycle), transfer));
    }

    /// Gives when the next access is done.
    pub fn next_due(&self) -> Option<Time> {
        let first = |port: &Port| port.pending.front().map(|(due, _)| *due);
        first(&self.writes).into_iter().chain(first(&self.reads)).min()
    }

    /// Performs the accesses that are done by `due` and tells the driver.
    pub fn deliver(&mut self, due: Time, nic: &mut Nic, statistics: &mut Statistics) {
        for port in [&mut self.writes, &mut self.reads] {
            while port.pending.front().is_some_and(|(time, _)| *time <= due) {
                if let Some((_, transfer)) = port.pending.pop_front() {
                    perform(&transfer, nic, statistics);
                }
            }
        }
    }
}

fn perform(transfer: &Transfer, nic: &mut Nic, statistics: &mut Statistics) {
    let bytes = transfer.data.bytes() as u64;
    let callback = match &transfer.data {
        TransferData::Write(data) => {
            // Ranges were checked when the access was added.
            let _ = nic.write_memory(transfer.address, data);
            statistics.nic_memory_written_bytes += bytes;
            state::callbacks().pcie_mst_write
        }
        TransferData::Read(buffer, bytes_to_read) => {
            // SAFETY: the driver promised that its buffer has so many bytes and lives until the
            // read's callback (spin.h); nothing else of ours refers to it.
            let buffer = unsafe {
                std::slice::from_raw_parts_mut(
                    std::ptr::with_exposed_provenance_mut::<u8>(*buffer),
                    *bytes_to_read,
                )
            };
            let _ = nic.read_memory(transfer.address, buffer);
            statistics.nic_memory_read_bytes += bytes;
            state::callbacks().pcie_mst_read
        }
    };
    if let Some(callback) = callback {
        // SAFETY: the driver gave this function for this call, and this pointer with the access.
        unsafe { callback(std::ptr::with_exposed_provenance_mut(transfer.user)) };
    }
}
