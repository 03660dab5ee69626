//! A switch's ways to every node. In: a topology. Out: the ports on the shortest ways. Holds each set
//! of ports once.
//!
//! Nodes at the same switch are equally far from all others, so ways are searched and kept for every
//! switch that has nodes, not for every node: a fat-tree of 65,536 nodes has 5,120 switches, but only
//! 2,048 of them have nodes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::topology::Topology;

/// Stands for no switch with nodes, and for a switch that no way leads from.
const NONE: u32 = u32::MAX;
/// The set without ports.
const NOWHERE: u32 = 0;

/// Holds a switch's ports towards each node.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// By node: which of the switches with nodes it is at.
    edges: Arc<[u32]>,
    /// By switch with nodes: the set of ports towards it.
    by_edge: Vec<u32>,
    /// This switch's number among those, if it has nodes, their lowest number, and from there on the
    /// set of each.
    own_edge: Option<u32>,
    first: usize,
    own: Vec<u32>,
    sets: Vec<Vec<u16>>,
}

impl Routes {
    /// Finds the shortest ways of every switch to every node.
    pub fn of(topology: &Topology) -> Vec<Self> {
        let neighbours = topology.neighbours();
        let edges = nodes_by_edge(topology, &neighbours);
        let mut edge_of = vec![NONE; topology.nodes];
        for (number, (_, nodes)) in edges.iter().enumerate() {
            nodes.iter().for_each(|&(node, _)| edge_of[node] = number as u32);
        }
        let empty = Self {
            edges: edge_of.into(),
            by_edge: vec![NOWHERE; edges.len()],
            sets: vec![Vec::new()],
            ..Self::default()
        };
        let count = topology.switches.len();
        let mut all = vec![empty; count];
        let mut known: Vec<HashMap<Vec<u16>, u32>> =
            vec![HashMap::from([(Vec::new(), NOWHERE)]); count];
        let between = between_switches(topology, &neighbours);
        let (mut distances, mut queue) = (Vec::new(), VecDeque::new());
        let mut ports = Vec::new();
        for (number, (edge, nodes)) in edges.into_iter().enumerate() {
            let edge = edge - topology.nodes;
            measure(&between, edge, &mut distances, &mut queue);
            for switch in (0..count).filter(|&switch| switch != edge) {
                let Some(nearer) = distances[switch].checked_sub(1).filter(|at| at + 1 != NONE)
                else {
                    continue;
                };
                ports.clear();
                let to = between[switch].iter().filter(|(next, _)| distances[*next] == nearer);
                ports.extend(to.map(|&(_, port)| port));
                // Mostly the ways are those to the switch looked at before.
                let last = number.checked_sub(1).map_or(NOWHERE, |last| all[switch].by_edge[last]);
                let alike = all[switch].sets[last as usize] == ports;
                all[switch].by_edge[number] =
                    if alike { last } else { all[switch].set(&ports, &mut known[switch]) };
            }
            all[edge].has_nodes(number as u32, &nodes, &mut known[edge]);
        }
        all
    }

    /// Notes the nodes at this switch, and its port towards each.
    fn has_nodes(
        &mut self,
        edge: u32,
        nodes: &[(usize, usize)],
        known: &mut HashMap<Vec<u16>, u32>,
    ) {
        self.own_edge = Some(edge);
        self.first = nodes.iter().map(|&(node, _)| node).min().unwrap_or(0);
        let last = nodes.iter().map(|&(node, _)| node).max().unwrap_or(0);
        self.own = vec![NOWHERE; last + 1 - self.first];
        for &(node, port) in nodes {
            self.own[node - self.first] = self.set(&[port as u16], known);
        }
    }

    /// Gives the number of a set of ports.
    fn set(&mut self, ports: &[u16], known: &mut HashMap<Vec<u16>, u32>) -> u32 {
        if let Some(&set) = known.get(ports) {
            return set;
        }
        let set = self.sets.len() as u32;
        self.sets.push(ports.to_vec());
        known.insert(ports.to_vec(), set);
        set
    }

    /// Lists the ports on the shortest ways to a node, in order.
    pub fn ports(&self, node: usize) -> &[u16] {
        let Some(&edge) = self.edges.get(node) else { return &[] };
        let set = if self.own_edge == Some(edge) {
            self.own[node - self.first]
        } else {
            self.by_edge.get(edge as usize).copied().unwrap_or(NOWHERE)
        };
        &self.sets[set as usize]
    }
}

/// Lists, by switch, the switches it is cabled to, and its own port towards each.
fn between_switches(
    topology: &Topology,
    neighbours: &[Vec<(usize, usize)>],
) -> Vec<Vec<(usize, u16)>> {
    let switches = neighbours[topology.nodes..].iter();
    let of_one = |own: &Vec<(usize, usize)>| {
        let others = own.iter().filter(|(next, _)| *next >= topology.nodes);
        others.map(|&(next, port)| (next - topology.nodes, port as u16)).collect()
    };
    switches.map(of_one).collect()
}

/// Counts, by switch, the cables to the switch `to`; [`NONE`] where no way leads there.
fn measure(
    between: &[Vec<(usize, u16)>],
    to: usize,
    distances: &mut Vec<u32>,
    queue: &mut VecDeque<usize>,
) {
    distances.clear();
    distances.resize(between.len(), NONE);
    distances[to] = 0;
    queue.push_back(to);
    while let Some(at) = queue.pop_front() {
        for &(next, _) in &between[at] {
            if distances[next] == NONE {
                distances[next] = distances[at] + 1;
                queue.push_back(next);
            }
        }
    }
}

/// Lists, by the component that nodes are cabled to, these nodes and its port towards each.
fn nodes_by_edge(
    topology: &Topology,
    neighbours: &[Vec<(usize, usize)>],
) -> BTreeMap<usize, Vec<(usize, usize)>> {
    let mut edges: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (component, of_one) in neighbours.iter().enumerate().skip(topology.nodes) {
        let nodes = of_one.iter().filter(|(next, _)| *next < topology.nodes).copied();
        let nodes: Vec<_> = nodes.collect();
        if !nodes.is_empty() {
            edges.insert(component, nodes);
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;
    use crate::topology::Place;

    #[test]
    fn a_thousand_nodes_on_a_fat_tree_are_routed_in_no_time() {
        let link = Link::new(140);
        let topology = Topology::fat_tree(1024, 16, link, link).unwrap();
        let begun = std::time::Instant::now();
        let routes = Routes::of(&topology);
        let seconds = begun.elapsed().as_secs_f64();
        println!("{} switches routed in {seconds} s", routes.len());
        assert!(seconds < 1.0, "{seconds}");
        assert_eq!(routes.len(), 320);
        // An edge switch has its 8 nodes at one port each, all others behind its 8 uplinks.
        let ways = |switch: usize, node: usize| routes[switch].ports(node).len();
        assert_eq!((ways(0, 0), ways(0, 8), ways(0, 1023)), (1, 8, 8));
        // An aggregation switch goes down to its pod by one way, elsewhere up by eight.
        assert_eq!((ways(128, 0), ways(128, 63), ways(128, 64)), (1, 1, 8));
        // A core switch has one way to each.
        assert!((0..1024).all(|node| ways(256, node) == 1));
    }

    #[test]
    fn tables_grow_with_switches_that_have_nodes_and_not_with_nodes() {
        let link = Link::new(140);
        let topology = Topology::fat_tree(1024, 16, link, link).unwrap();
        for routes in Routes::of(&topology) {
            assert_eq!((routes.by_edge.len(), routes.edges.len()), (128, 1024));
            assert!(routes.own.len() <= 8 && routes.sets.len() <= 34, "{}", routes.sets.len());
        }
    }

    #[test]
    fn every_way_is_a_shortest_one() {
        let (link, up) = (Link::new(10), Link::new(20));
        let topologies = [
            Topology::star(5, link),
            Topology::tree(13, &[3, 2, 4], &[2, 1], link, up).unwrap(),
            Topology::leaf_spine(11, 4, 3, link, up).unwrap(),
            Topology::fat_tree(14, 4, link, up).unwrap(),
        ];
        for topology in topologies {
            let neighbours = topology.neighbours();
            let routes = Routes::of(&topology);
            for node in 0..topology.nodes {
                let distances = topology.distances(Place::Node(node));
                for (switch, routes) in routes.iter().enumerate() {
                    let own = topology.index(Place::Switch(switch));
                    let nearer = neighbours[own].iter().filter(|(next, _)| {
                        distances[own].unwrap().checked_sub(1) == distances[*next]
                    });
                    let ports: Vec<u16> = nearer.map(|&(_, port)| port as u16).collect();
                    assert_eq!(routes.ports(node), ports, "switch {switch} to node {node}");
                }
            }
        }
    }
}
