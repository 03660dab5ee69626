//! The tables that `pinion bench` prints, aligned or as Markdown.

use std::fmt::Write as _;

use serde_json::Value;

use super::row::Row;
use super::{LeftOut, RTL_CYCLES_PER_SECOND};
use crate::output;

/// Writes everything: what it was measured on, the table, loops, and what was left out.
pub fn whole(
    document: &Value,
    rows: &[Row],
    left_out: &[LeftOut],
    of_loops: &str,
    markdown: bool,
) -> String {
    let mut text = format!("{}\n\n{}", conditions(document), of_rows(rows, markdown));
    if !rows.is_empty() && rows.iter().all(|row| row.host_instructions.is_none()) {
        text.push_str(&below(
            "host instructions are empty: this computer or its system counts none for a process",
            markdown,
        ));
    }
    let slowed = named(rows, |row| row.rate_gbit_s.map(|rate| format!("{rate:.2}")));
    let lossy = named(rows, |row| (row.lost > 0).then(|| row.lost.to_string()));
    let lines = [
        ("packets come as fast as the machine takes them, in Gbit/s", slowed),
        ("packets are lost, however slowly they come", lossy),
    ];
    for (line, rows) in lines.iter().filter(|(_, rows)| !rows.is_empty()) {
        text.push_str(&below(&format!("{line}: {rows}"), markdown));
    }
    text.push_str(of_loops);
    for LeftOut { app, machine, why } in left_out {
        text.push_str(&below(&format!("left out: {app} on {machine}: {why}"), markdown));
    }
    text
}

/// Names the rows of which there is something to say.
fn named(rows: &[Row], say: impl Fn(&Row) -> Option<String>) -> String {
    let named = rows
        .iter()
        .filter_map(|row| say(row).map(|said| format!("{} on {} ({said})", row.app, row.machine)));
    named.collect::<Vec<_>>().join(", ")
}

/// Says with what it was measured, on what and when.
pub fn conditions(document: &Value) -> String {
    let computer = &document["computer"];
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let build = match computer["is_optimised"].as_bool() {
        Some(false) => ", not optimised",
        _ => "",
    };
    format!(
        "pinion {}{build}, {}, on one of {} processors ({}, {})",
        text(&document["pinion_version"]),
        text(&document["date"]),
        computer["processors"],
        text(&computer["processor"]),
        text(&computer["system"]),
    )
}

/// Writes a line below a table.
pub fn below(line: &str, markdown: bool) -> String {
    if markdown { format!("- {line}\n\n") } else { format!("{line}\n") }
}

/// Aligns a table, or writes it as Markdown.
pub fn aligned(head: &[&str], rows: Vec<Vec<String>>, markdown: bool) -> String {
    if !markdown {
        let head = head.iter().map(|&cell| cell.to_owned()).collect();
        return output::columns(&[vec![head], rows].concat()) + "\n";
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = head.iter().map(|cell| if cell.is_empty() { "" } else { "---" });
    let mut text = format!("| {} |\n|{}|\n", head.join(" | "), rule.collect::<Vec<_>>().join("|"));
    rows.iter().for_each(|cells| text.push_str(&line(cells)));
    text + "\n"
}

fn of_rows(rows: &[Row], markdown: bool) -> String {
    let [from, to] = RTL_CYCLES_PER_SECOND;
    let head = [
        "application",
        "machine",
        "MIPS",
        "handled/s",
        "cycles/s",
        "cores busy",
        "times the RTL's",
        "host instructions per instruction",
        "per handled",
    ];
    let cells = rows.iter().map(|row| {
        // A machine at rest is no feat: only cycles in which cores had work count here.
        let active = row.cycles_per_second * row.busy.unwrap_or(1.0);
        let times = |rtl: u32| active / f64::from(rtl);
        let each = |count: u64| match (row.host_instructions, count) {
            (Some(host), 1..) => format!("{:.0}", host as f64 / count as f64),
            _ => String::new(),
        };
        let mut busy = String::new();
        if let Some(share) = row.busy {
            let _ = write!(busy, "{:.0} %", 100.0 * share);
        }
        vec![
            row.app.clone(),
            row.machine.clone(),
            format!("{:.1}", row.mips),
            format!("{:.0}", row.packets_per_second),
            format!("{:.0}", row.cycles_per_second),
            busy,
            format!("{:.0} to {:.0}", times(to), times(from)),
            each(row.instructions),
            each(row.packets),
        ]
    });
    aligned(&head, cells.collect(), markdown)
}
