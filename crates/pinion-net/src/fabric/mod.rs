//! A fabric: nodes and switches joined by cables. In: a [topology](crate::topology), a
//! [node](pinion_sim::node) for each of its places, a switch. Out: the same, later. Holds the frames that
//! are under way.
//!
//! Time advances in windows no longer than the shortest cable's latency: what is sent within a window
//! arrives in a later one, so the components of a window may run in any order, on any number of
//! threads ([`Options::threads`]) and of processes ([`Ranks`]), without changing a result. A window
//! begins at the next cycle in which something happens anywhere; idle components are not visited.

mod barrier;
mod component;
mod crew;
mod error;
mod homes;
mod joined;
mod journal;
mod parcel;
mod ranks;
mod run;
mod saved;
mod shared;

#[cfg(test)]
mod tests;

pub use error::FabricError;
pub use homes::home;
pub use joined::Joined;
pub use journal::{Arrived, Journal, Sent, WireNumber};
pub use ranks::{Alone, Ranks, Status};
pub use run::{Fabric, Options, Outcome, Watcher};

pub use crate::link::WireCounts;
