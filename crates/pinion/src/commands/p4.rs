//! `pinion p4`: programs of packet pipelines, checked, explained, and as hardware.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use pinion::Error;
use pinion::document::Document;
use pinion::error::Result;
use pinion::report::{Partial, write_whole};
use pinion::{Bar, waterfall};
use pinion_net::capture::CaptureReader;
use pinion_output::OutputFile;
use pinion_p4::explain::Explanation;
use pinion_p4::library::Library;
use pinion_p4::program::Program;
use pinion_p4::{Checked, load};
use pinion_p4_hardware::{Answer, Control, InNic, REGISTER_ARRAY, Together, Vectors, Whole};
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
    let whole = Whole::of(program, &name).map_err(no_hardware)?;
    std::fs::create_dir_all(&args.out)
        .map_err(|why| Error::Usage(format!("cannot make {}: {why}", args.out.display())))?;
    let mut written: Vec<PathBuf> = Vec::new();
    let mut write = |name: String, text: &str| -> Result<()> {
        let path = args.out.join(name);
        if !written.contains(&path) {
            write_whole(&path, text.as_bytes())?;
            written.push(path);
        }
        Ok(())
    };
    for Control { hardware, .. } in &whole.controls {
        write(format!("{}.sv", hardware.module), &hardware.text)?;
    }
    if let Some(around) = &whole.around {
        write(format!("{}.sv", around.module), &around.text)?;
    }
    if whole.has_arrays() {
        write("register_array.sv".to_owned(), REGISTER_ARRAY)?;
    }
    if args.nic {
        let place = InNic::of(&whole).map_err(|why| {
            Error::Usage(format!("{name} does not fit into the nanoPU's NIC: {why}"))
        })?;
        write(format!("{}.sv", place.module), &place.text)?;
    }
    written.extend(write_vectors(args, &whole)?);
    let mut text = String::new();
    for Control { hardware, .. } in &whole.controls {
        let units = &hardware.ports.units;
        let are = |answer: Answer| {
            units.iter().filter(|unit| unit.is_array && unit.answer == answer).count()
        };
        let beside = match are(Answer::Beside) {
            0 => String::new(),
            arrays => format!(", {} beside", count(arrays, "register array")),
        };
        text += &format!(
            "{}: {}, a header a cycle; ports to {}, {} inside{beside}\n",
            hardware.module,
            count(hardware.ports.cycles as usize, "stage"),
            count(units.iter().filter(|unit| unit.is_port()).count(), "unit"),
            count(are(Answer::Inside), "register array")
        );
    }
    if let Some(around) = &whole.around {
        text += &format!(
            "{}: all of these, and {} that several reach\n",
            around.module,
            count(around.arrays, "register array")
        );
    }
    let packets = &whole.controls[0].hardware;
    let written: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
    output::print(&format!(
        "{text}200 Gbit/s from {} MHz on, at a word of 64 bytes a cycle; less than 10 ns a packet above {} MHz\n\
         written: {}\n",
        packets.rate_mhz(),
        packets.latency_mhz(),
        written.join(", ")
    ));
    Ok(Status::Success)
}

/// A file of text that is complete or not there.
struct Lines {
    file: BufWriter<OutputFile>,
    partial: Partial,
}

impl Lines {
    fn create(path: &Path) -> Result<Self> {
        let (file, partial) = Partial::create(path)?;
        Ok(Self { file: BufWriter::new(file), partial })
    }

    fn write(&mut self, text: &str) -> Result<()> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| Error::file("write", self.partial.target(), error))
    }

    fn keep(mut self) -> Result<()> {
        let flushed = self.file.flush();
        flushed.map_err(|error| Error::file("write", self.partial.target(), error))?;
        Ok(self.partial.keep()?)
    }
}

/// Writes what the hardware must do with packets, if that is wanted; gives the files.
fn write_vectors(args: &P4HardwareArgs, whole: &Whole) -> Result<Vec<PathBuf>> {
    let Some(packets) = args.vectors else { return Ok(Vec::new()) };
    let mut frames = Vec::new();
    if let Some(capture) = &args.frames {
        for frame in CaptureReader::open(capture).map_err(usage)? {
            frames.push(frame.map_err(usage)?.bytes);
        }
        if frames.is_empty() {
            return Err(Error::Usage(format!("{} has no packets", capture.display())));
        }
    }
    let frame = |n: u64| match frames.len() {
        0 => None,
        count => Some(&frames[(n % count as u64) as usize][..]),
    };
    let path = |control: &Control| args.out.join(format!("{}.vectors", control.hardware.module));
    let paths: Vec<PathBuf> = whole.controls.iter().map(path).collect();
    if whole.around.is_some() {
        let mut all = Together::new(whole, args.seed).map_err(Error::Usage)?;
        let files: Result<Vec<Lines>> = paths.iter().map(|path| Lines::create(path)).collect();
        let mut files = files?;
        for (control, file) in files.iter_mut().enumerate() {
            file.write(&all.head(control))?;
        }
        for n in 0..packets {
            for (control, line) in all.cycle(frame(n)) {
                files[control].write(&format!("{line}\n"))?;
            }
        }
        files.into_iter().try_for_each(Lines::keep)?;
        return Ok(paths);
    }
    for (control, path) in whole.controls.iter().zip(&paths) {
        let vectors = Vectors::new(control.program, &control.hardware, args.seed);
        let mut vectors = vectors.map_err(Error::Usage)?;
        let mut file = Lines::create(path)?;
        file.write(&vectors.head())?;
        for n in 0..packets {
            file.write(&format!("{}\n", vectors.line(frame(n))))?;
        }
        file.keep()?;
    }
    Ok(paths)
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
