//! The comparison as a table: for the terminal and, as Markdown, for the book.

use std::fmt::Write as _;

use super::Comparison;

/// Gives the median of the absolute errors, over the metrics that count.
pub fn median_error(comparisons: &[Comparison]) -> f64 {
    let counted = comparisons.iter().filter(|comparison| comparison.counts);
    let mut errors: Vec<f64> = counted.map(|comparison| comparison.error.abs()).collect();
    errors.sort_by(f64::total_cmp);
    match errors.len() {
        0 => 0.0,
        length if length % 2 == 1 => errors[length / 2],
        length => (errors[length / 2 - 1] + errors[length / 2]) / 2.0,
    }
}

/// Says in a word how a comparison went.
pub(super) fn mark(comparison: &Comparison) -> &'static str {
    match (comparison.counts, comparison.pass) {
        (false, _) => "informative",
        (true, true) => "pass",
        (true, false) => "FAIL",
    }
}

/// Writes the table for a terminal.
pub fn text(comparisons: &[Comparison]) -> String {
    let longest = comparisons.iter().map(|comparison| comparison.row.len()).max().unwrap_or(3);
    let mut out = format!(
        "{:longest$}  {:16}  {:>10}  {:>10}  {:>8}\n",
        "row", "metric", "ours", "RTL", "error"
    );
    for comparison in comparisons {
        let mark = mark(comparison);
        let _ = writeln!(
            out,
            "{:longest$}  {:16}  {:>10.1}  {:>10.1}  {:>+7.1}%  {mark}",
            comparison.row,
            comparison.metric,
            comparison.ours,
            comparison.rtl,
            comparison.error * 100.0
        );
    }
    out.push_str(&verdict(comparisons));
    out
}

/// Writes the table as Markdown.
pub fn markdown(comparisons: &[Comparison]) -> String {
    let mut out =
        String::from("| row | metric | ours, ns | RTL, ns | error |\n|---|---|--:|--:|--:|\n");
    for comparison in comparisons {
        let _ = writeln!(
            out,
            "| {} | {} | {:.1} | {:.1} | {:+.1} % |",
            comparison.row,
            comparison.metric.trim_end_matches("_ns"),
            comparison.ours,
            comparison.rtl,
            comparison.error * 100.0
        );
    }
    out.push('\n');
    out.push_str(&verdict(comparisons));
    out
}

fn verdict(comparisons: &[Comparison]) -> String {
    let counted: Vec<_> = comparisons.iter().filter(|comparison| comparison.counts).collect();
    let passed = counted.iter().filter(|comparison| comparison.pass).count();
    format!(
        "{passed} of {} rows within 5 % or 2 ns; median error {:.2} %.\n",
        counted.len(),
        median_error(comparisons) * 100.0
    )
}
