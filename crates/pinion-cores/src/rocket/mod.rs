//! A core: one hart, its pipeline's timing, its first-level caches.
//!
//! In: a decoded program, memory, a [`Network`] (the registers x30 and x31 and the network's
//! CSRs), and how far it may run ahead. Out: instructions retired in the cycles in which the RTL
//! retires them, words sent, CSRs written. Holds the hart's state, the pipeline's, the
//! predictor's and the tags of its caches. What makes it wait: operands, the divider, cache misses,
//! `wfi`, and the network when it needs to know what others have not done yet.
//!
//! The pipeline is Rocket's (fetch in three stages, decode, execute, memory, write-back), modelled by
//! the cycle each instruction spends in decode: everything else lies at a fixed distance. An
//! instruction decodes when the one before has left, its word has been fetched and its operands
//! are ready; it retires three cycles later.

mod cache;
pub mod code;
mod control;
mod data;
mod fetch;
mod fetch_ahead;
mod floating_point;
pub mod interrupts;
mod lean;
mod multiply_divide;
pub mod network;
mod poll_turns;
mod polling;
mod predictor;
mod repeat;
mod run;
pub mod section;
mod start;
#[cfg(test)]
mod tests;
mod turns;

use pinion_isa::{Hart, HartConfig, Reservation};

use crate::Cycle;
use crate::port::LINE_BYTES;
use cache::Cache;
pub use network::{Network, Waits};
use predictor::Predictor;
pub use section::{CacheSection, CoreSection};

/// Registers whose readiness is kept: x, then f.
const REGISTERS: usize = 64;

/// Words of which the pipeline remembers when they left the fetch queue.
const FETCH_RING: usize = 8;

/// Cycles from the decode stage to retirement.
pub const RETIRE: Cycle = 3;

/// Says what a core is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It executes.
    Running,
    /// It polls for a message, in a loop of `period` cycles, and nothing has come.
    Polling {
        /// Cycles of one turn.
        period: Cycle,
        /// Instructions of one turn.
        instructions: u64,
    },
    /// It waits for an interrupt (`wfi`) since this cycle.
    Waiting {
        /// Cycle in which `wfi` retired.
        since: Cycle,
    },
    /// It ended the program, or nothing can go on.
    Stopped,
}

/// Describes a core.
#[derive(Clone, Copy, Debug)]
pub struct CoreShape<'a> {
    /// The pipeline's numbers.
    pub core: &'a CoreSection,
    /// The first-level instruction cache.
    pub instruction_cache: &'a CacheSection,
    /// The first-level data cache.
    pub data_cache: &'a CacheSection,
}

/// A store that may still sit in front of the data array.
#[derive(Clone, Copy, Debug, Default)]
struct PendingStore {
    /// Decode cycle from which a cycle without a load drains it.
    from: Cycle,
    /// Word in the cache's index range that it writes.
    word: u64,
    /// Bytes of the word.
    mask: u8,
}

/// What the frontend fetches in vain, and until when.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// Address from which it goes on fetching.
    pc: u64,
    /// The word it is at, if it does not jump there.
    word: u64,
    /// Decode cycle of the instruction behind which it goes astray or is taken back.
    decode: Cycle,
    /// Last cycle in which a word enters the queue.
    last: Cycle,
    /// When the instruction's word entered the fetch queue.
    fetch: Cycle,
    /// Cycles lost before the next word.
    late: Cycle,
    /// The frontend knows that it has gone astray and predicts nothing.
    blind: bool,
    /// The history as the frontend believes it, where it is corrected in the end, and what it learns
    /// then.
    undone: Option<(predictor::History, predictor::Lesson)>,
    /// In the last cycle the execution teaches the target buffer, and the frontend cannot.
    taught: bool,
}

/// What an instruction may have changed of decoded code.
#[derive(Clone, Copy, Debug, Default)]
enum Change {
    #[default]
    Nothing,
    /// The eight bytes at an address, which were stored to.
    Stored(u64),
    /// Whatever was stored before (`fence.i`).
    Everything,
}

/// Where a polling loop was met last.
#[derive(Clone, Debug)]
struct Poll {
    pc: u64,
    at: Cycle,
    period: Cycle,
    retired: u64,
    effects: u64,
    history: u8,
    registers: [u64; 32],
}

/// Shows what a hart held when it took an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Cycle in which the instruction was in decode.
    pub at: Cycle,
    /// `mcause`.
    pub cause: u32,
    /// Address of the instruction.
    pub pc: u64,
    /// `mtval`.
    pub value: u64,
    /// Registers before the instruction.
    pub registers: [u64; 32],
}

/// Holds one core.
#[derive(Clone, Debug)]
pub struct Core {
    /// Its architectural state.
    pub hart: Hart<u64>,
    /// Its number.
    pub id: u32,
    /// What it does.
    pub activity: Activity,
    /// Cycle in which the last instruction was in decode.
    decode: Cycle,
    /// The core may be overtaken up to here without harm; at most `decode + 1`.
    key: Cycle,
    /// Instructions that would decode in this cycle or later wait.
    limit: Cycle,
    /// Cycle in which the current word entered the fetch queue.
    fetch: Cycle,
    /// When the last words left the fetch queue: a ring, indexed by `word_count`.
    departed: [Cycle; FETCH_RING],
    /// When the last words entered it, likewise.
    entered: [Cycle; FETCH_RING],
    word_count: usize,
    /// The last word was asked for in the cycle behind the one before.
    streams: bool,
    /// The frontend has been redirected and asks for the next word in any case.
    redirected: bool,
    /// Address of the current word, divided by four.
    fetch_word: u64,
    /// Line the current word lies in.
    fetch_line: u64,
    /// The line that is fetched into the instruction cache, or was last.
    refill: fetch::Refill,
    /// Decode cycle of the last control-flow instruction.
    steered: Cycle,
    /// Decode cycle from which each register (x, then f) may be used or overwritten.
    ready: [Cycle; REGISTERS],
    /// The latest of them.
    all_ready: Cycle,
    /// A multiplication or division under way: register, and the cycle it wants the write port.
    unit_register: u8,
    unit_done: Cycle,
    /// Decode cycle from which the floating-point divider is free.
    float_divider_free: Cycle,
    /// Cycles in which the floating-point write port is taken, a ring of bits.
    float_ports: u64,
    float_ports_base: Cycle,
    stores: [PendingStore; 2],
    /// Bits of a word's number that choose its set and place in the data cache: what the store buffer
    /// compares.
    word_index: u64,
    /// First cycle of the present run of loads decoded back to back, and the cycle behind it.
    load_run: (Cycle, Cycle),
    /// How the last loads met the stores in front of the data array, the last one in the lowest bits.
    loads_met: u64,
    /// Decode cycle behind the last memory access, for fences.
    memory_busy: Cycle,
    /// Decode cycle of the last access that missed, in the end.
    missed: Cycle,
    /// Decode cycle of an access that finds the tags being written.
    tags_written: Cycle,
    fence: bool,
    predictor: Predictor,
    instruction_cache: Cache,
    data_cache: Cache,
    reservation: Reservation<u64>,
    /// Accesses and fetches must ask the memory protection.
    protected: bool,
    /// What may have changed decoded code.
    change: Change,
    /// Address behind the memory access under way.
    behind: u64,
    /// What the frontend fetched in vain.
    ahead: Option<Ahead>,
    /// Cycles spent in `wfi`, which `mcycle` does not count.
    stalled: Cycle,
    /// Turns of polling loops that were left out: cycles and instructions.
    polled: (Cycle, u64),
    /// Cycles that the instruction in decode waited for its operands, while somebody hears of it.
    operand_wait: Cycle,
    /// Number of what a polling loop must not do: stores, pops, words sent, commands but idle.
    effects: u64,
    poll: Poll,
    poll_turns: poll_turns::PollTurns,
    turns: turns::Turns,
    start: start::Start,
    /// A branch was taken to an address before it.
    turned: bool,
    /// The exception that the program has not come back from, if there is one.
    pub failure: Option<Box<Failure>>,
    /// Number of reads of an empty receive queue.
    pub empty_reads: u64,
    /// Program counter and cycle of the first of them.
    pub first_empty_read: Option<(u64, Cycle)>,
    timing: CoreSection,
    instruction_miss: Cycle,
    data_miss: Cycle,
    /// Earliest cycle in which an enabled interrupt may be up.
    attention: Cycle,
}

impl Core {
    /// Makes a core as reset leaves it.
    pub fn new(id: u32, shape: CoreShape<'_>) -> Self {
        let config = HartConfig {
            extensions: pinion_isa::Extensions::RV64GC,
            hart_id: id,
            mtvec_mask: !2,
            trap_misaligned: true,
            platform_interrupts: 1 << network::INTERRUPT,
            ..HartConfig::default()
        };
        let timing = shape.core.clone();
        Self {
            hart: Hart::new(&config, timing.reset_address),
            id,
            activity: Activity::Running,
            decode: timing.start_cycle,
            key: timing.start_cycle,
            limit: 0,
            fetch: timing.start_cycle,
            departed: [0; FETCH_RING],
            entered: [0; FETCH_RING],
            word_count: 0,
            streams: false,
            redirected: true,
            fetch_word: u64::MAX,
            fetch_line: u64::MAX,
            refill: fetch::Refill::default(),
            steered: 0,
            ready: [0; REGISTERS],
            all_ready: 0,
            unit_register: 0,
            unit_done: 0,
            float_divider_free: 0,
            float_ports: 0,
            float_ports_base: 0,
            stores: [PendingStore::default(); 2],
            word_index: u64::from(shape.data_cache.sets) * (LINE_BYTES / data::WORD_BYTES) - 1,
            load_run: (0, 0),
            loads_met: 0,
            memory_busy: 0,
            missed: 0,
            tags_written: 0,
            fence: false,
            predictor: Predictor::new(
                timing.branch_targets,
                timing.branch_counters,
                timing.return_addresses,
            ),
            instruction_cache: Cache::new(
                shape.instruction_cache.sets,
                shape.instruction_cache.ways,
            ),
            data_cache: Cache::new(shape.data_cache.sets, shape.data_cache.ways),
            reservation: Reservation::NONE,
            protected: false,
            change: Change::Nothing,
            behind: 0,
            ahead: None,
            stalled: 0,
            operand_wait: 0,
            polled: (0, 0),
            effects: 0,
            poll: Poll {
                pc: u64::MAX,
                at: 0,
                period: 0,
                retired: 0,
                effects: 0,
                history: 0,
                registers: [0; 32],
            },
            poll_turns: poll_turns::PollTurns::default(),
            turns: turns::Turns::default(),
            start: start::Start::default(),
            turned: false,
            failure: None,
            empty_reads: 0,
            first_empty_read: None,
            timing,
            instruction_miss: shape.instruction_cache.miss_cycles,
            data_miss: shape.data_cache.miss_cycles,
            attention: 0,
        }
    }

    /// Gives the cycle before which it will not act; `None` while only the network can wake it.
    pub fn key(&self) -> Option<Cycle> {
        matches!(self.activity, Activity::Running).then_some(self.key)
    }

    /// Says what it has waited for.
    #[inline]
    fn waits(&self) -> Waits {
        Waits { operands: self.operand_wait, idle: self.stalled + self.polled.0 }
    }

    /// Gives the cycle in which its last instruction was in decode.
    pub fn decode_cycle(&self) -> Cycle {
        self.decode
    }

    /// Gives the cycles before `now` in which it had nothing to do, and the instructions that it
    /// executed in them: turns of loops that only poll, and `wfi`. The first turns of a loop,
    /// which show that it only polls, count as work.
    pub fn idle(&self, now: Cycle) -> (Cycle, u64) {
        let (cycles, instructions) = (self.stalled + self.polled.0, self.polled.1);
        match self.activity {
            Activity::Polling { period, instructions: turn } => {
                let left = now.saturating_sub(self.decode);
                (cycles + left, instructions + left / period.max(1) * turn)
            }
            Activity::Waiting { since } => (cycles + now.saturating_sub(since), instructions),
            Activity::Running | Activity::Stopped => (cycles, instructions),
        }
    }

    /// Counts the instructions executed before `now`, those of polling loops included.
    pub fn instructions(&self, now: Cycle) -> u64 {
        self.hart.instret + self.idle(now).1 - self.polled.1
    }

    /// Drops a line that another hart wants, or keeps it to read.
    pub fn probe(&mut self, line: u64, keep: bool) {
        if !keep {
            self.data_cache.remove(line);
            if self.reservation.address().is_some_and(|held| held / LINE_BYTES == line) {
                self.reservation.clear();
            }
        } else if let Some(slot) = self.data_cache.find(line) {
            self.data_cache.set_state(slot, cache::State::Shared);
        }
    }
}
