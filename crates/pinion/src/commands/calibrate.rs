//! `pinion calibrate`: our cycles against the hardware's, row by row.

use std::fmt::Write as _;

use pinion::calibration::Comparison;
use pinion::calibration::sets::Set;
use pinion::document::Document;
use pinion::error::{Error, Result};
use serde::Serialize;
use serde_json::json;

use super::{Status, files};
use crate::cli::CalibrateArgs;
use crate::output;

/// A comparison with the set it is from.
#[derive(Serialize)]
struct Entry<'a> {
    set: &'a str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

pub fn run(args: &CalibrateArgs) -> Result<Status> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or_else(cores);
    if jobs == 0 {
        return Err(Error::Usage("--jobs 0: at least one row runs at a time".to_owned()));
    }
    args.json.as_deref().map_or(Ok(()), files::try_to_write)?;
    let filter = args.row.as_deref();
    let shows_tables = !args.json.as_deref().is_some_and(output::is_stdout);
    let sets = sets(args)?;
    let mut compared = Vec::new();
    for set in &sets {
        let comparisons = set.compare(filter, jobs)?;
        if shows_tables {
            let table = table(args, &sets, set, &comparisons);
            output::print(&output::paint_words(table, &[("FAIL", output::WRONG)]));
        }
        compared.push((set.name(), comparisons));
    }
    if shows_tables && sets.len() > 1 && !args.markdown {
        output::print(&verdicts(&sets, &compared));
    }
    if let Some(path) = args.json.as_deref() {
        output::write_json(path, &format!("{:#}", document(&compared)))?;
    }
    let mut all = compared.iter().flat_map(|(_, comparisons)| comparisons);
    Ok(if all.all(|comparison| comparison.pass) { Status::Success } else { Status::Mismatch })
}

/// Opens the sets that were asked for; of several, those that have a row that was asked for.
fn sets(args: &CalibrateArgs) -> Result<Vec<Set>> {
    let sets: Vec<Set> = match &args.set[..] {
        [] => Set::known()?,
        folders => folders.iter().map(|dir| Set::open(dir)).collect::<Result<_>>()?,
    };
    let Some(filter) = args.row.as_deref().filter(|_| sets.len() > 1) else { return Ok(sets) };
    let names: Vec<String> = sets.iter().map(Set::name).collect();
    let with_row: Vec<Set> = sets.into_iter().filter(|set| set.has(filter)).collect();
    if with_row.is_empty() {
        let names = names.join(", ");
        return Err(Error::Usage(format!("no row of {names} has `{filter}` in its name")));
    }
    Ok(with_row)
}

/// Gives one set's table, under the set's name if there are several.
fn table(args: &CalibrateArgs, sets: &[Set], set: &Set, comparisons: &[Comparison]) -> String {
    let table = match args.markdown {
        true => set.markdown(comparisons),
        false => set.text(comparisons, args.row.is_some()),
    };
    match (sets.len(), args.markdown) {
        (1, _) => table,
        (_, true) => format!("## {}\n\n{table}\n", set.name()),
        (_, false) => format!("{}\n\n{table}\n", set.dir().display()),
    }
}

/// Gives a line per set.
fn verdicts(sets: &[Set], compared: &[(String, Vec<Comparison>)]) -> String {
    let longest = compared.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (set, (name, comparisons)) in sets.iter().zip(compared) {
        let _ = write!(out, "{name:longest$}  {}", set.verdict(comparisons));
    }
    out
}

fn document(compared: &[(String, Vec<Comparison>)]) -> serde_json::Value {
    let entries = compared.iter().flat_map(|(set, comparisons)| {
        comparisons.iter().map(move |comparison| Entry { set, comparison })
    });
    json!({
        "document": Document::Calibration.head(),
        "comparisons": entries.collect::<Vec<_>>(),
    })
}
