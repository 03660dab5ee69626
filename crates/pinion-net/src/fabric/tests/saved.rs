//! What saving promises: from any cycle on, restored once or often, into the same fabric or another,
//! the same arrivals in the same cycles.

use super::*;
use crate::topology::Topology;

/// Runs to the end and gives all that can be seen.
fn finish(fabric: &mut Fabric<Talker>) -> Seen {
    assert_eq!(fabric.run(u64::MAX, &mut Alone, &mut OnAndOn).unwrap(), Outcome::Rests);
    let mut seen = Seen { now: fabric.now(), windows: fabric.windows(), ..Seen::default() };
    seen.wires = fabric.wire_counts();
    fabric.for_each_node(|number, talker| seen.nodes.push((number, talker.heard.clone())));
    seen
}

#[test]
fn a_saved_fabric_goes_on_from_any_cycle() {
    let seed = seed("a_saved_fabric");
    let mut random = Random::new(seed);
    for _ in 0..12 {
        let case = case(two_tiers(), Some(faults(random.below(1000))), random.below(1 << 40));
        let mut whole = fabric(&case, 1, &Alone);
        let expected = finish(&mut whole);
        let cycle = random.below(expected.now);

        let mut first = fabric(&case, 1 + random.below(2) as usize, &Alone);
        first.run(cycle, &mut Alone, &mut OnAndOn).unwrap();
        let saved = first.save().unwrap();
        let after = finish(&mut first);
        assert_eq!(after.nodes, expected.nodes, "cut at {cycle}");
        assert_eq!(after.wires, expected.wires, "cut at {cycle}");

        first.restore(&saved).unwrap();
        assert_eq!(first.now(), cycle);
        assert_eq!(finish(&mut first), after, "the same, from {cycle}");
        let mut second = fabric(&case, 2, &Alone);
        second.run(random.below(expected.now), &mut Alone, &mut OnAndOn).unwrap();
        second.restore(&saved).unwrap();
        assert_eq!(finish(&mut second), after, "another, from {cycle}");
        whole.restore(&saved).unwrap();
        assert_eq!(finish(&mut whole), after, "one that had ended, from {cycle}");
    }
}

#[test]
fn state_has_a_place_in_front_and_comes_back() {
    let case = case(two_tiers(), None, 3);
    let mut fabric = fabric(&case, 1, &Alone);
    let state = |fabric: &Fabric<Talker>| {
        let mut told = std::collections::BTreeMap::new();
        fabric.state(&mut |name, value| assert_eq!(told.insert(name.to_owned(), value), None));
        told
    };
    fabric.run(900, &mut Alone, &mut OnAndOn).unwrap();
    let (saved, told) = (fabric.save().unwrap(), state(&fabric));
    assert!(told["node.6.planned"] > 0);
    assert!(told.contains_key("switch.2.port.1.data.bytes"));
    finish(&mut fabric);
    assert_eq!(state(&fabric)["node.6.planned"], 0);
    fabric.restore(&saved).unwrap();
    assert_eq!(state(&fabric), told);
}

#[test]
fn another_network_is_refused() {
    let (small, large) = (Topology::star(3, Link::new(9)), Topology::star(4, Link::new(9)));
    let small = fabric(&case(small, None, 1), 1, &Alone);
    let mut large = fabric(&case(large, None, 1), 1, &Alone);
    let error = large.restore(&small.save().unwrap()).unwrap_err();
    assert!(error.to_string().contains("built differently"), "{error}");
}
