//! Numbers of the baseline's NIC, which moves packets to and from memory.

use serde::Deserialize;

/// Describes a NIC with DMA as IceNIC is one: a descriptor at a time, through the L2.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DmaNicSection {
    /// Requests, and completions, that each of its queues holds; at most 15, what the count
    /// register can tell.
    pub queue_requests: usize,
    /// Bytes of packets that wait for a receive request; what comes beyond is dropped.
    pub buffer_bytes: usize,
    /// Bytes that leave or enter on the pins in a cycle, and that it moves to or from the L2.
    pub beat_bytes: u64,
    /// Cycles from the write of a request, or the end of the one before, to the first access.
    pub setup_cycles: u64,
    /// Cycles from a read of the L2 to its first beat.
    pub read_cycles: u64,
    /// Cycles from the last beat of a write to its acknowledgement by the L2.
    pub write_cycles: u64,
    /// The bytes of each 64-bit word behind the 64 B of headers change their order, as the nanoPU's
    /// NIC does it; stands for the byte-reversal instructions that the draft gives its baseline.
    pub swap_words: bool,
}
