//! An HPU as the checker sees it: the handler that it is in, which bits of its registers nobody has
//! written, and what it has written to the registers of commands and copies.

use pinion_isa::Instruction;
use pinion_spin::{InstructionRecord, PacketPlace, RunningTask};

use crate::defined::Width;
use crate::map::Range;
use crate::operations::Operations;
use crate::registers::Registers;
use crate::shared::Changed;

/// Ranges of memory that are remembered.
const RANGES: usize = 4;
/// Addresses of packets that are remembered as loaded from memory.
const STALE: usize = 4;
/// Tasks that are remembered, so that an earlier access can be named.
const TASKS: usize = 1 << 14;

/// Numbers of registers.
pub const RA: u8 = 1;
/// The stack pointer.
pub const SP: u8 = 2;
/// The frame pointer.
pub const FP: u8 = 8;

/// Says where an HPU stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Between tasks: the runtime's own.
    #[default]
    Runtime,
    /// On the way to its handler.
    Entering,
    /// In its handler.
    Handler,
}

/// Holds an HPU.
pub struct Hart {
    /// Cluster.
    pub cluster: u32,
    /// HPU within the cluster.
    pub hpu: u32,
    /// Where it stands.
    pub stage: Stage,
    /// The handler's first address.
    pub entry: u32,
    /// Where the handler returns to.
    pub back: u32,
    /// What it works at.
    pub task: Option<RunningTask>,
    /// Where its packet lies.
    pub place: PacketPlace,
    /// The packet of its last task.
    pub last_packet: u64,
    /// Tasks so far.
    pub tasks: u32,
    /// What is known of its registers.
    pub registers: Registers,
    /// The last call of a function from the user's code; 0: none.
    pub caller: u32,
    /// The stack pointer; 0: not known yet.
    pub sp: u32,
    /// First address of its stack, and its end.
    pub stack: (u32, u32),
    /// Ranges of memory it touched last.
    pub ranges: [Range; RANGES],
    next_range: usize,
    /// Words of a command, and what kind it is.
    pub words: [u32; 7],
    /// The command's kind.
    pub info: u32,
    /// The command that it asks for.
    pub tested: u32,
    /// Source, destination and bytes of a copy.
    pub copy: [u32; 3],
    /// Commands and copies.
    pub operations: Operations,
    /// Words that the task changed by its last atomics.
    pub changed: Changed,
    stale: [u32; STALE],
    next_stale: usize,
    /// The task at each number of its clock that began one.
    log: std::collections::VecDeque<(u32, RunningTask)>,
}

impl Hart {
    /// Makes an HPU that has no task.
    pub fn new(cluster: u32, hpu: u32, stack: (u32, u32)) -> Self {
        Self {
            cluster,
            hpu,
            stage: Stage::Runtime,
            entry: 0,
            back: 0,
            task: None,
            place: PacketPlace::default(),
            last_packet: u64::MAX,
            tasks: 0,
            registers: Registers::new(Width::Rv32),
            caller: 0,
            sp: 0,
            stack,
            ranges: [Range::default(); RANGES],
            next_range: 0,
            words: [0; 7],
            info: 0,
            tested: 0,
            copy: [0; 3],
            operations: Operations::default(),
            changed: Changed::default(),
            stale: [0; STALE],
            next_stale: 0,
            log: std::collections::VecDeque::new(),
        }
    }

    /// Begins a task at a number of its clock.
    pub fn begin(&mut self, task: RunningTask, place: PacketPlace, entry: u32, clock: u32) {
        self.stage = Stage::Entering;
        (self.task, self.place, self.entry) = (Some(task), place, entry);
        self.tasks += 1;
        self.last_packet = task.packet;
        (self.back, self.caller) = (0, 0);
        self.ranges = [Range::default(); RANGES];
        (self.changed, self.stale) = (Changed::default(), [0; STALE]);
        if self.log.len() == TASKS {
            self.log.pop_front();
        }
        self.log.push_back((clock, task));
    }

    /// Finds the task that it had at a number of its clock.
    pub fn task_at(&self, clock: u32) -> Option<RunningTask> {
        let after = self.log.partition_point(|(from, _)| *from <= clock);
        Some(self.log.get(after.checked_sub(1)?)?.1)
    }

    /// Looks at an instruction between taking a task and its handler: where that will return to.
    pub fn approach(&mut self, record: &InstructionRecord) {
        let Instruction { rd, .. } = record.instruction;
        if rd == RA {
            self.back = record.result;
        }
        let sources = record.instruction.sources();
        if let Some(at) = sources.iter().position(|register| *register == SP) {
            self.sp = record.sources[at];
        }
        if rd == SP {
            self.sp = record.result;
        }
    }

    /// Enters the handler: what a function may count on is defined, no other register is.
    pub fn enter(&mut self) {
        const A0: u8 = 10;
        const TEMPORARIES_AND_SAVED: [std::ops::RangeInclusive<u8>; 2] = [5..=9, A0 + 1..=31];
        self.stage = Stage::Handler;
        self.registers = Registers::new(Width::Rv32);
        for register in TEMPORARIES_AND_SAVED.into_iter().flatten() {
            self.registers.forget(register, self.entry);
        }
    }

    /// Ends the task: what follows is the runtime's.
    pub fn leave(&mut self) {
        self.stage = Stage::Runtime;
        self.sp = 0;
    }

    /// Remembers a range.
    pub fn keep_range(&mut self, range: Range) {
        self.ranges[self.next_range] = range;
        self.next_range = (self.next_range + 1) % RANGES;
    }

    /// Remembers an address of a packet that it loaded from memory.
    pub fn keep_stale(&mut self, address: u32) {
        if !self.stale.contains(&address) {
            self.stale[self.next_stale] = address;
            self.next_stale = (self.next_stale + 1) % STALE;
        }
    }

    /// Finds the address of a packet that it loaded from memory, from which an address may come.
    pub fn stale_before(&self, address: u32, reach: u32) -> Option<u32> {
        let near = |from: &u32| *from != 0 && address.wrapping_sub(*from) < reach;
        self.stale.iter().copied().filter(near).max()
    }
}
