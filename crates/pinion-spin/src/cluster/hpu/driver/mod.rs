//! The HPU driver: hands tasks to a core, takes its commands, holds its completion back until they
//! are done, and watches how long a handler runs.
//!
//! Its steps are in `task.rs`, `commands.rs` and `registers.rs`, what keeps tasks apart in `door.rs`,
//! what blocks of hardware beside it see in `hardware.rs`. In: tasks from the cluster's scheduler, the core's reads and writes of the registers at
//! 0x1b205000, responses of commands. Out: completions, commands. Holds the running task, one
//! completion that waits for its commands, the command slots and the DMA front end of its core.
//! Makes the core wait: for a task, for a free command slot, for the completion before. (Paper
//! §III-B2, §III-B3; RTL hpu_driver; register list in the SDK's hwsched.h.)
//!
//! Stores to registers that are read only, or that do not exist, are ignored. Atomics are stores
//! that answer with the register: the operation does not reach the driver (RTL core_demux).

mod commands;
mod door;
mod hardware;
mod registers;
mod task;

use std::collections::VecDeque;

use pinion_sim::turn_port::BurstId;

use crate::command::CommandWords;
use crate::task::Task;
use crate::{ExecutionContext, Machine};
use door::Door;

/// Names the registers by their offset.
pub mod register {
    #![allow(missing_docs)]

    use crate::cluster::pe_interconnect::DRIVER;
    use crate::memory::PERIPHERALS;

    /// Where a core finds the first one.
    pub const BASE: u32 = PERIPHERALS + DRIVER;
    pub const HANDLER: u32 = 0x00;
    pub const FIRST_TASK: u32 = 0x08;
    pub const LAST_TASK: u32 = 0x4c;
    pub const DOORBELL: u32 = 0x50;
    pub const ERROR: u32 = 0x54;
    pub const ISSUE: u32 = 0x80;
    pub const WAIT: u32 = 0x84;
    pub const TEST: u32 = 0x88;
    pub const INFO: u32 = 0x8c;
    pub const WORDS: u32 = 0x90;
    /// End of the command words.
    pub const END: u32 = 0xac;
    /// The task again, with scratchpad arrays as long as the machine has clusters: machines with more
    /// than four do not fit into the published register file. (Ours; the RTL never answers here.)
    pub const WIDE_TASK: u32 = 0x100;
    /// Bytes after which the registers come again (RTL hpu_driver: address bits 8:7 choose a half).
    pub const SPAN: u32 = 0x200;
    /// Bytes that lead to the driver (RTL periph_demux).
    pub const PAGE: u32 = 0x400;
}

/// Where the wide task begins among the words that the driver keeps.
const FIRST_WIDE_WORD: u32 = 32;

/// Where a task's packet in L1 stands among its words, behind the handler memory; then its scratchpad
/// arrays, behind both of them the words of its host memory.
const PACKET_WORD: usize = 2;
const SCRATCHPAD_WORD: usize = 4;
const HOST_WORDS: usize = 3;

/// Holds a task that an HPU has.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// The task.
    pub task: Task,
    /// Index of its context.
    pub context: u32,
    /// Cycle it was assigned.
    pub assigned: u64,
    /// Cycle its handler started, once the core took it.
    pub started: Option<u64>,
    /// Instructions the core had retired then.
    pub instret: u64,
    /// Whether it went wrong.
    pub failed: bool,
}

/// Holds a command slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandSlot {
    /// Whether it is taken.
    pub busy: bool,
    /// The command in it.
    pub command: CommandWords,
    /// Slot of the packet whose handler issued it.
    pub packet: u32,
    /// Its turn at packet memory's port, which it shares with packets that come in.
    pub turn: Option<Turn>,
}

/// Holds a command's turn at a port.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The burst.
    pub burst: BurstId,
    /// When it was to start when last looked at.
    pub start: u64,
}

/// Holds a core's front end of the cluster's DMA engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct DmaFrontEnd {
    /// Source address.
    pub source: u32,
    /// Destination address.
    pub destination: u32,
    /// Bytes.
    pub bytes: u32,
    /// Transfers launched.
    pub launched: u32,
    /// Transfers done.
    pub done: u32,
    /// Cycle from which on the driver has seen that transfers are under way, if some are.
    pub pending_from: u64,
}

/// Holds the driver of one HPU.
#[derive(Clone, Debug)]
pub struct HpuDriver {
    /// The task the core has or is to take.
    pub running: Option<Running>,
    /// Task without handler, or given up, that waits to become a completion.
    pub bounced: Option<Task>,
    /// First cycle in which it may be given a task.
    pub idle_from: u64,
    /// Cycle at which the watchdog ends the running handler.
    pub deadline: u64,
    /// Cycle of the watchdog's event in the queue: there is at most one that counts.
    pub alarm: Option<u64>,
    /// Whether the trap handler has been given time beyond that.
    pub has_grace: bool,
    /// Completion that waits to leave.
    pub completion: Option<Task>,
    /// First cycle in which that may leave.
    pub completion_from: u64,
    /// Where its core asks for tasks, once it has.
    pub door: Option<Door>,
    /// Command being written.
    pub draft: CommandWords,
    /// Result of the last test.
    pub tested: u32,
    /// Command slots.
    pub slots: Vec<CommandSlot>,
    /// Slots whose command has not left the HPU.
    pub queue: VecDeque<u32>,
    /// DMA front end.
    pub dma: DmaFrontEnd,
    registers: [u32; 80],
    /// Version of the context that the registers describe.
    shown: Option<(u32, u32)>,
    wide: u32,
    /// What the task's and the commands' half last answered: the answer where no register is.
    answers: [u32; 2],
}

impl HpuDriver {
    /// Makes an idle driver.
    pub fn new(machine: &Machine) -> Self {
        Self {
            running: None,
            bounced: None,
            idle_from: 0,
            deadline: 0,
            alarm: None,
            has_grace: false,
            completion: None,
            completion_from: 0,
            door: None,
            draft: CommandWords::default(),
            tested: 0,
            slots: vec![CommandSlot::default(); machine.command.per_hpu as usize],
            queue: VecDeque::with_capacity(machine.command.per_hpu as usize),
            dma: DmaFrontEnd::default(),
            registers: [0; 80],
            shown: None,
            answers: [0; 2],
            wide: machine.cluster.count.max(4),
        }
    }

    /// Lets the watchdog end the running handler at `deadline`; `true`: an event for it must be pushed.
    pub fn arm(&mut self, deadline: u64) -> bool {
        self.deadline = deadline;
        let earlier = self.alarm.is_none_or(|alarm| alarm > deadline);
        if earlier {
            self.alarm = Some(deadline);
        }
        earlier
    }

    /// Says whether it can take a task at cycle `now`.
    pub fn is_idle(&self, now: u64) -> bool {
        self.running.is_none() && self.bounced.is_none() && self.idle_from <= now
    }

    /// Gives the number of commands under way.
    pub fn commands_pending(&self) -> usize {
        self.slots.iter().filter(|slot| slot.busy).count()
    }

    /// Says whether its completion may leave at cycle `now`.
    pub fn can_complete(&self, now: u64) -> bool {
        self.completion.is_some()
            && self.completion_from <= now
            && self.dma.launched == self.dma.done
            && self.commands_pending() == 0
    }

    /// Fills the task registers. What its context says stays there from one of its tasks to the next.
    pub fn load_task(
        &mut self,
        machine: &Machine,
        context: &ExecutionContext,
        task: &Task,
        packet: &TaskPacket,
    ) {
        if self.shown != Some(packet.context) {
            self.shown = Some(packet.context);
            self.load_context(machine, context);
        }
        self.registers[0] = task.handler;
        self.registers[1] = context_handler_bytes(context, task.handler);
        let home = task.queue % machine.cluster.count;
        for (start, entries) in self.layouts() {
            let (memory, end) =
                (start + PACKET_WORD, start + SCRATCHPAD_WORD + 2 * entries + HOST_WORDS);
            self.registers[memory..memory + 2].copy_from_slice(&[task.l1_address, packet.l1_bytes]);
            self.registers[end..end + 3].copy_from_slice(&[packet.l2_address, home, task.queue]);
        }
    }

    /// Gives where the task begins among the words, and the entries of its scratchpad arrays.
    fn layouts(&self) -> [(usize, usize); 2] {
        [(2, 4), (FIRST_WIDE_WORD as usize, self.wide as usize)]
    }

    fn load_context(&mut self, machine: &Machine, context: &ExecutionContext) {
        let clusters = machine.cluster.count;
        let scratchpad = |cluster: u32| {
            if cluster >= clusters {
                return (0, 0);
            }
            let (offset, bytes) = context.scratchpad(cluster);
            let l1 = machine.l1.base + cluster * machine.l1.stride;
            (l1 + machine.scratchpad_offset() + offset, bytes)
        };
        for (start, entries) in self.layouts() {
            let words = &mut self.registers[start..];
            words[0] = context.handler_memory_address;
            words[1] = context.handler_memory_bytes;
            for cluster in 0..entries {
                let (address, bytes) = scratchpad(cluster as u32);
                words[SCRATCHPAD_WORD + cluster] = address;
                words[SCRATCHPAD_WORD + entries + cluster] = bytes;
            }
            let host = &mut words[SCRATCHPAD_WORD + 2 * entries..];
            host[0] = (context.host_memory_address >> 32) as u32;
            host[1] = context.host_memory_address as u32;
            host[2] = context.host_memory_bytes;
        }
    }

    /// Writes a register of the command being made.
    #[inline]
    pub fn write_draft(&mut self, offset: u32, value: u32) {
        if offset == register::INFO {
            self.draft.info = value;
        } else if let Some(word) = offset.checked_sub(register::WORDS)
            && let Some(entry) = self.draft.words.get_mut(word as usize / 4)
        {
            *entry = value;
        }
    }

    /// Reads a register that holds part of the task. Where none is, the one read before answers once
    /// more (RTL hpu_driver).
    #[inline]
    pub fn task_register(&mut self, offset: u32) -> u32 {
        if offset >= register::WIDE_TASK {
            let index = (offset - register::WIDE_TASK) / 4 + FIRST_WIDE_WORD;
            return self.registers.get(index as usize).copied().unwrap_or(0);
        }
        if offset <= register::LAST_TASK && offset.is_multiple_of(4) {
            self.answers[0] = self.registers[offset as usize / 4];
        }
        self.answers[0]
    }

    /// Looks at a register that holds part of the task, without reading it; `None`: none is there.
    pub fn look_at_task(&self, offset: u32) -> Option<u32> {
        let index = match offset {
            register::WIDE_TASK..register::SPAN => {
                (offset - register::WIDE_TASK) / 4 + FIRST_WIDE_WORD
            }
            ..register::DOORBELL => offset / 4,
            _ => return None,
        };
        self.registers.get(index as usize).copied()
    }

    /// Answers an access to the doorbell or to the commands' half: with this value, or with what
    /// that half answered before.
    pub fn answer(&mut self, offset: u32, value: Option<u32>) -> u32 {
        let half = &mut self.answers[usize::from(offset >= register::ISSUE)];
        *half = value.unwrap_or(*half);
        *half
    }

    /// Gives the slot that the lowest bits of a written command id name, if its command is under way.
    pub fn busy_slot(&self, id: u32) -> Option<u32> {
        let slot = id as usize % self.slots.len().next_power_of_two();
        self.slots.get(slot).is_some_and(|slot| slot.busy).then_some(slot as u32)
    }
}

/// Describes a task's packet as the registers show it.
#[derive(Clone, Copy, Debug)]
pub struct TaskPacket {
    /// Its address in L2.
    pub l2_address: u32,
    /// Bytes of it in L1.
    pub l1_bytes: u32,
    /// Its context, as [`crate::shared::Contexts::version`] names it.
    pub context: (u32, u32),
}

fn context_handler_bytes(context: &ExecutionContext, address: u32) -> u32 {
    [&context.header_handler, &context.payload_handler, &context.completion_handler]
        .into_iter()
        .flatten()
        .find(|handler| handler.address == address)
        .map_or(0, |handler| handler.bytes)
}
