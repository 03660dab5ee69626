//! What a machine's numbers must keep so that the model can compute with them: tables that fit a
//! host's memory, times that add up in 64 bits.

use pinion_cores::port::LINE_BYTES;

use super::error::MachineError;
use super::node::Machine;

/// The longest time that something may wait, in cycles: minutes at any clock there is.
const MOST_CYCLES: u64 = 1 << 40;
/// The most cycles that a step of an instruction or a frame may take.
const MOST_STEP_CYCLES: u64 = 1 << 20;
/// The most entries of a table or a queue.
const MOST_ENTRIES: u64 = 1 << 20;

type Number = (&'static str, u64);

impl Machine {
    /// Checks the numbers that no unit checks itself.
    ///
    /// # Errors
    /// The key of the first that describes no machine.
    pub fn check_numbers(&self) -> Result<(), MachineError> {
        let power = |key, value: u32| {
            let problem = format!("must be a power of two, not {value}");
            if value.is_power_of_two() { Ok(()) } else { Err(MachineError { key, problem }) }
        };
        power("instruction_cache.sets", self.instruction_cache.sets)?;
        power("data_cache.sets", self.data_cache.sets)?;
        power("memory.l2_sets", self.memory.l2_sets)?;
        if self.memory.last_level_sets > 0 {
            power("memory.last_level_sets", self.memory.last_level_sets)?;
        }
        let range = |key, value: u64, least: u64, most: u64| {
            let problem = format!("must be from {least} to {most}, not {value}");
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(MachineError { key, problem })
            }
        };
        range("core.count", self.core.count.into(), 1, 32)?;
        range("core.branch_targets", self.core.branch_targets.into(), 1, 32)?;
        range("core.return_addresses", self.core.return_addresses.into(), 1, 64)?;
        range("core.fetch_queue_words", self.core.fetch_queue_words, 2, 8)?;
        range("instruction_cache.ways", self.instruction_cache.ways.into(), 1, 64)?;
        range("data_cache.ways", self.data_cache.ways.into(), 1, 64)?;
        if self.memory.row_bytes > 0 {
            range("memory.row_bytes", self.memory.row_bytes, 64, 1 << 20)?;
            range("memory.banks", self.memory.banks.into(), 1, 1024)?;
        }
        range("memory.last_level_ways", self.memory.last_level_ways.into(), 1, 64)?;
        range("memory.l2_ways", self.memory.l2_ways.into(), 1, 64)?;
        range("memory.size", self.memory.size.0, 1 << 16, 1 << 36)?;
        range("clock.frequency_mhz", self.clock.frequency_mhz, 1, 100_000)?;
        range("limits.skew_cycles", self.limits.skew_cycles, 1, 1 << 20)?;
        self.transport.check().map_err(|(key, problem)| MachineError { key, problem })?;
        self.check_limits()
    }

    /// Checks that sizes and times are small enough to compute with.
    ///
    /// # Errors
    /// The key of the first that is not.
    fn check_limits(&self) -> Result<(), MachineError> {
        self.check_core()?;
        self.check_memory()?;
        self.check_network()
    }

    fn check_core(&self) -> Result<(), MachineError> {
        let core = &self.core;
        at_most(
            MOST_STEP_CYCLES,
            &[
                ("core.load_use_cycles", core.load_use_cycles),
                ("core.load_byte_use_cycles", core.load_byte_use_cycles),
                ("core.csr_use_cycles", core.csr_use_cycles),
                ("core.float_single_use_cycles", core.float_single_use_cycles),
                ("core.float_double_use_cycles", core.float_double_use_cycles),
                ("core.float_move_use_cycles", core.float_move_use_cycles),
                ("core.float_load_use_cycles", core.float_load_use_cycles),
                ("core.float_to_int_use_cycles", core.float_to_int_use_cycles),
                ("core.float_divide_double_cycles", core.float_divide_double_cycles),
                ("core.float_divide_single_cycles", core.float_divide_single_cycles),
                ("core.float_root_double_cycles", core.float_root_double_cycles),
                ("core.float_root_single_cycles", core.float_root_single_cycles),
                ("core.mispredict_cycles", core.mispredict_cycles),
                ("core.replay_cycles", core.replay_cycles),
                ("instruction_cache.miss_cycles", self.instruction_cache.miss_cycles),
                ("data_cache.miss_cycles", self.data_cache.miss_cycles),
            ],
        )?;
        at_least(
            1,
            &[
                ("core.float_divide_double_cycles", core.float_divide_double_cycles),
                ("core.float_divide_single_cycles", core.float_divide_single_cycles),
                ("core.float_root_double_cycles", core.float_root_double_cycles),
                ("core.float_root_single_cycles", core.float_root_single_cycles),
                // What is taken back must come again later, or time stands still.
                ("core.replay_cycles", core.replay_cycles),
            ],
        )?;
        // Three bits of the history choose among the counters.
        at_least(8, &[("core.branch_counters", core.branch_counters.into())])?;
        at_most(
            MOST_ENTRIES,
            &[
                ("core.branch_counters", core.branch_counters.into()),
                ("instruction_cache.sets", self.instruction_cache.sets.into()),
                ("data_cache.sets", self.data_cache.sets.into()),
            ],
        )?;
        let [single, double, moved] = [
            ("core.float_single_use_cycles", core.float_single_use_cycles),
            ("core.float_double_use_cycles", core.float_double_use_cycles),
            ("core.float_move_use_cycles", core.float_move_use_cycles),
        ];
        // The results that share a port are kept track of for so long.
        at_most(48, &[single, double, moved])
    }

    fn check_memory(&self) -> Result<(), MachineError> {
        let memory = &self.memory;
        at_most(
            MOST_ENTRIES,
            &[
                ("memory.l2_sets", memory.l2_sets.into()),
                ("memory.last_level_sets", memory.last_level_sets.into()),
                ("memory.banks", memory.banks.into()),
            ],
        )?;
        at_most(
            MOST_STEP_CYCLES,
            &[
                ("memory.dram_cycles", memory.dram_cycles),
                ("memory.last_level_cycles", memory.last_level_cycles),
                ("memory.open_row_cycles", memory.open_row_cycles),
                ("memory.write_back_cycles", memory.write_back_cycles),
                ("memory.probe_cycles", memory.probe_cycles),
                ("memory.device_cycles", memory.device_cycles),
            ],
        )?;
        at_most(
            MOST_CYCLES,
            &[
                ("memory.timebase_cycles", memory.timebase_cycles),
                ("core.start_cycle", self.core.start_cycle),
            ],
        )?;
        let end = memory.base_address.checked_add(memory.size.0);
        if end.is_none() || !memory.base_address.is_multiple_of(LINE_BYTES) {
            return Err(MachineError {
                key: "memory.base_address",
                problem: format!(
                    "must be a multiple of 64 from which memory.size does not pass the end of \
                     addresses, not {:#x}",
                    memory.base_address
                ),
            });
        }
        Ok(())
    }

    fn check_network(&self) -> Result<(), MachineError> {
        let (hart, receive, transmit) = (&self.hart_interface, &self.receive, &self.transmit);
        let (ingress, reassembly, global) =
            (&receive.ingress, &receive.reassembly, &receive.global);
        at_most(
            MOST_CYCLES,
            &[
                ("hart_interface.ready_cycle", hart.ready_cycle),
                (
                    "hart_interface.thread_scheduler.message_cycles",
                    hart.thread_scheduler.message_cycles,
                ),
                ("hart_interface.thread_scheduler.idle_cycles", hart.thread_scheduler.idle_cycles),
                ("receive.reassembly.remembered_cycles", reassembly.remembered_cycles),
                ("transmit.timer.timeout_cycles", transmit.timer.timeout_cycles),
                ("transmit.timer.scan_phase_cycles", transmit.timer.scan_phase_cycles),
            ],
        )?;
        at_most(
            MOST_STEP_CYCLES,
            &[
                ("receive.ingress.pin_bytes", ingress.pin_bytes),
                ("receive.ingress.arrival_cycles", ingress.arrival_cycles),
                ("receive.ingress.lookup_cycles", ingress.lookup_cycles),
                ("receive.ingress.decide_cycles", ingress.decide_cycles),
                ("receive.ingress.header_cycles", ingress.header_cycles),
                ("receive.ingress.payload_cycles", ingress.payload_cycles),
                ("receive.ingress.first_word_cycles", ingress.first_word_cycles),
                ("receive.reassembly.deliver_cycles", reassembly.deliver_cycles),
                ("receive.global.notice_cycles", global.notice_cycles),
                ("receive.global.read_cycles", global.read_cycles),
                ("receive.global.done_cycles", global.done_cycles),
                ("transmit.timer.scan_cycles_per_entry", transmit.timer.scan_cycles_per_entry),
                ("transmit.generator.pull_token_cycles", transmit.generator.pull_token_cycles),
                ("transmit.egress.pin_bytes", transmit.egress.pin_bytes),
                ("transmit.latency.queue_cycles", transmit.latency.queue_cycles),
                ("transmit.latency.buffer_cycles", transmit.latency.buffer_cycles),
                ("transmit.latency.notice_cycles", transmit.latency.notice_cycles),
                ("transmit.latency.generator_cycles", transmit.latency.generator_cycles),
                ("transmit.latency.arbiter_cycles", transmit.latency.arbiter_cycles),
                ("transmit.latency.pipeline_cycles", transmit.latency.pipeline_cycles),
            ],
        )?;
        at_most(
            MOST_ENTRIES,
            &[
                ("hart_interface.context_words", hart.context_words.into()),
                ("receive.reassembly.remembered_messages", reassembly.remembered_messages as u64),
                ("receive.global.words", global.words.into()),
                ("receive.global.context_words", global.context_words.into()),
                ("transmit.queue_words", transmit.queue_words as u64),
                ("transmit.scheduled_descriptors", transmit.scheduled_descriptors as u64),
                ("transmit.generator.queue_frames", transmit.generator.queue_frames as u64),
                ("transmit.generator.paced_pulls", transmit.generator.paced_pulls as u64),
                ("transmit.egress.arbiter_words", transmit.egress.arbiter_words as u64),
                ("transmit.egress.pipeline_words", transmit.egress.pipeline_words as u64),
            ],
        )?;
        at_most(32, &[("receive.reassembly.host_bits", reassembly.host_bits.into())])?;
        at_most(16, &[("receive.reassembly.id_bits", reassembly.id_bits.into())])
    }
}

fn at_most(limit: u64, numbers: &[Number]) -> Result<(), MachineError> {
    refuse(numbers.iter().find(|(_, value)| *value > limit), || format!("must be at most {limit}"))
}

fn at_least(limit: u64, numbers: &[Number]) -> Result<(), MachineError> {
    refuse(numbers.iter().find(|(_, value)| *value < limit), || format!("must be at least {limit}"))
}

fn refuse(number: Option<&Number>, must: impl Fn() -> String) -> Result<(), MachineError> {
    match number {
        None => Ok(()),
        Some((key, value)) => {
            Err(MachineError { key, problem: format!("{}, not {value}", must()) })
        }
    }
}
