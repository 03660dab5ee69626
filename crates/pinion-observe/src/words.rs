//! Numbers and names as people read them, the same in every report.

use pinion_sim::config::Entry;
use pinion_spin::HandlerKind;

/// Gives what a function writes.
pub fn written(write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut text = String::new();
    write(&mut text).expect("writing to a string cannot fail");
    text
}

/// Writes a count with thousands separated.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes numbers in ascending order, those that follow each other as a range: `3, 7-9`.
pub fn ranges(mut numbers: Vec<u32>) -> String {
    numbers.sort_unstable();
    numbers.dedup();
    let runs = numbers.chunk_by(|number, next| number + 1 == *next);
    let text = |run: &[u32]| match run {
        [only] => only.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    runs.map(text).collect::<Vec<_>>().join(", ")
}

/// Writes a number of bytes.
pub fn bytes(bytes: u64) -> String {
    format!("{} B", count(bytes))
}

/// Writes a measure, large ones without a fraction.
pub fn number(value: f64) -> String {
    match value {
        value if value >= 10_000.0 => count(value.round() as u64),
        value => format!("{value:.1}"),
    }
}

/// Writes a time of the host.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Aligns the columns of rows; the last is not padded.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Writes a machine's numbers, their units and where they come from, a line each.
pub fn machine_table(entries: &[Entry]) -> String {
    let row = |entry: &Entry| {
        let mark = if entry.overridden { "*" } else { "" };
        let unit = entry.unit.as_deref().unwrap_or("");
        let origin = match entry.overridden {
            true => "set on the command line",
            false => entry.source.as_deref().unwrap_or(""),
        };
        let note = entry.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
        let value = format!("{}{mark}", entry.value.trim_matches('"'));
        vec![entry.key.clone(), value, unit.to_owned(), format!("{origin}{note}")]
    };
    let mut rows = vec![["key", "value", "unit", "source"].map(str::to_owned).to_vec()];
    rows.extend(entries.iter().map(row));
    columns(&rows)
}

/// Names a kind of handler as the manifest does.
pub fn kind_name(kind: HandlerKind) -> &'static str {
    match kind {
        HandlerKind::Header => "header",
        HandlerKind::Payload => "payload",
        HandlerKind::Completion => "completion",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        assert_eq!(count(7), "7");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(12_345_678), "12,345,678");
    }

    #[test]
    fn numbers_beside_each_other_are_a_range() {
        assert_eq!(ranges(vec![7, 5, 6, 7, 12]), "5-7, 12");
        assert_eq!(ranges(vec![3]), "3");
        assert_eq!(ranges(Vec::new()), "");
    }
}
