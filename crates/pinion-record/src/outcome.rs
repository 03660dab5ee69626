//! Where two summaries differ, key by key.

use serde_json::Value;

/// Keys of a summary that tell of the computer, not of the run.
const OF_THE_HOST: [&str; 3] = ["host_seconds", "slowdown", "simulated_mips"];

/// Gives a run's summary without what tells of the computer.
pub fn of_the_run(summary: &Value) -> Value {
    let mut outcome = summary.clone();
    if let Some(keys) = outcome.as_object_mut() {
        keys.retain(|key, _| !OF_THE_HOST.contains(&key.as_str()));
    }
    outcome
}

/// Gives a live run's summary without what tells of the computer, the kernel and the pace, nor whether
/// somebody ended it: its replay ends by itself.
pub fn of_a_live_run(summary: &Value) -> Value {
    let mut outcome = of_the_run(summary);
    if let Some(keys) = outcome.as_object_mut() {
        keys.remove("remarks");
        keys.retain(|key, value| key != "ending" || value != "finished" && value != "interrupted");
        if let Some(packets) = keys.get_mut("packets").and_then(Value::as_object_mut) {
            packets.remove("dropped_by_kernel");
        }
    }
    outcome
}

/// A key that two summaries have differently.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its path, as `packets.in` or `handlers[2].mean_ns`.
    pub key: String,
    /// What the first says; `None`: nothing.
    pub first: Option<Value>,
    /// What the second says.
    pub second: Option<Value>,
}

/// Lists what differs between two summaries, in the order of their keys.
pub fn differences(first: &Value, second: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(first), Some(second), &mut found);
    found
}

fn compare(
    key: String,
    first: Option<&Value>,
    second: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (first, second) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let added = other.keys().filter(|key| !one.contains_key(*key));
            for name in one.keys().chain(added) {
                let path = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                compare(path, one.get(name), other.get(name), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for number in 0..one.len().max(other.len()) {
                compare(format!("{key}[{number}]"), one.get(number), other.get(number), found);
            }
        }
        (first, second) if first != second => {
            let (first, second) = (first.cloned(), second.cloned());
            found.push(Difference { key, first, second });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_have_their_places() {
        let one = json!({"host_seconds": 1.0, "a": 1, "rows": [{"b": 2}, {"b": 3}], "gone": null});
        let other = json!({"host_seconds": 2.0, "a": 1, "rows": [{"b": 2}, {"b": 4}, {}]});
        let found = differences(&of_the_run(&one), &of_the_run(&other));
        let keys: Vec<&str> = found.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["gone", "rows[1].b", "rows[2]"]);
        assert_eq!((&found[1].first, &found[1].second), (&Some(json!(3)), &Some(json!(4))));
        assert!(differences(&one, &one).is_empty());
    }
}
