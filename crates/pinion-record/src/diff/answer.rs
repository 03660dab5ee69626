//! What two runs differ in: text, JSON.

use std::collections::BTreeMap;

use pinion_observe::document::Document;
use pinion_observe::profile::{Profile, Rows};
use pinion_observe::words::{count, number, written};
use serde_json::{Value, json};

use super::passages::{Passages, SPANS};
use super::streams::Parting;
use crate::outcome::{self, Difference};

/// Numbers of the summary that are shown at most.
const MOST_NUMBERS: usize = 12;

/// What a line of source took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineSum {
    /// Cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
}

/// A run that was made whole.
#[derive(Debug, Default)]
pub struct Measured {
    /// What it is called.
    pub name: String,
    /// Its summary.
    pub outcome: Value,
    /// What its packets took, where they are packets of handlers.
    pub passages: Option<Passages>,
    /// What lines of source took, by place; nothing where no program was followed.
    pub lines: BTreeMap<String, LineSum>,
}

impl Measured {
    /// Adds up what lines of source took.
    pub fn add_lines(&mut self, profile: &Profile<'_>) {
        for row in Rows::of(profile).lines {
            let sum = self.lines.entry(row.place()).or_default();
            sum.cycles += row.count.busy();
            sum.instructions += row.count.instructions;
        }
    }

    fn latency(&self) -> &Value {
        &self.outcome["latency_ns"]
    }
}

/// What two runs differ in.
#[derive(Debug)]
pub struct Diff {
    /// The runs.
    pub runs: [Measured; 2],
    /// What an event is: what the lines tell of.
    pub events: &'static str,
    /// The number of lines that both have, or where they part.
    pub parting: Result<u64, Box<Parting>>,
    /// What units hold otherwise when the runs part, where that was looked at: by name, in both.
    pub states: Vec<(String, [u64; 2])>,
}

/// A number of both runs.
struct Pair {
    first: f64,
    second: f64,
}

/// The packet that moved furthest, and what it took.
type Furthest = (usize, Pair);

impl Pair {
    fn of(first: u64, second: u64) -> Self {
        Self { first: first as f64, second: second as f64 }
    }

    /// Writes counts.
    fn counts(&self) -> String {
        let [first, second, by] =
            [self.first, self.second, self.moved().abs()].map(|n| count(n as u64));
        let sign = if self.moved() > 0.0 { '+' } else { '-' };
        format!("{first:>12} {second:>12} {:>12}", format!("{sign}{by}"))
    }

    fn moved(&self) -> f64 {
        self.second - self.first
    }

    fn cells(&self) -> String {
        let sign = if self.moved() > 0.0 { "+" } else { "" };
        let moved = match self.moved() {
            0.0 => ".".to_owned(),
            moved => format!("{sign}{}", number(moved)),
        };
        format!("{:>12} {:>12} {moved:>12}", number(self.first), number(self.second))
    }
}

impl Diff {
    /// Tells whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.parting.is_ok() && self.numbers().is_empty()
    }

    fn numbers(&self) -> Vec<Difference> {
        let [one, other] = &self.runs;
        let clean = |run: &Measured| outcome::of_the_run(&run.outcome);
        outcome::differences(&clean(one), &clean(other))
    }

    /// Gives the rows of spans: their names and mean times in ns. The last is the sum.
    fn spans(&self) -> Vec<(&'static str, Pair)> {
        let [Some(one), Some(other)] = self.runs.each_ref().map(|run| run.passages.as_ref()) else {
            return Vec::new();
        };
        let mean = |sum: u64, run: &Passages| sum as f64 / 1e3 / run.packets().max(1) as f64;
        let both =
            |first: u64, second: u64| Pair { first: mean(first, one), second: mean(second, other) };
        let spans = SPANS.iter().enumerate();
        let mut rows: Vec<_> =
            spans.map(|(at, name)| (*name, both(one.spans[at], other.spans[at]))).collect();
        rows.push(("all, mean", both(one.total(), other.total())));
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            let [first, second] = [one, other].map(|run| run.quantile(share) as f64 / 1e3);
            rows.push((name, Pair { first, second }));
        }
        rows
    }

    /// Counts packets that took longer, and that took less; and gives the one that moved furthest.
    fn moved(&self) -> Option<([u64; 2], Option<Furthest>)> {
        let [Some(one), Some(other)] = self.runs.each_ref().map(|run| run.passages.as_ref()) else {
            return None;
        };
        let mut counts = [0; 2];
        let mut furthest: Option<(usize, u64)> = None;
        let packets = one.took.iter().zip(&other.took).enumerate();
        let both = packets.filter_map(|(at, (one, other))| Some((at, (*one)?, (*other)?)));
        for (packet, first, second) in both.filter(|(_, first, second)| first != second) {
            counts[usize::from(second < first)] += 1;
            let by = first.abs_diff(second);
            if furthest.is_none_or(|(_, most)| by > most) {
                furthest = Some((packet, by));
            }
        }
        let furthest = furthest.and_then(|(packet, _)| {
            let [first, second] = [one, other].map(|run| run.took[packet]);
            Some((packet, Pair { first: first? as f64 / 1e3, second: second? as f64 / 1e3 }))
        });
        Some((counts, furthest))
    }

    /// Gives the lines of source whose cycles moved, furthest first.
    fn lines(&self) -> Vec<(&str, Pair, [LineSum; 2])> {
        let [one, other] = &self.runs;
        let places =
            one.lines.keys().chain(other.lines.keys().filter(|at| !one.lines.contains_key(*at)));
        let sums =
            |at: &String| [one, other].map(|run| run.lines.get(at).copied().unwrap_or_default());
        let row = |at| {
            let [first, second] = sums(at);
            (at.as_str(), Pair::of(first.cycles, second.cycles), [first, second])
        };
        let mut rows: Vec<_> =
            places.map(row).filter(|(_, cycles, _)| cycles.moved() != 0.0).collect();
        rows.sort_by(|(_, one, _), (_, other, _)| {
            other.moved().abs().total_cmp(&one.moved().abs())
        });
        rows
    }

    /// Writes it for people, with so many lines of source at most.
    pub fn to_text(&self, top: usize) -> String {
        written(|text| self.write(text, top))
    }

    fn write(&self, text: &mut String, top: usize) -> std::fmt::Result {
        use std::fmt::Write as _;
        let [one, other] = &self.runs;
        writeln!(text, "first   {}\nsecond  {}", one.name, other.name)?;
        match &self.parting {
            Ok(lines) => writeln!(text, "\nall {} {} are the same", count(*lines), self.events)?,
            Err(parting) => {
                let same = count(parting.same);
                writeln!(
                    text,
                    "\nthe first of {} that differs, behind {same} the same:",
                    self.events
                )?;
                let show = |text: &mut String, mark: &str, lines: &[String]| {
                    if lines.is_empty() {
                        return writeln!(text, "{mark} (it is over)");
                    }
                    lines.iter().try_for_each(|line| writeln!(text, "{mark} {line}"))
                };
                parting.before.iter().try_for_each(|line| writeln!(text, "        {line}"))?;
                show(text, "first  ", &parting.first)?;
                show(text, "second ", &parting.second)?;
            }
        }
        let head = format!("{:>12} {:>12} {:>12}", "first", "second", "moved");
        if !self.states.is_empty() {
            writeln!(text, "\n{:<50}{head}", "what units hold at the end of that cycle")?;
        }
        for (name, [first, second]) in self.states.iter().take(MOST_NUMBERS) {
            writeln!(text, "  {name:<48}{}", Pair::of(*first, *second).counts())?;
        }
        if self.states.len() > MOST_NUMBERS {
            writeln!(text, "  and {} more (--json has all)", self.states.len() - MOST_NUMBERS)?;
        }
        let spans = self.spans();
        if !spans.is_empty() {
            writeln!(text, "\n{:<50}{head}", "latency from arrival to completion, ns")?;
            for (name, pair) in &spans {
                writeln!(text, "  {name:<48}{}", pair.cells())?;
            }
        }
        if let Some(([longer, shorter], furthest)) =
            self.moved().filter(|(n, _)| n.iter().sum::<u64>() > 0)
        {
            write!(text, "  {} packets took longer, {} less", count(longer), count(shorter))?;
            if let Some((packet, pair)) = furthest {
                let [first, second] = [pair.first, pair.second].map(number);
                write!(text, "; packet {packet} moved furthest, from {first} to {second}")?;
            }
            writeln!(text)?;
        }
        let [first, second] = [one, other].map(Measured::latency);
        if spans.is_empty() && first.is_object() && second.is_object() {
            writeln!(text, "\n{:<50}{head}", "latency from wire to wire, ns")?;
            for key in ["min", "mean", "p50", "p99", "max"] {
                let [Some(first), Some(second)] = [first, second].map(|all| all[key].as_f64())
                else {
                    continue;
                };
                writeln!(text, "  {key:<48}{}", Pair { first, second }.cells())?;
            }
        }
        let lines = self.lines();
        if !lines.is_empty() {
            writeln!(text, "\n{:<50}{head}", "cycles by line of source")?;
        }
        for (place, cycles, _) in lines.iter().take(top) {
            writeln!(text, "  {place:<48}{}", cycles.counts())?;
        }
        if lines.len() > top {
            writeln!(text, "  and {} more lines", lines.len() - top)?;
        }
        let numbers = self.numbers();
        if !numbers.is_empty() {
            writeln!(text, "\nthe summary differs in {} numbers and words", numbers.len())?;
        }
        let value =
            |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        for one in numbers.iter().take(MOST_NUMBERS) {
            writeln!(text, "  {}: {}, {}", one.key, value(&one.first), value(&one.second))?;
        }
        if numbers.len() > MOST_NUMBERS {
            writeln!(text, "  and {} more (--json has all)", numbers.len() - MOST_NUMBERS)?;
        }
        Ok(())
    }

    /// Writes it for programs.
    pub fn to_json(&self) -> Value {
        let parting = match &self.parting {
            Ok(_) => Value::Null,
            Err(parting) => json!({
                "before": parting.before,
                "first": parting.first,
                "second": parting.second,
            }),
        };
        let same = self.parting.as_ref().map_or_else(|parting| parting.same, |lines| *lines);
        let pair = |pair: &Pair| json!([pair.first, pair.second]);
        let spans = self.spans();
        let spans: Vec<Value> =
            spans.iter().map(|(name, both)| json!({ "name": name, "ns": pair(both) })).collect();
        let line = |(place, cycles, [first, second]): &(&str, Pair, [LineSum; 2])| {
            json!({
                "place": place,
                "cycles": pair(cycles),
                "instructions": [first.instructions, second.instructions],
            })
        };
        let number =
            |one: &Difference| json!({ "key": one.key, "first": one.first, "second": one.second });
        let moved = self.moved().map(|([longer, shorter], furthest)| {
            json!({
                "longer": longer,
                "shorter": shorter,
                "furthest": furthest.map(|(packet, both)| json!({ "packet": packet, "ns": pair(&both) })),
            })
        });
        let state = |(name, [first, second]): &(String, [u64; 2])| json!({ "name": name, "first": first, "second": second });
        json!({
            "document": Document::Diff.head(),
            "runs": self.runs.each_ref().map(|run| run.name.clone()),
            "events": { "what": self.events, "same": same, "parting": parting },
            "states": self.states.iter().map(state).collect::<Vec<_>>(),
            "latency": spans,
            "packets": moved,
            "lines": self.lines().iter().map(line).collect::<Vec<_>>(),
            "numbers": self.numbers().iter().map(number).collect::<Vec<_>>(),
        })
    }
}
