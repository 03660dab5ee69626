//! Which rank each component of a fabric lives at.

use crate::topology::{Place, Topology};

/// Gives the rank a component lives at: nodes in equal blocks, switches with the first node that they
/// are joined to, those without nodes in equal blocks.
pub fn home(topology: &Topology, place: Place, ranks: usize) -> usize {
    match place {
        Place::Node(node) => node * ranks / topology.nodes.max(1),
        Place::Switch(_) => homes(topology, ranks)[topology.index(place)],
    }
}

/// Gives, by component, the rank it lives at.
pub(super) fn homes(topology: &Topology, ranks: usize) -> Vec<usize> {
    let mut first = vec![None; topology.switches.len()];
    for cable in &topology.cables {
        let [a, b] = cable.ends.map(|jack| jack.place);
        if let (Place::Node(node), Place::Switch(switch))
        | (Place::Switch(switch), Place::Node(node)) = (a, b)
        {
            first[switch] = Some(first[switch].map_or(node, |known: usize| known.min(node)));
        }
    }
    let of_node = |node: usize| node * ranks / topology.nodes.max(1);
    let of_switch = |(switch, first): (usize, &Option<usize>)| match first {
        Some(node) => of_node(*node),
        None => switch * ranks / topology.switches.len().max(1),
    };
    (0..topology.nodes).map(of_node).chain(first.iter().enumerate().map(of_switch)).collect()
}
