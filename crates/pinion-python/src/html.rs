//! What notebooks show. In: texts and rows. Out: HTML without scripts or styles of its own.

pub use pinion_page::{escaped, inline};

/// Writes a heading and a text whose columns stay aligned.
pub fn text(heading: &str, text: &str) -> String {
    format!("<strong>{}</strong><pre>{}</pre>", escaped(heading), escaped(text))
}

/// Writes a table under a heading, its first row as the head.
pub fn table(heading: &str, rows: &[Vec<String>]) -> String {
    let mut written = format!("<strong>{}</strong><table>", escaped(heading));
    for (index, row) in rows.iter().enumerate() {
        let cell = if index == 0 { "th" } else { "td" };
        written.push_str("<tr>");
        for text in row {
            written.push_str(&format!(
                "<{cell} style=\"text-align: left\">{}</{cell}>",
                escaped(text)
            ));
        }
        written.push_str("</tr>");
    }
    written + "</table>"
}
