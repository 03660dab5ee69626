//! What the units say happened. Statistics, captures, traces and reports listen; nobody listening
//! costs nothing.

pub use pinion_cores::pulp::Stalls;
use std::cell::Cell;

use pinion_isa::Instruction;
use pinion_sim::Time;
use pinion_sim::probe::{self, Hears, Vocabulary};

pub use pinion_sim::probe::Deaf;
pub use pinion_spin_hardware::words::HandlerKind;
use serde::{Deserialize, Serialize};

use crate::ContextId;
use crate::scene::Scene;

/// Describes one handler execution.
#[derive(Clone, Debug)]
pub struct HandlerRecord {
    /// Its packet's number.
    pub packet: u64,
    /// Its execution context.
    pub context: ContextId,
    /// Its kind.
    pub kind: HandlerKind,
    /// Cluster it ran on.
    pub cluster: u32,
    /// HPU within the cluster.
    pub hpu: u32,
    /// When the HPU took the task.
    pub start: Time,
    /// When it rang the doorbell.
    pub end: Time,
    /// Instructions retired.
    pub instructions: u64,
    /// Cycles lost, by reason.
    pub stalls: Stalls,
    /// Whether it ended by an exception or the watchdog.
    pub failed: bool,
}

/// Describes a packet's whole way; complete once its completion came back.
#[derive(Clone, Debug, Default)]
pub struct PacketRecord {
    /// Its number: matched packets are counted from 0 in order of arrival.
    pub packet: u64,
    /// The tag its source gave.
    pub tag: u64,
    /// Its execution context.
    pub context: ContextId,
    /// Its message id.
    pub message: u32,
    /// Its bytes.
    pub bytes: u32,
    /// Whether it was its message's last.
    pub end_of_message: bool,
    /// When its last bit arrived.
    pub arrival: Time,
    /// When the inbound engine took it.
    pub inbound: Time,
    /// When the whole of it was in the L2 packet buffer.
    pub written: Time,
    /// When its HER was handed to the packet scheduler.
    pub her: Time,
    /// When its first handler started, if one ran.
    pub handler_start: Option<Time>,
    /// When its last handler ended, if one ran.
    pub handler_end: Option<Time>,
    /// When its completion came back and its buffer was freed.
    pub completion: Time,
    /// When the first packet that its handlers sent had left, if one was sent.
    pub departure: Option<Time>,
    /// Cluster and HPU of its last handler.
    pub hpu: Option<(u32, u32)>,
    /// Instructions its handlers retired.
    pub instructions: u64,
    /// Cycles its handlers lost, by reason.
    pub stalls: Stalls,
    /// Whether a handler of it ended by an exception or the watchdog.
    pub failed: bool,
}

/// Says why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// It is larger than the machine takes.
    TooLarge,
    /// The L2 packet buffer was full and the machine is set to drop.
    BufferFull,
    /// No MPQ was free for its message.
    NoQueue,
    /// The FIFO in front of the matching engine was full.
    FifoFull,
    /// The NIC was reset while it was inside.
    Reset,
}

impl DropReason {
    /// Every reason.
    pub const ALL: [Self; 5] =
        [Self::TooLarge, Self::BufferFull, Self::NoQueue, Self::FifoFull, Self::Reset];

    /// Gives the reason's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::BufferFull => "buffer_full",
            Self::NoQueue => "no_queue",
            Self::FifoFull => "fifo_full",
            Self::Reset => "reset",
        }
    }
}

/// Says how a handler went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An exception with its `mcause`.
    Exception {
        /// Value of `mcause`.
        cause: u32,
    },
    /// The watchdog ended it.
    Watchdog {
        /// Cycles it was allowed.
        limit_cycles: u64,
    },
    /// Its context was released while it ran.
    Released,
    /// A command was refused: it names memory outside the context, or nothing that exists.
    BadCommand {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The trap vector leads nowhere: the HPU is lost.
    HpuLost,
}

/// Says what happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A packet that no context matches goes to the host's network stack.
    Unmatched {
        /// Its arrival.
        time: Time,
        /// Its bytes as they arrived.
        frame: &'a [u8],
    },
    /// A packet was dropped.
    Dropped {
        /// When.
        time: Time,
        /// Why.
        reason: DropReason,
        /// Its bytes as they arrived, where they are still known.
        frame: &'a [u8],
    },
    /// An HPU took a task.
    HandlerStarted {
        /// When.
        time: Time,
        /// Cluster.
        cluster: u32,
        /// HPU within the cluster.
        hpu: u32,
        /// The task.
        task: RunningTask,
        /// Where its packet lies.
        place: PacketPlace,
    },
    /// A handler ended.
    HandlerDone(&'a HandlerRecord),
    /// A packet's completion came back: its buffer is free.
    PacketDone(&'a PacketRecord),
    /// The NIC outbound engine sent a packet.
    Departed {
        /// When its last bit left.
        time: Time,
        /// Its bytes.
        frame: &'a [u8],
        /// Number of the packet whose handler sent it.
        packet: u64,
    },
    /// Data were written to host memory by a command.
    HostWrite {
        /// When.
        time: Time,
        /// Host address.
        address: u64,
        /// Data.
        data: &'a [u8],
        /// Number of the packet whose handler wrote it.
        packet: u64,
    },
    /// A command reads host memory.
    HostRead {
        /// When.
        time: Time,
        /// Host address.
        address: u64,
        /// What the NIC's own memory model has there. A host that is not that puts its own.
        data: &'a [Cell<u8>],
    },
    /// A core wrote a byte to the standard output device.
    Output {
        /// When.
        time: Time,
        /// Cluster.
        cluster: u32,
        /// HPU within the cluster.
        hpu: u32,
        /// The byte.
        byte: u8,
    },
    /// A handler went wrong; its packet is freed and its HPU goes on.
    HandlerFault {
        /// When.
        time: Time,
        /// Execution context.
        context: ContextId,
        /// Message id.
        message: u32,
        /// Packet number.
        packet: u64,
        /// Cluster.
        cluster: u32,
        /// HPU within the cluster.
        hpu: u32,
        /// What went wrong.
        fault: Fault,
        /// Program counter of the instruction.
        pc: u32,
        /// Address it touched, or other value of `mtval`.
        address: u32,
        /// What the machine held.
        scene: &'a Scene<'a>,
    },
    /// An unfinished message was evicted: no packet came for its context's threshold.
    MessageEvicted {
        /// When.
        time: Time,
        /// Execution context.
        context: ContextId,
        /// Message id.
        message: u32,
    },
    /// A unit did something: the fine trace, named as in the RTL's event logs.
    Unit(UnitEvent),
    /// A packet was taken into the L2 packet buffer.
    PacketTaken {
        /// What is known of it so far.
        record: &'a PacketRecord,
        /// Its address, which names it in the fine trace until it is done.
        address: u32,
    },
    /// A cluster's DMA engine issued a transfer.
    Transfer(&'a TransferRecord),
    /// A core executed an instruction. One core's come in order; different cores' do not, but none
    /// comes whose cycle lies before the end of an earlier `Nic::run`.
    Instruction(&'a InstructionRecord),
}

/// Holds one entry of the fine trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitEvent {
    /// Cycle, counted from when the machine was ready.
    pub cycle: u64,
    /// What happened.
    pub kind: UnitEventKind,
    /// Cluster, where there is one.
    pub cluster: u32,
    /// HPU, where there is one.
    pub hpu: u32,
    /// Message id or command interface.
    pub id: u32,
    /// Packet's address in L2 or other address.
    pub address: u32,
}

/// Names the entries of the fine trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnitEventKind {
    HerIn,
    MpqArbitrated,
    TaskOut,
    ClusterTask,
    DmaRequest,
    DmaResponse,
    HpuTask,
    HpuGet,
    CommandIssue,
    CommandOut,
    InterfaceCommand,
    InterfaceResponse,
    CommandResponse,
    HpuFeedbackPush,
    HpuFeedback,
    FeedbackMpq,
}

/// Describes a transfer of a cluster's DMA engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferRecord {
    /// Cluster.
    pub cluster: u32,
    /// HPU whose handler asked for it; `None`: the scheduler did, it copies a packet.
    pub hpu: Option<u32>,
    /// Packet whose handler asked.
    pub packet: Option<u64>,
    /// Source address.
    pub from: u32,
    /// Destination address.
    pub to: u32,
    /// Bytes.
    pub bytes: u32,
    /// When the engine issued it.
    pub issued: Time,
    /// When its bytes are there.
    pub done: Time,
}

/// Names what an HPU works at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningTask {
    /// Its packet's number.
    pub packet: u64,
    /// Its message id.
    pub message: u32,
    /// Its execution context.
    pub context: ContextId,
    /// Its handler's kind.
    pub kind: HandlerKind,
}

/// Says where the packet of a task lies, and which queue it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketPlace {
    /// Address in its cluster's L1, and how many of its bytes are there.
    pub l1: (u32, u32),
    /// Address in the L2 packet buffer, and its bytes.
    pub l2: (u32, u32),
    /// Its message's queue, as handlers see it.
    pub queue: u32,
}

/// Describes an instruction that a core executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionRecord {
    /// Cycle in which it was issued, counted from when the machine was ready; of an instruction
    /// that accesses memory, the cycle in which the access was performed, after any wait.
    pub cycle: u64,
    /// Time of that cycle.
    pub time: Time,
    /// Cluster.
    pub cluster: u32,
    /// HPU within the cluster.
    pub hpu: u32,
    /// Its address.
    pub pc: u32,
    /// Its bits.
    pub word: u32,
    /// What it is.
    pub instruction: Instruction,
    /// Values of its source registers before it, in the order of [`Instruction::sources`].
    pub sources: [u32; 3],
    /// Value of its destination register after it.
    pub result: u32,
    /// Value of its first source register after it, where that changed: it was incremented.
    pub increment: Option<u32>,
    /// Physical address that it accessed: own L1 by its address outside the alias.
    pub address: Option<u32>,
    /// What was there before it, of the NIC's memory: eight bytes, little-endian, from the address
    /// rounded down to words on. Who goes back before a store puts it there again.
    pub found: u64,
    /// `mcause`, if it was not executed but trapped.
    pub trap: Option<u32>,
    /// What its HPU works at; `None` between tasks.
    pub task: Option<RunningTask>,
    /// Cycles that its HPU has lost since it took its last task, by reason: of the instruction those
    /// before it is issued or its access is performed, of an access far away its way as well.
    pub stalls: Stalls,
}

/// Says what a listener wants to hear beside packets, faults and output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Hear [`Event::HandlerStarted`] and [`Event::HandlerDone`].
    pub handlers: bool,
    /// Hear [`Event::HostWrite`].
    pub host_writes: bool,
    /// Hear [`Event::HostRead`].
    pub host_reads: bool,
    /// Hear [`Event::Unit`], [`Event::PacketTaken`] and [`Event::Transfer`].
    pub units: bool,
    /// Hear [`Event::Instruction`].
    pub instructions: bool,
}

impl probe::Interest<Spin> for Interest {
    fn with(self, other: Self) -> Self {
        Self {
            handlers: self.handlers || other.handlers,
            host_writes: self.host_writes || other.host_writes,
            host_reads: self.host_reads || other.host_reads,
            units: self.units || other.units,
            instructions: self.instructions || other.instructions,
        }
    }

    fn wants(&self, event: &Event<'_>) -> bool {
        match event {
            Event::HandlerStarted { .. } | Event::HandlerDone(_) => self.handlers,
            Event::HostWrite { .. } => self.host_writes,
            Event::HostRead { .. } => self.host_reads,
            Event::Unit(_) | Event::PacketTaken { .. } | Event::Transfer(_) => self.units,
            Event::Instruction(_) => self.instructions,
            _ => true,
        }
    }
}

/// What a sPIN NIC can say.
#[derive(Clone, Copy, Debug)]
pub struct Spin;

impl Vocabulary for Spin {
    type Event<'a> = Event<'a>;
    type Interest = Interest;
}

/// Whoever [`Hears`] a sPIN NIC.
pub trait Listener: Hears<Spin> {}

impl<L: Hears<Spin> + ?Sized> Listener for L {}
