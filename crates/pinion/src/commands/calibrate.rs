//! `pinion calibrate`: our cycles against the hardware's, row by row.

use std::path::Path;

use pinion::app;
use pinion::calibration::{self, Comparison, nanopu, pspin};
use pinion::error::{Error, Result};
use pinion::report::write_whole;

use super::Status;
use crate::cli::CalibrateArgs;
use crate::output;

pub fn run(args: &CalibrateArgs) -> Result<Status> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or_else(cores);
    if jobs == 0 {
        return Err(Error::Usage("--jobs 0: at least one row runs at a time".to_owned()));
    }
    let (rows, table) = match &args.set {
        Some(dir) if nanopu::set::Set::recognises(dir) => nanopu_rows(args, dir, jobs)?,
        _ => pspin_rows(args, jobs)?,
    };
    let json = || {
        let value = serde_json::to_string_pretty(&rows);
        value.map(|text| text + "\n").map_err(|error| Error::part("cannot write JSON", error))
    };
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => output::print(&json()?),
        Some(path) => {
            write_whole(path, json()?.as_bytes())?;
            output::print(&table);
        }
        None => output::print(&table),
    }
    let passes = rows.iter().all(|row| row.pass);
    Ok(if passes { Status::Success } else { Status::Mismatch })
}

fn pspin_rows(args: &CalibrateArgs, jobs: usize) -> Result<(Vec<Comparison>, String)> {
    let set = match &args.set {
        Some(dir) => pspin::set::Set::open(dir)?,
        None => pspin::set::Set::find()?,
    };
    let machine = app::load_machine("pspin", &[], true)?;
    let rows = pspin::compare(&set, &machine.value, args.row.as_deref(), jobs)?;
    let table = match args.markdown {
        true => calibration::markdown(&rows),
        false => calibration::text(&rows),
    };
    Ok((rows, table))
}

fn nanopu_rows(args: &CalibrateArgs, dir: &Path, jobs: usize) -> Result<(Vec<Comparison>, String)> {
    let set = nanopu::set::Set::open(dir)?;
    let filter = args.row.as_deref();
    let rows = nanopu::compare(&set, &nanopu::model::Model::load()?, filter, jobs)?;
    let table = match (args.markdown, filter) {
        (true, _) => nanopu::table::markdown(&rows),
        (false, Some(_)) => nanopu::table::every_number(&rows),
        (false, None) => nanopu::table::text(&rows),
    };
    Ok((rows, table))
}
