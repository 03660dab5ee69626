//! Tracks, by their numbers in a file.

/// Names a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track(pub(crate) u64);

impl Track {
    pub(crate) const fn of_number(number: u64) -> Self {
        Self(number)
    }
}
