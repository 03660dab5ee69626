//! `pinion p4`: programs of packet pipelines, checked, explained, and as hardware.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use pinion::Error;
use pinion::document::Document;
use pinion::error::Result;
use pinion::report::write_whole;
use pinion::{Bar, waterfall};
use pinion_net::capture::CaptureReader;
use pinion_p4::explain::Explanation;
use pinion_p4::library::Library;
use pinion_p4::program::Program;
use pinion_p4::{Checked, load};
use pinion_p4_hardware::{Answer, Hardware, REGISTER_ARRAY, Vectors};
use serde_json::{Value, json};

use super::Status;
use crate::cli::{P4Args, P4ExplainArgs, P4HardwareArgs, P4Verb};
use crate::output;

pub fn run(args: &P4Args) -> Result<Status> {
    match &args.command {
        P4Verb::Check { files } => check(files),
        P4Verb::Explain(args) => explain(args),
        P4Verb::Hardware(args) => hardware(args),
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
                "a pipeline of {}, {}{}",
                count(program.states.len(), "parser state"),
                count(program.externs.len() - program.tables.len(), "extern"),
                tables_and_events(program)
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

/// Counts what not every program has.
fn tables_and_events(program: &Program) -> String {
    let each = [(program.tables.len(), "table"), (program.events.len(), "event")];
    let each = each.into_iter().filter(|(number, _)| *number > 0);
    each.map(|(number, what)| format!(", {}", count(number, what))).collect()
}

/// Gives a program that is right.
fn pipeline<'c>(checked: &'c Checked, file: &Path) -> Result<&'c Program> {
    checked.program.as_ref().ok_or_else(|| {
        let why = match checked.found.errors() {
            0 => "has no `main`: there is no pipeline in it".to_owned(),
            errors => format!("has {}, and no pipeline", count(errors, "error")),
        };
        Error::Usage(format!("{} {why}", file.display()))
    })
}

fn explain(args: &P4ExplainArgs) -> Result<Status> {
    let checked = read(&args.file)?;
    let name = args.file.display().to_string();
    let program = pipeline(&checked, &args.file)?;
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

fn hardware(args: &P4HardwareArgs) -> Result<Status> {
    let checked = read(&args.file)?;
    let program = pipeline(&checked, &args.file)?;
    let name = args.file.display().to_string();
    let no_hardware =
        |why: String| Error::Usage(format!("{name} cannot be made as hardware: {why}"));
    let whole = Hardware::of(program, &name).map_err(no_hardware)?;
    let mut modules = vec![(program, whole)];
    for event in &program.events {
        let module = Hardware::of_event(event, &name).map_err(no_hardware)?;
        modules.push((&event.program, module));
    }
    std::fs::create_dir_all(&args.out)
        .map_err(|why| Error::Usage(format!("cannot make {}: {why}", args.out.display())))?;
    let mut written: Vec<PathBuf> = Vec::new();
    for (program, hardware) in &modules {
        let path = args.out.join(format!("{}.sv", hardware.module));
        write_whole(&path, hardware.text.as_bytes())?;
        written.push(path);
        let arrays = args.out.join("register_array.sv");
        if hardware.has_arrays() && !written.contains(&arrays) {
            write_whole(&arrays, REGISTER_ARRAY.as_bytes())?;
            written.push(arrays);
        }
        if args.vectors.is_some() {
            let path = args.out.join(format!("{}.vectors", hardware.module));
            write_vectors(args, program, hardware, &path)?;
            written.push(path);
        }
    }
    let mut text = String::new();
    for (_, hardware) in &modules {
        let ports = &hardware.ports;
        let inside = ports.units.iter().filter(|unit| unit.is_array).count();
        let beside = ports.units.iter().filter(|unit| unit.answer != Answer::Inside).count();
        text += &format!(
            "{}: {}, a header a cycle; ports to {}, {} inside\n",
            hardware.module,
            count(ports.cycles as usize, "stage"),
            count(beside, "unit"),
            count(inside, "register array")
        );
    }
    let whole = &modules[0].1;
    let written: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
    output::print(&format!(
        "{text}200 Gbit/s from {} MHz on, at a word of 64 bytes a cycle; less than 10 ns a packet above {} MHz\n\
         written: {}\n",
        whole.rate_mhz(),
        whole.latency_mhz(),
        written.join(", ")
    ));
    Ok(Status::Success)
}

/// Writes what the hardware must do with packets.
fn write_vectors(
    args: &P4HardwareArgs,
    program: &Program,
    hardware: &Hardware,
    path: &Path,
) -> Result<()> {
    let mut frames = Vec::new();
    if let Some(capture) = &args.frames {
        for frame in CaptureReader::open(capture).map_err(usage)? {
            frames.push(frame.map_err(usage)?.bytes);
        }
        if frames.is_empty() {
            return Err(Error::Usage(format!("{} has no packets", capture.display())));
        }
    }
    let mut vectors = Vectors::new(program, hardware, args.seed).map_err(Error::Usage)?;
    let mut write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(vectors.head().as_bytes())?;
        for n in 0..args.vectors.unwrap_or(0) {
            let frame = match frames.len() {
                0 => None,
                count => Some(&frames[(n % count as u64) as usize][..]),
            };
            writeln!(file, "{}", vectors.line(frame))?;
        }
        file.flush()
    };
    write().map_err(|why| Error::Usage(format!("cannot write {}: {why}", path.display())))
}

fn usage(problem: impl std::fmt::Display) -> Error {
    Error::Usage(problem.to_string())
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
    let table = |table: &pinion_p4::explain::TableLine| {
        let key = |(name, bits, kind): &(String, u32, &str)| json!({ "name": name, "bits": bits, "compared": kind });
        json!({
            "name": table.name,
            "keys": table.keys.iter().map(key).collect::<Vec<_>>(),
            "actions": table.actions,
            "size": table.size,
        })
    };
    let event = |event: &pinion_p4::explain::EventLine| {
        json!({
            "event": event.event,
            "threshold_words": event.threshold,
            "control": event.control,
            "cycles": event.cycles,
            "externs": event.externs.iter().map(external).collect::<Vec<_>>(),
            "sends": headers(&event.sends),
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
        "tables": explanation.tables.iter().map(table).collect::<Vec<_>>(),
        "events": explanation.events.iter().map(event).collect::<Vec<_>>(),
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
    for event in &explanation.events {
        let name = format!("on {}", event.event);
        bars.push(bar(&name, 0, event.cycles, true));
        for external in event.externs.iter().filter(|external| external.from.is_some()) {
            let from = external.from.unwrap_or(0);
            bars.push(bar(&external.name, from, external.latency, external.is_event));
        }
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
