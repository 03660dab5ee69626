//! Events by their names in the set's tables: what a trace or a table of stages lists becomes an
//! [`Event`], and back.

use std::path::Path;

use pinion_nanopu::event::Event;
use serde::Deserialize;

#[cfg(test)]
use super::observation::Commit;
use crate::read;
use pinion_app::error::{Error, Result};

#[derive(Deserialize)]
struct Row {
    cycle: i64,
    count: u32,
    event: String,
    core: Option<u8>,
    #[serde(default)]
    detail: String,
}

/// Reads a trace; an event that lasts several cycles comes once per cycle. Events that have no
/// counterpart in the model are left out.
///
/// # Errors
/// When the file is unreadable or malformed.
pub fn events(path: &Path) -> Result<Vec<(i64, Event)>> {
    let rows: Vec<Row> = read(path)?;
    let mut events = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let known = event(&row.event, row.core.unwrap_or(0), &row.detail).map_err(|problem| {
            Error::Usage(format!("{}, line {}: {problem}", path.display(), index + 2))
        })?;
        let cycles = row.cycle..row.cycle + i64::from(row.count);
        events
            .extend(known.into_iter().flat_map(|event| cycles.clone().map(move |at| (at, event))));
    }
    events.sort_by_key(|&(at, _)| at);
    Ok(events)
}

/// Reads the instructions that retired.
///
/// # Errors
/// When the file is unreadable or malformed.
#[cfg(test)]
pub fn commits(path: &Path) -> Result<Vec<Commit>> {
    #[derive(Deserialize)]
    struct Row {
        cycle: i64,
        core: u8,
        pc: String,
    }
    let rows: Vec<Row> = read(path)?;
    let mut commits = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let pc = u64::from_str_radix(&row.pc, 16).map_err(|_| {
            let problem = format!("pc: `{}` is not in hex", row.pc);
            Error::Usage(format!("{}, line {}: {problem}", path.display(), index + 2))
        })?;
        commits.push(Commit { at: row.cycle, hart: row.core, pc });
    }
    Ok(commits)
}

/// Finds the value of `name=` in a detail, in hex.
fn context(detail: &str, name: &str) -> std::result::Result<u16, String> {
    let value =
        detail.split_whitespace().find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let value = value.ok_or_else(|| format!("detail `{detail}` holds no `{name}=`"))?;
    u16::from_str_radix(value, 16).map_err(|_| format!("detail: `{value}` is not in hex"))
}

/// Makes an event of its name and details; `None` for one that the model does not know.
///
/// # Errors
/// When a detail is missing or malformed.
pub fn event(name: &str, hart: u8, detail: &str) -> std::result::Result<Option<Event>, String> {
    let last = detail.split_whitespace().any(|part| part == "last");
    Ok(Some(match name {
        "ingress_in" => Event::IngressIn { last },
        "ingress_out" => Event::IngressOut { last },
        "reassembly_out" => Event::ReassemblyOut { last },
        "global_rx_out" => Event::GlobalReceiveOut { hart, last },
        "core_rx_word" => Event::ReceiveWord { hart, context: context(detail, "ctx")?, last },
        "core_rx_pop" => Event::ReceivePop { hart },
        "core_tx_word" => Event::TransmitWord { hart },
        "packetize_in" => Event::PacketizeIn { hart },
        "packetize_out" => Event::PacketizeOut { last },
        "egress_in" => Event::EgressIn { last },
        "egress_out" => Event::EgressOut { last },
        "msg_done" => Event::MessageDone { hart },
        "thread_interrupt" => Event::ThreadInterrupt {
            hart,
            running: context(detail, "cur")?,
            target: context(detail, "top")?,
        },
        "trap" => Event::Trap { hart },
        "control_request" => Event::ControlRequest,
        "delivered" => Event::Delivered,
        "credit" => Event::Credit,
        "timeout" => Event::Timeout,
        "timer_cancel" => Event::TimerCancel,
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_details_make_events() {
        let word = Event::ReceiveWord { hart: 2, context: 1, last: true };
        assert_eq!(event("core_rx_word", 2, "last ctx=0001"), Ok(Some(word)));
        let pulse = Event::ThreadInterrupt { hart: 0, running: 0xffff, target: 1 };
        assert_eq!(event("thread_interrupt", 0, "cur=ffff top=0001"), Ok(Some(pulse)));
        assert_eq!(event("core_rx_unread", 0, "2"), Ok(None));
        assert!(event("core_rx_word", 0, "last").is_err());
    }
}
