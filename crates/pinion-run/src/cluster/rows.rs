//! What a summary says about one node, one cable, one switch: plain values, which ranks send to rank 0.

use pinion_net::fabric::WireCounts;
use pinion_net::switch::SwitchCounts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::nanoservice;
use pinion_observe::report::{Ending, Quantiles, Report};

/// Holds what a node did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its number in the cluster.
    pub node: usize,
    /// Names it.
    pub name: String,
    /// Name of what runs on it.
    pub app: String,
    /// Name of its machine.
    pub machine: String,
    /// How it ended: `finished`, `exited`, `stopped`, `stuck`, `cycle_limit`, `interrupted`.
    pub ending: String,
    /// The program's exit code, if it ended itself.
    pub exit_code: Option<i64>,
    /// That the program failed, or the run did here.
    pub failed: bool,
    /// Who waits for whom here, by line.
    pub stuck: Vec<String>,
    /// What went wrong in its programs, a text of several lines for each fault.
    pub faults: Vec<String>,
    /// What it printed.
    pub console: String,
    /// Number of messages that programs were given.
    pub messages_in: u64,
    /// Number of messages that programs sent.
    pub messages_out: u64,
    /// Number of frames that arrived.
    pub frames_in: u64,
    /// Number of frames that left.
    pub frames_out: u64,
    /// Number of instructions.
    pub instructions: u64,
    /// The distribution of times from request to answer at its pins, in nanoseconds.
    pub latency_ns: Option<Quantiles>,
    /// What the program did wrong.
    pub warnings: Vec<String>,
    /// What kept everything that came from its programs, if something did.
    pub remarks: Vec<String>,
    /// What does not add up, if something does not.
    pub imbalance: Option<String>,
    /// Holds everything else there is to say about a node of its kind.
    pub details: Value,
}

impl NodeRow {
    /// Begins the row of a node that runs no program: nothing has happened.
    pub(super) fn without_program(node: usize, name: &str, app: &str) -> Self {
        Self {
            node,
            name: name.to_owned(),
            app: app.to_owned(),
            machine: app.to_owned(),
            ending: "finished".to_owned(),
            exit_code: None,
            failed: false,
            stuck: Vec::new(),
            faults: Vec::new(),
            console: String::new(),
            messages_in: 0,
            messages_out: 0,
            frames_in: 0,
            frames_out: 0,
            instructions: 0,
            latency_ns: None,
            warnings: Vec::new(),
            remarks: Vec::new(),
            imbalance: None,
            details: Value::Null,
        }
    }
}

/// Lists what a sPIN NIC's details leave out.
const SPIN_LEFT_OUT: [&str; 10] = [
    "document",
    "app",
    "machine",
    "ending",
    "host_seconds",
    "slowdown",
    "simulated_mips",
    "instructions",
    "latency_ns",
    "remarks",
];

/// Lists what a node's details leave out: what is said already, and what differs from run to run.
const LEFT_OUT: [&str; 16] = [
    "document",
    "app",
    "machine",
    "ending",
    "exit_code",
    "stuck",
    "host_seconds",
    "slowdown",
    "simulated_mips",
    "ready_cycle",
    "latency_ns",
    "load",
    "differences",
    "warnings",
    "imbalance",
    "remarks",
];

impl NodeRow {
    /// Makes the row of a nanoPU.
    pub(super) fn of_nanoservice(
        node: usize,
        name: &str,
        summary: &nanoservice::Summary,
        console: &[u8],
    ) -> Self {
        let mut details = summary.to_json();
        let stuck = details["stuck"].as_array().cloned().unwrap_or_default();
        let exit_code = details["exit_code"].as_i64();
        if let Some(details) = details.as_object_mut() {
            details.retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
        }
        Self {
            node,
            name: name.to_owned(),
            app: summary.app.clone(),
            machine: summary.machine.clone(),
            ending: summary.ending.name().to_owned(),
            exit_code,
            failed: summary.has_failures(),
            stuck: stuck.iter().filter_map(|line| Some(line.as_str()?.to_owned())).collect(),
            faults: summary.faults.iter().map(|fault| fault.to_text("")).collect(),
            console: String::from_utf8_lossy(console).into_owned(),
            messages_in: summary.receive.delivered_messages,
            messages_out: summary.transmit.messages,
            frames_in: summary.frames.frames_in,
            frames_out: summary.frames.frames_out,
            instructions: summary.instructions,
            latency_ns: summary.latency,
            warnings: summary.warnings.clone(),
            remarks: summary.why_lost().into_iter().collect(),
            imbalance: summary.imbalance.clone(),
            details,
        }
    }
}

impl NodeRow {
    /// Makes the row of a sPIN NIC; its latencies are those from request to completion.
    pub(super) fn of_handlers(
        node: usize,
        name: &str,
        summary: &pinion_observe::report::Summary,
        console: String,
        is_cut: bool,
    ) -> Self {
        let mut details = summary.to_json();
        if let Some(details) = details.as_object_mut() {
            details.retain(|key, _| !SPIN_LEFT_OUT.contains(&key.as_str()));
        }
        let (ending, stuck) = match &summary.ending {
            Ending::Stuck(report) => ("stuck", report.as_str()),
            _ if is_cut => ("interrupted", ""),
            _ => ("finished", ""),
        };
        let totals = &summary.totals;
        Self {
            node,
            name: name.to_owned(),
            app: summary.app.clone(),
            machine: summary.machine.clone(),
            ending: ending.to_owned(),
            exit_code: None,
            failed: summary.has_failures(),
            stuck: stuck.lines().map(str::to_owned).collect(),
            faults: summary.faults.iter().map(|fault| fault.to_text("")).collect(),
            console,
            messages_in: totals.matched,
            messages_out: totals.packets_out,
            frames_in: totals.packets_in,
            frames_out: totals.packets_out,
            instructions: totals.instructions,
            latency_ns: summary.latency,
            warnings: Vec::new(),
            remarks: summary.remarks.clone(),
            imbalance: summary.imbalance.clone(),
            details,
        }
    }
}

/// Holds what became of a generator's load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadRow {
    /// The generator's number in the cluster.
    pub node: usize,
    /// Name of the generator.
    pub name: String,
    /// The report.
    pub report: Value,
    /// The report for people.
    pub text: String,
    /// The percentiles of its response times, as CSV and in HdrHistogram's text format.
    pub percentiles: [String; 2],
}

impl LoadRow {
    /// Gives the report with the generator's name.
    pub(super) fn to_json(&self) -> Value {
        let mut value = self.report.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("name".to_owned(), self.name.clone().into());
            fields.insert("node".to_owned(), self.node.into());
        }
        value
    }
}

/// Holds what passed one direction of a cable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CableRow {
    /// The cable's number.
    pub number: usize,
    /// Name of the cable.
    pub cable: String,
    /// From its second end to its first (into the node, where it has one).
    pub back: bool,
    /// Number of frames put in.
    pub frames: u64,
    /// Number of their bytes.
    pub bytes: u64,
    /// Number of frames that found no room in front of it.
    pub dropped: u64,
    /// Number of frames that faults lost.
    pub lost: u64,
    /// Number of frames that faults repeated.
    pub duplicated: u64,
    /// Number of frames that others overtook.
    pub reordered: u64,
    /// Number of damaged frames that the receiving MAC dropped.
    pub damaged: u64,
    /// That each frame put in came out, is under way or was lost.
    pub balanced: bool,
}

impl CableRow {
    pub(super) fn new(number: usize, cable: &str, back: bool, counts: &WireCounts) -> Self {
        Self {
            number,
            cable: cable.to_owned(),
            back,
            frames: counts.sent.frames,
            bytes: counts.sent.bytes,
            dropped: counts.sent.dropped,
            lost: counts.faults.lost,
            duplicated: counts.faults.duplicated,
            reordered: counts.faults.reordered,
            damaged: counts.damaged,
            balanced: counts.is_balanced(),
        }
    }
}

/// Holds what a switch did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SwitchRow {
    /// Its number.
    pub switch: usize,
    /// Number of frames that came in.
    pub frames_in: u64,
    /// Number of frames that left.
    pub frames_out: u64,
    /// Number of data frames whose payload was cut off.
    pub trimmed: u64,
    /// Number of frames dropped because a queue was full.
    pub dropped: u64,
    /// Number of frames dropped because they lead nowhere.
    pub unroutable: u64,
    /// Number of frames marked as having met congestion.
    pub marked: u64,
    /// Number of frames still inside.
    pub resident: u64,
    /// The most bytes of data that waited at a port.
    pub largest_data_bytes: u64,
    /// The most bytes of control frames that waited at a port.
    pub largest_control_bytes: u64,
    /// That each frame that came in left, was dropped or is inside.
    pub balanced: bool,
}

impl SwitchRow {
    pub(super) fn new(switch: usize, counts: &SwitchCounts) -> Self {
        let ports = &counts.ports;
        Self {
            switch,
            frames_in: ports.frames_in,
            frames_out: ports.frames_out,
            trimmed: ports.trimmed,
            dropped: ports.dropped() - ports.dropped_unroutable(),
            unroutable: ports.dropped_unroutable(),
            marked: ports.marked,
            resident: counts.resident,
            largest_data_bytes: ports.largest_data_bytes,
            largest_control_bytes: ports.largest_control_bytes,
            balanced: counts.is_balanced(),
        }
    }
}

/// Holds how much waited in front of a cable over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueTrace {
    /// Name of the cable.
    pub cable: String,
    /// The changes, in order: the cycle from which on so many bytes of data and so many bytes of
    /// control frames wait.
    pub changes: Vec<(u64, u64, u64)>,
}
