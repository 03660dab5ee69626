//! What a transport's P4 programs have counted: entries of tables, events, frames sent back. In: counts of both
//! directions. Out: lines for people, and values for machines.

use std::fmt::Write as _;

use pinion_nanopu::nic::transmit::counters::Counters;
use pinion_nanopu::transport::Counts;
use serde_json::{Map, Value, json};

use pinion_observe::words::count;

/// Entries of a table that are told to people, those that fitted most.
const KEPT: usize = 10;

/// Writes lines for people.
pub(super) fn write_text(
    pipelines: &[Counts],
    transmit: &Counters,
    out: &mut String,
) -> std::fmt::Result {
    for counts in pipelines {
        if let Some(returned) = counts.returned {
            let lost = match transmit.made_frames_dropped {
                0 => String::new(),
                lost => format!("  {} lost, too many waited", count(lost)),
            };
            writeln!(out, "    sent back   {:>12}{lost}", count(returned))?;
        }
        for (event, number) in &counts.events {
            writeln!(out, "  on {:<11}{:>12}", event.name(), count(*number))?;
        }
        if counts.lost_timers > 0 {
            let lost = count(counts.lost_timers);
            writeln!(out, "    lost        {lost:>12}  timers, too many run")?;
        }
        for table in &counts.tables {
            let entries = count(table.entries.len() as u64);
            let size = count(table.size.into());
            writeln!(out, "  table {}  {entries} of {size} entries", table.name)?;
            let mut rows: Vec<_> = table.entries.iter().collect();
            rows.sort_by_key(|(_, hits)| std::cmp::Reverse(*hits));
            for (entry, hits) in rows.iter().take(KEPT) {
                writeln!(out, "    hits        {:>12}  {entry}", count(*hits))?;
            }
            let rest = &rows[rows.len().min(KEPT)..];
            if !rest.is_empty() {
                let hits = count(rest.iter().map(|(_, hits)| hits).sum());
                writeln!(out, "    hits        {hits:>12}  the other {}", rest.len())?;
            }
            writeln!(out, "    no entry    {:>12}", count(table.misses))?;
        }
    }
    Ok(())
}

/// Gives values for machines.
pub(super) fn to_json(pipelines: &[Counts], transmit: &Counters) -> Value {
    let mut tables: Vec<Value> = Vec::new();
    let mut events = Map::new();
    let mut returned = Value::Null;
    for counts in pipelines {
        for table in &counts.tables {
            let entry = |(entry, hits): &(String, u64)| json!({ "entry": entry, "hits": hits });
            tables.push(json!({
                "name": table.name,
                "size": table.size,
                "entries": table.entries.iter().map(entry).collect::<Vec<_>>(),
                "misses": table.misses,
            }));
        }
        let each = counts.events.iter();
        events.extend(each.map(|(event, number)| (event.name().to_owned(), (*number).into())));
        if let Some(number) = counts.returned {
            returned = number.into();
        }
    }
    json!({
        "tables": tables,
        "events": events,
        "sent_back": returned,
        "sent_back_lost": transmit.made_frames_dropped,
    })
}
