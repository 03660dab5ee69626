//! Checks that a machine's numbers fit together.

use std::collections::BTreeMap;

use pinion_sim::machine::{Kind, MachineFile};

use super::limits::MAY_BE_NONE;
use super::{AllocatorKind, CoreModel, Machine};

impl MachineFile for Machine {
    const KIND: Kind = Kind::Spin;

    fn kind(&self) -> Kind {
        self.kind
    }

    fn faithful(&self) -> &BTreeMap<String, String> {
        &self.faithful
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        Machine::check(self)
    }
}

impl Machine {
    /// Checks that the numbers fit together.
    ///
    /// # Errors
    /// The key of the number that does not fit, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let between = |key, value: u32, low: u32, high: u32| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err((key, format!("{value} is outside {low} to {high}")))
        };
        let power = |key, value: u32| {
            if value.is_power_of_two() {
                return Ok(());
            }
            Err((key, format!("{value} is not a power of two")))
        };
        self.check_sizes()?;
        self.check_times()?;
        self.check_core_ports()?;
        between("clock.frequency_mhz", self.clock.frequency_mhz.min(1 << 20) as u32, 1, 100_000)?;
        between("units.count", self.units.count, 1, 16)?;
        between("units.queue_packets", self.units.queue_packets, 1, 65_536)?;
        between("cluster.count", self.cluster.count, 1, 16)?;
        between("cluster.cores", self.cluster.cores, 1, 16)?;
        between("cluster.buffered_hers", self.cluster.buffered_hers, 1, 1024)?;
        between("mpq.count", self.mpq.count, 1, 4096)?;
        power("mpq.count", self.mpq.count)?;
        between("mpq.shared_cells", self.mpq.shared_cells, 0, 1 << 20)?;
        between("mpq.static_cells", self.mpq.static_cells, 1, 1)?;
        between("mpq.id_bits", self.mpq.id_bits, 1, 32)?;
        between("pcie.read_crossings", self.pcie.read_crossings, 1, 2)?;
        between("inbound.beat_sixteenths", self.inbound.beat_sixteenths as u32, 1, 1 << 16)?;
        self.check_allocator()?;
        between("matching.rulesets", self.matching.rulesets, 1, 256)?;
        between("matching.rules", self.matching.rules, 1, 64)?;
        between("matching.reach_bytes", self.matching.reach_bytes, 4, 4096)?;
        self.check_pipelines()?;
        between("l1.banks", self.l1.banks, 16, 1024)?;
        power("l1.banks", self.l1.banks)?;
        between("l2_packet.banks", self.l2_packet.banks, 1, 1024)?;
        between("l2_packet.bank_bytes", self.l2_packet.bank_bytes, 1, 1024)?;
        between("l1.bytes", self.l1.bytes, 4096, 2 << 20)?;
        power("l1.packet_slot_bytes", self.l1.packet_slot_bytes)?;
        between("l1.packet_buffer_rings", self.l1.packet_buffer_rings, 1, 64)?;
        if self.scratchpad_offset() > self.l1.bytes {
            return Err(("l1.packet_buffer_bytes", "the packet buffer ends behind L1".into()));
        }
        if self.cluster.cores * self.l1.stack_bytes > self.l1.runtime_bytes {
            return Err(("l1.stack_bytes", "the stacks do not fit into the runtime area".into()));
        }
        let ring = self.l1.packet_buffer_bytes / self.l1.packet_buffer_rings;
        between("inbound.max_packet_bytes", self.inbound.max_packet_bytes, 64, ring)?;
        between(
            "inbound.max_packet_bytes",
            self.inbound.max_packet_bytes,
            64,
            self.l2_packet.bytes,
        )?;
        between("inbound.port_bytes", self.inbound.port_bytes, 1, 4096)?;
        between("inbound.queue_bursts", self.inbound.queue_bursts, 0, 16)?;
        power("inbound.align_bytes", self.inbound.align_bytes)?;
        between("dma.port_bytes", self.dma.port_bytes, 1, 4096)?;
        between("dma.engine_reads", self.dma.engine_reads, 1, 64)?;
        between("dma.port_reads", self.dma.port_reads, 1, 64)?;
        between("command.port_bytes", self.command.port_bytes, 1, 4096)?;
        between("network.queue_packets", self.network.queue_packets, 1, 1 << 20)?;
        between("command.per_hpu", self.command.per_hpu, 1, 32)?;
        between("command.per_interface", self.command.per_interface, 1, 1024)?;
        power("instruction_cache.line_bytes", self.instruction_cache.line_bytes)?;
        between("instruction_cache.line_bytes", self.instruction_cache.line_bytes, 4, 256)?;
        between("instruction_cache.ways", self.instruction_cache.ways, 1, 16)?;
        let beats = self.instruction_cache.refill_port_cycles.min(u64::from(u32::MAX)) as u32;
        between("instruction_cache.refill_port_cycles", beats, 1, 64)?;
        let cache = &self.instruction_cache;
        let lines = cache.bytes / cache.ways.max(1) / cache.line_bytes;
        if !lines.is_power_of_two() {
            let (bytes, ways) = (cache.bytes, cache.ways);
            let problem =
                format!("{bytes} bytes in {ways} ways are {lines} lines a way: no power of two");
            return Err(("instruction_cache.bytes", problem));
        }
        between("program.bytes", self.program.bytes, 1024, 1 << 20)?;
        let memories =
            [("l2_handler.bytes", &self.l2_handler), ("l2_packet.bytes", &self.l2_packet)];
        for (key, memory) in memories {
            if memory.bytes < 4096 || memory.base.checked_add(memory.bytes).is_none() {
                return Err((key, "the memory is smaller than 4 KiB or wraps".into()));
            }
        }
        self.check_addresses()
    }

    /// Checks that the slots lie within the L2 packet buffer and hold the packets that are taken.
    fn check_allocator(&self) -> Result<(), (&'static str, String)> {
        let slots = &self.allocator;
        if slots.kind == AllocatorKind::Ring {
            return Ok(());
        }
        for (key, bytes) in [
            ("allocator.small_bytes", slots.small_bytes),
            ("allocator.large_bytes", slots.large_bytes),
        ] {
            if bytes == 0 || !bytes.is_multiple_of(64) {
                return Err((key, format!("{bytes} is no multiple of 64, or nothing")));
            }
        }
        let bytes = |count: u32, each: u32| u64::from(count) * u64::from(each);
        let whole = bytes(slots.small_slots, slots.small_bytes)
            + bytes(slots.large_slots, slots.large_bytes);
        if slots.small_slots == 0 || slots.large_slots == 0 {
            return Err(("allocator.small_slots", "there are no slots of a kind".into()));
        }
        if whole > u64::from(self.l2_packet.bytes) {
            let room = self.l2_packet.bytes;
            let problem = format!("the slots take {whole} bytes, the L2 packet buffer has {room}");
            return Err(("allocator.large_slots", problem));
        }
        if self.inbound.max_packet_bytes > slots.large_bytes {
            let (largest, slot) = (self.inbound.max_packet_bytes, slots.large_bytes);
            let problem = format!("packets of {largest} bytes do not fit a large slot of {slot}");
            return Err(("inbound.max_packet_bytes", problem));
        }
        Ok(())
    }

    /// Checks that every instruction takes time: the simulation would not go on otherwise; and that
    /// the model has what is asked of it.
    fn check_pipelines(&self) -> Result<(), (&'static str, String)> {
        if self.core.xpulp && self.core.model != CoreModel::Ri5cy {
            return Err(("core.xpulp", "only `core.model = \"ri5cy\"` has Xpulp".into()));
        }
        for (key, cycles) in self.pipeline_times().iter().flat_map(|all| &all[MAY_BE_NONE..]) {
            if *cycles == 0 {
                return Err((key, "an instruction or a trap takes a cycle at least".into()));
            }
        }
        if self.command.slot_turnaround_cycles == 0 {
            let problem = "a slot is taken anew in the cycle behind its answer at the earliest";
            return Err(("command.slot_turnaround_cycles", problem.into()));
        }
        Ok(())
    }
}
