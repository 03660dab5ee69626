//! Sets of a message's packets.

/// Says which packets of a message something concerns: bit *n* is packet *n*.
pub type Packets = u64;

/// Most packets a message may have: one bit each of [`Packets`].
pub const MAX_PACKETS: usize = 64;
