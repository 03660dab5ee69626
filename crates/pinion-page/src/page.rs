//! The page. In: a heading and parts. Out: HTML.

use crate::curves::Curves;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Follows a run that goes on.
const LIVE_SCRIPT: &str = include_str!("live.js");

/// What a browser lets the page do: show what is in it, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";
/// What it lets a page do besides that follows a run: ask whoever gave it.
const LIVE_POLICY: &str = "; connect-src 'self'";

/// A page under way.
#[derive(Debug)]
pub struct Page {
    title: String,
    is_live: bool,
    parts: Vec<(String, String)>,
}

impl Page {
    /// Begins a page.
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), is_live: false, parts: Vec::new() }
    }

    /// Begins the page of a run that goes on: it asks whoever gave it for its parts again and again, at the
    /// address `parts` beside its own.
    pub fn live(title: &str) -> Self {
        Self { is_live: true, ..Self::new(title) }
    }

    /// Adds text whose columns stay aligned.
    pub fn text(&mut self, heading: &str, text: &str) {
        self.add(heading, format!("<pre>{}</pre>", escaped(text.trim_end())));
    }

    /// Adds a picture.
    pub fn picture(&mut self, heading: &str, svg: &str) {
        self.add(heading, format!("<div class=\"picture\">{}</div>", inline(svg)));
    }

    /// Adds curves that can be zoomed into.
    pub fn curves(&mut self, heading: &str, curves: &Curves) {
        let hint = match curves.is_over_time {
            true => "Drag over a stretch to see it closer, double-click to see all again.",
            false => "",
        };
        let data = within_script(&curves.to_json().to_string());
        let body = format!(
            "<p class=\"hint\">{hint}</p><div class=\"curves\">\
             <script type=\"application/json\">{data}</script></div>"
        );
        self.add(heading, body);
    }

    /// Adds HTML that this crate wrote.
    pub fn html(&mut self, heading: &str, html: String) {
        self.add(heading, html);
    }

    fn add(&mut self, heading: &str, body: String) {
        self.parts.push((heading.to_owned(), body));
    }

    /// Gives its parts alone, as JSON: a heading and HTML each.
    pub fn parts(&self) -> serde_json::Value {
        let part = |(heading, html): &(String, String)| serde_json::json!({ "heading": heading, "html": html });
        self.parts.iter().map(part).collect()
    }

    /// Writes the page, with the run's JSON document in it for programs (`#document`).
    pub fn to_html(&self, document: &serde_json::Value) -> String {
        let title = escaped(&self.title);
        let links = self.parts.iter().enumerate().map(|(number, (heading, _))| {
            format!("<a href=\"#part-{number}\">{}</a>", escaped(heading))
        });
        let links: String = links.collect();
        let sections = self.parts.iter().enumerate().map(|(number, (heading, body))| {
            let heading = escaped(heading);
            format!("<section id=\"part-{number}\"><h2>{heading}</h2>{body}</section>\n")
        });
        let sections: String = sections.collect();
        let document = within_script(&document.to_string());
        let (policy, state, script) = match self.is_live {
            false => ("", "", ""),
            true => (LIVE_POLICY, "<p class=\"hint\" id=\"state\"></p>", LIVE_SCRIPT),
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header><h1>{title}</h1>{state}<nav>{links}</nav></header>\n<main>\n{sections}</main>\n\
             <script type=\"application/json\" id=\"document\">{document}</script>\n\
             <script>\n{SCRIPT}{script}</script>\n</body>\n</html>\n"
        )
    }
}

/// Writes text so that HTML shows it as it is.
pub fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\n' | '\t' => written.push(letter),
            letter if letter.is_control() => written.push('\u{fffd}'),
            letter => written.push(letter),
        }
    }
    written
}

/// Takes a picture out of its file, for a page.
pub fn inline(svg: &str) -> &str {
    svg.find("<svg").map_or("", |start| &svg[start..])
}

/// Writes JSON so that no text in it ends the script that it stands in.
fn within_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::curves::Panel;

    #[test]
    fn nothing_that_a_run_says_is_taken_for_html() {
        let mut page = Page::new("</title><script>alert(1)</script>");
        page.text("<b>", "</pre><script>alert(2)</script>\u{7}");
        let mut curves = Curves::over_time("time, µs", vec![0.0, 1.0]);
        curves.panels.push(Panel { title: "</script>".to_owned(), values: vec![1.0, 2.0] });
        page.curves("curves", &curves);
        let html = page.to_html(&json!({ "app": "</script><script>alert(3)</script>" }));
        assert!(!html.contains("<script>alert") && !html.contains("<b>"));
        assert_eq!(html.matches("</script>").count(), 3);
        assert_eq!(html.matches("<title>").count(), 1);
    }

    #[test]
    fn a_page_of_a_run_that_goes_on_asks_whoever_gave_it_alone() {
        let mut page = Page::live("a run");
        page.text("<b>", "1 < 2");
        let html = page.to_html(&json!({}));
        assert!(
            html.contains("form-action 'none'; connect-src 'self'\"") && html.contains("fetch(")
        );
        assert_eq!(page.parts(), json!([{ "heading": "<b>", "html": "<pre>1 &lt; 2</pre>" }]));
    }

    #[test]
    fn the_page_asks_for_nothing() {
        let mut page = Page::new("a run");
        page.picture("way", "<?xml?><svg xmlns=\"http://www.w3.org/2000/svg\"></svg>");
        let html = page.to_html(&json!({}));
        assert!(html.contains("default-src 'none'"));
        assert!(!html.contains("connect-src") && !html.contains("fetch("));
        assert!(!html.contains("src=\"") && !html.contains("url(") && !html.contains("@import"));
        let names = html.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(html.matches("://").count(), names, "name spaces alone");
    }
}
