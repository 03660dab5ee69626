//! Why a NIC does not do what a host program asks: a number and a line of text.

/// Says what kind of refusal it is; the number is part of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Code {
    /// The other end speaks another version.
    Version = 1,
    /// The message is none.
    Garbage,
    /// The user may not.
    NotAllowed,
    /// Somebody else holds it.
    Busy,
    /// The image cannot be used.
    BadImage,
    /// More was asked for than there is.
    Limit,
    /// An address or a window lies outside.
    Range,
    /// The program holds no context.
    NotAttached,
    /// The NIC cannot.
    Nic,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// What kind it is.
    pub code: Code,
    /// Says what, where, and what to do.
    pub text: String,
}

impl Refusal {
    /// Makes a refusal.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Makes the answer to a message that is none.
    pub fn garbage(what: &str) -> Self {
        Self::new(Code::Garbage, format!("this is no message of a host program: {what}"))
    }
}
