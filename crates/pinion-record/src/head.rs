//! What a recording says of itself: `recording.toml`, its first file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Names the file; it comes first, so that a recording is known by its beginning.
pub const FILE_NAME: &str = "recording.toml";
/// Version of what lies in a recording: it goes up when an older Pinion could not repeat the run.
pub const FORMAT: u32 = 2;

/// Says what was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Packet handlers on a sPIN NIC.
    Handlers,
    /// A nanoservice.
    Nanoservice,
    /// A cluster.
    Cluster,
    /// A NIC with host programs.
    Nic,
}

/// Describes a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Version of the format.
    pub format: u32,
    /// Version of Pinion that made it.
    pub pinion: String,
    /// What was run.
    pub kind: Kind,
    /// Name of the application or cluster.
    pub name: String,
    /// Words of the command line that change what is run, without those that name files.
    pub arguments: Vec<String>,
    /// Files of the recording that options name, by option.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What a live run had outside; without, it was none.
    pub live: Option<Live>,
}

/// Says what a live run had outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// The host's address on the wire, if it had one.
    pub address: Option<String>,
}
