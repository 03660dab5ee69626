//! What a cluster's run amounts to: rows of all ranks come in; the numbers people compare go out.

use std::time::Duration;

use pinion_sim::{Clock, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use pinion_observe::document::Document;
use pinion_observe::report::{Ending, Report};
use pinion_observe::words::written;

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

/// Holds everything a summary shows.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Name of the cluster.
    pub name: String,
    /// How the run ended.
    pub ending: Ending,
    /// Number of the cycles of the run.
    pub cycles: u64,
    /// The clock they are cycles of.
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
    /// The time the host took.
    pub host: Duration,
    /// Number of threads of a rank, and ranks.
    pub workers: (usize, usize),
    /// Name of what else must be said.
    pub remarks: Vec<String>,
}

impl Summary {
    /// Gives a queue's trace as CSV.
    pub fn queue_csv(&self, trace: &QueueTrace) -> String {
        let mut text = "cycle,time_ns,data_bytes,control_bytes\n".to_owned();
        for (cycle, data, control) in &trace.changes {
            let ns = self.clock.time(*cycle).ns();
            text.push_str(&format!("{cycle},{ns},{data},{control}\n"));
        }
        text
    }

    /// Gives the simulated time.
    pub fn simulated(&self) -> Time {
        self.clock.time(self.cycles)
    }

    /// Counts all instructions.
    pub fn instructions(&self) -> u64 {
        self.nodes.iter().map(|node| node.instructions).sum()
    }

    /// Lists what does not add up.
    pub fn imbalances(&self) -> impl Iterator<Item = String> {
        let nodes = self.nodes.iter().filter_map(|node| {
            node.imbalance.as_ref().map(|problem| format!("{}: {problem}", node.name))
        });
        let cables = self.cables.iter().filter(|row| !row.balanced);
        let cables = cables.map(|row| {
            format!(
                "cable {}: frames do not add up; this is a defect of pinion, please report it",
                row.cable
            )
        });
        let switches = self.switches.iter().filter(|row| !row.balanced);
        let switches = switches.map(|row| {
            format!(
                "switch {}: frames do not add up; this is a defect of pinion, please report it",
                row.switch
            )
        });
        nodes.chain(cables).chain(switches)
    }
}

impl Report for Summary {
    fn texts(&self) -> [String; 2] {
        [written(|out| self.write_text(out)), written(|out| self.write_trouble(out))]
    }

    fn has_failures(&self) -> bool {
        self.ending.is_failure()
            || self.nodes.iter().any(|node| node.failed)
            || self.imbalances().next().is_some()
    }

    /// Gives the summary as JSON: the same at every number of threads and ranks.
    fn to_json(&self) -> Value {
        json!({
            "document": Document::Cluster.head(),
            "cluster": self.name,
            "ending": self.ending.name(),
            "cycles": self.cycles,
            "simulated_ns": self.simulated().ns(),
            "instructions": self.instructions(),
            "nodes": self.nodes,
            "network": { "cables": self.cables, "switches": self.switches },
            "loads": self.loads.iter().map(LoadRow::to_json).collect::<Vec<_>>(),
            "remarks": self.remarks,
            "imbalances": self.imbalances().collect::<Vec<_>>(),
        })
    }
}
