//! What can be wrong with a fabric.

use thiserror::Error;

/// Says why a fabric cannot be made or goes no further.
#[derive(Debug, Error)]
pub enum FabricError {
    /// The network is none.
    #[error(transparent)]
    Topology(#[from] crate::topology::TopologyError),
    /// A cable is none.
    #[error(transparent)]
    Link(#[from] crate::link::LinkError),
    /// A node cannot go on for a reason outside the simulation.
    #[error(transparent)]
    Node(pinion_sim::node::Trouble),
    /// A capture cannot be written.
    #[error(transparent)]
    Capture(#[from] crate::capture::CaptureError),
    /// Another rank is gone, or says something else than agreed.
    #[error("rank {rank}: {problem}; all ranks must run the same program with the same input")]
    Rank {
        /// Which.
        rank: usize,
        /// What is wrong.
        problem: String,
    },
}
