//! `pinion bench`: how fast this computer simulates, in processor time: every example on every machine
//! that it fits, beside the RTL, and the same loops on QEMU and Spike where they are installed.

mod against;
mod engine_cores;
mod host;
#[cfg(unix)]
mod loops;
mod row;
mod runs;
mod tables;

use std::path::{Path, PathBuf};

use pinion::document::Document;
use pinion::error::{Error, Result};
use pinion::machine::{self, Kind};
use pinion::sweep::Subject;
use pinion::{assets, cluster};
use pinion_spin::EngineCore;
use serde::Serialize;
use serde_json::json;

use super::{Status, files, interrupt};
use crate::cli::BenchArgs;
use crate::output;
use row::{Ran, Row};

/// Cycles per second of the published RTL in a simulator, PsPIN's and the nanoPU's: between these.
const RTL_CYCLES_PER_SECOND: [u32; 2] = [178, 600];
/// Machine of the rows whose nodes may be several.
const OWN: &str = "own";

/// Something that could not be measured.
#[derive(Debug, Serialize)]
struct LeftOut {
    app: String,
    machine: String,
    why: String,
}

pub fn run(args: &BenchArgs) -> Result<Status> {
    if !(args.seconds > 0.0 && args.seconds.is_finite()) {
        return Err(Error::Usage(format!("--seconds {}: give a time above 0", args.seconds)));
    }
    args.json.as_deref().map_or(Ok(()), files::try_to_write)?;
    let before = args.against.as_deref().map(against::read).transpose()?;
    let subject = |app: PathBuf| Ok((name(&app), Subject::load(&app)?));
    let subjects = apps(args)?.into_iter().map(subject).collect::<Result<Vec<_>>>()?;
    engine_cores::check(args, &subjects)?;
    let engine_core = args.core.choice(false);
    let (mut rows, mut left_out, mut interpreted) = (Vec::new(), Vec::new(), Vec::new());
    for (app, subject) in &subjects {
        for machine in machines(args, subject) {
            if interrupt::happened() {
                return Ok(Status::Interrupted);
            }
            let measured = |engine_core| {
                measure(app.clone(), subject, machine.as_deref(), args.seconds, engine_core)
            };
            match measured(engine_core) {
                Ok(row) => {
                    if args.engine_cores && matches!(subject, Subject::Handlers(_)) {
                        interpreted.push(measured(EngineCore::Interpreter)?);
                    }
                    rows.push(row);
                }
                Err(why) => left_out.push(LeftOut {
                    app: app.clone(),
                    machine: machine.unwrap_or_else(|| OWN.to_owned()),
                    why: why.to_string().lines().next().unwrap_or_default().to_owned(),
                }),
            }
        }
    }
    #[cfg(unix)]
    let loops = match args.apps.is_empty() {
        true => loops::measure(engine_core, args.engine_cores)?,
        false => loops::Loops::default(),
    };
    #[cfg(unix)]
    let (told, of_loops) = (loops.to_json(), loops.table(args.markdown));
    #[cfg(not(unix))]
    let (told, of_loops) = (json!({ "rows": [], "left_out": [] }), String::new());
    let document = json!({
        "document": Document::Bench.head(),
        "pinion_version": env!("CARGO_PKG_VERSION"),
        "date": host::today(),
        "computer": host::describe(),
        "rtl_cycles_per_second": RTL_CYCLES_PER_SECOND,
        "rows": rows,
        "interpreted": interpreted,
        "left_out": left_out,
        "loops": told,
    });
    let mut text = tables::whole(&document, &rows, &left_out, &of_loops, args.markdown);
    text.push_str(&engine_cores::table(&rows, &interpreted, args.markdown));
    if let Some(before) = &before {
        text.push_str(&against::table(before, &document, args.markdown));
    }
    output::print(&text);
    if let Some(path) = &args.json {
        output::write_json(path, &format!("{document:#}"))?;
    }
    Ok(if rows.is_empty() { Status::Mismatch } else { Status::Success })
}

/// Gives the folders that were named, or those of the examples.
fn apps(args: &BenchArgs) -> Result<Vec<PathBuf>> {
    if !args.apps.is_empty() {
        return Ok(args.apps.clone());
    }
    let folder = PathBuf::from("examples");
    let entries = std::fs::read_dir(&folder).map_err(|error| {
        Error::Usage(format!(
            "{}: {error}; name the applications, or start it in a checkout's folder",
            folder.display()
        ))
    })?;
    let is_app =
        |path: &PathBuf| path.join("app.toml").is_file() || cluster::locate(path).is_some();
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_app).collect();
    found.sort();
    Ok(found)
}

/// Gives the machines to measure an application on; `None` is its own.
fn machines(args: &BenchArgs, subject: &Subject) -> Vec<Option<String>> {
    let wanted = match subject {
        Subject::Cluster(_) => return vec![None],
        _ if !args.machine.is_empty() => return args.machine.iter().cloned().map(Some).collect(),
        Subject::Nanoservice(_) => Kind::Nanopu,
        Subject::Handlers(_) => Kind::Spin,
    };
    let known = assets::machines().into_iter();
    known.filter(|name| machine::kind(name).ok() == Some(wanted)).map(Some).collect()
}

fn name(app: &Path) -> String {
    app.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Measures an application on a machine: runs it until the runs together have taken so long.
fn measure(
    app: String,
    subject: &Subject,
    machine: Option<&str>,
    seconds: f64,
    engine_core: EngineCore,
) -> Result<Row> {
    let (kind, mut once) = runs::prepare(subject, machine, seconds, engine_core)?;
    let mut best: Option<Ran> = None;
    let (mut spent, mut runs) = (0.0, 0);
    while spent < seconds && !interrupt::happened() {
        let ran = once()?;
        if ran.failed {
            return Err(Error::Usage("its program fails there; `pinion run` says how".to_owned()));
        }
        (spent, runs) = (spent + ran.seconds, runs + 1);
        if best.as_ref().is_none_or(|best| ran.seconds < best.seconds) {
            best = Some(ran);
        }
    }
    let ran = best.ok_or_else(|| Error::Usage("interrupted".to_owned()))?;
    let row = Row::of(app, machine.unwrap_or(OWN).to_owned(), kind, runs, &ran);
    match row.packets {
        0 => Err(Error::Usage("nothing was handled: its traffic does not fit there".to_owned())),
        _ => Ok(row),
    }
}
