//! A switch's ways to every node. In: a topology. Out: the ports on the shortest ways. Holds each set
//! of ports once.
//!
//! Nodes at the same switch are equally far from all others, so ways are searched and kept for every
//! switch that has nodes, not for every node: a fat-tree of 65,536 nodes has 5,120 switches, but only
//! 2,048 of them have nodes. Those are searched for 64 at a time, as the bits of a word: each rank does it
//! for itself, and one by one took four times the instructions with 4,096 nodes, and more with more.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::topology::Topology;

/// Stands for no switch with nodes.
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
    /// Finds the shortest ways of every switch to every node; those of a switch that nobody asks for
    /// stay empty.
    pub fn of(topology: &Topology, is_asked_for: impl Fn(usize) -> bool) -> Vec<Self> {
        let neighbours = topology.neighbours();
        let edges = nodes_by_edge(topology, &neighbours);
        let mut edge_of = vec![NONE; topology.nodes];
        for (number, (_, nodes)) in edges.iter().enumerate() {
            nodes.iter().for_each(|&(node, _)| edge_of[node] = number as u32);
        }
        let edge_of: Arc<[u32]> = edge_of.into();
        let asked: Vec<bool> = (0..topology.switches.len()).map(is_asked_for).collect();
        let of_switch = |is_asked: &bool| Self {
            edges: edge_of.clone(),
            by_edge: vec![NOWHERE; if *is_asked { edges.len() } else { 0 }],
            sets: vec![Vec::new()],
            ..Self::default()
        };
        let mut all: Vec<Self> = asked.iter().map(of_switch).collect();
        let mut known = vec![HashMap::from([(Vec::new(), NOWHERE)]); all.len()];
        let mut search = Search::new(between_switches(topology, &neighbours));
        let edges: Vec<_> = edges.into_iter().collect();
        for (word, some) in edges.chunks(u64::BITS as usize).enumerate() {
            search.begin(some.iter().map(|(edge, _)| edge - topology.nodes));
            while search.go_on(|switch, reached, ways| {
                if asked[switch] {
                    all[switch].lead(word, reached, ways, &mut known[switch]);
                }
            }) {}
        }
        for (number, (edge, nodes)) in edges.iter().enumerate() {
            let edge = edge - topology.nodes;
            if asked[edge] {
                all[edge].has_nodes(number as u32, nodes, &mut known[edge]);
            }
        }
        all
    }

    /// Notes the ports towards some switches with nodes, the bits of `reached` in a word of them: those by
    /// whose cable a switch was reached that is nearer.
    fn lead(
        &mut self,
        word: usize,
        mut reached: u64,
        ways: &[(u64, u16)],
        known: &mut HashMap<Vec<u16>, u32>,
    ) {
        while reached != 0 {
            // The first of them, and all to which the same ports lead.
            let (mut alike, mut ports) = (reached, Vec::new());
            for &(nearer, port) in ways {
                let leads = nearer >> reached.trailing_zeros() & 1 == 1;
                alike &= if leads { nearer } else { !nearer };
                ports.extend(leads.then_some(port));
            }
            let set = self.set(&ports, known);
            reached &= !alike;
            while alike != 0 {
                let number = word * u64::BITS as usize + alike.trailing_zeros() as usize;
                self.by_edge[number] = set;
                alike &= alike - 1;
            }
        }
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

/// Searches the ways from every switch to some others at once, as many as a word has bits: all that
/// are one cable away, then those behind these, and so on.
struct Search {
    /// By switch: the switches it is cabled to, and its own port towards each.
    between: Vec<Vec<(usize, u16)>>,
    /// By switch: which of those that are looked for it has reached, and which with the last cable and
    /// with this one.
    reached: Vec<u64>,
    last: Vec<u64>,
    next: Vec<u64>,
    /// Of a switch: what those that it is cabled to have reached with the last cable, and its ports.
    ways: Vec<(u64, u16)>,
}

impl Search {
    fn new(between: Vec<Vec<(usize, u16)>>) -> Self {
        let none = vec![0; between.len()];
        Self { between, reached: none.clone(), last: none.clone(), next: none, ways: Vec::new() }
    }

    /// Begins to look for the switches `wanted`.
    fn begin(&mut self, wanted: impl Iterator<Item = usize>) {
        self.reached.fill(0);
        for (bit, switch) in wanted.enumerate() {
            self.reached[switch] |= 1 << bit;
        }
        self.last.copy_from_slice(&self.reached);
    }

    /// Goes one cable on; tells of each switch what it reaches first, and by which ports. Says whether
    /// any did.
    fn go_on(&mut self, mut tell: impl FnMut(usize, u64, &[(u64, u16)])) -> bool {
        let mut any = 0;
        for (switch, cabled) in self.between.iter().enumerate() {
            let nearer = cabled.iter().fold(0, |bits, &(next, _)| bits | self.last[next]);
            let new = nearer & !self.reached[switch];
            self.next[switch] = new;
            if new != 0 {
                self.ways.clear();
                self.ways.extend(cabled.iter().map(|&(next, port)| (self.last[next], port)));
                tell(switch, new, &self.ways);
                any |= new;
            }
        }
        for (reached, new) in self.reached.iter_mut().zip(&self.next) {
            *reached |= new;
        }
        std::mem::swap(&mut self.last, &mut self.next);
        any != 0
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
    use crate::topology::{Cable, Jack, Place};

    #[test]
    fn a_thousand_nodes_on_a_fat_tree_have_all_their_ways() {
        let link = Link::new(140);
        let topology = Topology::fat_tree(1024, 16, link, link).unwrap();
        let routes = Routes::of(&topology, |_| true);
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
    fn switches_that_nobody_asks_for_have_no_tables() {
        let link = Link::new(140);
        let topology = Topology::fat_tree(1024, 16, link, link).unwrap();
        let (all, one) = (Routes::of(&topology, |_| true), Routes::of(&topology, |at| at == 130));
        assert!((0..1024).all(|node| one[130].ports(node) == all[130].ports(node)));
        let others = one.iter().enumerate().filter(|(switch, _)| *switch != 130);
        assert!(others.clone().all(|(_, it)| it.by_edge.is_empty() && it.own.is_empty()));
        assert!(others.flat_map(|(_, it)| it.ports(0)).next().is_none());
    }

    #[test]
    fn tables_grow_with_switches_that_have_nodes_and_not_with_nodes() {
        let link = Link::new(140);
        let topology = Topology::fat_tree(1024, 16, link, link).unwrap();
        for routes in Routes::of(&topology, |_| true) {
            assert_eq!((routes.by_edge.len(), routes.edges.len()), (128, 1024));
            assert!(routes.own.len() <= 8 && routes.sets.len() <= 34, "{}", routes.sets.len());
        }
    }

    /// Joins switches that are joined once more, and the first with the last.
    fn with_parallel_cables(mut topology: Topology, link: Link) -> Topology {
        let places = |cable: &Cable| cable.ends.map(|jack| jack.place);
        let between = topology.cables.iter().map(places);
        let is_between = |ends: &[Place; 2]| ends.iter().all(|end| matches!(end, Place::Switch(_)));
        let mut more: Vec<_> = between.filter(is_between).collect();
        more.push([Place::Switch(0), Place::Switch(topology.switches.len() - 1)]);
        for ends in more {
            let ends = ends.map(|place| {
                let Place::Switch(switch) = place else { unreachable!() };
                topology.switches[switch] += 1;
                Jack { place, port: topology.switches[switch] - 1 }
            });
            topology.cables.push(Cable { ends, link });
        }
        topology.check().unwrap();
        topology
    }

    #[test]
    fn every_way_is_a_shortest_one() {
        let (link, up) = (Link::new(10), Link::new(20));
        let topologies = [
            Topology::star(5, link),
            Topology::tree(13, &[3, 2, 4], &[2, 1], link, up).unwrap(),
            Topology::leaf_spine(11, 4, 3, link, up).unwrap(),
            Topology::fat_tree(14, 4, link, up).unwrap(),
            // More switches with nodes than are searched for at once.
            Topology::leaf_spine(150, 75, 3, link, up).unwrap(),
            with_parallel_cables(Topology::tree(200, &[4, 20, 3], &[2, 1], link, up).unwrap(), up),
        ];
        for topology in topologies {
            let neighbours = topology.neighbours();
            let routes = Routes::of(&topology, |_| true);
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
