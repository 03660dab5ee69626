//! What the JSON documents of runs say of themselves: which they are, and the version of their keys.
//! `docs/src/schema/summary.schema.json` describes every key; a test holds runs against it.

use serde_json::{Value, json};

/// Version of the keys: it goes up when one is renamed, removed or changes its meaning.
pub const VERSION: u32 = 1;

/// Names the summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// A run of packet handlers on a sPIN NIC.
    PacketHandlers,
    /// A run of a nanoservice.
    Nanoservice,
    /// A run of a cluster.
    Cluster,
}

impl Document {
    /// Gives what a document of this kind says of itself.
    pub fn head(self) -> Value {
        let kind = match self {
            Self::PacketHandlers => "packet_handlers",
            Self::Nanoservice => "nanoservice",
            Self::Cluster => "cluster",
        };
        json!({ "kind": kind, "version": VERSION })
    }
}
