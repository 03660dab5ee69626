//! FPsPIN's published figures, from the co-simulation: the examples' handlers on the simulated NIC,
//! host models around it ([`pinion_run::cosim`]).
//!
//! | file | what it is |
//! |---|---|
//! | `bench.rs` | what all share: programs, machine, host model |
//! | the others | a kind of run each that figures' files ask for |

mod bench;
mod datatypes;
mod ping;
mod transfer;

use std::sync::Arc;

use super::Figure;
use super::engine::FromFile;
use super::kinds::Kinds;

pub(super) use datatypes::Datatypes;
pub(super) use ping::Pings;
pub(super) use transfer::Transfers;

/// Lists the figures.
pub(super) fn figures(kinds: &Arc<Kinds>) -> Vec<Box<dyn Figure>> {
    let names = ["fpspin-fig7", "fpspin-fig8", "fpspin-fig10"];
    names.map(|name| FromFile::named(name, kinds)).into()
}
