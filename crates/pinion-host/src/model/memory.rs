//! What memory bounds on a host: copies, unpacking of data types, matrices.

use serde::Deserialize;

use super::{CpuSection, ModelError, above_zero};

/// Describes what memory bounds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySection {
    /// Rate of a copy by one core, in Mbit/s.
    pub copy_mbit_s: f64,
    /// Rate at which one core unpacks a data type of large blocks, in Mbit/s.
    pub unpack_mbit_s: f64,
    /// What each block costs beside its bytes while unpacking, in ns.
    pub unpack_block_ns: f64,
    /// Share of the CPU's peak that a matrix multiplication reaches.
    pub gemm_efficiency: f64,
    /// Bytes from and to memory for each operation of a matrix multiplication, which a NIC's own
    /// traffic slows.
    pub gemm_bytes_per_flop: f64,
    /// Rate of the memory, in Mbit/s.
    pub rate_mbit_s: f64,
}

impl MemorySection {
    /// Gives the time of a copy, in ps.
    pub fn copy_ps(&self, bytes: u64) -> u64 {
        (bytes as f64 * 8e6 / self.copy_mbit_s).round() as u64
    }

    /// Gives the time in which one core unpacks bytes that lie in so many blocks, in ps.
    pub fn unpack_ps(&self, bytes: u64, blocks: u64) -> u64 {
        let data = bytes as f64 * 8e6 / self.unpack_mbit_s;
        (data + blocks as f64 * self.unpack_block_ns * 1000.0).round() as u64
    }

    /// Gives the time in which all cores multiply two square matrices of doubles while devices move
    /// so many Mbit/s, in ps.
    ///
    /// The part of the memory's rate that devices take is missing to the multiplication, which is
    /// slowed only where it needs more than what is left.
    pub fn gemm_ps(&self, cpu: &CpuSection, order: u64, device_mbit_s: f64) -> u64 {
        let flops = 2.0 * (order as f64).powi(3);
        let peak = f64::from(cpu.cores) * cpu.frequency_mhz * 1e6 * cpu.flops_per_cycle;
        let compute_s = flops / (peak * self.gemm_efficiency);
        let left = (self.rate_mbit_s - device_mbit_s).max(self.rate_mbit_s / 100.0);
        let memory_s = flops * self.gemm_bytes_per_flop * 8.0 / (left * 1e6);
        (compute_s.max(memory_s) * 1e12).round() as u64
    }

    /// Gives the smallest order of matrices whose multiplication takes as long as `ps` at least.
    pub fn gemm_order(&self, cpu: &CpuSection, ps: u64, device_mbit_s: f64) -> u64 {
        let (mut low, mut high) = (1, 2);
        while self.gemm_ps(cpu, high, device_mbit_s) < ps && high < 1 << 20 {
            (low, high) = (high, high * 2);
        }
        while low + 1 < high {
            let middle = (low + high) / 2;
            match self.gemm_ps(cpu, middle, device_mbit_s) < ps {
                true => low = middle,
                false => high = middle,
            }
        }
        high
    }

    pub(super) fn check(&self) -> Result<(), ModelError> {
        above_zero("memory.copy_mbit_s", self.copy_mbit_s)?;
        above_zero("memory.unpack_mbit_s", self.unpack_mbit_s)?;
        above_zero("memory.rate_mbit_s", self.rate_mbit_s)?;
        above_zero("memory.gemm_efficiency", self.gemm_efficiency)?;
        super::costs_of_each(&[
            ("memory.unpack_block_ns", self.unpack_block_ns),
            ("memory.gemm_bytes_per_flop", self.gemm_bytes_per_flop),
        ])
    }
}
