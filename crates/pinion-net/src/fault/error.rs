//! What can be wrong with a link's faults.

use thiserror::Error;

/// Says what is wrong with a specification of faults and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FaultError {
    /// A part is no `key=value`.
    #[error("`{part}` in a link's faults is not of the form key=value, as in loss=1%,reorder=5%")]
    NotAPair {
        /// The part.
        part: String,
    },
    /// A key does not exist.
    #[error("a link has no `{key}`; did you mean `{nearest}`? keys: {all}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The key most like it.
        nearest: &'static str,
        /// All keys.
        all: String,
    },
    /// A key is there twice.
    #[error("a link's faults have `{key}` twice")]
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
        /// What is expected.
        expected: &'static str,
    },
    /// A time is of the wrong form.
    #[error("`hold`: {why}")]
    BadTime {
        /// What is wrong with it.
        why: String,
    },
}
