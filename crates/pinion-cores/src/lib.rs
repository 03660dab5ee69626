//! The timing of cores: each a peer of the others, over a [memory port](port) that the machine
//! provides.
//!
//! A hart ([`pinion_isa::Hart`]) knows what an instruction does; a core model here adds when. Nothing of
//! a machine is in this crate, and nothing of a core's shape is in the machines: the numbers come with
//! the machine file's sections, by the names given here.
//!
//! | core | module | pipeline | remembers between instructions | sources |
//! |---|---|---|---|---|
//! | RI5CY | [`pulp`] | four stages, in order, 32 bits, Xpulp on demand | the register just loaded, whether it jumped, whether the last access waited; a line and the next one asked for (prefetch buffer) | RTL riscv_core, riscv_prefetch_L0_buffer; PsPIN paper, §III-B2 |
//! | Ibex-like | [`pulp`], with other numbers | two stages, in order, 32 bits: each access waits for its response, every division takes the same | the same, less the register just loaded | Ibex user manual, "Pipeline Details", for the configuration "small" |
//! | Rocket | [`rocket`] | five stages, in order, 64 bits, floating point; x30 and x31 may be the network | when each register and each unit is free; words in the fetch queue and when they left it; target buffer, counters, history, return stack; two stores in front of the data array; tags of both first-level caches; the refill under way | RTL RocketCore, Frontend, ICache, BTB, DCache, MulDiv, FPU; nanoPU paper, §3.4 |
//!
//! What a model asks of its port differs with what it has: Rocket's caches are its own, so it asks for
//! lines ([`port::MemoryPort`]) and performs its accesses itself, in its cycles. RI5CY and Ibex share an
//! instruction cache ([`port::InstructionPort`]) and keep nothing of data: an access goes to where others
//! can see it, so they say where it goes ([`port::Destinations`]) and stop; the machine performs it in its
//! turn.
//!
//! Another core model is another module with a `Core`, its section of numbers, and tests against
//! its RTL's cycles.

pub mod port;
pub mod pulp;
pub mod rocket;
#[cfg(test)]
mod testing;

/// Counts cycles of a core's clock since reset.
pub type Cycle = u64;
