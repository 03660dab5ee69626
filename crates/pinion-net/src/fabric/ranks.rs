//! The processes that share a fabric's work. In, at the end of each window: frames for other ranks'
//! components and how this rank stands. Out: other ranks' frames and how all stand together.

use super::FabricError;

/// Tells how a rank, or all ranks together, stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The next cycle in which something happens; `u64::MAX`: nothing does.
    pub next: u64,
    /// The last cycle in which something moved on.
    pub moved: u64,
    /// Number of nodes that the run waits for.
    pub open: u64,
    /// Number of nodes that failed.
    pub failed: u64,
    /// That somebody wants the run to stop here.
    pub stop: bool,
}

impl Status {
    /// The status of nobody.
    pub const NONE: Self = Self { next: u64::MAX, moved: 0, open: 0, failed: 0, stop: false };

    /// Gives the status of two together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            next: self.next.min(other.next),
            moved: self.moved.max(other.moved),
            open: self.open + other.open,
            failed: self.failed + other.failed,
            stop: self.stop || other.stop,
        }
    }
}

/// Joins the ranks that share a fabric. Every rank calls the same functions in the same order.
pub trait Ranks {
    /// Gives this rank's number, from 0.
    fn rank(&self) -> usize;

    /// Counts ranks.
    fn count(&self) -> usize;

    /// Sends the r-th parcel to rank r, and this rank's status to all; gives the parcels that came,
    /// by rank, and the status of all together.
    ///
    /// # Errors
    /// When a rank is gone.
    fn exchange(
        &mut self,
        parcels: Vec<Vec<u8>>,
        status: Status,
    ) -> Result<(Vec<Vec<u8>>, Status), FabricError>;

    /// Collects a parcel of every rank at rank 0, in order of rank; others get nothing.
    ///
    /// # Errors
    /// When a rank is gone.
    fn gather(&mut self, parcel: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, FabricError>;
}

/// The only rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Ranks for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn exchange(
        &mut self,
        parcels: Vec<Vec<u8>>,
        status: Status,
    ) -> Result<(Vec<Vec<u8>>, Status), FabricError> {
        Ok((parcels, status))
    }

    fn gather(&mut self, parcel: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, FabricError> {
        Ok(Some(vec![parcel]))
    }
}
