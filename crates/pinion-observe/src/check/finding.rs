//! What is wrong, as it was seen: kinds, and accesses.

use pinion_spin::RunningTask;

/// Names what can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A value that nobody wrote decides, addresses, or leaves.
    Uninitialised,
    /// An access outside the packet.
    BeyondPacket,
    /// An access to a packet whose buffer was given back.
    FreedPacket,
    /// An access to another context's or HPU's memory.
    ForeignMemory,
    /// The stack is too small.
    StackOverflow,
    /// A buffer is changed that a command or copy may still read.
    ReusedBuffer,
    /// A buffer is used that a command or copy may still write.
    UnfinishedTransfer,
    /// A handler's stack goes away while a command or copy may still use it.
    NeverAwaited,
    /// Two HPUs touch the same bytes, at least one writes, and nothing orders them.
    DataRace,
    /// The same, of values that are read, changed and written back.
    LostUpdate,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Uninitialised,
        Self::BeyondPacket,
        Self::FreedPacket,
        Self::ForeignMemory,
        Self::StackOverflow,
        Self::ReusedBuffer,
        Self::UnfinishedTransfer,
        Self::NeverAwaited,
        Self::DataRace,
        Self::LostUpdate,
    ];

    /// Gives its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uninitialised => "uninitialised",
            Self::BeyondPacket => "beyond_packet",
            Self::FreedPacket => "freed_packet",
            Self::ForeignMemory => "foreign_memory",
            Self::StackOverflow => "stack_overflow",
            Self::ReusedBuffer => "reused_buffer",
            Self::UnfinishedTransfer => "unfinished_transfer",
            Self::NeverAwaited => "never_awaited",
            Self::DataRace => "data_race",
            Self::LostUpdate => "lost_update",
        }
    }

    /// Says in words what is wrong.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Uninitialised => "a value that was never written is used",
            Self::BeyondPacket => "an access outside the packet",
            Self::FreedPacket => "an access to a packet whose buffer was given back",
            Self::ForeignMemory => "an access to memory of somebody else",
            Self::StackOverflow => "the stack is too small",
            Self::ReusedBuffer => "a buffer is changed while a command or copy may still read it",
            Self::UnfinishedTransfer => {
                "a buffer is used while a command or copy may still write it"
            }
            Self::NeverAwaited => "a handler ends while a command or copy may still use its stack",
            Self::DataRace => "a data race: two accesses that nothing orders",
            Self::LostUpdate => {
                "lost updates: values are read, changed and written back, and \
                                 nothing keeps others out meanwhile"
            }
        }
    }

    /// Says what to do.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Uninitialised => "write it before it is used",
            Self::BeyondPacket => {
                "compare with task->pkt_mem_size first: a packet may be shorter than its headers say"
            }
            Self::FreedPacket => {
                "copy what a later handler needs: a packet is gone when its last handler has ended"
            }
            Self::ForeignMemory => "stay within the memory that the task names, and its sizes",
            Self::StackOverflow => {
                "make local arrays smaller, or put them into the scratchpad; --set l1.stack_bytes=… \
                 makes the stacks larger"
            }
            Self::ReusedBuffer | Self::UnfinishedTransfer => {
                "wait for it in between (spin_cmd_wait, spin_dma_wait), or use another buffer"
            }
            Self::NeverAwaited => {
                "wait for it before the handler returns (spin_cmd_wait, spin_dma_wait), or put its \
                 data into the scratchpad or the packet"
            }
            Self::DataRace => {
                "order them: a lock around both, an atomic, or a handler that runs alone (header, \
                 completion)"
            }
            Self::LostUpdate => "use an atomic (amo_add), or a lock around reading and writing",
        }
    }
}

/// Says what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic.
    Atomic,
    /// A command or copy that reads the NIC's memory.
    OperationReads,
    /// A command or copy that writes the NIC's memory.
    OperationWrites,
    /// The value was read from where nobody wrote it.
    Origin,
    /// A branch.
    Branch,
    /// The address of an access or a jump.
    Address,
    /// A register of a device.
    Device,
    /// A byte of output.
    Output,
    /// The stack pointer.
    Stack,
    /// The end of the handler.
    End,
}

impl Deed {
    /// Gives its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic",
            Self::OperationReads => "operation_reads",
            Self::OperationWrites => "operation_writes",
            Self::Origin => "origin",
            Self::Branch => "branch",
            Self::Address => "address",
            Self::Device => "device",
            Self::Output => "output",
            Self::Stack => "stack",
            Self::End => "end",
        }
    }

    /// Says it in words, in front of the function.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Read => "read by",
            Self::Write => "written by",
            Self::Atomic => "changed by an atomic of",
            Self::OperationReads => "a command or copy reads it, issued by",
            Self::OperationWrites => "a command or copy writes it, issued by",
            Self::Origin => "loaded by",
            Self::Branch => "decides a branch of",
            Self::Address => "is an address for",
            Self::Device => "given to a command or copy by",
            Self::Output => "printed by",
            Self::Stack => "the stack pointer goes below the stack in",
            Self::End => "goes away at the end of",
        }
    }
}

/// Holds one access.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// What was done.
    pub deed: Deed,
    /// The instruction.
    pub pc: u32,
    /// The cycle.
    pub cycle: u64,
    /// Cluster.
    pub cluster: u32,
    /// HPU within the cluster.
    pub hpu: u32,
    /// The task, where it is still known.
    pub task: Option<RunningTask>,
}
