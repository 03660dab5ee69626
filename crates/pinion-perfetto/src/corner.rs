//! Where one machine's tracks and flows stand among those of others in the same file.
//!
//! Each machine of a cluster is heard for itself, so each writes a sequence of packets of its own; tracks
//! and flows are numbered apart. The flows that join a machine to its cable are numbered by the frames that
//! arrive there and leave there, which the network's own tracks know, too.

use crate::track::Track;

/// Bits of a track's number within its sequence.
const TRACK_BITS: u32 = 32;
/// Bits of a flow's number within its sequence.
const FLOW_BITS: u32 = 40;
/// Bits of the flows of frames that arrive, and of those that leave.
const ARRIVES: u64 = 1 << (FLOW_BITS - 1);
const LEAVES: u64 = 1 << (FLOW_BITS - 2);

/// Names a machine's corner of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corner {
    /// Names the machine among others; `None`: it is the only one.
    pub name: Option<String>,
    /// Number of its sequence, from 1.
    pub sequence: u32,
}

impl Corner {
    /// Gives the corner of the only machine of a trace.
    pub fn only() -> Self {
        Self { name: None, sequence: 1 }
    }

    /// Gives the corner of a cluster's node; the network's is the first.
    pub fn of_node(node: usize, name: &str) -> Self {
        Self { name: Some(name.to_owned()), sequence: node as u32 + 2 }
    }

    /// Tells whether the machine has a cable that others write of.
    pub fn has_cable(&self) -> bool {
        self.name.is_some()
    }

    /// Gives the title of the machine's tracks.
    pub fn title(&self, what: &str) -> String {
        match &self.name {
            Some(name) => format!("{name}: {what}"),
            None => what.to_owned(),
        }
    }

    /// Gives the number before that of the first track.
    pub fn tracks(&self) -> u64 {
        u64::from(self.sequence - 1) << TRACK_BITS
    }

    /// Gives the track that all others of the machine are below: the first that it makes.
    pub fn root(&self) -> Track {
        Track::of_number(self.tracks() + 1)
    }

    /// Gives the number of a flow within the machine.
    pub fn flow(&self, number: u64) -> u64 {
        u64::from(self.sequence - 1) << FLOW_BITS | number
    }

    /// Gives the flow of the n-th frame that arrives, from 0.
    pub fn arriving(&self, frame: u64) -> u64 {
        self.flow(ARRIVES | frame)
    }

    /// Gives the flow of the n-th frame that leaves, from 0.
    pub fn leaving(&self, frame: u64) -> u64 {
        self.flow(LEAVES | frame)
    }
}
