//! What every JSON document says of itself: which it is, and the version of the keys.
//! `docs/src/schema/documents.schema.json` describes every key; a test holds documents against it.

use serde_json::{Value, json};

/// Version of the keys: it goes up when one is renamed, removed or changes its meaning.
pub const VERSION: u32 = 2;

/// Names the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// A run of packet handlers on a sPIN NIC.
    PacketHandlers,
    /// A run of a nanoservice.
    Nanoservice,
    /// A run of a cluster.
    Cluster,
    /// Response times over load, of a cluster.
    Curve,
    /// Our numbers beside those of the RTL.
    Calibration,
    /// A published figure made again.
    Figure,
    /// Several of them.
    Figures,
    /// Why a packet took so long, or was dropped.
    Why,
    /// What two runs differ in.
    Diff,
    /// Where every cycle of every hart went.
    Profile,
    /// What came of an application's tests.
    Test,
    /// How fast a computer simulates.
    Bench,
    /// The stages of a P4 program.
    P4Pipeline,
    /// What a running NIC says of itself.
    NicStatus,
    /// A line that a handler on a running NIC has printed.
    NicLogLine,
}

impl Document {
    /// Gives what a document of this kind says of itself.
    pub fn head(self) -> Value {
        let kind = match self {
            Self::PacketHandlers => "packet_handlers",
            Self::Nanoservice => "nanoservice",
            Self::Cluster => "cluster",
            Self::Curve => "curve",
            Self::Calibration => "calibration",
            Self::Figure => "figure",
            Self::Figures => "figures",
            Self::Why => "why",
            Self::Diff => "diff",
            Self::Profile => "profile",
            Self::Test => "test",
            Self::Bench => "bench",
            Self::P4Pipeline => "p4_pipeline",
            Self::NicStatus => "nic_status",
            Self::NicLogLine => "nic_log_line",
        };
        json!({ "kind": kind, "version": VERSION })
    }
}
