//! A figure's comparison for the book. In: what was produced. Out: a Markdown table of published
//! values beside ours, and why those differ that do.

use super::{Produced, comparison_rows, reasons};

/// Writes the comparison as Markdown, under a heading with the figure's name.
pub fn to_markdown(produced: &Produced) -> String {
    let Produced { name, definition, comparisons, .. } = produced;
    let mut text = format!("### `{name}`: {}\n\n{}.\n\n", definition.title, definition.source);
    for (index, mut row) in comparison_rows(comparisons).into_iter().enumerate() {
        if index == 0 {
            row[4] = "verdict".to_owned(); // a column that needs no head in a terminal
        }
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
        if index == 0 {
            text.push_str("|---|--:|--:|--:|---|---|\n");
        }
    }
    for (explained, reason) in reasons(comparisons) {
        let explained: Vec<String> = explained.iter().map(|what| format!("*{what}*")).collect();
        text.push_str(&format!("\n{}: {reason}\n", explained.join("; ")));
    }
    text
}
