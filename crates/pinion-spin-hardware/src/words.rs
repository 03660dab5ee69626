//! What units of a sPIN NIC tell each other, as their blocks are told of it.

use serde::{Deserialize, Serialize};

/// Names an execution context of a NIC by its index.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct ContextId(pub u32);

/// Names the three kinds of handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HandlerKind {
    /// First packet of a message.
    Header,
    /// Every packet of a message.
    Payload,
    /// Last packet of a message.
    Completion,
}

/// Describes a task: run this handler on this packet (RTL: handler_task_t).
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Slot of the packet.
    pub packet: u32,
    /// Which of the context's handlers.
    pub kind: HandlerKind,
    /// Its address; 0: none, the task completes without running.
    pub handler: u32,
    /// Queue it came from: the message's number as handlers see it (RTL: `new_task.msgid`).
    pub queue: u32,
    /// Whether the packet is freed when the task is done (RTL: trigger_feedback).
    pub frees: bool,
    /// Where its bytes lie in L1, as an absolute address.
    pub l1_address: u32,
    /// Slots of the L1 packet buffer it holds.
    pub l1_slots: u32,
}

/// Names the kinds of commands, in the order of their interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Up to eight bytes written to host memory straight from the command.
    HostDirect = 0,
    /// A packet sent to the network.
    Send = 1,
    /// A transfer between NIC and host memory.
    HostDma = 2,
}

/// Is a copy as the off-cluster DMA gets it.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// Its command's number.
    pub command: u32,
    /// Whether it goes to the host.
    pub to_host: bool,
    /// Where it lies in the host's memory.
    pub host: u64,
    /// Where it lies in the NIC's memories, as cores have it.
    pub nic: u32,
    /// Its bytes.
    pub bytes: u32,
}

/// Is a word as the off-cluster DMA gets it.
#[derive(Clone, Copy, Debug)]
pub struct Direct {
    /// Its command's number.
    pub command: u32,
    /// Where it goes in the host's memory.
    pub host: u64,
    /// Its bytes; of more than eight the first eight are written.
    pub bytes: u32,
    /// What it is.
    pub data: u64,
}
