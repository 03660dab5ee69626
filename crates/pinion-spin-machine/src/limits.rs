//! What a machine's numbers must keep so that the model can compute with them: memories that lie
//! apart within 32 bits, rings and caches with something in them, times that add up in 64 bits.

use super::{Machine, PERIPHERALS, PERIPHERALS_BYTES};

/// The longest time a unit may take for one thing, in cycles: a quarter of an hour at 1 GHz.
const MOST_CYCLES: u64 = 1 << 40;
/// The most cycles an instruction, an access or a transfer may take.
const MOST_STEP_CYCLES: u64 = 1 << 20;
/// The largest memory in bytes: the address space is of 32 bits.
const MOST_BYTES: u32 = 1 << 28;
/// The region of peripherals, output and SoC control (RTL address map), which does not move.
const DEVICES: (u64, u64) = (0x1a10_3000, 0x1b21_0000);

/// Gives numbers of one part of a machine with their keys.
macro_rules! with_keys {
    ($part:literal, $of:expr; $($key:ident),+) => {
        [$((concat!($part, ".", stringify!($key)), $of.$key)),+]
    };
}

macro_rules! memory_times {
    ($part:literal, $of:expr) => {
        with_keys!($part, $of; load_cycles, store_cycles, amo_cycles, load_port_cycles,
            store_port_cycles, amo_port_cycles, amo_read_port_cycles)
    };
}

macro_rules! pipeline_times {
    ($part:literal, $of:expr) => {
        with_keys!($part, $of; load_use_cycles, response_cycles, branch_taken_cycles, jump_cycles,
            mul_cycles, mulh_cycles, div_base_cycles, csr_cycles, csr_status_cycles, trap_cycles,
            mret_cycles)
    };
}

/// What instructions may take no cycle of: stalls that need not be.
pub(super) const MAY_BE_NONE: usize = 2;

type Check = Result<(), (&'static str, String)>;

impl Machine {
    /// Checks that sizes are small enough to compute with.
    pub(super) fn check_sizes(&self) -> Check {
        let l1 = &self.l1;
        let sizes = [
            ("l1.bytes", l1.bytes),
            ("l1.reserved_bytes", l1.reserved_bytes),
            ("l1.runtime_bytes", l1.runtime_bytes),
            ("l1.stack_bytes", l1.stack_bytes),
            ("l1.packet_buffer_bytes", l1.packet_buffer_bytes),
            ("l2_handler.bytes", self.l2_handler.bytes),
            ("l2_packet.bytes", self.l2_packet.bytes),
            ("instruction_cache.bytes", self.instruction_cache.bytes),
            ("program.bytes", self.program.bytes),
        ];
        for (key, bytes) in sizes {
            most(key, bytes.into(), MOST_BYTES.into())?;
        }
        // What lies in L1 one behind the other begins at whole words, as the cores need it.
        let parts = [
            ("l1.reserved_bytes", l1.reserved_bytes),
            ("l1.runtime_bytes", l1.runtime_bytes),
            ("l1.stack_bytes", l1.stack_bytes),
            ("l1.packet_buffer_bytes", l1.packet_buffer_bytes),
            ("l1.packet_slot_bytes", l1.packet_slot_bytes),
        ];
        for (key, bytes) in parts {
            if bytes == 0 || !bytes.is_multiple_of(8) {
                return Err((key, format!("{bytes} is no multiple of 8, or nothing")));
            }
        }
        most("inbound.align_bytes", self.inbound.align_bytes.into(), 4096)?;
        most("inbound.fifo_bytes", self.inbound.fifo_bytes.into(), MOST_BYTES.into())?;
        Ok(())
    }

    /// Checks that every address is in one memory only, and that packets fit into whole slots.
    pub(super) fn check_addresses(&self) -> Check {
        let l1 = &self.l1;
        let (rings, slot) = (l1.packet_buffer_rings.max(1), l1.packet_slot_bytes.max(1));
        let ring = l1.packet_buffer_bytes / rings / slot * slot;
        if ring < self.inbound.max_packet_bytes {
            let largest = self.inbound.max_packet_bytes;
            let problem =
                format!("a ring has whole slots for {ring} bytes, a packet up to {largest}");
            return Err(("l1.packet_slot_bytes", problem));
        }
        if !l1.stride.is_power_of_two() || l1.stride < l1.bytes {
            let problem = format!("{} is no power of two from l1.bytes on", l1.stride);
            return Err(("l1.stride", problem));
        }
        if !l1.base.is_multiple_of(l1.stride) {
            return Err(("l1.base", format!("{:#x} is no multiple of l1.stride", l1.base)));
        }
        // A cluster's peripherals lie as far from its L1 as from the alias.
        let window = u64::from(l1.alias) + u64::from(l1.stride);
        if l1.alias > PERIPHERALS || window < u64::from(PERIPHERALS) + u64::from(PERIPHERALS_BYTES)
        {
            let problem = format!(
                "{:#x} is not within l1.stride ({:#x}) below the peripherals at {PERIPHERALS:#x}",
                l1.alias, l1.stride
            );
            return Err(("l1.alias", problem));
        }
        if self.program.reset_offset >= self.program.bytes
            || !self.program.reset_offset.is_multiple_of(4)
        {
            let problem = "the first instruction lies outside program memory, or askew".to_owned();
            return Err(("program.reset_offset", problem));
        }
        let all_l1 = u64::from(l1.stride) * u64::from(self.cluster.count);
        let mut regions = [
            ("l1.base", u64::from(l1.base), all_l1),
            ("l1.alias", u64::from(l1.alias), u64::from(l1.bytes)),
            ("l2_handler.base", self.l2_handler.base.into(), self.l2_handler.bytes.into()),
            ("l2_packet.base", self.l2_packet.base.into(), self.l2_packet.bytes.into()),
            ("program.base", self.program.base.into(), self.program.bytes.into()),
        ];
        regions.sort_by_key(|region| region.1);
        for (key, base, bytes) in regions {
            if base + bytes > 1 << 32 {
                return Err((key, format!("{bytes} bytes from {base:#x} leave the address space")));
            }
            if !base.is_multiple_of(8) {
                return Err((key, format!("{base:#x} is no multiple of 8")));
            }
            // The alias lies among the devices, as in the RTL.
            if key != "l1.alias" && base < DEVICES.1 && base + bytes > DEVICES.0 {
                return Err((key, format!("{bytes} bytes from {base:#x} cover the peripherals")));
            }
        }
        for pair in regions.windows(2) {
            if pair[0].1 + pair[0].2 > pair[1].1 {
                let problem = format!("it lies in what {} begins, {} bytes", pair[0].0, pair[0].2);
                return Err((pair[1].0, problem));
            }
        }
        Ok(())
    }

    /// Gives the times of each pipeline, those that may be none in front.
    pub(super) fn pipeline_times(&self) -> [[(&'static str, u64); 11]; 2] {
        let core = &self.core;
        [pipeline_times!("core.ri5cy", core.ri5cy), pipeline_times!("core.ibex", core.ibex)]
    }

    /// Checks that no time is so long that sums of times leave 64 bits.
    pub(super) fn check_times(&self) -> Check {
        let (l1, cache, command) = (&self.l1, &self.instruction_cache, &self.command);
        let protection = &self.protection;
        for (key, cycles) in [
            ("protection.watchdog_cycles", protection.watchdog_cycles),
            ("protection.message_timeout_cycles", protection.message_timeout_cycles),
            ("protection.no_progress_cycles", protection.no_progress_cycles),
            ("pcie.latency_ps", self.pcie.latency_ps),
            ("pcie.rate_mbit_s", self.pcie.rate_mbit_s),
            ("network.rate_mbit_s", self.network.rate_mbit_s),
        ] {
            most(key, cycles, MOST_CYCLES)?;
        }
        for (key, cycles) in [
            ("inbound.latency_cycles", self.inbound.latency_cycles),
            ("ethernet.frequency_mhz", self.ethernet.frequency_mhz),
            ("ethernet.crossing_cycles", self.ethernet.crossing_cycles),
            ("inbound.beat_sixteenths", self.inbound.beat_sixteenths),
            ("matching.latency_cycles", self.matching.latency_cycles),
            ("instruction_cache.miss_cycles", cache.miss_cycles),
            ("instruction_cache.refill_port_cycles", cache.refill_port_cycles),
            ("l1.amo_cycles", l1.amo_cycles),
            ("l1.remote_load_cycles", l1.remote_load_cycles),
            ("l1.remote_store_cycles", l1.remote_store_cycles),
            ("l1.remote_amo_cycles", l1.remote_amo_cycles),
            ("l1.remote_port_cycles", l1.remote_port_cycles),
            ("program.access_cycles", self.program.access_cycles),
            ("dma.latency_cycles", self.dma.latency_cycles),
            ("dma.burst_overhead_halves", self.dma.burst_overhead_halves),
            ("dma.core_latency_cycles", self.dma.core_latency_cycles),
            ("dma.handler_memory_cycles", self.dma.handler_memory_cycles),
            ("dma.local_beat_cycles", self.dma.local_beat_cycles),
            ("dma.source_switch_cycles", self.dma.source_switch_cycles),
            ("dma.port_return_cycles", self.dma.port_return_cycles),
            ("dma.port_lead_cycles", self.dma.port_lead_cycles),
            ("core_ports.way_cycles", self.core_ports.way_cycles),
            ("core_ports.packet_cycles", self.core_ports.packet_cycles),
            ("core_ports.packet_return_cycles", self.core_ports.packet_return_cycles),
            ("core_ports.handler_answer_cycles", self.core_ports.handler_answer_cycles),
            ("core_ports.handler_return_cycles", self.core_ports.handler_return_cycles),
            ("command.slot_turnaround_cycles", command.slot_turnaround_cycles),
            ("command.response_cycles", command.response_cycles),
            ("command.host_direct_cycles", command.host_direct_cycles),
            ("command.send_cycles", command.send_cycles),
            ("command.host_dma_cycles", command.host_dma_cycles),
            ("command.from_l2_cycles", command.from_l2_cycles),
            ("command.from_host_cycles", command.from_host_cycles),
            ("command.read_request_cycles", command.read_request_cycles),
            ("command.write_request_cycles", command.write_request_cycles),
            ("command.source_switch_cycles", command.source_switch_cycles),
        ] {
            most(key, cycles, MOST_STEP_CYCLES)?;
        }
        let all = [
            memory_times!("l2_handler", self.l2_handler),
            memory_times!("l2_packet", self.l2_packet),
        ];
        for (key, cycles) in all.into_iter().flatten() {
            most(key, cycles, MOST_STEP_CYCLES)?;
        }
        for (key, cycles) in self.pipeline_times().into_iter().flatten() {
            most(key, cycles, MOST_STEP_CYCLES)?;
        }
        Ok(())
    }
}

fn most(key: &'static str, value: u64, limit: u64) -> Check {
    if value <= limit {
        return Ok(());
    }
    Err((key, format!("{value} is more than {limit}")))
}
