//! What came otherwise than a test wants it.

use pinion_sim::config::Duration;
use serde_json::Value;

use crate::file::{Bounds, Wanted};
use crate::packet::{Packet, bytes_difference, describe};

/// Differences of one list that are told in full.
const KEPT: usize = 5;

/// Says which packets came otherwise; they are as wanted in this order, or in any.
pub fn packets(what: &str, wanted: &[Packet], got: &[Vec<u8>], in_order: bool) -> Vec<String> {
    lists(what, wanted, got, in_order, |wanted, got| wanted.difference(got))
}

/// Says which frames differ from those of a capture.
pub fn frames(what: &str, wanted: &[Vec<u8>], got: &[Vec<u8>], in_order: bool) -> Vec<String> {
    lists(what, wanted, got, in_order, |wanted, got| bytes_difference("it", wanted, got))
}

fn lists<W>(
    what: &str,
    wanted: &[W],
    got: &[Vec<u8>],
    in_order: bool,
    difference: impl Fn(&W, &[u8]) -> Option<String>,
) -> Vec<String> {
    let mut said = Vec::new();
    if wanted.len() != got.len() {
        said.push(format!("{} packets {what}, {} expected", got.len(), wanted.len()));
    }
    if !in_order {
        let mut left: Vec<&Vec<u8>> = got.iter().collect();
        let mut missing = Vec::new();
        for (index, wanted) in wanted.iter().enumerate() {
            match left.iter().position(|got| difference(wanted, got).is_none()) {
                Some(found) => drop(left.remove(found)),
                None => missing.push((index + 1, wanted)),
            }
        }
        // One for another is most likely the same packet, and its difference says more than both.
        let pairs = missing.len().min(left.len());
        for ((number, wanted), got) in missing.iter().zip(&left) {
            let one = difference(wanted, got);
            said.extend(one.map(|one| format!("packet {number} {what}: {one}")));
        }
        let lost = missing.iter().skip(pairs);
        said.extend(lost.map(|(number, _)| format!("packet {number} {what} did not come")));
        let extra = left.iter().skip(pairs);
        said.extend(extra.map(|got| format!("not expected: {}", describe(got))));
    } else {
        for (index, (wanted, got)) in wanted.iter().zip(got).enumerate() {
            let one = difference(wanted, got);
            said.extend(one.map(|one| format!("packet {} {what}: {one}", index + 1)));
        }
        let extra = got.iter().skip(wanted.len());
        said.extend(extra.map(|got| format!("not expected: {}", describe(got))));
    }
    shorten(said)
}

/// Keeps the first differences.
pub fn shorten(mut said: Vec<String>) -> Vec<String> {
    let more = said.len().saturating_sub(KEPT);
    if more > 1 {
        said.truncate(KEPT);
        said.push(format!("and {more} more"));
    }
    said
}

/// Says what of the summary is otherwise.
pub fn summary(key: &str, wanted: &Wanted, document: &Value) -> Option<String> {
    let path = format!("/{}", key.replace('.', "/"));
    let Some(got) = document.pointer(&path) else {
        return Some(format!("the summary has no {key}; `pinion run --json -` shows what it has"));
    };
    let fits = match wanted {
        Wanted::Number(wanted) => got.as_f64() == Some(*wanted),
        Wanted::Text(wanted) => got.as_str() == Some(wanted),
        Wanted::Bounds(bounds) => got.as_f64().is_some_and(|got| bounds.has(got)),
    };
    (!fits).then(|| format!("{key} is {got}, {} expected", wanted.describe()))
}

/// Says that packets took too long.
pub fn latency(most: Duration, document: &Value) -> Option<String> {
    let took = document.pointer("/latency_ns/max").and_then(Value::as_f64);
    let most_ns = most.ps as f64 / 1e3;
    match took {
        None => Some("there is no latency: no packet got through".to_owned()),
        Some(took) if took > most_ns => Some(format!(
            "the slowest packet took {took} ns, at most {most_ns} ns expected; `pinion why` with the \
             same packets tells why"
        )),
        Some(_) => None,
    }
}

impl Bounds {
    fn has(&self, value: f64) -> bool {
        self.at_least.is_none_or(|least| value >= least)
            && self.at_most.is_none_or(|most| value <= most)
    }
}

impl Wanted {
    fn describe(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("\"{text}\""),
            Self::Bounds(Bounds { at_least, at_most }) => match (at_least, at_most) {
                (Some(least), Some(most)) => format!("{least} to {most}"),
                (Some(least), None) => format!("at least {least}"),
                (None, most) => format!("at most {}", most.unwrap_or_default()),
            },
        }
    }
}
