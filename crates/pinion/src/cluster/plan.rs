//! What a cluster is made of: its file comes in; groups of nodes with their built programs and
//! machines, and the network between them go out, all checked against each other.

use std::path::Path;
use std::sync::Arc;

use pinion_sim::Clock;
use pinion_sim::config::{ConfigError, Loaded};

use super::arguments::{self, Facts};
use super::manifest::{self, RawCluster, RawNode};
use super::network::Network;
use crate::app::Options;
use crate::build::Built;
use crate::error::{Error, Result};
use crate::nanoservice::Setup;
use crate::service::{AnyApp, Service};

/// Is the clock of a fabric without a nanoPU (the published prototype's).
const CLOCK_HZ: u64 = 3_200_000_000;
/// Bounds the nodes of a cluster: what the addresses behind 10.0.0.2 are enough for.
const MOST_NODES: usize = 1 << 20;
/// Is the default of a run's patience, in cycles: 3 ms.
const PATIENCE_CYCLES: u64 = 10_000_000;

/// Is what a check of the file gives.
type Checked<T> = std::result::Result<T, ConfigError>;

/// Holds a cluster that can be run.
pub struct Plan {
    /// Names it.
    pub name: String,
    /// Are its groups of nodes, in the order of their numbers.
    pub groups: Vec<Group>,
    /// Names each node.
    pub names: Vec<String>,
    /// Is what joins them.
    pub network: Network,
    /// Is the clock in whose cycles the network counts.
    pub clock: Clock,
    /// Is the seed of everything that is left to chance.
    pub seed: u64,
    /// Ends a run in which no message has moved for so many cycles.
    pub patience: u64,
}

/// Holds nodes that are alike.
pub struct Group {
    /// Names it.
    pub name: String,
    /// Is the number of its first node.
    pub first: usize,
    /// Counts its nodes.
    pub count: usize,
    /// The run ends when all nodes of such groups have ended.
    pub ends: bool,
    /// Is what its nodes are.
    pub target: Target,
}

/// Says what the nodes of a group are.
pub enum Target {
    /// nanoPUs with a program.
    Nanoservice {
        /// Is the program.
        service: Arc<Service>,
        /// Is the machine.
        setup: Setup,
        /// Are the arguments, by node of the group.
        arguments: Vec<Vec<String>>,
    },
}

impl Plan {
    /// Loads a cluster's file, builds its programs unless they are up to date, and checks that all
    /// fits; `options.overrides` change the file (`client.count=8`, `network.link.latency_cycles=99`)
    /// or machines (`client.machine.core.count=2`).
    ///
    /// # Errors
    /// Everything that can be wrong before a run.
    pub fn load(file: &Path, options: &Options) -> Result<Self> {
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|error| Error::file("read", file, error))?;
        let folder = file.parent().unwrap_or(Path::new("."));
        Self::from_text(&text, &file.display().to_string(), folder, options)
    }

    /// Does the same for a text; paths in it are relative to `folder`.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn from_text(text: &str, origin: &str, folder: &Path, options: &Options) -> Result<Self> {
        let (loaded, machines) = manifest::load(origin, text, &options.overrides)?;
        let raw = &loaded.value;
        let names = names(&loaded)?;
        let seed = raw.cluster.seed.unwrap_or(1);
        let mut groups = Vec::new();
        let mut first = 0;
        for (number, node) in raw.node.iter().enumerate() {
            let own = machines
                .iter()
                .filter(|(name, _)| name.as_ref().is_none_or(|name| *name == node.name));
            let mut overrides = node.set.clone();
            overrides.extend(own.map(|(_, text)| text.clone()));
            let options = Options {
                machine: node.machine.clone().or_else(|| options.machine.clone()),
                overrides,
                ..options.clone()
            };
            groups.push(group(&loaded, number, first, &folder.join(&node.app), &options)?);
            first += node.count;
        }
        let clock = fabric_clock(&loaded, &groups)?;
        let wrong = |key: &str, problem: String| loaded.error_at(key, problem);
        let network = raw.network.build(&names, clock, seed, &wrong)?;
        Ok(Self {
            name: raw.cluster.name.clone(),
            groups,
            names,
            network,
            clock,
            seed,
            patience: raw.cluster.patience.unwrap_or(PATIENCE_CYCLES),
        })
    }

    /// Counts nodes.
    pub fn nodes(&self) -> usize {
        self.names.len()
    }

    /// Gives the group of a node, and its number there.
    pub fn group_of(&self, node: usize) -> Option<(&Group, usize)> {
        let holds = |group: &&Group| (group.first..group.first + group.count).contains(&node);
        self.groups.iter().find(holds).map(|group| (group, node - group.first))
    }

    /// Gives the nodes' IPv4 addresses.
    pub fn addresses(&self) -> Vec<u32> {
        (0..self.nodes()).map(arguments::address).collect()
    }

    /// Lists what was built, by group.
    pub fn built(&self) -> impl Iterator<Item = &Built> {
        self.groups.iter().map(|group| match &group.target {
            Target::Nanoservice { service, .. } => &service.built,
        })
    }
}

/// Names the nodes: as their group, with a number where it has several.
fn names(loaded: &Loaded<RawCluster>) -> Checked<Vec<String>> {
    let groups = &loaded.value.node;
    if groups.is_empty() {
        return Err(loaded.error_at("cluster", "there is no [[node]]: add one with name and app"));
    }
    let mut names = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let wrong =
            |key: &str, problem: String| loaded.error_at(&format!("node[{number}].{key}"), problem);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_taken =
            ["index", "node", "nodes", "address", "seed", "network", "cluster", "machine"]
                .contains(&group.name.as_str());
        if group.name.is_empty() || !group.name.chars().all(is_plain) || is_taken {
            let problem = format!("`{}` is no name of a group of nodes: use another", group.name);
            return Err(wrong("name", problem));
        }
        if groups[..number].iter().any(|other| other.name == group.name) {
            return Err(wrong("name", format!("there are two groups named `{}`", group.name)));
        }
        if group.count == 0 || names.len() + group.count > MOST_NODES {
            let problem = format!("{} nodes: give at least 1, {MOST_NODES} in all", group.count);
            return Err(wrong("count", problem));
        }
        match group.count {
            1 => names.push(group.name.clone()),
            count => names.extend((0..count).map(|index| format!("{}.{index}", group.name))),
        }
    }
    Ok(names)
}

/// Builds what a group needs.
fn group(
    loaded: &Loaded<RawCluster>,
    number: usize,
    first: usize,
    app: &Path,
    options: &Options,
) -> Result<Group> {
    let raw = &loaded.value.node[number];
    let wrong =
        |key: &str, problem: String| loaded.error_at(&format!("node[{number}].{key}"), problem);
    let target = match AnyApp::load(app, options)? {
        AnyApp::Handlers(app) => {
            let problem =
                format!("{} has packet handlers, not a nanoservice", app.manifest.app.name);
            return Err(wrong("app", problem).into());
        }
        AnyApp::Nanoservice(service) => {
            let setup = Setup::new(&service, options)?;
            let arguments = all_arguments(&loaded.value, raw, first, &service);
            let arguments = arguments.map_err(|problem| wrong("args", problem))?;
            Target::Nanoservice { service: Arc::new(*service), setup, arguments }
        }
    };
    Ok(Group { name: raw.name.clone(), first, count: raw.count, ends: raw.ends, target })
}

/// Gives the arguments of each node of a group.
fn all_arguments(
    cluster: &RawCluster,
    raw: &RawNode,
    first: usize,
    service: &Service,
) -> std::result::Result<Vec<Vec<String>>, String> {
    let mut groups = Vec::new();
    let mut nodes = 0;
    for node in &cluster.node {
        groups.push((node.name.clone(), nodes, node.count));
        nodes += node.count;
    }
    let of_node = |index: usize| {
        let seed = cluster.cluster.seed.unwrap_or(1);
        let facts = Facts { groups: &groups, index, node: first + index, nodes, seed };
        let Some(texts) = &raw.args else { return Ok(service.arguments()) };
        let name = std::iter::once(Ok(service.manifest.app.name.clone()));
        name.chain(texts.iter().map(|text| arguments::fill(text, &facts))).collect()
    };
    (0..raw.count).map(of_node).collect()
}

/// Gives the clock that the nanoPUs share, in whose cycles the network counts.
fn fabric_clock(loaded: &Loaded<RawCluster>, groups: &[Group]) -> Checked<Clock> {
    let mut clock = None;
    for (number, group) in groups.iter().enumerate() {
        let Target::Nanoservice { setup, .. } = &group.target;
        let mhz = setup.machine.value.clock.frequency_mhz;
        let (shared, first) = *clock.get_or_insert((mhz, number));
        if shared != mhz {
            let problem = format!(
                "its machine runs at {mhz} MHz, that of `{}` at {shared}; the nanoPUs of a cluster \
                 share one clock",
                groups[first].name
            );
            return Err(loaded.error_at(&format!("node[{number}].name"), problem));
        }
    }
    let hz = clock.map_or(CLOCK_HZ, |(mhz, _)| mhz * 1_000_000);
    Ok(Clock::from_hz(hz))
}
