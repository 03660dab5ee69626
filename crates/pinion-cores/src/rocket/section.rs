//! The numbers of a Rocket core and of its first-level caches, as a machine file gives them.

use serde::Deserialize;

/// Describes the cores' pipeline: Rocket, five stages, in order (RTL RocketCore.scala).
///
/// Latencies count from an instruction's decode stage to that of the first one that may use its
/// result.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSection {
    /// Number of harts.
    pub count: u32,
    /// Load of 4 or 8 bytes that hits.
    pub load_use_cycles: u64,
    /// Load of 1 or 2 bytes that hits.
    pub load_byte_use_cycles: u64,
    /// CSR read.
    pub csr_use_cycles: u64,
    /// Addition, multiplication, fused in single precision.
    pub float_single_use_cycles: u64,
    /// The same in double precision.
    pub float_double_use_cycles: u64,
    /// Sign injection, minimum, maximum, conversion between precisions, integer to float.
    pub float_move_use_cycles: u64,
    /// Load into a floating-point register.
    pub float_load_use_cycles: u64,
    /// Float to integer: comparisons, conversions, moves.
    pub float_to_int_use_cycles: u64,
    /// Division in double precision, when the quotient of the significands is at least one.
    pub float_divide_double_cycles: u64,
    /// Division in single precision, likewise.
    pub float_divide_single_cycles: u64,
    /// Square root in double precision of a number with an even exponent.
    pub float_root_double_cycles: u64,
    /// Square root in single precision, likewise.
    pub float_root_single_cycles: u64,
    /// Cycles from the decode stage of a wrongly predicted branch to that of the right instruction.
    pub mispredict_cycles: u64,
    /// Cycles from the decode stage of an instruction that the pipeline takes back in its last stage
    /// (a replay, a trap, `mret`, a CSR write that flushes) to that of what comes instead.
    pub replay_cycles: u64,
    /// Words of four bytes that the fetch queue holds.
    pub fetch_queue_words: u64,
    /// Entries of the branch target buffer.
    pub branch_targets: u32,
    /// One-bit counters of the branch history table.
    pub branch_counters: u32,
    /// Entries of the return address stack.
    pub return_addresses: u32,
    /// A multiplication or division whose destination is x31 sends two words, as the RTL does.
    pub unit_results: bool,
    /// Address where harts start.
    pub reset_address: u64,
    /// Cycle in which they do: on the hardware the program is loaded first.
    pub start_cycle: u64,
}

/// Describes a first-level cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSection {
    /// Sets of lines.
    pub sets: u32,
    /// Lines per set.
    pub ways: u32,
    /// Cycles a miss costs that the L2 can serve.
    pub miss_cycles: u64,
}
