//! Where frames go. In: a topology; a frame. Out: the node it is for, and a switch's ports on the
//! shortest ways there.

use std::collections::HashMap;

use crate::fabric::{Place, Topology};

/// Knows which node an address is.
#[derive(Debug, Default)]
pub struct Directory {
    by_address: HashMap<u32, usize>,
}

impl Directory {
    /// Makes one; the n-th address is node n's.
    pub fn new(addresses: impl IntoIterator<Item = u32>) -> Self {
        Self { by_address: addresses.into_iter().enumerate().map(|(n, ip)| (ip, n)).collect() }
    }

    /// Gives the node a frame is for: that of its IPv4 destination.
    pub fn destination(&self, frame: &[u8]) -> Option<usize> {
        let is_ipv4 = frame.get(12..14)? == [0x08, 0x00];
        let address = frame.get(30..34)?.try_into().ok()?;
        is_ipv4.then(|| self.by_address.get(&u32::from_be_bytes(address)).copied()).flatten()
    }
}

/// Holds a switch's ports towards each node.
#[derive(Clone, Debug)]
pub struct Routes {
    by_node: Vec<u32>,
    sets: Vec<Vec<u16>>,
}

impl Routes {
    /// Finds the shortest ways of every switch to every node.
    pub fn of(topology: &Topology) -> Vec<Self> {
        let neighbours = topology.neighbours();
        let count = topology.switches.len();
        let mut all = vec![Self { by_node: Vec::new(), sets: Vec::new() }; count];
        let mut known: Vec<HashMap<Vec<u16>, u32>> = vec![HashMap::new(); count];
        for node in 0..topology.nodes {
            let distances = topology.distances(Place::Node(node));
            for switch in 0..count {
                let own = topology.index(Place::Switch(switch));
                let nearer = |&&(next, _): &&(usize, usize)| {
                    distances[own].is_some_and(|own| distances[next] == own.checked_sub(1))
                };
                let ports = neighbours[own].iter().filter(nearer).map(|&(_, port)| port as u16);
                let ports: Vec<u16> = ports.collect();
                let routes = &mut all[switch];
                let next = routes.sets.len() as u32;
                let set = *known[switch].entry(ports).or_insert_with_key(|ports| {
                    routes.sets.push(ports.clone());
                    next
                });
                routes.by_node.push(set);
            }
        }
        all
    }

    /// Lists the ports on the shortest ways to a node, in order.
    pub fn ports(&self, node: usize) -> &[u16] {
        self.by_node.get(node).map_or(&[], |&set| &self.sets[set as usize])
    }
}
