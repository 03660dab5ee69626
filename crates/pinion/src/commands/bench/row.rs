//! A row: what the fastest run of an application on a machine comes to.
//!
//! In: the run's summary, as JSON. Out: what was handled, and what each of it took. Only what is through
//! counts: packets whose handlers have ended, not those that were dropped or went to the host.

use serde::Serialize;
use serde_json::Value;

/// Holds what a run took, and its summary.
pub struct Ran {
    /// Processor time.
    pub seconds: f64,
    /// Instructions of this computer, where they are counted.
    pub host_instructions: Option<u64>,
    /// The summary as JSON.
    pub summary: Value,
    /// Whether handlers or programs failed.
    pub failed: bool,
    /// The rate at which packets came, in Gbit/s, where the machine loses of them if they come faster.
    pub rate_gbit_s: Option<f64>,
}

/// Something that was measured: its fastest run.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The application.
    pub app: String,
    /// The machine.
    pub machine: String,
    /// The kind of the run.
    pub kind: &'static str,
    /// Runs that were made.
    pub runs: u32,
    /// Processor time of the fastest.
    pub processor_seconds: f64,
    /// Simulated cycles.
    pub cycles: u64,
    /// The part of their cycles in which cores had work, where it is known.
    pub busy: Option<f64>,
    /// Simulated instructions.
    pub instructions: u64,
    /// Packets or messages that were handled.
    pub packets: u64,
    /// The rate at which packets came, in Gbit/s, where the machine loses of them if they come faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_gbit_s: Option<f64>,
    /// Packets that the machine had no room for, at whatever rate they come.
    #[serde(skip_serializing_if = "is_none")]
    pub lost: u64,
    /// Instructions of this computer, where they are counted.
    pub host_instructions: Option<u64>,
    /// Millions of simulated instructions a second.
    pub mips: f64,
    /// Packets or messages a second.
    pub packets_per_second: f64,
    /// Cycles a second.
    pub cycles_per_second: f64,
}

impl Row {
    /// Makes a row of a run.
    pub fn of(app: String, machine: String, kind: &'static str, runs: u32, ran: &Ran) -> Self {
        let Ran { seconds, host_instructions, summary, rate_gbit_s, .. } = ran;
        let (cycles, instructions) = (number(&summary["cycles"]), number(&summary["instructions"]));
        let packets = handled(kind, summary);
        let rate = |count: u64| count as f64 / seconds.max(f64::MIN_POSITIVE);
        Self {
            app,
            machine,
            kind,
            runs,
            processor_seconds: *seconds,
            cycles,
            busy: busy(kind, summary),
            instructions,
            packets,
            rate_gbit_s: *rate_gbit_s,
            lost: lost(summary),
            host_instructions: *host_instructions,
            mips: rate(instructions) / 1e6,
            packets_per_second: rate(packets),
            cycles_per_second: rate(cycles),
        }
    }
}

fn is_none(packets: &u64) -> bool {
    *packets == 0
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Counts the packets that were lost because the machine had no room for them when they came.
pub fn lost(summary: &Value) -> u64 {
    let dropped = &summary["packets"]["dropped"];
    number(&dropped["fifo_full"]) + number(&dropped["buffer_full"])
}

/// Counts the packets or messages that were handled.
fn handled(kind: &str, summary: &Value) -> u64 {
    let sum = |key: &str| {
        let nodes = summary["nodes"].as_array().into_iter().flatten();
        nodes.map(|node| number(&node[key])).sum::<u64>()
    };
    match kind {
        "packet_handlers" => number(&summary["packets"]["processed"]),
        "nanoservice" => {
            let messages = &summary["messages"];
            came_or_went(number(&messages["in"]), number(&messages["out_delivered"]))
        }
        _ => came_or_went(sum("messages_in"), sum("messages_out")),
    }
}

/// Counts a message with its answer once, and of programs that only send what they have sent.
fn came_or_went(came: u64, went: u64) -> u64 {
    if came > 0 { came } else { went }
}

/// Gives the part of their cycles in which cores had work: HPUs from the first packet to the last, harts
/// from reset.
fn busy(kind: &str, summary: &Value) -> Option<f64> {
    let share = |harts: Vec<&Value>| {
        let sum = |key: &str| harts.iter().map(|hart| number(&hart[key])).sum::<u64>() as f64;
        let (busy, idle) = (sum("busy_cycles"), sum("idle_cycles"));
        (busy + idle > 0.0).then(|| busy / (busy + idle))
    };
    match kind {
        "packet_handlers" => summary["hpu_utilisation"].as_f64(),
        "nanoservice" => share(summary["harts"].as_array()?.iter().collect()),
        _ => {
            let details: Vec<_> =
                summary["nodes"].as_array()?.iter().map(|node| &node["details"]).collect();
            let harts: Option<Vec<_>> =
                details.iter().map(|node| node["harts"].as_array()).collect();
            share(harts?.into_iter().flatten().collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_dropped_or_went_by_is_not_handled() {
        let summary = json!({ "packets": { "in": 9, "processed": 4, "to_host": 3 } });
        assert_eq!(handled("packet_handlers", &summary), 4);
    }

    #[test]
    fn a_program_that_only_sends_has_messages_too() {
        let sends = json!({ "messages": { "in": 0, "out": 9, "out_delivered": 8 } });
        assert_eq!(handled("nanoservice", &sends), 8);
        let answers = json!({ "messages": { "in": 30, "out_delivered": 34 } });
        assert_eq!(handled("nanoservice", &answers), 30);
        let nodes =
            json!({ "nodes": [{ "messages_in": 2 }, { "messages_in": 3, "messages_out": 1 }] });
        assert_eq!(handled("cluster", &nodes), 5);
    }

    #[test]
    fn a_cluster_with_a_nic_has_no_common_share() {
        let hart = json!({ "busy_cycles": 30, "idle_cycles": 90 });
        let nanopu = json!({ "details": { "harts": [hart] } });
        assert_eq!(busy("cluster", &json!({ "nodes": [nanopu] })), Some(0.25));
        let both = json!({ "nodes": [nanopu, { "details": {} }] });
        assert_eq!(busy("cluster", &both), None);
    }
}
