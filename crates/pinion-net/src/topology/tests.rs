//! Shapes have as many switches, cables and ways as they are known for; impossible ones say why.

use super::*;

const LINK: Link = Link {
    latency_cycles: 140,
    rate: crate::pacing::Rate::Unlimited,
    clock_hz: 1,
    queue_bytes: 1 << 20,
};

fn upper() -> Link {
    Link::new(500)
}

fn problem(topology: Result<Topology, TopologyError>) -> String {
    topology.unwrap_err().to_string()
}

/// Counts cables between a node and each other.
fn farthest(topology: &Topology, node: usize) -> u32 {
    let distances = topology.distances(Place::Node(node));
    distances[..topology.nodes].iter().flatten().max().copied().unwrap()
}

#[test]
fn a_tree_has_the_switches_its_nodes_need() {
    let tree = Topology::tree(80, &[8, 4, 4], &[2], LINK, upper()).unwrap();
    tree.check().unwrap();
    // 10 switches with nodes, 3 above them, 1 on top.
    assert_eq!(tree.switches.len(), 14);
    assert_eq!(tree.switches[0], 8 + 2);
    assert_eq!(tree.switches[10], 4 * 2 + 1);
    assert_eq!(tree.switches[13], 3);
    assert_eq!(tree.cables.len(), 80 + 10 * 2 + 3);
    assert_eq!(farthest(&tree, 0), 6);
    let links = tree.switch_links();
    assert_eq!((links[0][7], links[0][8]), (Some(LINK), Some(upper())));
    let one = Topology::tree(5, &[8], &[], LINK, upper()).unwrap();
    assert_eq!(one, Topology::star(5, LINK));
}

#[test]
fn a_leaf_spine_has_a_cable_from_each_leaf_to_each_spine() {
    let network = Topology::leaf_spine(10, 4, 2, LINK, upper()).unwrap();
    network.check().unwrap();
    assert_eq!(network.switches, [6, 6, 4, 3, 3]);
    assert_eq!(farthest(&network, 0), 4);
}

#[test]
fn fat_trees_have_their_known_sizes() {
    for k in [2, 4, 6, 8, 16] {
        let room = k * k * k / 4;
        for nodes in [room, room - 1, 2] {
            let tree = Topology::fat_tree(nodes, k, LINK, upper()).unwrap();
            tree.check().unwrap();
            assert_eq!(tree.switches.len(), k * k + k * k / 4, "k = {k}");
            assert!(tree.switches[k * k / 2..].iter().all(|&ports| ports == k), "k = {k}");
            assert_eq!(tree.cables.len(), nodes + 2 * room, "k = {k}");
            assert_eq!(Topology::smallest_fat_tree(room), k);
        }
        if k > 2 {
            assert_eq!(farthest(&Topology::fat_tree(room, k, LINK, LINK).unwrap(), 0), 6);
        }
    }
}

#[test]
fn impossible_shapes_say_what_to_do() {
    let tree = |fanout: &[usize], uplinks: &[usize]| {
        problem(Topology::tree(20, fanout, uplinks, LINK, LINK))
    };
    assert!(tree(&[4, 4], &[]).contains("room for 16 nodes, not for 20"));
    assert!(tree(&[4, 0], &[]).contains("at least 1"));
    assert!(tree(&[], &[]).contains("at least one tier"));
    assert!(tree(&[4, 8], &[1, 1]).contains("the uppermost tier has none"));
    assert!(problem(Topology::leaf_spine(4, 0, 1, LINK, LINK)).contains("at least one node"));
    assert!(problem(Topology::fat_tree(4, 3, LINK, LINK)).contains("even"));
    assert!(problem(Topology::fat_tree(17, 4, LINK, LINK)).contains("k = 6 has"));
}

#[test]
fn cables_are_named_by_what_they_join() {
    let tree = Topology::tree(3, &[2, 2], &[2], LINK, LINK).unwrap();
    let names = tree.cable_names(|node| format!("client.{node}"));
    let expected = ["client.0", "client.1", "client.2", "s0-s2.0", "s0-s2.1", "s1-s2.0", "s1-s2.1"];
    assert_eq!(names, expected);
    let names = Topology::leaf_spine(2, 1, 1, LINK, LINK).unwrap().cable_names(|n| n.to_string());
    assert_eq!(names, ["0", "1", "s0-s2", "s1-s2"]);
}

#[test]
fn wrong_cabling_is_found() {
    let mut joiner = Joiner::new(2, 2);
    joiner.join(Place::Node(0), Place::Switch(0), LINK);
    joiner.join(Place::Node(1), Place::Switch(1), LINK);
    let apart = joiner.clone().finish().check().unwrap_err().to_string();
    assert!(apart.contains("no way leads from node 0 to node 1"), "{apart}");
    joiner.join(Place::Switch(1), Place::Switch(0), LINK);
    joiner.clone().finish().check().unwrap();
    joiner.join(Place::Node(1), Place::Switch(0), LINK);
    let twice = joiner.finish().check().unwrap_err().to_string();
    assert!(twice.contains("port 0 of node 1 has two cables"), "{twice}");
}
