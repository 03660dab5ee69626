//! What is wrong with a machine's numbers.

use thiserror::Error;

/// Says which number describes no machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("machine: {key} {problem}")]
pub struct MachineError {
    /// The number's key in the machine file.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
}
