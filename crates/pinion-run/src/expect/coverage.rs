//! Which lines of a program ran, over several runs.

use std::collections::BTreeMap;

use pinion_observe::profile::{Profile, Rows};

/// Lines of the application's own files, and how often each was executed.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// By file.
    pub files: BTreeMap<String, BTreeMap<u32, u64>>,
}

impl Coverage {
    /// Adds what a run executed.
    pub fn add(&mut self, profile: &Profile<'_>) {
        for (file, lines) in profile.coverage(&Rows::of(profile)) {
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
            let missed =
                ranges(lines.iter().filter(|(_, times)| **times == 0).map(|(line, _)| *line));
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

/// Writes numbers as ranges: `3, 7-9`.
fn ranges(numbers: impl Iterator<Item = u32>) -> String {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => all.push((number, number)),
        }
    }
    let text = |(from, to): &(u32, u32)| match from == to {
        true => from.to_string(),
        false => format!("{from}-{to}"),
    };
    all.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_beside_each_other_are_a_range() {
        assert_eq!(super::ranges([1, 3, 4, 5, 9].into_iter()), "1, 3-5, 9");
    }
}
