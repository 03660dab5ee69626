//! The comparison as a table: a line per scenario, or every number of those that were asked for.

use std::fmt::Write as _;

use crate::{Comparison, median_error, table};

/// Writes a line per scenario and, below it, what failed.
pub fn text(comparisons: &[Comparison]) -> String {
    let scenarios = scenarios(comparisons);
    let longest = scenarios.iter().map(|rows| rows[0].row.len()).max().unwrap_or(0).max(8);
    let mut out = format!(
        "{:longest$}  {:>11}  {:>7}  {:>9}  {:>13}  {:>13}\n",
        "scenario", "frames out", "numbers", "passed", "median error", "largest error"
    );
    for rows in scenarios {
        let line = Line::of(rows);
        let verdict = if line.passed == line.counted { "" } else { "  FAIL" };
        let _ = writeln!(
            out,
            "{:longest$}  {:>11}  {:>7}  {:>9}  {:>12.2}%  {:>12.2}%{verdict}",
            rows[0].row, line.frames, line.counted, line.passed, line.median, line.largest
        );
        for failed in rows.iter().filter(|row| !row.pass) {
            let _ = writeln!(out, "    {}", number(failed));
        }
    }
    out.push_str(&verdict(comparisons));
    out
}

/// Writes every number of every scenario.
pub fn every_number(comparisons: &[Comparison]) -> String {
    let mut out = String::new();
    for rows in scenarios(comparisons) {
        let _ = writeln!(out, "{}", rows[0].row);
        for row in rows {
            let _ = writeln!(out, "    {:11}  {}", table::mark(row), number(row));
        }
    }
    out.push_str(&verdict(comparisons));
    out
}

/// Writes a line per scenario as Markdown.
pub fn markdown(comparisons: &[Comparison]) -> String {
    let mut out = String::from(
        "| scenario | frames out | numbers | passed | median error | largest error |\n\
         |---|--:|--:|--:|--:|--:|\n",
    );
    for rows in scenarios(comparisons) {
        let line = Line::of(rows);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {:.2} % | {:.2} % |",
            rows[0].row, line.frames, line.counted, line.passed, line.median, line.largest
        );
    }
    out.push('\n');
    out.push_str(&verdict(comparisons));
    out
}

/// Holds what is said of one scenario; errors in percent.
struct Line {
    frames: String,
    counted: usize,
    passed: usize,
    median: f64,
    largest: f64,
}

impl Line {
    fn of(rows: &[Comparison]) -> Self {
        let counted = rows.iter().filter(|row| row.counts);
        let errors = counted.clone().map(|row| row.error.abs());
        let frames = rows.iter().find(|row| row.metric == "frames_out");
        Self {
            frames: frames.map_or("-".to_owned(), |row| format!("{} / {}", row.ours, row.rtl)),
            counted: counted.clone().count(),
            passed: counted.filter(|row| row.pass).count(),
            median: median_error(rows) * 100.0,
            largest: errors.fold(0.0, |largest: f64, error| largest.max(error)) * 100.0,
        }
    }
}

fn scenarios(comparisons: &[Comparison]) -> Vec<&[Comparison]> {
    comparisons.chunk_by(|one, next| one.row == next.row).collect()
}

fn number(row: &Comparison) -> String {
    let value = |value: f64| match value {
        value if value.is_nan() => "-".to_owned(),
        value if value.fract() == 0.0 => format!("{value}"),
        value => format!("{value:.3}"),
    };
    let (ours, rtl, error) = (value(row.ours), value(row.rtl), row.error * 100.0);
    let error = if error.is_nan() { String::new() } else { format!(" ({error:+.2} %)") };
    let note = if row.note.is_empty() { String::new() } else { format!(": {}", row.note) };
    format!("{}: ours {ours}, RTL {rtl}{error}{note}", row.metric)
}

/// Says how many scenarios and numbers pass.
pub fn verdict(comparisons: &[Comparison]) -> String {
    let counted: Vec<_> = comparisons.iter().filter(|row| row.counts).collect();
    let passed = counted.iter().filter(|row| row.pass).count();
    let scenarios = scenarios(comparisons);
    let whole = scenarios.iter().filter(|rows| rows.iter().all(|row| row.pass)).count();
    format!(
        "{whole} of {} scenarios and {passed} of {} numbers within the set's tolerances; median \
         error {:.2} %.\n",
        scenarios.len(),
        counted.len(),
        median_error(comparisons) * 100.0
    )
}
