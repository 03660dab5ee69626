//! `pinion p4`: programs of packet pipelines, checked and explained.

use std::path::Path;

use pinion::Error;
use pinion::document::Document;
use pinion::error::Result;
use pinion::report::write_whole;
use pinion::{Bar, waterfall};
use pinion_p4::explain::Explanation;
use pinion_p4::library::Library;
use pinion_p4::{Checked, load};
use serde_json::{Value, json};

use super::Status;
use crate::cli::{P4Args, P4ExplainArgs, P4Verb};
use crate::output;

pub fn run(args: &P4Args) -> Result<Status> {
    match &args.command {
        P4Verb::Check { files } => check(files),
        P4Verb::Explain(args) => explain(args),
    }
}

/// Reads a program and tells what is wrong with it.
fn read(file: &Path) -> Result<Checked> {
    let name = file.to_string_lossy();
    let checked = load(&name, &Library)
        .map_err(|why| Error::Usage(format!("cannot read {}: {why}", file.display())))?;
    output::explain(|coloured| checked.found.to_text(&checked.sources, coloured));
    Ok(checked)
}

fn check(files: &[impl AsRef<Path>]) -> Result<Status> {
    let mut status = Status::Success;
    for file in files {
        let file = file.as_ref();
        let checked = read(file)?;
        let what = match &checked.program {
            Some(program) => format!(
                "a pipeline of {}, {}",
                count(program.states.len(), "parser state"),
                count(program.externs.len(), "extern")
            ),
            None if checked.found.errors() == 0 => "declarations, no pipeline".to_owned(),
            None => "no pipeline".to_owned(),
        };
        let (errors, warnings) = (checked.found.errors(), checked.found.warnings());
        let (errors, warnings) = (count(errors, "error"), count(warnings, "warning"));
        output::print(&format!("{}: {what}; {errors}, {warnings}\n", file.display()));
        if checked.found.errors() > 0 {
            status = Status::Mistake;
        }
    }
    Ok(status)
}

fn explain(args: &P4ExplainArgs) -> Result<Status> {
    let checked = read(&args.file)?;
    let name = args.file.display().to_string();
    let Some(program) = &checked.program else {
        let why = match checked.found.errors() {
            0 => "has no `main`: there is no pipeline to explain".to_owned(),
            errors => format!("has {}, and no pipeline to explain", count(errors, "error")),
        };
        return Err(Error::Usage(format!("{name} {why}")));
    };
    let explanation = Explanation::of(program);
    output::print(&explanation.to_text(&name, args.mhz));
    if let Some(path) = &args.json {
        output::write_json(path, &format!("{:#}", to_json(&explanation, &name, args.mhz)))?;
    }
    if let Some(path) = &args.svg {
        write_whole(path, picture(&explanation, &name)?.as_bytes())?;
    }
    Ok(Status::Success)
}

fn to_json(explanation: &Explanation, name: &str, mhz: u32) -> Value {
    let headers = |list: &[(String, u32)]| -> Vec<Value> {
        list.iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect()
    };
    let state = |state: &pinion_p4::explain::StateLine| {
        let leads: Vec<Value> =
            state.leads.iter().map(|(when, to)| json!({ "when": when, "to": to })).collect();
        json!({ "name": state.name, "extracts": headers(&state.extracts), "leads": leads })
    };
    let external = |external: &pinion_p4::explain::ExternLine| {
        json!({
            "name": external.name,
            "latency_cycles": external.latency,
            "asked_cycle": external.from,
            "answered_cycle": external.from.map(|from| from + external.latency),
            "is_event": external.is_event,
            "request_bits": external.request_bits,
            "response_bits": external.response_bits,
        })
    };
    json!({
        "document": Document::P4Pipeline.head(),
        "program": name,
        "blocks": explanation.blocks,
        "clock_mhz": mhz,
        "cycles": explanation.cycles,
        "parser_cycles": explanation.parser_cycles,
        "states": explanation.states.iter().map(state).collect::<Vec<_>>(),
        "externs": explanation.externs.iter().map(external).collect::<Vec<_>>(),
        "sends": headers(&explanation.sends),
    })
}

/// Draws parser and externs as bars, each from its request to its answer.
fn picture(explanation: &Explanation, name: &str) -> Result<String> {
    let bar = |name: &str, from: u32, length: u32, is_event| Bar {
        lane: None,
        name: name.to_owned(),
        from: from.into(),
        length: length.into(),
        is_wait: is_event,
        note: String::new(),
    };
    let mut bars = vec![bar(&explanation.blocks[0], 0, explanation.parser_cycles, false)];
    let mut externs: Vec<_> = explanation.externs.iter().filter(|e| e.from.is_some()).collect();
    externs.sort_by_key(|external| external.from);
    for external in externs {
        let from = external.from.unwrap_or(0);
        bars.push(bar(&external.name, from, external.latency, external.is_event));
    }
    let text = format!(
        "{} from a header's arrival until all has happened; a header a cycle. The second colour: events.",
        count(explanation.cycles as usize, "cycle")
    );
    waterfall(name, &text, "cycles", &bars)
}

/// Writes a number of things.
fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
