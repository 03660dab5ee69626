//! The lines of source that took longest.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pinion_isa::elf::Image;
use pinion_observe::trace::SourceLines;
use pinion_observe::words::count;
use serde_json::{Value, json};

/// Lines of source that are named at most.
const MOST_LINES: usize = 5;

/// What a line took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineShare {
    /// File and line; the function, where there are no lines.
    pub place: String,
    /// Cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
}

impl LineShare {
    /// Tells of it for programs.
    pub fn to_json(&self) -> Value {
        let Self { place, cycles, instructions } = self;
        json!({ "place": place, "cycles": cycles, "instructions": instructions })
    }
}

/// Adds up cycles and instructions by line, the longest first; `counts` has them by address.
pub fn shares(
    (lines, image): (&SourceLines, &Image),
    counts: impl Iterator<Item = (u64, (u64, u64))>,
) -> Vec<LineShare> {
    let mut by_place: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (pc, (cycles, instructions)) in counts {
        let place = lines.at(pc).map(str::to_owned);
        let function = || image.symbol_at(pc).map(|symbol| symbol.name.clone());
        let place = place.or_else(function).unwrap_or_else(|| format!("{pc:#010x}"));
        let sum = by_place.entry(place).or_default();
        (sum.0, sum.1) = (sum.0 + cycles, sum.1 + instructions);
    }
    let share = |(place, (cycles, instructions))| LineShare { place, cycles, instructions };
    let mut shares: Vec<LineShare> = by_place.into_iter().map(share).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.cycles));
    shares
}

/// Says how much of all cycles the longest line took, and which it is.
pub fn longest(lines: &[LineShare]) -> Option<String> {
    let all: u64 = lines.iter().map(|line| line.cycles).sum();
    let line = lines.first().filter(|line| line.cycles > 0)?;
    let share = line.cycles as f64 * 100.0 / all.max(1) as f64;
    Some(format!("{share:.0} % in {}", line.place))
}

/// Writes the lines of source that took longest.
///
/// # Errors
/// Those of `text`.
pub fn write_lines(text: &mut String, lines: &[LineShare]) -> std::fmt::Result {
    let all: u64 = lines.iter().map(|line| line.cycles).sum();
    for line in lines.iter().take(MOST_LINES) {
        let share = line.cycles as f64 * 100.0 / all.max(1) as f64;
        let (cycles, instructions) = (count(line.cycles), count(line.instructions));
        let place = &line.place;
        writeln!(
            text,
            "  {share:>4.0} %  {cycles:>9} cycles {instructions:>9} instructions  {place}"
        )?;
    }
    Ok(())
}
