//! The comparison as a table: for the terminal and, as Markdown, for the book.

use std::fmt::Write as _;

use super::Comparison;

/// Gives the median of the absolute errors, over the metrics that count.
pub fn median_error(comparisons: &[Comparison]) -> f64 {
    let counted = comparisons.iter().filter(|comparison| comparison.counts);
    median(counted.map(|comparison| comparison.error.abs()).collect())
}

/// Gives the median of numbers; 0 of none.
pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => 0.0,
        length if length % 2 == 1 => numbers[length / 2],
        length => (numbers[length / 2 - 1] + numbers[length / 2]) / 2.0,
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

/// Writes the table for a terminal, with what is noted on a row below it.
pub(super) fn text(comparisons: &[Comparison]) -> String {
    let longest = comparisons.iter().map(|comparison| comparison.row.len()).max().unwrap_or(3);
    let mut out = format!(
        "{:longest$}  {:17}  {:>10}  {:>10}  {:>8}\n",
        "row", "metric", "ours", "RTL", "error"
    );
    for comparison in comparisons {
        let mark = mark(comparison);
        let _ = writeln!(
            out,
            "{:longest$}  {:17}  {:>10.1}  {:>10.1}  {:>+7.1}%  {mark}",
            comparison.row,
            comparison.metric,
            comparison.ours,
            comparison.rtl,
            comparison.error * 100.0
        );
        for line in comparison.note.lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    out
}

/// Writes the table as Markdown.
pub(super) fn markdown(comparisons: &[Comparison]) -> String {
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
    out
}

/// Gives the largest of the absolute errors, over the metrics that count.
fn largest_error(comparisons: &[Comparison]) -> f64 {
    let counted = comparisons.iter().filter(|comparison| comparison.counts);
    counted.map(|comparison| comparison.error.abs()).fold(0.0, f64::max)
}

/// Says how many rows pass, all of whose metrics must, what is asked of them, and how many packets are the same to the
/// cycle.
pub(super) fn verdict(comparisons: &[Comparison], bar: &str) -> String {
    let rows = comparisons.chunk_by(|one, next| one.row == next.row);
    let (mut count, mut passed) = (0, 0);
    for row in rows {
        count += 1;
        passed += usize::from(row.iter().all(|comparison| comparison.pass));
    }
    let (median, largest) = (median_error(comparisons), largest_error(comparisons));
    let [same, all] = [0, 1].map(|of| comparisons.iter().map(|it| it.packets[of]).sum::<usize>());
    format!(
        "{passed} of {count} {bar}; median error {:.2} %, largest {:.1} %; \
         {same} of {all} packets in the RTL's very cycles.\n",
        median * 100.0,
        largest * 100.0
    )
}
