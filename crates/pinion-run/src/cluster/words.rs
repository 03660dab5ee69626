//! What happens to frames in a network, and where, in words.

use pinion_net::switch::{DropCause, Unroutable};
use pinion_net::topology::{Jack, Place};

use super::plan::Plan;

/// Names a place of a cluster.
pub fn place_name(plan: &Plan, place: Place) -> String {
    match place {
        Place::Node(node) => plan.names[node].clone(),
        Place::Switch(switch) => format!("switch {switch}"),
    }
}

/// Names the place that a switch's port leads to.
pub fn port_name(plan: &Plan, switch: usize, port: usize) -> String {
    let own = Jack { place: Place::Switch(switch), port };
    let cable = plan.network.topology.cables.iter().find(|cable| cable.ends.contains(&own));
    let other = cable.map(|cable| cable.ends[usize::from(cable.ends[0] == own)].place);
    other.map_or_else(|| "nobody".to_owned(), |place| place_name(plan, place))
}

/// Says why a switch dropped a frame.
pub fn drop_words(cause: DropCause) -> &'static str {
    match cause {
        DropCause::Unroutable(Unroutable::NotIpv4) => "frame is dropped: it is not IPv4",
        DropCause::Unroutable(Unroutable::Unknown) => {
            "frame is dropped: no node has its destination's address"
        }
        DropCause::Unroutable(Unroutable::NoWay) => {
            "frame is dropped: no way leads to its destination"
        }
        DropCause::DataFull => "frame is dropped: the data queue is full",
        DropCause::TrimmedFull => {
            "frame is dropped: the data queue is full, and the control queue has no room for its header"
        }
        DropCause::ControlFull => "frame is dropped: the control queue is full",
    }
}
