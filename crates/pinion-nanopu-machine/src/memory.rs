//! The numbers of the memory behind the cores.

use serde::Deserialize;

/// Describes the memory behind the first-level caches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySection {
    /// First address of memory.
    pub base_address: u64,
    /// Size of memory.
    pub size: pinion_sim::config::Bytes,
    /// Sets of the L2.
    pub l2_sets: u32,
    /// Lines per set of the L2.
    pub l2_ways: u32,
    /// Whether the L2 holds the program's image after loading.
    pub l2_preloaded: bool,
    /// Cycles that a miss in the L2 costs beside those of the miss before it.
    pub dram_cycles: u64,
    /// Sets of a last-level cache on the memory's side; 0: there is none.
    pub last_level_sets: u32,
    /// Lines per set of the last-level cache.
    pub last_level_ways: u32,
    /// Cycles that a miss in the L2 costs which the last-level cache can serve.
    pub last_level_cycles: u64,
    /// Bytes of a row of memory, which stays open in its bank; 0: rows are closed at once.
    pub row_bytes: u64,
    /// Banks of memory, each with a row that may be open.
    pub banks: u32,
    /// Cycles that a miss in the L2 costs when the line's row is open.
    pub open_row_cycles: u64,
    /// Cycles that writing a dirty line back adds to the miss that evicts it.
    pub write_back_cycles: u64,
    /// Cycles that taking a line from another hart's cache adds.
    pub probe_cycles: u64,
    /// Cycles of an access to a device.
    pub device_cycles: u64,
    /// Cycles of the node's clock per tick of `mtime`.
    pub timebase_cycles: u64,
}
