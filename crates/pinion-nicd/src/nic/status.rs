//! What a NIC says of itself: as JSON, and from that as text.

use std::fmt::Write as _;

use serde_json::{Value, json};

use pinion_observe::document::Document;
use pinion_spin::ContextId;

use super::Setting;
use super::board::Board;
use super::holder::Holder;
use super::message::Rules;

/// Counters of `__host_data`.
const COUNTERS: u32 = 16;

/// Gives the NIC's state as JSON.
pub fn json(board: &Board, setting: &Setting) -> String {
    let totals = board.nic.totals();
    let (lines, forgotten) = board.log.counts();
    let contexts: Vec<Value> = (0..setting.contexts).map(|context| of(board, context)).collect();
    json!({
        "document": Document::NicStatus.head(),
        "device": setting.device,
        "machine": board.machine.name,
        "wire": board.outside.device.name(),
        "pid": std::process::id(),
        "running_seconds": board.age().as_secs_f64(),
        "simulated_ns": board.now().ns(),
        "hpus": board.machine.hpus(),
        "contexts": contexts,
        "packets": {
            "in": totals.packets_in,
            "matched": totals.matched,
            "processed": totals.processed,
            "to_host": totals.unmatched,
            "dropped": totals.dropped_total(),
            "dropped_by_kernel": board.outside.device.dropped_by_kernel(),
            "inside": totals.resident,
            "out": totals.packets_out,
        },
        "host_writes": { "count": totals.host_writes, "bytes": totals.host_bytes },
        "log": { "lines": lines, "forgotten": forgotten },
        "refused": setting.refused.get(),
    })
    .to_string()
}

fn of(board: &Board, context: u32) -> Value {
    let inside = board.nic.packets_of(ContextId(context));
    let Some(holder) = board.holder_of(context) else {
        return json!({ "context": context, "held": false, "packets_inside": inside });
    };
    let seen = board.seen[context as usize];
    let loaded = holder.image.and_then(|index| board.images[index].as_ref());
    let handler = |kind: usize| {
        let found = loaded.and_then(|loaded| loaded.handlers[kind].as_ref());
        found.map(|handler| handler.name.clone())
    };
    let memory = &holder.handler_memory;
    json!({
        "context": context,
        "held": true,
        "pid": holder.pid,
        "uid": holder.user,
        "program": holder.program,
        "image": holder.image_name,
        "loaded": loaded.is_some(),
        "handlers": { "header": handler(0), "payload": handler(1), "completion": handler(2) },
        "handler_memory": { "address": memory.start, "bytes": memory.len() },
        "host_memory": { "bytes": holder.region.bytes(), "window": [
            holder.window.start, holder.window.end
        ] },
        "rules": holder.rules.get((context - holder.first) as usize).map(rules),
        "packets": seen.packets,
        "packets_inside": inside,
        "handlers_ended": seen.faults,
        "counters": counters(board, holder),
    })
}

fn rules(rules: &Rules) -> Value {
    let shown = |[word, mask, start, end]: &[u32; 4]| {
        format!("u32({word}, {mask:#x}, {start:#x}, {end:#x})")
    };
    let [choosing @ .., last] = &rules.rules;
    json!({
        "mode": if rules.is_or { "or" } else { "and" },
        "match": choosing.iter().map(shown).collect::<Vec<_>>(),
        "end_of_message": shown(last),
    })
}

/// Lists the counters that handlers have pushed something into.
fn counters(board: &Board, holder: &Holder) -> Vec<Value> {
    let loaded = holder.image.and_then(|index| board.images[index].as_ref());
    let shared = loaded.and_then(|loaded| loaded.host_data.as_ref());
    let Some(shared) = shared else { return Vec::new() };
    let base = shared.start + 8 * board.machine.hpus();
    let counter = |number: u32| {
        let mut bytes = [0; 8];
        let is_there = board.nic.read_memory(base + 8 * number, &mut bytes);
        let word = u64::from_le_bytes(bytes);
        let (sum, count) = (word as u32, (word >> 32) as u32);
        (is_there && count > 0).then(|| json!({ "counter": number, "sum": sum, "count": count }))
    };
    (0..COUNTERS).filter_map(counter).collect()
}

/// Turns the JSON into lines for people.
pub fn text(status: &Value) -> String {
    let mut out = String::new();
    let number = |value: &Value| pinion_observe::words::count(value.as_u64().unwrap_or(0));
    let packets = &status["packets"];
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{} on {}: {}, process {}, {:.0} s",
        plain(&status["device"]),
        plain(&status["wire"]),
        plain(&status["machine"]),
        status["pid"],
        status["running_seconds"].as_f64().unwrap_or(0.0)
    );
    let _ = writeln!(
        out,
        "  packets in {}, matched {}, to host {}, dropped {}, inside {}, out {}{}",
        number(&packets["in"]),
        number(&packets["matched"]),
        number(&packets["to_host"]),
        number(&packets["dropped"]),
        number(&packets["inside"]),
        number(&packets["out"]),
        match packets["dropped_by_kernel"].as_u64() {
            None | Some(0) => String::new(),
            Some(frames) => {
                format!("; dropped by the kernel before {}", pinion_observe::words::count(frames))
            }
        }
    );
    for context in status["contexts"].as_array().into_iter().flatten() {
        context_text(&mut out, context);
    }
    let log = &status["log"];
    let _ = writeln!(
        out,
        "  output: {} lines, {} of them forgotten",
        number(&log["lines"]),
        number(&log["forgotten"])
    );
    out
}

fn context_text(out: &mut String, context: &Value) {
    let number = |value: &Value| pinion_observe::words::count(value.as_u64().unwrap_or(0));
    if context["held"] != Value::Bool(true) {
        let _ = writeln!(out, "  context {}: free", context["context"]);
        return;
    }
    let _ = writeln!(
        out,
        "  context {}: process {} ({}, user {}), {}",
        context["context"],
        context["pid"],
        plain(&context["program"]),
        context["uid"],
        if context["loaded"] == Value::Bool(true) {
            plain(&context["image"])
        } else {
            "nothing loaded".to_owned()
        }
    );
    let rules = &context["rules"];
    if let Some(words) = rules["match"].as_array() {
        let words: Vec<String> = words.iter().map(plain).collect();
        let _ = writeln!(
            out,
            "    {} of {}; end {}",
            if rules["mode"] == "or" { "any" } else { "all" },
            words.join(" "),
            plain(&rules["end_of_message"])
        );
    }
    let _ = writeln!(
        out,
        "    packets {}, inside {}, handlers ended {}; handler memory {} at {:#x}, host memory {}",
        number(&context["packets"]),
        number(&context["packets_inside"]),
        number(&context["handlers_ended"]),
        pinion_observe::words::bytes(context["handler_memory"]["bytes"].as_u64().unwrap_or(0)),
        context["handler_memory"]["address"].as_u64().unwrap_or(0),
        pinion_observe::words::bytes(context["host_memory"]["bytes"].as_u64().unwrap_or(0))
    );
    for counter in context["counters"].as_array().into_iter().flatten() {
        let (sum, count) = (counter["sum"].as_f64(), counter["count"].as_f64());
        let mean = sum.unwrap_or(0.0) / count.unwrap_or(1.0).max(1.0);
        let _ = writeln!(
            out,
            "    counter {}: {} values, mean {mean:.1}",
            counter["counter"],
            number(&counter["count"])
        );
    }
}

fn plain(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}
