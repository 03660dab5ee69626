//! Source with the cycles of each line. In: a profile. Out: HTML, a table for each file, warmer where more
//! cycles went.

use std::collections::BTreeMap;

use pinion_observe::profile::{Count, Profile, Rows, Sources};
use pinion_observe::words::count;

use crate::page::escaped;

/// Lists the application's own files of source with what each line took; empty where nothing tells lines.
pub fn annotated(profile: &Profile<'_>, rows: &Rows, sources: &mut Sources) -> String {
    let mut counts: BTreeMap<(&str, u32), Count> = BTreeMap::new();
    for row in rows.lines.iter().filter(|row| row.line > 0) {
        counts.entry((&row.file, row.line)).or_default().add(&row.count);
    }
    let busy = profile.sum().busy().max(1);
    let covered = profile.coverage_with(sources);
    let shown = counts.iter().filter(|((file, _), _)| covered.contains_key(*file));
    let most = shown.map(|(_, count)| count.busy()).max().unwrap_or(0).max(1);
    let mut html = String::new();
    for (file, lines) in &covered {
        // What was compiled elsewhere is left out.
        let Some(source) = sources.text(file) else { continue };
        let all: u64 = (1..)
            .zip(source.lines())
            .filter_map(|(number, _)| Some(counts.get(&(file.as_str(), number))?.busy()))
            .sum();
        let name = escaped(file);
        let share = all as f64 * 100.0 / busy as f64;
        html.push_str(&format!(
            "<details open><summary>{name}, {share:.0} % of the cycles</summary><table class=\"source\">\
             <tr><th>cycles</th><th>share</th><th>times</th><th></th><th></th></tr>"
        ));
        for (number, line) in (1_u32..).zip(source.lines()) {
            let own = counts.get(&(file.as_str(), number)).map_or(0, Count::busy);
            let times = lines.get(&number).map(|times| count(*times)).unwrap_or_default();
            let heat = own as f64 / most as f64;
            let (cycles, share) = match own {
                0 => (String::new(), String::new()),
                own => (count(own), format!("{:.1} %", own as f64 * 100.0 / busy as f64)),
            };
            html.push_str(&format!(
                "<tr style=\"--heat:{heat:.3}\"><td>{cycles}</td><td>{share}</td><td>{times}</td>\
                 <td>{number}</td><td><code>{}</code></td></tr>",
                escaped(line)
            ));
        }
        html.push_str("</table></details>");
    }
    html
}
