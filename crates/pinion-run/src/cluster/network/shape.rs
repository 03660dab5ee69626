//! The shape of a cluster's network: the table `network.topology` comes in; who is joined to whom goes
//! out.

use pinion_net::link::Link;
use pinion_net::topology::{Joiner, Place, Topology, TopologyError};
use serde::Deserialize;

use crate::cluster::plan::OUTSIDE;

/// Says what is wrong with a shape: which key below `network.topology`, and why.
pub(super) type Wrong = (&'static str, String);

// A variant without braces would take any key.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum RawTopology {
    Star {},
    BackToBack {},
    Tree {
        fanout: Vec<usize>,
        #[serde(default)]
        uplinks: Vec<usize>,
    },
    LeafSpine {
        nodes_per_leaf: usize,
        spines: usize,
    },
    FatTree {
        k: Option<usize>,
    },
    Custom {
        cables: Vec<[String; 2]>,
    },
}

impl Default for RawTopology {
    fn default() -> Self {
        Self::Star {}
    }
}

impl RawTopology {
    /// Tells whether it can have cables between switches.
    pub(super) fn has_uplinks(&self) -> bool {
        !matches!(self, Self::Star {} | Self::BackToBack {})
    }

    /// Joins nodes of these names; `uplink` are cables between switches.
    pub(super) fn build(
        &self,
        names: &[String],
        link: Link,
        uplink: Link,
    ) -> Result<Topology, Wrong> {
        let nodes = names.len();
        let of = |key| move |error: TopologyError| (key, error.problem);
        let topology = match self {
            Self::Star {} => Topology::star(nodes, link),
            Self::BackToBack {} if nodes == 2 => Topology::back_to_back(link),
            Self::BackToBack {} => {
                return Err(("kind", format!("back-to-back joins two nodes, there are {nodes}")));
            }
            Self::Tree { fanout, uplinks } => {
                Topology::tree(nodes, fanout, uplinks, link, uplink).map_err(of("fanout"))?
            }
            Self::LeafSpine { nodes_per_leaf, spines } => {
                Topology::leaf_spine(nodes, *nodes_per_leaf, *spines, link, uplink)
                    .map_err(of("nodes_per_leaf"))?
            }
            Self::FatTree { k } => {
                let k = k.unwrap_or_else(|| Topology::smallest_fat_tree(nodes));
                Topology::fat_tree(nodes, k, link, uplink).map_err(of("k"))?
            }
            Self::Custom { cables } => custom(names, cables, link, uplink)?,
        };
        let key = if matches!(self, Self::Custom { .. }) { "cables" } else { "kind" };
        topology.check().map_err(|error| (key, name_nodes(&error.problem, names)))?;
        Ok(topology)
    }
}

/// Writes nodes' names in place of `node NUMBER`.
fn name_nodes(problem: &str, names: &[String]) -> String {
    let mut words: Vec<String> = problem.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        let name = words[at].parse().ok().and_then(|number: usize| names.get(number));
        if let (Some(name), "node") = (name, words[at - 1].as_str()) {
            words[at] = format!("`{name}`");
        }
    }
    words.join(" ")
}

/// Joins nodes and switches, which are called s0, s1…, as a list of cables says. The name of a group
/// stands for all its nodes.
fn custom(
    names: &[String],
    cables: &[[String; 2]],
    link: Link,
    uplink: Link,
) -> Result<Topology, Wrong> {
    // Where the device of a live run is; other runs have none.
    let is_there = |cable: &&[String; 2]| {
        !cable.iter().any(|name| name == OUTSIDE) || names.iter().any(|name| name == OUTSIDE)
    };
    let cables: Vec<&[String; 2]> = cables.iter().filter(is_there).collect();
    let switches = cables.iter().copied().flatten().filter(|name| !names.contains(name));
    let switches = switches
        .filter_map(|name| switch_number(name))
        .max()
        .map_or(0, |last| last.saturating_add(1));
    if switches > cables.len() + 1 {
        let problem = format!(
            "there are switches up to s{}, but only {} cables; number switches from s0 without gaps",
            switches - 1,
            cables.len()
        );
        return Err(("cables", problem));
    }
    let mut joiner = Joiner::new(names.len(), switches);
    let mut used = vec![false; switches];
    for [a, b] in &cables {
        let (from, to) = (places(a, names, switches)?, places(b, names, switches)?);
        if from.len() > 1 && to.len() > 1 {
            let problem = format!("[\"{a}\", \"{b}\"] joins two groups; join nodes one by one");
            return Err(("cables", problem));
        }
        for &from in &from {
            for &to in &to {
                let both = [from, to].map(|place| match place {
                    Place::Switch(number) => Some(number),
                    Place::Node(_) => None,
                });
                both.iter().flatten().for_each(|&number| used[number] = true);
                let is_upper = both.iter().all(Option::is_some);
                joiner.join(from, to, if is_upper { uplink } else { link });
            }
        }
    }
    match used.iter().position(|used| !used) {
        Some(number) => {
            let problem =
                format!("switch s{number} has no cable; number switches from s0 without gaps");
            Err(("cables", problem))
        }
        None => Ok(joiner.finish()),
    }
}

/// Reads the name of a switch.
fn switch_number(name: &str) -> Option<usize> {
    name.strip_prefix('s')?.parse().ok()
}

/// Finds what a cable's end is called.
fn places(name: &str, names: &[String], switches: usize) -> Result<Vec<Place>, Wrong> {
    if let Some(node) = names.iter().position(|known| known == name) {
        return Ok(vec![Place::Node(node)]);
    }
    let member =
        |known: &String| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    let group = names.iter().enumerate().filter(|(_, known)| member(known));
    let group: Vec<Place> = group.map(|(node, _)| Place::Node(node)).collect();
    if !group.is_empty() {
        return Ok(group);
    }
    if let Some(number) = switch_number(name).filter(|&number| number < switches) {
        return Ok(vec![Place::Switch(number)]);
    }
    let nearest = names.iter().min_by_key(|known| strsim::damerau_levenshtein(name, known));
    let problem = format!(
        "there is no node `{name}`; the nearest is `{}`; switches are called s0, s1…",
        nearest.map_or("", String::as_str)
    );
    Err(("cables", problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(toml: &str, names: &[&str]) -> Result<Topology, Wrong> {
        let raw: RawTopology = toml::from_str(toml).unwrap();
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        raw.build(&names, Link::new(140), Link::new(500))
    }

    fn problem(toml: &str, names: &[&str]) -> String {
        let (key, problem) = build(toml, names).unwrap_err();
        format!("{key}: {problem}")
    }

    #[test]
    fn shapes_are_read() {
        let names = ["a", "b", "c", "d", "e"];
        let switches = |toml: &str| build(toml, &names).unwrap().switches.len();
        assert_eq!(switches("kind = 'star'"), 1);
        assert_eq!(switches("kind = 'tree'\nfanout = [2, 4]\nuplinks = [2]"), 4);
        assert_eq!(switches("kind = 'leaf-spine'\nnodes_per_leaf = 2\nspines = 2"), 5);
        assert_eq!(switches("kind = 'fat-tree'"), 20);
        assert_eq!(switches("kind = 'fat-tree'\nk = 6"), 45);
    }

    #[test]
    fn cables_may_be_listed_one_by_one_or_by_group() {
        let names = ["server", "client.0", "client.1"];
        let toml = "kind = 'custom'\ncables = [['client', 's0'], ['s0', 's1'], ['s1', 'server']]";
        let network = build(toml, &names).unwrap();
        assert_eq!(network.switches, [3, 2]);
        let latencies: Vec<u64> = network.cables.iter().map(|c| c.link.latency_cycles).collect();
        assert_eq!(latencies, [140, 140, 500, 140]);
        assert!(build("kind = 'custom'\ncables = [['a', 'b']]", &["a", "b"]).is_ok());
    }

    #[test]
    fn impossible_shapes_say_where_and_what_to_do() {
        let names = ["server", "client.0", "client.1"];
        for (toml, expected) in [
            ("kind = 'back-to-back'", "kind: back-to-back joins two nodes, there are 3"),
            ("kind = 'tree'\nfanout = [2]", "fanout: a tree with fanout [2] has room for 2 nodes"),
            ("kind = 'fat-tree'\nk = 5", "k: k of a fat-tree is an even number"),
            (
                "kind = 'leaf-spine'\nnodes_per_leaf = 1\nspines = 0",
                "nodes_per_leaf: a leaf-spine network needs at least",
            ),
            ("kind = 'custom'\ncables = [['sever', 's0']]", "the nearest is `server`"),
            ("kind = 'custom'\ncables = [['server', 's9']]", "number switches from s0"),
            (
                "kind = 'custom'\ncables = [['server', 's18446744073709551615']]",
                "number switches from s0",
            ),
            (
                "kind = 'leaf-spine'\nnodes_per_leaf = 1\nspines = 9223372036854775807",
                "nodes_per_leaf: a leaf-spine network has 4096 spines at most",
            ),
            ("kind = 'tree'\nfanout = [2, 2]\nuplinks = [9223372036854775807]", "4096 at most"),
            (
                "kind = 'custom'\ncables = [['server', 's0'], ['client.0', 's0']]",
                "cables: node `client.1` has no cable",
            ),
            (
                "kind = 'custom'\ncables = [['server', 's0'], ['client', 's2'], ['s0', 's2']]",
                "cables: switch s1 has no cable",
            ),
            (
                "kind = 'custom'\ncables = [['server', 's0'], ['client', 's1']]",
                "no way leads from node `server` to node `client.0`",
            ),
            ("kind = 'custom'\ncables = [['client', 'client']]", "joins two groups"),
        ] {
            let problem = problem(toml, &names);
            assert!(problem.contains(expected), "{toml}: {problem}");
        }
    }
}
