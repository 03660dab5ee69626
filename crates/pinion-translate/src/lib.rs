//! Translates pieces of RISC-V programs to code that this computer executes itself.
//!
//! In: a [`Region`], instructions that compute, branch and jump among themselves, with what each costs in
//! cycles. Out: a [`Block`] that executes them on a hart's registers, until the region is left or a cycle is
//! reached, and says where, when, and what was counted on the way. It knows nothing of pipelines, caches and
//! addresses: whoever makes a region knows what its instructions cost, and sees to it that nothing else can
//! happen while they execute. What touches memory ends a region; it may be the first of one, which is then
//! given the bytes that it touches.
//!
//! Cranelift makes the code. A block owns the pages it lies in, and they go with it; they are written
//! first and executable afterwards, never both.

#[cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod code;
#[cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod dataflow;
#[cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod generate;
mod left;
#[cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod operate;
mod region;

#[cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod block;
/// Where no code can be made, there are no blocks either.
#[cfg(not(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "no_block.rs"]
mod block;

pub use block::{AVAILABLE, Block, Translator};
#[cfg(all(feature = "jit", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use code::{Compiler, Pages};
pub use left::{Counts, Left};
pub use region::{Condition, Operand, Operation, Region, Step, Target, Touch, What};

use thiserror::Error;

/// Says why there is no code.
#[derive(Debug, Error)]
pub enum Error {
    /// The translator does not know this computer, or could not make code of a region.
    #[error("Cranelift made no code: {0}; --engine-core interpreter needs none")]
    Generate(String),
    /// There is no executable memory.
    #[error("no executable memory: {0}; --engine-core interpreter needs none")]
    Memory(#[from] std::io::Error),
}
