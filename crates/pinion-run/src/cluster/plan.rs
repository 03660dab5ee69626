//! What a cluster is made of: its file comes in; groups of nodes with their built programs and
//! machines, and the network between them go out, all checked against each other.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinion_net::generator::GeneratorSpec;
use pinion_net::load::LoadSpec;
use pinion_sim::Clock;
use pinion_sim::config::{ConfigError, Loaded};

use super::arguments::{self, Facts};
use super::manifest::{self, RawCluster, RawNode};
use super::network::Network;
use super::sources::{check_gaps, load_group, packets_group};
use crate::nanoservice::Setup;
use crate::nanoservice::run::PATIENCE_CYCLES;
use pinion_app::app::{App, Options};
use pinion_app::build::Built;
use pinion_app::error::{Error, Result};
use pinion_app::manifest::Manifest;
use pinion_app::service::Service;
use pinion_app::traffic::Pace;

/// The clock of a fabric without a nanoPU (the published prototype's).
const CLOCK_HZ: u64 = 3_200_000_000;
/// The name of the node where the device of a live run is.
pub const OUTSIDE: &str = "outside";
/// Bounds the nodes of a cluster: what the addresses behind 10.0.0.2 are enough for.
const MOST_NODES: usize = 1 << 20;

/// What a check of the file gives.
pub(super) type Checked<T> = std::result::Result<T, ConfigError>;

/// Holds a cluster that can be run.
pub struct Plan {
    /// Names it.
    pub name: String,
    /// Its groups of nodes, in the order of their numbers.
    pub groups: Vec<Group>,
    /// Name of each node.
    pub names: Vec<String>,
    /// What joins them.
    pub network: Network,
    /// The clock in whose cycles the network counts.
    pub clock: Clock,
    /// The seed of everything that is left to chance.
    pub seed: u64,
    /// Ends a run in which no message has moved for so many cycles.
    pub patience: u64,
    /// The gaps, in cycles, of each group of load generators that has several: one run for each.
    pub gaps: Vec<(usize, Vec<f64>)>,
}

/// Holds nodes that are alike.
pub struct Group {
    /// Names it.
    pub name: String,
    /// The number of its first node.
    pub first: usize,
    /// Number of its nodes.
    pub count: usize,
    /// The run ends when all nodes of such groups have ended.
    pub ends: bool,
    /// What its nodes are.
    pub target: Target,
}

/// Says where frames come from.
#[derive(Debug, Clone)]
pub enum FramesFrom {
    /// The device of a live run.
    Device {
        /// The address of its other side.
        address: Ipv4Addr,
    },
    /// A capture, whose frames go to whom they are addressed.
    Capture {
        /// Name of its file.
        file: PathBuf,
        /// The pace of its frames, instead of the recorded one.
        pace: Option<Pace>,
        /// The cycle of the network that is its time 0.
        start: u64,
    },
    /// A generator.
    Generator {
        /// What it makes.
        spec: Box<GeneratorSpec>,
        /// The pace of its frames, instead of its own.
        pace: Option<Pace>,
        /// The cycle of the network that is its time 0.
        start: u64,
    },
}

impl FramesFrom {
    /// Gives the cycle of the network that is their time 0.
    pub fn start(&self) -> u64 {
        match self {
            Self::Device { .. } => 0,
            Self::Capture { start, .. } | Self::Generator { start, .. } => *start,
        }
    }
}

/// The address of a device's other side, and the bits that all of its network share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherSide {
    /// The address.
    pub address: Ipv4Addr,
    /// Number of the bits.
    pub prefix: u8,
}

/// Says what the nodes of a group are.
pub enum Target {
    /// nanoPUs with a program.
    Nanoservice {
        /// The program.
        service: Arc<Service>,
        /// The machine.
        setup: Setup,
        /// The arguments, by node of the group.
        arguments: Vec<Vec<String>>,
    },
    /// sPIN NICs with packet handlers.
    Handlers {
        /// The application.
        app: Arc<App>,
    },
    /// Load generators.
    Load {
        /// Their loads, by node of the group.
        specs: Vec<LoadSpec>,
    },
    /// Frames from elsewhere, at a node of its own.
    Frames {
        /// Where they come from.
        from: FramesFrom,
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
        Self::read(file, options, None)
    }

    /// Does the same for a cluster that runs live: one more node, [`OUTSIDE`], is where its device is, whose
    /// other side has this address. nanoPUs wait longer for acknowledgements, since they come from beyond
    /// a kernel.
    ///
    /// # Errors
    /// As [`Plan::load`], and when the nodes are not in the address's network.
    pub fn load_live(file: &Path, options: &Options, kernel: OtherSide) -> Result<Self> {
        Self::read(file, options, Some(kernel))
    }

    fn read(file: &Path, options: &Options, kernel: Option<OtherSide>) -> Result<Self> {
        let text = pinion_input::text(file);
        let text = text.map_err(|error| Error::file("read", file, error))?;
        let folder = file.parent().unwrap_or(Path::new("."));
        Self::make(&text, &file.display().to_string(), folder, options, kernel)
    }

    /// Does the same for a text; paths in it are relative to `folder`.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub fn from_text(text: &str, origin: &str, folder: &Path, options: &Options) -> Result<Self> {
        Self::make(text, origin, folder, options, None)
    }

    fn make(
        text: &str,
        origin: &str,
        folder: &Path,
        options: &Options,
        kernel: Option<OtherSide>,
    ) -> Result<Self> {
        let (loaded, machines) = manifest::load(origin, text, &options.overrides)?;
        let raw = &loaded.value;
        let mut names = names(&loaded)?;
        let seed = raw.cluster.seed.unwrap_or(1);
        let mut groups = Vec::new();
        let mut first = 0;
        for (number, node) in raw.node.iter().enumerate() {
            let folder = folder.join(&node.app);
            let app = pinion_app::manifest::load(&folder)?;
            let options = node.options(&machines, app.nanoservice().is_some(), options);
            groups.push(group(&loaded, number, first, app, &options)?);
            first += node.count;
        }
        let mut gaps = Vec::new();
        for (number, load) in raw.load.iter().enumerate() {
            if !load.gaps.is_empty() {
                gaps.push((groups.len(), load.gaps.clone()));
            }
            groups.push(load_group(&loaded, number, first, seed)?);
            first += load.count;
        }
        for number in 0..raw.packets.len() {
            groups.push(packets_group(&loaded, number, first, folder, seed)?);
            first += 1;
        }
        if let Some(kernel) = kernel {
            check_network(kernel, names.len())?;
            names.push(OUTSIDE.to_owned());
            for group in &mut groups {
                if let Target::Nanoservice { setup, .. } = &mut group.target {
                    setup.wait_for_peers();
                }
            }
            let (name, target) = (
                OUTSIDE.to_owned(),
                Target::Frames { from: FramesFrom::Device { address: kernel.address } },
            );
            groups.push(Group { name, first, count: 1, ends: false, target });
        }
        check_gaps(&loaded, &groups, &gaps)?;
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
            gaps,
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

    /// Names the load generators.
    pub fn loads(&self) -> impl Iterator<Item = &str> {
        let groups = self.groups.iter().filter(|group| matches!(group.target, Target::Load { .. }));
        let nodes = groups.flat_map(|group| group.first..group.first + group.count);
        nodes.map(|node| self.names[node].as_str())
    }

    /// Gives the nodes' IPv4 addresses.
    pub fn addresses(&self) -> Vec<u32> {
        (0..self.nodes()).map(|node| self.address(node)).collect()
    }

    /// Gives a node's IPv4 address.
    pub fn address(&self, node: usize) -> u32 {
        match self.group_of(node).map(|(group, _)| &group.target) {
            Some(Target::Frames { from: FramesFrom::Device { address } }) => address.to_bits(),
            _ => arguments::address(node),
        }
    }

    /// Gives the node where the device of a live run is.
    pub fn outside(&self) -> Option<usize> {
        let is_outside = |group: &&Group| {
            matches!(group.target, Target::Frames { from: FramesFrom::Device { .. } })
        };
        self.groups.iter().find(is_outside).map(|group| group.first)
    }

    /// Lists what was built, by group.
    pub fn built(&self) -> impl Iterator<Item = &Built> {
        self.groups.iter().filter_map(|group| match &group.target {
            Target::Nanoservice { service, .. } => Some(&service.built),
            Target::Handlers { app } => Some(&app.built),
            Target::Load { .. } | Target::Frames { .. } => None,
        })
    }
}

/// Checks that the other side of a live run's device reaches so many nodes, and is none of them.
fn check_network(kernel: OtherSide, nodes: usize) -> Result<()> {
    let (first, last) = (arguments::address(0), arguments::address(nodes.saturating_sub(1)));
    let shift = 32 - u32::from(kernel.prefix.min(32));
    let network = |address: u32| address.checked_shr(shift).unwrap_or(0);
    let own = kernel.address.to_bits();
    let is_reached = [first, last].iter().all(|address| network(*address) == network(own));
    if is_reached && !(first..=last).contains(&own) {
        return Ok(());
    }
    let [first, last] = [first, last].map(Ipv4Addr::from_bits);
    Err(Error::Usage(format!(
        "--address {}/{}: the nodes are {first} to {last}; give the host another address of their \
         network, as in 10.0.0.1/8",
        kernel.address, kernel.prefix
    )))
}

/// Names the nodes: as their group, with a number where it has several.
fn names(loaded: &Loaded<RawCluster>) -> Checked<Vec<String>> {
    let groups = &loaded.value.node;
    if groups.is_empty() {
        return Err(loaded.error_at("cluster", "there is no [[node]]: add one with name and app"));
    }
    let mut names = Vec::new();
    let nodes = groups.iter().map(|node| ("node", &node.name, node.count));
    let loads = loaded.value.load.iter().map(|load| ("load", &load.name, load.count));
    let packets = loaded.value.packets.iter().map(|packets| ("packets", &packets.name, 1));
    let all: Vec<(&str, &String, usize)> = nodes.chain(loads).chain(packets).collect();
    for (number, &(table, name, nodes)) in all.iter().enumerate() {
        let place = all[..number].iter().filter(|(other, ..)| *other == table).count();
        let wrong = |key: &str, problem: String| {
            loaded.error_at(&format!("{table}[{place}].{key}"), problem)
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_taken =
            ["index", "node", "nodes", "address", "seed", "network", "cluster", "machine", OUTSIDE]
                .contains(&name.as_str());
        if name.is_empty() || !name.chars().all(is_plain) || is_taken {
            let problem = format!("`{name}` is no name of a group of nodes: use another");
            return Err(wrong("name", problem));
        }
        if all[..number].iter().any(|(_, other, _)| *other == name) {
            return Err(wrong("name", format!("there are two groups named `{name}`")));
        }
        if nodes == 0 || nodes > MOST_NODES - names.len() {
            let problem = format!("{nodes} nodes: give at least 1, {MOST_NODES} in all");
            return Err(wrong("count", problem));
        }
        match nodes {
            1 => names.push(name.clone()),
            count => names.extend((0..count).map(|index| format!("{name}.{index}"))),
        }
    }
    Ok(names)
}

/// Builds what a group needs.
fn group(
    loaded: &Loaded<RawCluster>,
    number: usize,
    first: usize,
    app: Manifest,
    options: &Options,
) -> Result<Group> {
    let raw = &loaded.value.node[number];
    let wrong =
        |key: &str, problem: String| loaded.error_at(&format!("node[{number}].{key}"), problem);
    let target = match app.nanoservice() {
        None => {
            let given = [("args", raw.args.is_some()), ("ends", raw.ends)];
            if let Some((key, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                let problem = "it has packet handlers, which take no arguments and do not end";
                return Err(wrong(key, format!("{problem}; leave `{key}` out")).into());
            }
            Target::Handlers { app: Arc::new(App::of(app, options)?) }
        }
        Some(_) => {
            let service = Service::of(app, options)?;
            let setup = Setup::new(&service, options)?;
            let arguments = all_arguments(&loaded.value, raw, first, &service);
            let arguments = arguments.map_err(|problem| wrong("args", problem))?;
            Target::Nanoservice { service: Arc::new(service), setup, arguments }
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
    let (groups, nodes) = all_groups(cluster);
    let of_node = |index: usize| {
        let seed = cluster.cluster.seed.unwrap_or(1);
        let facts = Facts { groups: &groups, index, node: first + index, nodes, seed };
        let Some(texts) = &raw.args else { return Ok(service.arguments()) };
        let name = std::iter::once(Ok(service.manifest.app.name.clone()));
        name.chain(texts.iter().map(|text| arguments::fill(text, &facts))).collect()
    };
    (0..raw.count).map(of_node).collect()
}

/// Lists groups as their name, first node and number of nodes; counts all nodes.
pub(super) fn all_groups(cluster: &RawCluster) -> (Vec<(String, usize, usize)>, usize) {
    let own = cluster.node.iter().map(|node| (&node.name, node.count));
    let loads = cluster.load.iter().map(|load| (&load.name, load.count));
    let mut groups = Vec::new();
    let mut nodes = 0;
    let packets = cluster.packets.iter().map(|packets| (&packets.name, 1));
    for (name, count) in own.chain(loads).chain(packets) {
        groups.push((name.clone(), nodes, count));
        nodes += count;
    }
    (groups, nodes)
}

/// Gives the clock that the nanoPUs share, in whose cycles the network counts.
fn fabric_clock(loaded: &Loaded<RawCluster>, groups: &[Group]) -> Checked<Clock> {
    let mut clock = None;
    for (number, group) in groups.iter().enumerate() {
        let Target::Nanoservice { setup, .. } = &group.target else { continue };
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
