//! What a cluster's run amounts to: rows of all ranks come in; the numbers people compare go out.

use pinion_sim::Clock;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use pinion_observe::document::Document;
use pinion_observe::report::{Ending, Section, as_keys};

use super::rows::{CableRow, LoadRow, NodeRow, QueueTrace, SwitchRow};

/// Tells when and how a run ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// How.
    pub ending: Ending,
    /// Nothing happens any more, anywhere.
    pub rests: bool,
    /// The cycle before which everything has happened.
    pub at: u64,
}

/// Holds the rows of one rank.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Share {
    pub nodes: Vec<NodeRow>,
    pub cables: Vec<CableRow>,
    pub switches: Vec<SwitchRow>,
    pub queues: Vec<QueueTrace>,
    pub loads: Vec<LoadRow>,
}

/// Holds what only a cluster's run tells.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// The clock of the network's cycles.
    pub clock: Clock,
    /// A row per node.
    pub nodes: Vec<NodeRow>,
    /// A row per direction of a cable.
    pub cables: Vec<CableRow>,
    /// A row per switch.
    pub switches: Vec<SwitchRow>,
    /// Holds how much waited in front of the cables that were to be watched, in the order asked for.
    pub queues: Vec<QueueTrace>,
    /// A row per load generator.
    pub loads: Vec<LoadRow>,
    /// Number of threads of a rank, and ranks.
    pub workers: (usize, usize),
}

/// What a cluster's run amounts to.
pub type Summary = pinion_observe::report::Summary<Cluster>;

/// Puts the summary of a cluster together from the rows of all ranks.
pub(super) fn sum_up(
    name: &str,
    ended: &Ended,
    clock: Clock,
    share: Share,
    workers: (usize, usize),
) -> Summary {
    let Share { nodes, cables, switches, queues, loads } = share;
    let section = Cluster { clock, nodes, cables, switches, queues, loads, workers };
    let imbalances = section.imbalances();
    Summary {
        differences: section.loads.iter().filter_map(|load| load.difference.clone()).collect(),
        instructions: section.nodes.iter().map(|node| node.instructions).sum(),
        imbalances,
        ..Summary::begin(name, ended.ending.clone(), (clock.time(ended.at), ended.at), section)
    }
}

impl Cluster {
    /// Gives a queue's trace as CSV.
    pub fn queue_csv(&self, trace: &QueueTrace) -> String {
        let mut text = "cycle,time_ns,data_bytes,control_bytes\n".to_owned();
        for (cycle, data, control) in &trace.changes {
            let ns = self.clock.time(*cycle).ns();
            text.push_str(&format!("{cycle},{ns},{data},{control}\n"));
        }
        text
    }

    /// Lists what does not add up.
    fn imbalances(&self) -> Vec<String> {
        let nodes = self.nodes.iter().filter_map(|node| {
            node.imbalance.as_ref().map(|problem| format!("{}: {problem}", node.name))
        });
        let cables = self.cables.iter().filter(|row| !row.balanced);
        let cables = cables.map(|row| format!("cable {}", row.cable));
        let switches = self.switches.iter().filter(|row| !row.balanced);
        let switches = switches.map(|row| format!("switch {}", row.switch));
        let wrong = cables.chain(switches).map(|place| {
            format!("{place}: frames do not add up; this is a defect of pinion, please report it")
        });
        nodes.chain(wrong).collect()
    }
}

impl Section for Cluster {
    const DOCUMENT: Document = Document::Cluster;

    fn write_counts(run: &Summary, out: &mut String) -> std::fmt::Result {
        run.section.write_text(run, out)
    }

    fn write_trouble(run: &Summary, out: &mut String) -> std::fmt::Result {
        run.section.write_trouble(out)
    }

    fn has_failures(run: &Summary) -> bool {
        run.section.nodes.iter().any(|node| node.failed)
    }

    fn keys(run: &Summary) -> Map<String, Value> {
        let section = &run.section;
        as_keys(json!({
            "cluster": run.name,
            "nodes": section.nodes,
            "network": { "cables": section.cables, "switches": section.switches },
            "loads": section.loads.iter().map(LoadRow::to_json).collect::<Vec<_>>(),
            "imbalances": run.imbalances,
        }))
    }
}
