//! The timing of cores over a memory port.

pub mod port;
pub mod rocket;
#[cfg(test)]
mod testing;

/// Counts cycles of a core's clock since reset.
pub type Cycle = u64;
