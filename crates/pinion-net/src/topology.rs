//! Who is joined to whom. In: nodes, switches and the cables between their ports. Out: the same,
//! checked, with distances and the cables' names. Usual shapes are made by the functions of `shapes`.

mod shapes;
#[cfg(test)]
mod tests;

pub use shapes::Joiner;

use thiserror::Error;

use crate::link::Link;

/// Says why a network is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("network: {problem}")]
pub struct TopologyError {
    /// What is wrong.
    pub problem: String,
}

/// Names a component of a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A node, which has one port.
    Node(usize),
    /// A switch.
    Switch(usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Node(number) => write!(f, "node {number}"),
            Self::Switch(number) => write!(f, "switch {number}"),
        }
    }
}

/// Names a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Jack {
    /// Whose it is.
    pub place: Place,
    /// Its number there; 0 at a node.
    pub port: usize,
}

/// Joins two ports, both ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Its ends.
    pub ends: [Jack; 2],
    /// Its rate and latency, those of MAC and serial transceivers included.
    pub link: Link,
}

/// Describes a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of the ports of each switch.
    pub switches: Vec<usize>,
    /// The cables. A node has exactly one, a switch's port one at most.
    pub cables: Vec<Cable>,
}

impl Topology {
    /// Checks that every cable ends at a port that exists and has no other, and that every node
    /// reaches every other.
    ///
    /// # Errors
    /// [`TopologyError`] says what is wrong.
    pub fn check(&self) -> Result<(), TopologyError> {
        let wrong = |problem: String| Err(TopologyError { problem });
        let mut seen = std::collections::BTreeSet::new();
        for jack in self.cables.iter().flat_map(|cable| cable.ends) {
            let ports = match jack.place {
                Place::Node(node) => usize::from(node < self.nodes),
                Place::Switch(switch) => self.switches.get(switch).copied().unwrap_or(0),
            };
            if jack.port >= ports {
                return wrong(format!("{} has no port {}", jack.place, jack.port));
            }
            if !seen.insert(jack) {
                return wrong(format!("port {} of {} has two cables", jack.port, jack.place));
            }
        }
        if let Some(node) = (0..self.nodes)
            .find(|&node| !seen.contains(&Jack { place: Place::Node(node), port: 0 }))
        {
            return wrong(format!("node {node} has no cable"));
        }
        let first = Place::Node(0);
        let reached = self.distances(first);
        match (0..self.nodes).find(|&node| reached[self.index(Place::Node(node))].is_none()) {
            Some(node) => wrong(format!("no way leads from {first} to node {node}")),
            None => Ok(()),
        }
    }

    /// Gives a component's number: nodes first, then switches.
    pub fn index(&self, place: Place) -> usize {
        match place {
            Place::Node(node) => node,
            Place::Switch(switch) => self.nodes + switch,
        }
    }

    /// Gives the component of a number.
    pub fn place(&self, index: usize) -> Place {
        if index < self.nodes { Place::Node(index) } else { Place::Switch(index - self.nodes) }
    }

    /// Counts components.
    pub fn components(&self) -> usize {
        self.nodes + self.switches.len()
    }

    /// Gives, by component, the number of cables to `to`; `None` where no way leads there. Ways do
    /// not lead through nodes.
    pub fn distances(&self, to: Place) -> Vec<Option<u32>> {
        self.distances_over(&self.neighbours(), self.index(to))
    }

    /// Does the same with the neighbours at hand, for a component's number.
    pub(crate) fn distances_over(
        &self,
        neighbours: &[Vec<(usize, usize)>],
        to: usize,
    ) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.components()];
        let mut queue = std::collections::VecDeque::from([(to, 0)]);
        distances[to] = Some(0);
        while let Some((at, distance)) = queue.pop_front() {
            if at < self.nodes && distance > 0 {
                continue;
            }
            for &(next, _) in &neighbours[at] {
                if distances[next].is_none() {
                    distances[next] = Some(distance + 1);
                    queue.push_back((next, distance + 1));
                }
            }
        }
        distances
    }

    /// Lists, by component, its neighbours and its own port towards each.
    pub fn neighbours(&self) -> Vec<Vec<(usize, usize)>> {
        let mut neighbours = vec![Vec::new(); self.components()];
        for cable in &self.cables {
            let [a, b] = cable.ends;
            neighbours[self.index(a.place)].push((self.index(b.place), a.port));
            neighbours[self.index(b.place)].push((self.index(a.place), b.port));
        }
        for of_one in &mut neighbours {
            of_one.sort_by_key(|&(_, port)| port);
        }
        neighbours
    }

    /// Lists, by switch, its ports' cables.
    pub fn switch_links(&self) -> Vec<Vec<Option<Link>>> {
        let mut links: Vec<_> = self.switches.iter().map(|&ports| vec![None; ports]).collect();
        for cable in &self.cables {
            for jack in cable.ends {
                if let Place::Switch(switch) = jack.place {
                    links[switch][jack.port] = Some(cable.link);
                }
            }
        }
        links
    }

    /// Names every cable: one at a node by that node (`node` gives its name), one between two nodes
    /// by its first end; one between switches `s0-s5`, or `s0-s5.0`, `s0-s5.1`… where several join
    /// the same two.
    pub fn cable_names(&self, node: impl Fn(usize) -> String) -> Vec<String> {
        let switches = |cable: &Cable| match cable.ends.map(|jack| jack.place) {
            [Place::Switch(a), Place::Switch(b)] => Some((a.min(b), a.max(b))),
            _ => None,
        };
        let mut alike = std::collections::HashMap::new();
        for pair in self.cables.iter().filter_map(switches) {
            *alike.entry(pair).or_insert(0) += 1;
        }
        let mut named = std::collections::HashMap::new();
        let name = |cable: &Cable| match (cable.ends.map(|jack| jack.place), switches(cable)) {
            ([Place::Node(number), _] | [_, Place::Node(number)], _) => node(number),
            (_, Some(pair)) if alike[&pair] > 1 => {
                let nth = named.entry(pair).or_insert(0);
                *nth += 1;
                format!("s{}-s{}.{}", pair.0, pair.1, *nth - 1)
            }
            ([a, b], pair) => {
                let (a, b) = pair.unwrap_or((self.index(a), self.index(b)));
                format!("s{a}-s{b}")
            }
        };
        self.cables.iter().map(name).collect()
    }
}
