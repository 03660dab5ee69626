//! Transfers of a cluster's DMA engine: who asked for one, which way it goes, where an engine reaches.

use crate::machine::DmaReach;
use crate::memory::Place;

/// Says who asked for a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// The cluster's scheduler: a packet's copy to L1.
    Scheduler,
    /// A core, or the cluster's public port behind the last core.
    Core(u32),
}

/// Describes a transfer.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Who asked.
    pub requester: Requester,
    /// Source address.
    pub from: u32,
    /// Destination address.
    pub to: u32,
    /// Bytes.
    pub bytes: u32,
    /// Which ports it needs.
    pub route: Route,
}

/// Names the ways a transfer can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Reads L2 packet or program memory.
    FromL2,
    /// Reads L2 handler memory.
    FromHandlerMemory,
    /// Writes L2.
    ToL2,
    /// Reads and writes L2.
    WithinL2,
    /// Stays within the cluster's L1.
    Local,
    /// Goes to or comes from another cluster's L1.
    Remote,
}

/// Tells whether the engine of cluster `own` gets to a place.
pub const fn reaches(reach: DmaReach, place: Place, own: u32) -> bool {
    match (reach, place) {
        (DmaReach::All, _) | (_, Place::L2Handler(_) | Place::L2Packet(_)) => true,
        (DmaReach::L2, Place::L1 { cluster, .. }) => cluster == own,
        (DmaReach::L2, _) => false,
    }
}
