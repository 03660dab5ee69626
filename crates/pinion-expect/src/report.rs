//! Results for people and for programs.

use std::fmt::Write as _;

use pinion_observe::document::Document;
use pinion_observe::words::{count, seconds};
use serde_json::{Value, json};

use crate::coverage::Coverage;
use crate::run::Outcome;

/// What came of an application's tests.
#[derive(Clone, Debug)]
pub struct Results {
    /// Name of the application.
    pub app: String,
    /// By test, in order.
    pub outcomes: Vec<Outcome>,
    /// Lines that ran.
    pub coverage: Coverage,
}

impl Outcome {
    /// Writes it for people.
    pub fn to_text(&self) -> String {
        let mark = if self.failures.is_empty() { "ok  " } else { "FAIL" };
        let mut text = format!("{mark}  {} ({} cycles)\n", self.name, count(self.cycles));
        for failure in &self.failures {
            let _ = writeln!(text, "      {}", failure.trim_end().replace('\n', "\n      "));
        }
        text
    }
}

impl Results {
    /// Counts tests that failed.
    pub fn failed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| !outcome.failures.is_empty()).count()
    }

    /// Gives the host's time for all, in seconds.
    pub fn seconds(&self) -> f64 {
        self.outcomes.iter().map(|outcome| outcome.host.as_secs_f64()).sum()
    }

    /// Writes the end for people: counts, and the lines that ran.
    pub fn to_text(&self) -> String {
        let (all, failed) = (self.outcomes.len(), self.failed());
        let took = seconds(self.seconds());
        format!(
            "{all} test{} of {}: {} passed, {failed} failed, {took}\n{}",
            if all == 1 { "" } else { "s" },
            self.app,
            all - failed,
            self.coverage.to_text()
        )
    }

    /// Writes it for programs.
    pub fn to_json(&self) -> Value {
        let test = |outcome: &Outcome| {
            json!({
                "name": outcome.name,
                "passed": outcome.failures.is_empty(),
                "failures": outcome.failures,
                "cycles": outcome.cycles,
                "host_seconds": outcome.host.as_secs_f64(),
            })
        };
        let file = |(file, lines): (&String, &std::collections::BTreeMap<u32, u64>)| {
            let missed: Vec<u32> =
                lines.iter().filter(|(_, times)| **times == 0).map(|(line, _)| *line).collect();
            json!({ "file": file, "lines": lines.len(), "missed": missed })
        };
        json!({
            "document": Document::Test.head(),
            "app": self.app,
            "tests": self.outcomes.iter().map(test).collect::<Vec<_>>(),
            "coverage": self.coverage.files.iter().map(file).collect::<Vec<_>>(),
        })
    }
}
