//! A cluster's file: TOML comes in, what it says goes out, with defaults filled in. Whether the parts
//! fit together is for the plan to find out.

use std::path::PathBuf;

use pinion_app::app::Options;
use pinion_sim::config::{self, ConfigError, Loaded};
use serde::Deserialize;

use super::load_end::START_CYCLES;
use super::network::RawNetwork;

/// Holds what a cluster's file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCluster {
    pub cluster: RawHead,
    #[serde(default)]
    pub network: RawNetwork,
    #[serde(default)]
    pub node: Vec<RawNode>,
    #[serde(default)]
    pub load: Vec<RawLoad>,
    #[serde(default)]
    pub packets: Vec<RawPackets>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawHead {
    pub name: String,
    /// Seed of everything that is left to chance.
    pub seed: Option<u64>,
    /// Cycles after which a run in which no message moves has hung.
    pub patience: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNode {
    pub name: String,
    pub app: PathBuf,
    #[serde(default = "one")]
    pub count: usize,
    pub args: Option<Vec<String>>,
    #[serde(default)]
    pub ends: bool,
    pub machine: Option<String>,
    #[serde(default)]
    pub set: Vec<String>,
}

impl RawNode {
    /// Gives the options of its machine: what is for all machines is for those of nanoPUs.
    pub fn options(&self, machines: &[MachineChange], is_nano: bool, all: &Options) -> Options {
        let own = machines
            .iter()
            .filter(|(name, _)| name.as_ref().map_or(is_nano, |name| *name == self.name));
        let mut overrides = self.set.clone();
        overrides.extend(own.map(|(_, text)| text.clone()));
        let machine = self.machine.clone().or_else(|| all.machine.clone());
        Options { machine, overrides, ..all.clone() }
    }
}

/// Describes load generators that are alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLoad {
    pub name: String,
    /// Name of the group of nodes, or the node (`server.3`), that requests are for.
    pub to: String,
    /// What requests are, as `--load` of a single node.
    #[serde(default)]
    pub spec: String,
    #[serde(default = "one")]
    pub count: usize,
    /// The gaps of `--curve`, instead of the one in `spec`.
    #[serde(default)]
    pub gaps: Vec<f64>,
}

/// Describes a node where frames come out of a capture or a generator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPackets {
    pub name: String,
    /// The capture, beside the cluster's file.
    pub pcap: Option<PathBuf>,
    /// What is made instead, as `--generate` of a single NIC.
    pub generate: Option<String>,
    /// Name of the node that generated packets are for.
    pub to: Option<String>,
    /// The pace, as `--pace` of a single NIC.
    pub pace: Option<String>,
    /// The cycle that is their time 0: programs have booted.
    #[serde(default = "start")]
    pub start: u64,
}

fn start() -> u64 {
    START_CYCLES
}

fn one() -> usize {
    1
}

/// A change of machines: of one group's, or of all; `KEY=VALUE`.
pub(super) type MachineChange = (Option<String>, String);

/// Names groups in overrides: `client.count=16` is `node[1].count=16` where the second is `client`.
/// What goes to the nodes' machines is split off: `client.machine.KEY=VALUE`, `machine.KEY=VALUE`.
pub(super) struct Overrides {
    /// Changes of the file.
    pub file: Vec<String>,
    /// Changes of machines; with a name, of that group's alone.
    pub machines: Vec<MachineChange>,
    /// The cluster's seed, whether the file has one or not.
    pub seed: Option<u64>,
}

impl Overrides {
    /// Sorts overrides by what they change.
    pub fn sort(texts: &[String], [nodes, loads, packets]: [&[String]; 3]) -> Self {
        let mut sorted = Self { file: Vec::new(), machines: Vec::new(), seed: None };
        for text in texts {
            if let Some(seed) = text.strip_prefix("cluster.seed=").and_then(|s| s.parse().ok()) {
                sorted.seed = Some(seed);
                continue;
            }
            let (head, rest) = text.split_once('.').unwrap_or((text, ""));
            let group = nodes.iter().position(|name| name == head);
            let place = |names: &[String]| names.iter().position(|name| name == head);
            if let Some(load) = place(loads) {
                sorted.file.push(format!("load[{load}].{rest}"));
                continue;
            }
            if let Some(from) = place(packets) {
                sorted.file.push(format!("packets[{from}].{rest}"));
                continue;
            }
            match (group, rest.strip_prefix("machine.")) {
                (Some(_), Some(rest)) => {
                    sorted.machines.push((Some(head.to_owned()), rest.to_owned()));
                }
                (Some(group), None) => sorted.file.push(format!("node[{group}].{rest}")),
                (None, _) if head == "machine" => sorted.machines.push((None, rest.to_owned())),
                (None, _) => sorted.file.push(text.clone()),
            }
        }
        sorted
    }
}

/// Reads a cluster's file.
///
/// # Errors
/// Everything that is wrong with the text, with its place.
pub(super) fn load(
    origin: &str,
    text: &str,
    overrides: &[String],
) -> Result<(Loaded<RawCluster>, Vec<MachineChange>), ConfigError> {
    let plain: Loaded<RawCluster> = config::load(origin, text, &[])?;
    let names: Vec<String> = plain.value.node.iter().map(|node| node.name.clone()).collect();
    let loads: Vec<String> = plain.value.load.iter().map(|load| load.name.clone()).collect();
    let packets: Vec<String> = plain.value.packets.iter().map(|from| from.name.clone()).collect();
    let sorted = Overrides::sort(overrides, [&names, &loads, &packets]);
    let mut loaded: Loaded<RawCluster> = config::load(origin, text, &sorted.file)?;
    loaded.value.cluster.seed = sorted.seed.or(loaded.value.cluster.seed);
    Ok((loaded, sorted.machines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_find_groups_machines_and_the_network() {
        let names = ["server".to_owned(), "client".to_owned()];
        let texts = [
            "client.count=16",
            "network.link.latency_cycles=9",
            "server.machine.core.count=2",
            "machine.memory.size=16MiB",
            "cluster.seed=5",
            "load.count=2",
        ];
        let texts = texts.map(str::to_owned);
        let sorted = Overrides::sort(&texts, [&names, &["load".to_owned()], &[]]);
        let file = ["node[1].count=16", "network.link.latency_cycles=9", "load[0].count=2"];
        assert_eq!(sorted.file, file);
        let machines = [
            (Some("server".to_owned()), "core.count=2".to_owned()),
            (None, "memory.size=16MiB".to_owned()),
        ];
        assert_eq!((sorted.machines.as_slice(), sorted.seed), (&machines[..], Some(5)));
    }
}
