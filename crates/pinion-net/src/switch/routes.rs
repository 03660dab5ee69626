//! A switch's ways to every node. In: a topology. Out: the ports on the shortest ways. Holds each set
//! of ports once.
//!
//! Nodes at the same switch are equally far from all others, so the ways are searched once for every
//! switch that has nodes, not for every node.

use std::collections::{BTreeMap, HashMap};

use crate::topology::{Place, Topology};

/// Holds a switch's ports towards each node.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    by_node: Vec<u32>,
    sets: Vec<Vec<u16>>,
}

impl Routes {
    /// Finds the shortest ways of every switch to every node.
    pub fn of(topology: &Topology) -> Vec<Self> {
        let neighbours = topology.neighbours();
        let count = topology.switches.len();
        let mut all =
            vec![Self { by_node: vec![0; topology.nodes], sets: vec![Vec::new()] }; count];
        let mut known: Vec<HashMap<Vec<u16>, u32>> = vec![HashMap::from([(Vec::new(), 0)]); count];
        let mut ports = Vec::new();
        for (edge, nodes) in nodes_by_edge(topology, &neighbours) {
            let distances = topology.distances_over(&neighbours, edge);
            for switch in 0..count {
                let own = topology.index(Place::Switch(switch));
                if own == edge {
                    continue;
                }
                let nearer = distances[own].and_then(|own| own.checked_sub(1));
                ports.clear();
                let to = neighbours[own].iter().filter(|(next, _)| {
                    *next >= topology.nodes && nearer.is_some() && distances[*next] == nearer
                });
                ports.extend(to.map(|&(_, port)| port as u16));
                let set = all[switch].set(&ports, &mut known[switch]);
                for &(node, _) in &nodes {
                    all[switch].by_node[node] = set;
                }
            }
            let Some(own) = edge.checked_sub(topology.nodes) else { continue };
            for (node, port) in nodes {
                all[own].by_node[node] = all[own].set(&[port as u16], &mut known[own]);
            }
        }
        all
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
        self.by_node.get(node).map_or(&[], |&set| &self.sets[set as usize])
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
