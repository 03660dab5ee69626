//! What all machines are spoken of with: the width of their registers, what a hart works at, how far a run
//! is.

use pinion_spin::HandlerKind;

/// What was asked for or, as an error, what is wrong with the question.
pub type Said<T> = std::result::Result<T, String>;

/// Bits of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32.
    Rv32,
    /// 64, with registers for floating point.
    Rv64,
}

/// Names the kinds of commands that a handler issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// It sends a packet.
    Send,
    /// A transfer between NIC and host memory.
    HostDma,
    /// A few bytes for host memory, straight from the command.
    HostDirect,
}

impl Command {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Send, Self::HostDma, Self::HostDirect];

    /// Names it as `monitor break` does.
    pub fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::HostDma => "host-dma",
            Self::HostDirect => "host-direct",
        }
    }
}

/// What a hart works at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Number of its packet, if it works at a packet and not at a whole message.
    pub packet: Option<u64>,
    /// Number of its message.
    pub message: u64,
    /// Number of its context.
    pub context: u32,
    /// Kind of its handler, if it runs one.
    pub handler: Option<HandlerKind>,
}

/// How far a machine has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The last cycle in which everything has happened.
    pub cycle: u64,
    /// How the run has ended, if it has.
    pub ended: Option<String>,
    /// Whether nothing happens until something comes from outside.
    pub rests: bool,
}
