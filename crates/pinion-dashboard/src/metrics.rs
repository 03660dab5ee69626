//! A run's numbers as Prometheus takes them. In: the summary's JSON document, what units hold. Out: text of
//! the exposition format 0.0.4.
//!
//! Each number of the document is a metric named by its path, `pinion_packets_in`; rows of a list are told
//! apart by labels, `pinion_harts_messages{hart="0"}`: their texts, and the numbers that name them. Whether a
//! number only grows is not said: the documents do not say so, and `rate()` does not ask.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::levels::is_level;

/// Numbers of a row that say which one it is.
const NAMES: [&str; 6] = ["node", "hart", "cluster", "hpu", "switch", "context"];
/// Says whether a row is of a cable's way back.
const BACK: &str = "back";
/// Bytes of a text that says which row it is; longer ones are told elsewhere.
const LABEL_BYTES: usize = 128;
/// Parts of documents that are no numbers of the run.
const LEFT_OUT: [&str; 2] = ["document", "remarks"];
/// Units' numbers that are told at most.
const MOST_UNITS: usize = 4096;

/// By name of the metric: where its number stands in the document, and each of its samples.
type Metrics = BTreeMap<String, (String, Vec<(String, f64)>)>;

/// Writes the metrics.
pub fn text(document: &Value, units: &[(String, u64)]) -> String {
    let mut metrics = Metrics::new();
    if let Value::Object(keys) = document {
        let texts = keys.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
        let texts: Vec<_> = texts.filter(|(key, _)| !LEFT_OUT.contains(key)).collect();
        let info = ("what runs".to_owned(), vec![(labels(&texts), 1.0)]);
        metrics.insert("pinion_info".to_owned(), info);
        for (key, value) in keys.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())) {
            add(&mut metrics, key, value, &[]);
        }
    }
    let units = units.iter().filter(|(name, _)| is_level(name)).take(MOST_UNITS);
    let held: Vec<_> =
        units.map(|(name, held)| (labels(&[("unit", name)]), *held as f64)).collect();
    if !held.is_empty() {
        metrics.insert("pinion_unit_holds".to_owned(), ("what units hold".to_owned(), held));
    }
    let mut text = String::new();
    for (name, (what, samples)) in metrics {
        text.push_str(&format!("# HELP {name} {what}\n# TYPE {name} untyped\n"));
        for (labels, value) in samples {
            text.push_str(&format!("{name}{labels} {value}\n"));
        }
    }
    text
}

/// Adds what stands at a path of the document.
fn add(metrics: &mut Metrics, path: &str, value: &Value, rows: &[(String, String)]) {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        Value::Object(keys) => {
            for (key, value) in keys {
                if rows.is_empty() || !is_label(key, value) {
                    add(metrics, &format!("{path}.{key}"), value, rows);
                }
            }
            None
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                let Value::Object(keys) = item else { continue };
                let mut own = rows.to_vec();
                own.extend(keys.iter().filter(|(key, value)| is_label(key, value)).map(label));
                if own.len() == rows.len() {
                    own.push(("row".to_owned(), number.to_string()));
                }
                add(metrics, path, item, &own);
            }
            None
        }
        Value::Null | Value::String(_) => None,
    };
    if let Some(number) = number {
        let labels: Vec<_> = rows.iter().map(|(name, of)| (name.as_str(), of.as_str())).collect();
        let what = format!("{path} of the summary's JSON document");
        let place = metrics.entry(metric(path)).or_insert_with(|| (what, Vec::new()));
        place.1.push((self::labels(&labels), number));
    }
}

/// Tells whether a value says which row of a list it stands in.
fn is_label(key: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= LABEL_BYTES,
        Value::Number(_) => NAMES.contains(&key),
        Value::Bool(_) => key == BACK,
        _ => false,
    }
}

fn label((key, value): (&String, &Value)) -> (String, String) {
    (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// Gives the name of a metric for a path.
fn metric(path: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    format!("pinion_{}", path.chars().map(plain).collect::<String>())
}

/// Writes labels between braces.
fn labels(pairs: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{}=\"{value}\"", metric(name).trim_start_matches("pinion_"))
    };
    let pairs: Vec<String> = pairs.iter().map(one).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_number_is_a_metric_and_rows_are_told_apart() {
        let document = json!({
            "document": { "kind": "run", "version": 1 },
            "app": "an \"echo\"",
            "packets": { "in": 7, "dropped": { "too_large": 0 } },
            "harts": [{ "hart": 0, "messages": 3 }, { "hart": 1, "messages": 4 }],
            "faults": [{ "count": 2 }],
            "latency_ns": null,
            "remarks": ["live on pin0"],
        });
        let units = [("mpq.packets".to_owned(), 5), ("core.0.x1".to_owned(), 9)];
        let text = text(&document, &units);
        for line in [
            r#"pinion_info{app="an \"echo\""} 1"#,
            "pinion_packets_in 7",
            "pinion_packets_dropped_too_large 0",
            r#"pinion_harts_messages{hart="0"} 3"#,
            r#"pinion_harts_messages{hart="1"} 4"#,
            r#"pinion_faults_count{row="0"} 2"#,
            r#"pinion_unit_holds{unit="mpq.packets"} 5"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("x1") && !text.contains("version"));
        let types = text.lines().filter(|line| line.starts_with("# TYPE")).count();
        assert_eq!(types, text.lines().filter(|line| line.starts_with("# HELP")).count());
    }
}
