//! Networks: stars, leaves under spines, fat trees.

#[derive(Clone, Copy, Debug)]
pub enum Peer {
    Node(usize),
    /// A switch and the port there.
    Switch(usize, usize),
}

/// A network: what is at each port of each switch and how far, where each node is, and the ports that
/// lead from a switch to a node.
pub struct Network {
    pub ports: Vec<Vec<(Peer, u64)>>,
    pub nodes: Vec<(usize, usize, u64)>,
    pub ways: Box<dyn Fn(usize, usize) -> Vec<usize>>,
}

impl Network {
    pub fn star(nodes: usize, latency: u64) -> Self {
        Self {
            ports: vec![(0..nodes).map(|node| (Peer::Node(node), latency)).collect()],
            nodes: (0..nodes).map(|node| (0, node, latency)).collect(),
            ways: Box::new(|_, to| vec![to]),
        }
    }

    pub fn leaf_spine(leaves: usize, per: usize, spines: usize, latency: u64, up: u64) -> Self {
        let leaf = |leaf: usize| {
            let down = (0..per).map(|n| (Peer::Node(leaf * per + n), latency));
            down.chain((0..spines).map(|s| (Peer::Switch(leaves + s, leaf), up))).collect()
        };
        let spine = |s: usize| (0..leaves).map(|l| (Peer::Switch(l, per + s), up)).collect();
        Self {
            ports: (0..leaves).map(leaf).chain((0..spines).map(spine)).collect(),
            nodes: (0..leaves * per).map(|n| (n / per, n % per, latency)).collect(),
            ways: Box::new(move |switch, to| match switch {
                _ if switch >= leaves => vec![to / per],
                _ if to / per == switch => vec![to % per],
                _ => (per..per + spines).collect(),
            }),
        }
    }

    /// A full fat-tree: `k`²/2 edge switches, as many for aggregation, then the core.
    pub fn fat_tree(k: usize, latency: u64, up: u64) -> Self {
        let h = k / 2;
        let edges = k * h;
        let edge = |e: usize| {
            let down = (0..h).map(|n| (Peer::Node(e * h + n), latency));
            down.chain((0..h).map(|a| (Peer::Switch(edges + e / h * h + a, e % h), up))).collect()
        };
        let aggregation = |a: usize| {
            let down = (0..h).map(|e| (Peer::Switch(a / h * h + e, h + a % h), up));
            let core = |c| (Peer::Switch(2 * edges + a % h * h + c, a / h), up);
            down.chain((0..h).map(core)).collect()
        };
        let core = |c: usize| {
            (0..k).map(|pod| (Peer::Switch(edges + pod * h + c / h, h + c % h), up)).collect()
        };
        let lower = (0..edges).map(edge).chain((0..edges).map(aggregation));
        Self {
            ports: lower.chain((0..h * h).map(core)).collect(),
            nodes: (0..edges * h).map(|n| (n / h, n % h, latency)).collect(),
            ways: Box::new(move |switch, to| {
                let (edge, pod) = (to / h, to / h / h);
                match switch {
                    _ if switch < edges && switch == edge => vec![to % h],
                    _ if switch < edges => (h..k).collect(),
                    _ if switch < 2 * edges && (switch - edges) / h == pod => vec![edge % h],
                    _ if switch < 2 * edges => (h..k).collect(),
                    _ => vec![pod],
                }
            }),
        }
    }
}
