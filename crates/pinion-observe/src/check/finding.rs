//! What is wrong, as it was seen: kinds, and accesses.

use pinion_spin::RunningTask;
use serde::{Deserialize, Serialize};

/// Names what can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A value that nobody wrote decides, addresses, or leaves.
    Uninitialised,
    /// An access outside the packet.
    BeyondPacket,
    /// An access to a packet whose buffer was given back.
    FreedPacket,
    /// A read of bytes that a packet of another context left in a packet buffer.
    StaleData,
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
    /// Two HPUs or harts touch the same bytes, at least one writes, and nothing orders them.
    DataRace,
    /// The same, of values that are read, changed and written back.
    LostUpdate,
    /// A read of x30 behind the last word of a message.
    BeyondMessage,
    /// A read of x30 where no word is.
    EmptyRead,
    /// A thread reads a message of another thread's context.
    ForeignMessage,
    /// A message is ended before its words are read.
    UnreadWords,
    /// A message is never ended.
    NeverDone,
    /// A message is ended that was not begun.
    UnmatchedDone,
    /// More words are written to x31 than the message's header announced.
    ExcessWords,
    /// Fewer words are written to x31 than the message's header announced.
    MissingWords,
    /// A message is announced that no NIC takes.
    RefusedMessage,
    /// An instruction takes an exception that its hart does not come back from.
    Exception,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 21] = [
        Self::Uninitialised,
        Self::BeyondPacket,
        Self::FreedPacket,
        Self::StaleData,
        Self::ForeignMemory,
        Self::StackOverflow,
        Self::ReusedBuffer,
        Self::UnfinishedTransfer,
        Self::NeverAwaited,
        Self::DataRace,
        Self::LostUpdate,
        Self::BeyondMessage,
        Self::EmptyRead,
        Self::ForeignMessage,
        Self::UnreadWords,
        Self::NeverDone,
        Self::UnmatchedDone,
        Self::ExcessWords,
        Self::MissingWords,
        Self::RefusedMessage,
        Self::Exception,
    ];

    /// Tells whether it is about accesses that nothing orders.
    pub const fn is_race(self) -> bool {
        matches!(self, Self::DataRace | Self::LostUpdate)
    }

    /// Gives its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uninitialised => "uninitialised",
            Self::BeyondPacket => "beyond_packet",
            Self::FreedPacket => "freed_packet",
            Self::StaleData => "stale_data",
            Self::ForeignMemory => "foreign_memory",
            Self::StackOverflow => "stack_overflow",
            Self::ReusedBuffer => "reused_buffer",
            Self::UnfinishedTransfer => "unfinished_transfer",
            Self::NeverAwaited => "never_awaited",
            Self::DataRace => "data_race",
            Self::LostUpdate => "lost_update",
            Self::BeyondMessage => "beyond_message",
            Self::EmptyRead => "empty_read",
            Self::ForeignMessage => "foreign_message",
            Self::UnreadWords => "unread_words",
            Self::NeverDone => "never_done",
            Self::UnmatchedDone => "unmatched_done",
            Self::ExcessWords => "excess_words",
            Self::MissingWords => "missing_words",
            Self::RefusedMessage => "refused_message",
            Self::Exception => "exception",
        }
    }

    /// Says in words what is wrong.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Uninitialised => "a value that was never written is used",
            Self::BeyondPacket => "an access outside the packet",
            Self::FreedPacket => "an access to a packet whose buffer was given back",
            Self::StaleData => "a read of what a packet of another context left",
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
            Self::BeyondMessage => "a read of x30 behind the last word of a message",
            Self::EmptyRead => "a read of x30, and nothing is there",
            Self::ForeignMessage => "a thread reads a message of another thread's context",
            Self::UnreadWords => "a message is ended before its words are read",
            Self::NeverDone => "a message is never ended",
            Self::UnmatchedDone => "a message is ended, and none was begun",
            Self::ExcessWords => {
                "more words are written to x31 than the message's header announces"
            }
            Self::MissingWords => {
                "fewer words are written to x31 than the message's header announces"
            }
            Self::RefusedMessage => "a message is announced that the NIC refuses",
            Self::Exception => "an instruction takes an exception, and its hart does not come back",
        }
    }

    /// Says what to do between threads of one hart: a lock would be waited for without end.
    pub const fn advice_to_threads(self) -> Option<&'static str> {
        match self {
            Self::DataRace => Some(
                "order them: an atomic, interrupts kept off (csr_clear(mstatus, MSTATUS_MIE)), or the \
                 same priority for both threads",
            ),
            Self::LostUpdate => Some(
                "use an atomic (__atomic_fetch_add), or keep interrupts off between reading and \
                 writing (csr_clear(mstatus, MSTATUS_MIE))",
            ),
            _ => None,
        }
    }

    /// Says what to do where it was seen.
    pub const fn advice(self, at: &Who) -> &'static str {
        match (self, at) {
            (Self::StackOverflow, Who::Hart { .. }) => {
                "make local arrays smaller, or give them static or heap memory: the stack of a hart \
                 has 128 KiB, that of a thread 4,352 B"
            }
            (Self::DataRace, Who::Hart { .. }) => {
                "order them: an atomic, a lock around both, or a message to the hart that owns the data"
            }
            (Self::LostUpdate, Who::Hart { .. }) => {
                "use an atomic (__atomic_fetch_add), or a lock around reading and writing"
            }
            _ => self.usual_advice(),
        }
    }

    const fn usual_advice(self) -> &'static str {
        match self {
            Self::Uninitialised => "write it before it is used",
            Self::BeyondPacket | Self::StaleData => {
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
            Self::BeyondMessage => {
                "read no more words than the message's header announces (lnic_words of \
                 lnic_header_bytes)"
            }
            Self::EmptyRead => "wait for a message first (lnic_wait)",
            Self::ForeignMessage => {
                "leave lcurcontext to the nanoKernel: it follows the thread that runs"
            }
            Self::UnreadWords => {
                "read all words before lnic_msg_done: on the published hardware those that are left \
                 are taken for the next message"
            }
            Self::NeverDone => {
                "say lnic_msg_done once for each message: until then its hart is taken for busy with it"
            }
            Self::UnmatchedDone => "say lnic_msg_done once for each message",
            Self::ExcessWords => {
                "write as many words as the header says: one more is taken for the next message's header"
            }
            Self::MissingWords => {
                "write as many words as the header says: the next message's are taken for the rest"
            }
            Self::RefusedMessage => {
                "announce between 1 B and what the largest buffer of the machine has"
            }
            Self::Exception => {
                "look at where the address, or the function that was called, comes from: the fault says \
                 what the registers held"
            }
        }
    }
}

/// Says what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// A read of x30.
    Receive,
    /// The first read of a message.
    Begin,
    /// A word written to x31.
    Send,
    /// A message's header written to x31.
    Announce,
    /// The end of a message's handling.
    Done,
    /// An instruction that no unit takes.
    Execute,
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
            Self::Receive => "receive",
            Self::Begin => "begin",
            Self::Send => "send",
            Self::Announce => "announce",
            Self::Done => "done",
            Self::Execute => "execute",
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
            Self::Receive => "x30 read by",
            Self::Begin => "begun by",
            Self::Send => "sent through x31 by",
            Self::Announce => "announced by",
            Self::Done => "ended by",
            Self::Execute => "executed by",
        }
    }
}

/// Says who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Who {
    /// A handler.
    Hpu {
        /// Cluster.
        cluster: u32,
        /// HPU within the cluster.
        hpu: u32,
        /// The task, where it is still known.
        task: Option<RunningTask>,
    },
    /// A nanoservice.
    Hart {
        /// The hart.
        hart: u32,
        /// The context that it ran.
        context: u16,
        /// The message that it had begun last there, where that is still known: messages are counted as
        /// they come in.
        message: Option<u64>,
    },
}

/// Holds one access.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// What was done.
    pub deed: Deed,
    /// The instruction.
    pub pc: u64,
    /// The cycle.
    pub cycle: u64,
    /// Who did it.
    pub who: Who,
}

/// What was seen: equal findings are one.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// Where: an address, and bytes.
    pub memory: Option<(u64, u32)>,
    /// What more there is to say.
    pub note: Option<String>,
    /// The accesses: the one that showed it, then those it collides with.
    pub seen: Vec<Seen>,
    /// How often.
    pub count: u64,
}
