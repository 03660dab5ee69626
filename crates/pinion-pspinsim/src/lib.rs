//! `libpinion_pspinsim`: the C interface of PsPIN's Verilator model (`pspinsim.h`, `spin.h`,
//! `spin_hw_conf.h`), with Pinion's NIC behind it, so that a driver written for the one links
//! against the other.
//!
//! A driver calls from outside ([`ffi`]); what it adds (packets, accesses to NIC memory) lies in the
//! inbox until the engine takes it; the engine steps the NIC, and its ears call the driver back.
//! Callbacks may call every function again except those that run: nothing is locked meanwhile.
//!
//! | file | what |
//! |---|---|
//! | `ffi/`, `types.rs` | the C functions, one file per header, and types |
//! | `settings.rs` | configuration and environment become a machine |
//! | `program.rs`, `slm.rs` | the program: an ELF or the memory images made from it |
//! | `inbox.rs`, `state.rs`, `simulation.rs` | what was added and not yet taken; all that lives between calls; where the engine is |
//! | `engine/` | the NIC, stepped; callbacks; accesses to NIC memory |
//! | `trace.rs` | packet traces in the published text format |
//! | `statistics.rs` | what `pspinsim_fini` prints |

mod engine;
mod error;
pub mod ffi;
mod inbox;
mod program;
mod settings;
mod simulation;
mod slm;
mod standard_output;
mod state;
mod statistics;
mod trace;
pub mod types;
