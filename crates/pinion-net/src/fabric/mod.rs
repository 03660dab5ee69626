//! A fabric: nodes and switches joined by cables. In: a [`Topology`], what stands at its nodes, a
//! switch. Out: the same, later. Holds the frames that are under way.
//!
//! Time advances in windows no longer than the shortest cable's latency: what is sent within a window
//! arrives in a later one, so the components of a window may run in any order, on any number of
//! threads ([`Options::threads`]) and of processes ([`Ranks`]), without changing a result. A window
//! begins at the next cycle in which something happens anywhere; idle components are not visited.

mod barrier;
mod component;
mod crew;
mod error;
mod parcel;
mod ranks;
mod run;
mod shared;
mod topology;
mod wire;

#[cfg(test)]
mod tests;

pub use error::FabricError;
pub use ranks::{Alone, Ranks, Status};
pub use run::{Fabric, Options, Outcome, Watcher, home};
pub use topology::{Cable, Jack, Joiner, Place, Topology};
pub use wire::WireCounts;

use crate::link::Endpoint;

/// Is what stands at a node.
pub trait Member: Endpoint + Send {
    /// Gives the last cycle in which something moved on inside it.
    fn moved(&self) -> u64;

    /// Tells whether the run waits for it to end.
    fn is_open(&self) -> bool {
        false
    }

    /// Tells whether it failed.
    fn has_failed(&self) -> bool {
        false
    }

    /// Hears that nothing happens anywhere any more; whatever it has to do from then on is seen by
    /// its [`Endpoint::next_cycle`].
    fn rests(&mut self, _now: u64) {}
}
