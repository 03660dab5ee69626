//! Usual shapes of networks. In: how many nodes, how the shape is proportioned. Out: a topology, its
//! switches numbered from the nodes upwards, tier after tier; ports towards nodes come first.

use super::{Cable, Jack, Place, Topology, TopologyError};
use crate::link::Link;

/// Joins places by cables, each at the next port that is free.
#[derive(Clone, Debug)]
pub struct Joiner {
    topology: Topology,
}

impl Joiner {
    /// Begins with nodes and switches without cables.
    pub fn new(nodes: usize, switches: usize) -> Self {
        Self { topology: Topology { nodes, switches: vec![0; switches], cables: Vec::new() } }
    }

    /// Joins two places.
    ///
    /// # Panics
    /// When there is no such switch.
    pub fn join(&mut self, a: Place, b: Place, link: Link) {
        let mut jack = |place| {
            let port = match place {
                Place::Node(_) => 0,
                Place::Switch(switch) => {
                    let ports = &mut self.topology.switches[switch];
                    *ports += 1;
                    *ports - 1
                }
            };
            Jack { place, port }
        };
        let ends = [jack(a), jack(b)];
        self.topology.cables.push(Cable { ends, link });
    }

    /// Joins each node to a switch, so many to each.
    fn join_nodes(&mut self, per_switch: usize, link: Link) {
        for node in 0..self.topology.nodes {
            self.join(Place::Node(node), Place::Switch(node / per_switch), link);
        }
    }

    /// Gives the network, unchecked.
    pub fn finish(self) -> Topology {
        self.topology
    }
}

fn wrong<T>(problem: String) -> Result<T, TopologyError> {
    Err(TopologyError { problem })
}

/// The most switches or cables beside each other that lead up from a switch.
const MOST_PARALLEL: usize = 4096;

impl Topology {
    /// Joins all nodes to one switch.
    pub fn star(nodes: usize, link: Link) -> Self {
        let mut joiner = Joiner::new(nodes, 1);
        joiner.join_nodes(nodes.max(1), link);
        joiner.finish()
    }

    /// Joins two nodes without a switch.
    pub fn back_to_back(link: Link) -> Self {
        let mut joiner = Joiner::new(2, 0);
        joiner.join(Place::Node(0), Place::Node(1), link);
        joiner.finish()
    }

    /// Joins nodes by a tree of switches: up to `fanout[0]` nodes at each of the lowest tier,
    /// `fanout[1]` of these at each of the next, and so on up to one switch. Each switch of tier *t*
    /// has `uplinks[t]` cables to the one above it, one where none is said.
    ///
    /// # Errors
    /// [`TopologyError`] when the numbers describe no tree, or one too small.
    pub fn tree(
        nodes: usize,
        fanout: &[usize],
        uplinks: &[usize],
        link: Link,
        uplink: Link,
    ) -> Result<Self, TopologyError> {
        if fanout.is_empty() || fanout.contains(&0) {
            return wrong(
                "fanout of a tree must name at least one tier, each of at least 1".into(),
            );
        }
        if uplinks.len() >= fanout.len() || uplinks.contains(&0) {
            return wrong(format!(
                "uplinks of a tree of {} tiers are {} numbers at most, each of at least 1: the \
                 uppermost tier has none",
                fanout.len(),
                fanout.len() - 1
            ));
        }
        if let Some(many) = uplinks.iter().find(|&&uplinks| uplinks > MOST_PARALLEL) {
            return wrong(format!("uplinks of a tree are {MOST_PARALLEL} at most, not {many}"));
        }
        let room = fanout.iter().fold(1usize, |room, &n| room.saturating_mul(n));
        if room < nodes {
            return wrong(format!(
                "a tree with fanout {fanout:?} has room for {room} nodes, not for {nodes}; raise \
                 fanout or add a tier"
            ));
        }
        let mut tiers = Vec::new();
        let mut below = nodes;
        for &per_switch in fanout {
            below = below.div_ceil(per_switch).max(1);
            tiers.push(below);
        }
        let mut joiner = Joiner::new(nodes, tiers.iter().sum());
        joiner.join_nodes(fanout[0], link);
        let mut first = 0;
        for tier in 0..tiers.len() - 1 {
            let above = first + tiers[tier];
            for switch in 0..tiers[tier] {
                let parent = above + switch / fanout[tier + 1];
                for _ in 0..uplinks.get(tier).copied().unwrap_or(1) {
                    joiner.join(Place::Switch(first + switch), Place::Switch(parent), uplink);
                }
            }
            first = above;
        }
        Ok(joiner.finish())
    }

    /// Joins nodes by leaf switches of `per_leaf` nodes each, every leaf to each of `spines` switches.
    ///
    /// # Errors
    /// [`TopologyError`] when a leaf has no nodes or there is no spine.
    pub fn leaf_spine(
        nodes: usize,
        per_leaf: usize,
        spines: usize,
        link: Link,
        uplink: Link,
    ) -> Result<Self, TopologyError> {
        if per_leaf == 0 || spines == 0 {
            return wrong(
                "a leaf-spine network needs at least one node per leaf and one spine".into(),
            );
        }
        if spines > MOST_PARALLEL {
            return wrong(format!(
                "a leaf-spine network has {MOST_PARALLEL} spines at most, not {spines}"
            ));
        }
        let leaves = nodes.div_ceil(per_leaf);
        let mut joiner = Joiner::new(nodes, leaves + spines);
        joiner.join_nodes(per_leaf, link);
        for leaf in 0..leaves {
            for spine in 0..spines {
                joiner.join(Place::Switch(leaf), Place::Switch(leaves + spine), uplink);
            }
        }
        Ok(joiner.finish())
    }

    /// Joins nodes by a fat-tree of switches with `k` ports: `k` pods of `k`/2 edge switches, which
    /// have `k`/2 nodes each, and `k`/2 aggregation switches, and (`k`/2)² core switches, of which
    /// the *n*-th `k`/2 are joined to the *n*-th aggregation switch of every pod. Nodes fill it pod
    /// by pod; ports may stay without one. Switches: edges pod by pod, aggregation, core.
    ///
    /// # Errors
    /// [`TopologyError`] when `k` is odd, or too small for so many nodes.
    pub fn fat_tree(
        nodes: usize,
        k: usize,
        link: Link,
        uplink: Link,
    ) -> Result<Self, TopologyError> {
        if k < 2 || !k.is_multiple_of(2) || k > 512 {
            return wrong(format!("k of a fat-tree is an even number from 2 to 512, not {k}"));
        }
        let half = k / 2;
        let room = k * half * half;
        if room < nodes {
            return wrong(format!(
                "a fat-tree with k = {k} has room for {room} nodes, not for {nodes}; k = {} has",
                Self::smallest_fat_tree(nodes)
            ));
        }
        let (edges, cores) = (k * half, half * half);
        let mut joiner = Joiner::new(nodes, 2 * edges + cores);
        joiner.join_nodes(half, link);
        for edge in 0..edges {
            for nth in 0..half {
                let aggregation = edges + edge / half * half + nth;
                joiner.join(Place::Switch(edge), Place::Switch(aggregation), uplink);
            }
        }
        for aggregation in 0..edges {
            for nth in 0..half {
                let core = 2 * edges + aggregation % half * half + nth;
                joiner.join(Place::Switch(edges + aggregation), Place::Switch(core), uplink);
            }
        }
        Ok(joiner.finish())
    }

    /// Gives the `k` of the smallest fat-tree with room for so many nodes.
    pub fn smallest_fat_tree(nodes: usize) -> usize {
        (2..).step_by(2).find(|k| k * k * k / 4 >= nodes).unwrap_or(2)
    }
}
