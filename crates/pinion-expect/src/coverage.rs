//! Which lines of a program ran, over several runs.

use std::collections::BTreeMap;

use pinion_observe::profile::Profile;
use pinion_observe::words::ranges;

/// Lines of the application's own files, and how often each was executed.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// By file.
    pub files: BTreeMap<String, BTreeMap<u32, u64>>,
}

impl Coverage {
    /// Adds what a run executed.
    pub fn add(&mut self, profile: &Profile<'_>) {
        for (file, lines) in profile.coverage() {
            let all = self.files.entry(file).or_default();
            for (line, times) in lines {
                *all.entry(line).or_default() += times;
            }
        }
    }

    /// Writes it for people: a line per file.
    pub fn to_text(&self) -> String {
        let row = |(file, lines): (&String, &BTreeMap<u32, u64>)| {
            let name = file.rsplit('/').next().unwrap_or(file);
            let ran = lines.values().filter(|times| **times > 0).count();
            let share = ran as f64 * 100.0 / lines.len().max(1) as f64;
            let missed = ranges(
                lines.iter().filter(|(_, times)| **times == 0).map(|(line, _)| *line).collect(),
            );
            let missed = if missed.is_empty() { missed } else { format!(", not: {missed}") };
            format!("{name}: {ran} of {} lines ran ({share:.0} %){missed}\n", lines.len())
        };
        self.files.iter().map(row).collect()
    }

    /// Writes it as an lcov tracefile (format: geninfo(1)).
    pub fn to_lcov(&self, name: &str) -> String {
        self.files
            .iter()
            .map(|(file, lines)| pinion_observe::profile::lcov(name, file, lines))
            .collect()
    }
}
