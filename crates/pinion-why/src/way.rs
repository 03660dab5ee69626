//! A way from its begin to its end, as text and as a picture: parts that follow each other, of whatever
//! machine, and the lines of source that took longest.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use pinion_app::error::Result;
use pinion_isa::elf::Image;
use pinion_observe::plot::{Bar, waterfall};
use pinion_observe::trace::SourceLines;
use pinion_observe::words::{count, number};
use pinion_sim::Time;

/// Lines of source that are named at most.
const MOST_LINES: usize = 5;
/// Others that are named at most.
const MOST_NAMED: usize = 3;
/// Width of the text's bars.
const BAR_WIDTH: usize = 24;

/// A part of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is called in documents.
    pub name: &'static str,
    /// Whether nothing is done meanwhile.
    pub is_wait: bool,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// What happens, in words.
    pub what: String,
    /// Who was in the way, in words.
    pub behind: Option<String>,
}

impl Part {
    /// Gives what it takes, in ps.
    pub fn ps(&self) -> u64 {
        self.to.since(self.from).ps()
    }
}

/// How long a way is among all of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// What the one in the middle takes, in ps.
    pub median_ps: u64,
    /// Number of those that take longer.
    pub longer: u64,
    /// Number of all.
    pub all: u64,
}

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

/// Adds up cycles and instructions by line, the longest first; `counts` has them by address.
pub fn shares(
    (elf, image): (&Path, &Image),
    counts: impl Iterator<Item = (u64, (u64, u64))>,
) -> Vec<LineShare> {
    let lines = SourceLines::read(elf);
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

/// Names some of those who were in the way: the noun, their numbers, and how many there were besides.
pub fn named(noun: &str, mut names: Vec<String>) -> Option<String> {
    if names.len() > MOST_NAMED {
        let more = names.len() - MOST_NAMED;
        names.truncate(MOST_NAMED);
        names.push(format!("{more} more"));
    }
    listed(noun, names)
}

/// Lists names behind a noun.
pub fn listed(noun: &str, mut names: Vec<String>) -> Option<String> {
    let last = names.pop()?;
    Some(match &names[..] {
        [] => format!("{noun} {last}"),
        before => format!("{noun}s {} and {last}", before.join(", ")),
    })
}

/// Says how long a way is among all.
pub fn standing_line(took_ps: u64, standing: &Standing, noun: &str) -> String {
    let Standing { median_ps, longer, all } = *standing;
    let times = took_ps as f64 / median_ps.max(1) as f64;
    format!(
        "{times:.1} times the median, {} ns; {} of {} {noun}s took longer",
        number(median_ps as f64 / 1e3),
        count(longer),
        count(all)
    )
}

/// Writes the parts as a table with bars.
///
/// # Errors
/// Those of `text`.
pub fn write_parts(text: &mut String, parts: &[Part], begin: Time) -> std::fmt::Result {
    let took: u64 = parts.iter().map(Part::ps).sum();
    writeln!(text, "{:>10} {:>10}", "at, ns", "took, ns")?;
    for part in parts {
        let at = part.from.since(begin).ps();
        let cell = |ps: u64| (ps as f64 / took.max(1) as f64 * BAR_WIDTH as f64) as usize;
        let (before, long) = (cell(at).min(BAR_WIDTH - 1), cell(part.ps()).max(1));
        let mark = if part.is_wait { "." } else { "#" };
        let bar = " ".repeat(before) + &mark.repeat(long.min(BAR_WIDTH - before));
        let behind = part.behind.as_ref().map_or_else(String::new, |who| format!(", behind {who}"));
        let (at, ns) = (number(at as f64 / 1e3), number(part.ps() as f64 / 1e3));
        writeln!(text, "{at:>10} {ns:>10}  {bar:<BAR_WIDTH$}  {}{behind}", part.what)?;
    }
    Ok(())
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

/// Draws the parts as a waterfall, in SVG.
///
/// # Errors
/// When it cannot be drawn.
pub fn draw(title: &str, sentence: &str, parts: &[Part], begin: Time) -> Result<String> {
    let bar = |part: &Part| Bar {
        name: part.what.clone(),
        from: part.from.since(begin).ps() as f64 / 1e3,
        length: part.ps() as f64 / 1e3,
        is_wait: part.is_wait,
        note: part.behind.clone().unwrap_or_default(),
    };
    let bars: Vec<Bar> = parts.iter().map(bar).collect();
    waterfall(title, sentence, "ns", &bars)
}
