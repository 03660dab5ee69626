//! Load: requests to a node, and what became of them. In: a [`LoadSpec`] and the frames the node
//! sends. Out: the frames it is to receive, and a [`LoadReport`] with the response times. Holds the
//! requests without an answer, and random streams of its own for gaps, service times, contexts and
//! payload, so that none changes another.
//!
//! The measures are those of the load generator that the nanoPU's authors built into FireSim's
//! switch (nanoPU paper, §4.1; their artifact's `USE_LOAD_GEN`): a request is a message of 16 bytes,
//! service time and time of sending, both in cycles; the program works that long and sends both
//! back; the response time is the arrival of the answer less the time in it. Requests come in an
//! open loop at exact times ([`Timing::Exact`]) or, as there, at most one per window of the link's
//! latency ([`Timing::Windowed`]), or in a closed loop.
//!
//! A [`LoadSource`] is a [`Peer`]: whoever runs a node asks it for frames and tells it the node's;
//! [`PeerEnd`] makes a [node](pinion_sim::node) of it, to stand at the end of a cable.
//! All times are cycles of the node's clock. It stands at the node's pins; put a
//! [link](crate::link) between them for a latency.

mod arrival;
mod distribution;
mod error;
mod interval;
mod latency;
mod matching;
mod parse;
mod peer;
mod percentile;
mod report;
mod resend;
mod source;
mod spec;
mod store;
mod wire;
mod workload;

pub use arrival::{Arrivals, Timing};
pub use distribution::{Distribution, Normal};
pub use error::LoadError;
pub use interval::{Interval, quantile_ranks};
pub use latency::{Latencies, LatencySummary};
pub use peer::{PeerCounts, PeerEnd};
pub use percentile::PercentileRow;
pub use report::{LoadReport, Sample};
pub use resend::Resent;
pub use source::LoadSource;
pub use spec::{Contexts, Ends, Flavour, LoadSpec, Matching, Nodes, Overrun, ResponseAt};
pub use store::StoreRequests;
pub use workload::{LONGEST_BYTES, Sizes, Workload};

pub use pinion_sim::node::flits;
use pinion_sim::node::{RestoreError, SaveError, Saved};

/// Exchanges frames with a node, cycle by cycle.
///
/// The driver may take a frame as soon as it knows of all frames that the node sent before the
/// frame's cycle: an earlier call of [`Peer::frame_out`] can still bring forward what comes next.
pub trait Peer {
    /// Tells when the next frame's first flit reaches the node's pins, as far as it is known.
    fn next_cycle(&mut self) -> Option<u64>;

    /// Takes the next frame and that cycle.
    fn next_frame(&mut self) -> Option<(u64, &[u8])>;

    /// Hears of a frame that the node sent, and of the cycles of its first and last flit on the
    /// pins. Calls are in order of the last flit.
    fn frame_out(&mut self, first_flit: u64, last_flit: u64, frame: &[u8]);

    /// Tells whether nothing is left to send or to wait for in cycle `now`.
    fn is_done(&self, now: u64) -> bool;

    /// Gives the cycle in which it waits no longer for what has not come; `None`: not yet known.
    fn gives_up_at(&self) -> Option<u64> {
        None
    }

    /// Tells names and numbers of its state.
    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        let _ = tell;
    }

    /// Saves everything that decides what it sends from now on, and what it has measured.
    ///
    /// # Errors
    /// When some of that lies outside the simulation.
    fn save(&self) -> Result<Saved, SaveError>;

    /// Goes back, or forward, to where a peer of the same kind was saved.
    ///
    /// # Errors
    /// When what was saved is another kind's.
    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError>;
}
