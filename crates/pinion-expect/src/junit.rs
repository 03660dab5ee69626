//! Results as JUnit's XML, which continuous integration reads (format: the `testsuites` of Ant's JUnit
//! task). It is a page of our own: the crates that write it bring ten others for dates and identifiers.

use std::fmt::Write as _;

use crate::report::Results;

impl Results {
    /// Writes the results as JUnit's XML.
    pub fn to_junit(&self) -> String {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let (tests, failures) = (self.outcomes.len(), self.failed());
        let name = escaped(&self.app);
        let seconds = self.seconds();
        let counts = format!("tests=\"{tests}\" failures=\"{failures}\" time=\"{seconds:.3}\"");
        let _ = writeln!(text, "<testsuites name=\"{name}\" {counts}>");
        let _ = writeln!(text, "  <testsuite name=\"{name}\" {counts}>");
        for outcome in &self.outcomes {
            let test = escaped(&outcome.name);
            let took = outcome.host.as_secs_f64();
            let _ = write!(
                text,
                "    <testcase name=\"{test}\" classname=\"{name}\" time=\"{took:.3}\""
            );
            if outcome.failures.is_empty() {
                text.push_str("/>\n");
                continue;
            }
            let _ = writeln!(
                text,
                ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                escaped(&outcome.failures[0]),
                escaped(&outcome.failures.join("\n"))
            );
        }
        text.push_str("  </testsuite>\n</testsuites>\n");
        text
    }
}

/// Writes text so that XML takes it; what XML cannot hold becomes a question mark.
fn escaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => all.push_str("&amp;"),
            '<' => all.push_str("&lt;"),
            '>' => all.push_str("&gt;"),
            '"' => all.push_str("&quot;"),
            '\n' | '\t' => all.push(letter),
            letter if letter.is_control() => all.push('?'),
            letter => all.push(letter),
        }
    }
    all
}
