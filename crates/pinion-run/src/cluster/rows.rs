//! What a summary says about one node, one cable, one switch: plain values, which ranks send to rank 0.

use pinion_net::fabric::WireCounts;
use pinion_net::switch::SwitchCounts;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::nanoservice;
use pinion_observe::fault::Explained;
use pinion_observe::report::{Ending, Handlers, Quantiles, Report as _, Section, Summary};

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

impl NodeRow {
    /// Begins the row of a node that ran a program; `details` are what only its kind tells.
    fn of<S: Section>(
        node: usize,
        name: &str,
        run: &Summary<S>,
        console: String,
        mut details: Map<String, Value>,
    ) -> Self {
        details.insert("simulated_ns".to_owned(), json!(run.simulated.ns()));
        details.insert("cycles".to_owned(), json!(run.cycles));
        details.insert("faults".to_owned(), run.faults.iter().map(Explained::to_json).collect());
        let (exit_code, stuck) = match &run.ending {
            Ending::Exited { code, .. } => (Some(i64::from(*code)), ""),
            Ending::Stuck(report) => (None, report.as_str()),
            _ => (None, ""),
        };
        Self {
            machine: run.machine.clone().unwrap_or_default(),
            ending: run.ending.name().to_owned(),
            exit_code,
            failed: run.has_failures(),
            stuck: stuck.lines().map(str::to_owned).collect(),
            faults: run.faults.iter().map(|fault| fault.to_text("")).collect(),
            console,
            instructions: run.instructions,
            latency_ns: run.latency,
            warnings: run.warnings.clone(),
            remarks: run.remarks.clone(),
            imbalance: run.imbalances.first().cloned(),
            details: Value::Object(details),
            ..Self::without_program(node, name, &run.name)
        }
    }

    /// Makes the row of a nanoPU.
    pub(super) fn of_nanoservice(
        node: usize,
        name: &str,
        run: &nanoservice::Summary,
        console: &[u8],
    ) -> Self {
        let section = &run.section;
        let mut details = section.counts();
        details.insert("instructions".to_owned(), json!(run.instructions));
        let console = String::from_utf8_lossy(console).into_owned();
        Self {
            messages_in: section.receive.delivered_messages,
            messages_out: section.transmit.messages,
            frames_in: section.frames.frames_in,
            frames_out: section.frames.frames_out,
            remarks: section.why_lost().into_iter().collect(),
            ..Self::of(node, name, run, console, details)
        }
    }

    /// Makes the row of a sPIN NIC; its latencies are those from request to completion.
    pub(super) fn of_handlers(node: usize, name: &str, run: &Summary, console: String) -> Self {
        let totals = &run.section.totals;
        Self {
            messages_in: totals.matched,
            messages_out: totals.packets_out,
            frames_in: totals.packets_in,
            frames_out: totals.packets_out,
            ..Self::of(node, name, run, console, Handlers::keys(run))
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
    /// What was answered otherwise than the load expects, if something was.
    pub difference: Option<String>,
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
