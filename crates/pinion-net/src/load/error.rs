//! What can be wrong with a load.

use thiserror::Error;

/// Says what is wrong with a load and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// Numbers that cannot be used, or not together.
    #[error("load: {what}: {problem}")]
    Impossible {
        /// Which part.
        what: &'static str,
        /// What is wrong with it and what to do.
        problem: String,
    },
    /// A key does not exist.
    #[error("a load has no key `{key}`; did you mean `{nearest}`? keys: {all}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The key most like it.
        nearest: &'static str,
        /// All keys.
        all: String,
    },
    /// A part is no `key=value`.
    #[error("`{part}` in the load is not of the form key=value")]
    NotAPair {
        /// The part.
        part: String,
    },
    /// A key is there twice.
    #[error("the load has `{key}` twice")]
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
    /// A key exists but means nothing here.
    #[error("`{key}` does not apply to {context}; leave it out")]
    NotApplicable {
        /// The key.
        key: String,
        /// What makes it meaningless.
        context: &'static str,
    },
}
