//! The manifest as it is written: keys and what they may hold, unchecked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pinion_sim::config::Bytes;
use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::nanoservice::{RawNanoservice, RawTransport};
use super::traffic::RawTraffic;
use super::{PacketStart, Watchdog};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawManifest {
    pub app: RawApp,
    #[serde(default)]
    pub context: Vec<RawContext>,
    pub nanoservice: Option<RawNanoservice>,
    pub transport: Option<RawTransport>,
    pub traffic: Option<RawTraffic>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawApp {
    pub name: Option<String>,
    pub sources: Option<Vec<PathBuf>>,
    pub elf: Option<PathBuf>,
    pub packet: Option<PacketStart>,
    #[serde(default)]
    pub include_dirs: Vec<PathBuf>,
    #[serde(default)]
    pub defines: BTreeMap<String, Define>,
    #[serde(default)]
    pub cflags: Vec<String>,
    #[serde(default)]
    pub cxxflags: Vec<String>,
    pub machine: Option<String>,
    pub set: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string, an integer or a boolean")]
pub(super) enum Define {
    Flag(bool),
    Number(i64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawContext {
    pub name: String,
    #[serde(rename = "match")]
    pub rules: Option<RuleTexts>,
    #[serde(default)]
    pub mode: RawMode,
    pub message: Option<String>,
    pub end_of_message: Option<String>,
    pub header: Option<String>,
    pub payload: Option<String>,
    pub completion: Option<String>,
    pub handler_memory: Option<Bytes>,
    pub handler_memory_image: Option<PathBuf>,
    pub host_memory: Option<Bytes>,
    pub host_memory_image: Option<PathBuf>,
    pub scratchpad: Option<Bytes>,
    pub l1_bytes: Option<L1Bytes>,
    pub watchdog: Option<Watchdog>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawMode {
    #[default]
    And,
    Or,
}

/// Rules as the manifest has them: a list, also of one.
pub(super) struct RuleTexts(pub Vec<String>);

impl<'de> Deserialize<'de> for RuleTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a list of rules, as match = [\"udp\"]")]
        enum Either {
            List(Vec<String>),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::List(rules) => Ok(Self(rules)),
            Either::Text(rule) => Err(de::Error::custom(format!(
                "expected a list of rules: write match = [{rule:?}]"
            ))),
        }
    }
}

pub(super) struct L1Bytes(pub Option<u64>);

impl<'de> Deserialize<'de> for L1Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected \"all\", a number of bytes or a size")]
        enum Either {
            Number(u64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(bytes) => Ok(Self(Some(bytes))),
            Either::Text(text) if text == "all" => Ok(Self(None)),
            Either::Text(text) => {
                text.parse::<Bytes>().map(|bytes| Self(Some(bytes.0))).map_err(|error| {
                    de::Error::custom(format!("{error}; or \"all\" for the whole packet"))
                })
            }
        }
    }
}

impl<'de> Deserialize<'de> for Watchdog {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a number of cycles or a time such as \"100us\"")]
        enum Either {
            Number(u64),
            Text(String),
        }
        let text = match Either::deserialize(deserializer)? {
            Either::Number(cycles) => return Ok(Self::Cycles(cycles)),
            Either::Text(text) => text,
        };
        if let Some(cycles) = text.strip_suffix("cycles") {
            return cycles.trim().parse().map(Self::Cycles).map_err(de::Error::custom);
        }
        text.parse().map(Self::Time).map_err(de::Error::custom)
    }
}
