//! Where things lie that depend on machine and contexts: task registers, a context's memory.

use pinion_spin::{ExecutionContext, HandlerKind, Machine};

/// Counts bytes at the start of L2 handler memory that every context's handlers may reach.
pub const L2_STATIC_BYTES: u32 = 0x10000;
/// The first word of the task registers; those of machines with more than four clusters are at
/// [`WIDE_TASK`] (the SDK's `pinion_map.h`).
pub const TASK: usize = 0x08 / 4;
const WIDE_TASK: usize = 0x100 / 4;
/// The published register file has four scratchpads.
const PUBLISHED_SCRATCHPADS: usize = 4;
/// Counts the words of a task with four scratchpads.
pub const PUBLISHED_WORDS: usize = 10 + 2 * PUBLISHED_SCRATCHPADS;
/// Counts the words of the largest task: sixteen clusters.
pub const TASK_WORDS: usize = 10 + 2 * 16;

/// Holds what tasks of a context have in common.
#[derive(Clone, Debug)]
pub struct ContextLayout {
    /// Its number.
    pub context: u32,
    /// The task as C's `task_t`; the words of the packet are filled in per task.
    pub task: [u32; TASK_WORDS],
    /// The handlers' addresses, 0 for none: header, payload, completion.
    pub handlers: [u32; 3],
    /// The handler that each packet has which is a message of its own, if that is one.
    pub only_handler: Option<u32>,
    /// The context's handler memory.
    pub handler_memory: (u32, u32),
    /// Its scratchpad in cluster 0.
    pub scratchpad: (u32, u32),
    /// Its host memory window.
    pub host: (u64, u32),
    /// Limits a handler's processor time, in nanoseconds; `u64::MAX`: none.
    pub limit_ns: u64,
    /// Limits it as the manifest says it, in cycles.
    pub limit_cycles: u64,
    /// Limits the bytes that are copied to L1.
    pub l1_bytes: u32,
}

/// Names words of the task by their place behind the scratchpads.
pub struct TaskWords {
    /// Where the task begins in the driver's registers.
    pub start: usize,
    /// Number of scratchpad entries.
    pub scratchpads: usize,
}

impl TaskWords {
    /// Tells where the task lies on a machine.
    pub fn of(machine: &Machine) -> Self {
        let clusters = machine.cluster.count as usize;
        match clusters > PUBLISHED_SCRATCHPADS {
            true => Self { start: WIDE_TASK, scratchpads: clusters },
            false => Self { start: TASK, scratchpads: PUBLISHED_SCRATCHPADS },
        }
    }

    /// Tells whether they are not where the published register file has them.
    pub const fn is_wide(&self) -> bool {
        self.start != TASK
    }

    /// Counts the words of a task.
    pub const fn count(&self) -> usize {
        10 + 2 * self.scratchpads
    }

    /// Gives the word of the packet's address in L1; its bytes follow.
    pub const fn packet(&self) -> usize {
        self.start + 2
    }

    /// Gives the word of the packet's address in L2; home cluster and the message's queue follow.
    pub const fn l2_packet(&self) -> usize {
        self.start + 7 + 2 * self.scratchpads
    }
}

impl ContextLayout {
    /// Lays a context out.
    pub fn new(
        machine: &Machine,
        (number, context): (u32, &ExecutionContext),
        floor_ns: u64,
    ) -> Self {
        let words = TaskWords::of(machine);
        let scratchpad = |cluster: u32| {
            machine.l1.base
                + cluster * machine.l1.stride
                + machine.scratchpad_offset()
                + context.scratchpad_offset
        };
        let clusters = machine.cluster.count;
        let per_cluster = |value: &dyn Fn(u32) -> u32| -> Vec<u32> {
            let entry = |cluster| if cluster < clusters { value(cluster) } else { 0 };
            (0..words.scratchpads as u32).map(entry).collect()
        };
        let mut task = vec![context.handler_memory_address, context.handler_memory_bytes, 0, 0];
        task.extend(per_cluster(&scratchpad));
        task.extend(per_cluster(&|_| context.scratchpad_bytes));
        task.push((context.host_memory_address >> 32) as u32);
        task.push(context.host_memory_address as u32);
        task.push(context.host_memory_bytes);
        task.resize(TASK_WORDS, 0);
        let kinds = [HandlerKind::Header, HandlerKind::Payload, HandlerKind::Completion];
        let address = |kind| context.handler(kind).map_or(0, |handler| handler.address);
        let handlers = kinds.map(address);
        let limit_cycles = watchdog_cycles(machine, context);
        Self {
            context: number,
            task: task.try_into().unwrap_or([0; TASK_WORDS]),
            handlers,
            only_handler: match handlers.map(|handler| (handler != 0).then_some(handler)) {
                [Some(only), None, None] | [None, Some(only), None] | [None, None, Some(only)] => {
                    Some(only)
                }
                _ => None,
            },
            handler_memory: (context.handler_memory_address, context.handler_memory_bytes),
            scratchpad: (scratchpad(0), context.scratchpad_bytes),
            host: (context.host_memory_address, context.host_memory_bytes),
            limit_ns: limit_cycles.map_or(u64::MAX, |cycles| {
                let ns = u128::from(cycles) * 1000 / u128::from(machine.clock.frequency_mhz.max(1));
                u64::try_from(ns).unwrap_or(u64::MAX).max(floor_ns)
            }),
            limit_cycles: limit_cycles.unwrap_or(0),
            l1_bytes: context.l1_bytes.unwrap_or(u32::MAX),
        }
    }
}

fn watchdog_cycles(machine: &Machine, context: &ExecutionContext) -> Option<u64> {
    let general = machine.protection.watchdog_cycles;
    let wanted = context.watchdog_cycles.or((general > 0).then_some(general));
    wanted.filter(|_| machine.protection.watchdog)
}
