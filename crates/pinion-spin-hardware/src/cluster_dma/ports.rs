//! The ports of a cluster's DMA engine, in their order, and what its block has fixed.

use pinion_sim::block::{Needs, Port, power_of_two};
use pinion_spin_machine::Machine;

use crate::lines;

pub const WINDOW: usize = 0;
pub const COPY_VALID: usize = 1;
pub const COPY_READY: usize = 2;
pub const COPY_FROM: usize = 3;
pub const COPY_TO: usize = 4;
pub const COPY_BYTES: usize = 5;
pub const COPY_DONE: usize = 6;
pub const LAUNCH_VALID: usize = 7;
pub const LAUNCH_READY: usize = 8;
pub const LAUNCH_FROM: usize = 9;
pub const LAUNCH_TO: usize = 10;
pub const LAUNCH_BYTES: usize = 11;
pub const CORE_DONE: usize = 12;
pub const READ_VALID: usize = 13;
pub const READ_READY: usize = 14;
pub const READS_NOW: usize = 15;
pub const READ_TAKES: usize = 16;
pub const READ_LINE: usize = 17;
pub const ANSWER_DATA: usize = 18;
pub const WRITE_VALID: usize = 19;
pub const WRITE_READY: usize = 20;
/// With data and strobes behind it.
pub const WRITE_LINE: usize = 21;
pub const ENGINE_VALID: usize = 24;
pub const ENGINE_WRITE: usize = 25;
/// Likewise.
pub const ENGINE_LINE: usize = 26;
pub const BEAT_DATA: usize = 29;

/// Bits of an address, and of a copy's bytes.
pub const ADDRESS_BITS: u32 = 32;
pub const BYTES_BITS: u32 = 22;
pub const WINDOW_BITS: u32 = 32 - lines::WINDOW_SHIFT;
/// What the block has fixed.
pub const LATENCY_CYCLES: u64 = 11;
pub const CORE_CYCLES: u64 = 1;
pub const LOCAL_BEAT_CYCLES: u64 = 2;
pub const SOURCE_SWITCH_CYCLES: u64 = 7;
pub const ENGINE_READS: u64 = 2;
pub const BURST_HALVES: u64 = 3;
/// Places for transfers, beside one for each that cores may have under way.
pub const COPIES: u32 = 64;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let (dma, cores) = (&machine.dma, machine.cluster.cores);
    let line_bytes = lines::line_bytes(machine)?;
    power_of_two("cluster.cores", cores, 2)?;
    for (key, value, block) in [
        ("dma.port_bytes", dma.port_bytes.into(), line_bytes.into()),
        ("dma.latency_cycles", dma.latency_cycles, LATENCY_CYCLES),
        ("dma.core_latency_cycles", dma.core_latency_cycles, CORE_CYCLES),
        ("dma.local_beat_cycles", dma.local_beat_cycles, LOCAL_BEAT_CYCLES),
        ("dma.source_switch_cycles", dma.source_switch_cycles, SOURCE_SWITCH_CYCLES),
        ("dma.engine_reads", dma.engine_reads.into(), ENGINE_READS),
        ("dma.burst_overhead_halves", dma.burst_overhead_halves, BURST_HALVES),
    ] {
        lines::has(key, value, block)?;
    }
    let (line, bits) = (lines::line_bits(line_bytes), 8 * line_bytes);
    let ports = vec![
        Port::input("window", WINDOW_BITS),
        Port::input("copy_valid", 1),
        Port::output("copy_ready", 1),
        Port::input("copy_from", ADDRESS_BITS),
        Port::input("copy_to", ADDRESS_BITS),
        Port::input("copy_bytes", BYTES_BITS),
        Port::output("copy_done", 1),
        Port::input("launch_valid", cores),
        Port::output("launch_ready", cores),
        Port::input("launch_from", ADDRESS_BITS * cores),
        Port::input("launch_to", ADDRESS_BITS * cores),
        Port::input("launch_bytes", ADDRESS_BITS * cores),
        Port::output("core_done", cores),
        Port::output("read_valid", lines::L2_MEMORIES),
        Port::input("read_ready", lines::L2_MEMORIES),
        Port::input("reads_now", lines::L2_MEMORIES),
        Port::output("read_takes", lines::L2_MEMORIES),
        Port::output("read_line", line),
        Port::input("answer_data", lines::L2_MEMORIES * bits),
        Port::output("write_valid", lines::L2_MEMORIES),
        Port::input("write_ready", lines::L2_MEMORIES),
        Port::output("write_line", line),
        Port::output("write_data", bits),
        Port::output("write_strobes", line_bytes),
        Port::output("engine_valid", 1),
        Port::output("engine_write", 1),
        Port::output("engine_line", line),
        Port::output("engine_data", bits),
        Port::output("engine_strobes", line_bytes),
        Port::input("beat_data", bits),
    ];
    let transfers = (COPIES + cores * dma.core_transfers).next_power_of_two();
    let parameters = vec![
        ("CORES", cores.into()),
        ("TRANSFERS", transfers.into()),
        ("BYTES", line_bytes.into()),
        ("L1_LINE_BITS", line.into()),
        ("L2_LINE_BITS", line.into()),
        ("COPY_BITS", BYTES_BITS.into()),
    ];
    Ok(Needs { ports, parameters })
}
