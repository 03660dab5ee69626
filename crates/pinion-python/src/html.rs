//! What notebooks show. In: texts and rows. Out: HTML without scripts or styles of its own.

/// Writes text so that HTML shows it as it is.
pub fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            letter => written.push(letter),
        }
    }
    written
}

/// Takes a picture out of its file, for a page.
pub fn inline(svg: &str) -> &str {
    svg.find("<svg").map_or("", |start| &svg[start..])
}

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
