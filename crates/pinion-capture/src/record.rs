//! A packet as the formats give it.

use super::LinkType;

/// Picoseconds in a second.
pub(super) const PS_PER_S: i128 = 1_000_000_000_000;

/// One record as the formats give it, before time becomes relative.
pub(super) struct Record {
    pub(super) time_ps: i128,
    pub(super) link: LinkType,
    pub(super) original_bytes: u32,
    pub(super) bytes: Vec<u8>,
}
