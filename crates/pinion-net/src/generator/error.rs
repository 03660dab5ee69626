//! What can be wrong with a generator specification.

use super::Kind;
use crate::pacing::RateError;
use thiserror::Error;

/// Says what is wrong with a generator specification and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GeneratorError {
    /// The first word is no kind of traffic.
    #[error("`{kind}` is no kind of traffic (nearest: `{nearest}`); kinds: udp, icmp, raw, slmp")]
    UnknownKind {
        /// The word.
        kind: String,
        /// The kind most like it.
        nearest: &'static str,
    },
    /// A key does not exist.
    #[error(
        "the generator has no key `{key}`; did you mean `{nearest}`? keys of `{kind}` traffic: \
         {all}"
    )]
    UnknownKey {
        /// The kind of traffic.
        kind: Kind,
        /// The key.
        key: String,
        /// The key of this kind's most like it.
        nearest: &'static str,
        /// All keys of this kind.
        all: String,
    },
    /// A key exists but means nothing here.
    #[error("`{key}` does not apply to `{context}` traffic; leave it out")]
    NotApplicable {
        /// The key.
        key: String,
        /// The kind or option that makes it meaningless.
        context: String,
    },
    /// A part is no `key=value`.
    #[error("`{part}` in the generator specification is not of the form key=value")]
    NotAPair {
        /// The part.
        part: String,
    },
    /// A key is there twice.
    #[error("the generator specification has `{key}` twice")]
    Repeated {
        /// The key.
        key: String,
    },
    /// A value is of the wrong form.
    #[error("`{key}={value}` is not right: write {expected}")]
    BadValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// The rate is of the wrong form.
    #[error("`rate=`: {0}")]
    BadRate(#[from] RateError),
    /// A frame cannot be that small or large.
    #[error("`size`: {size} bytes are impossible; {kind} frames have {min} to {max} bytes")]
    BadSize {
        /// The kind and link.
        kind: String,
        /// The size asked for.
        size: usize,
        /// The smallest.
        min: usize,
        /// The largest.
        max: usize,
    },
    /// Count, messages and packets contradict each other.
    #[error("count={count} is not messages={messages} × packets={packets}; leave one of them out")]
    CountMismatch {
        /// Frames in all.
        count: u64,
        /// Messages.
        messages: u64,
        /// Frames of each.
        packets: u64,
    },
}
