//! `pinion calibrate`: our cycles against the hardware's, row by row.

use std::path::Path;

use pinion::app;
use pinion::calibration::{self, pspin, pspin::set::Set};
use pinion::error::{Error, Result};
use pinion::report::write_whole;

use super::Status;
use crate::cli::CalibrateArgs;
use crate::output;

pub fn run(args: &CalibrateArgs) -> Result<Status> {
    let set = match &args.set {
        Some(dir) => Set::open(dir)?,
        None => Set::find()?,
    };
    let machine = app::load_machine("pspin", &[], true)?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or_else(cores);
    if jobs == 0 {
        return Err(Error::Usage("--jobs 0: at least one row runs at a time".to_owned()));
    }
    let rows = pspin::compare(&set, &machine.value, args.row.as_deref(), jobs)?;
    let json = || {
        let value = serde_json::to_string_pretty(&rows);
        value.map(|text| text + "\n").map_err(|error| Error::part("cannot write JSON", error))
    };
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => output::print(&json()?),
        Some(path) => {
            write_whole(path, json()?.as_bytes())?;
            print_table(args, &rows);
        }
        None => print_table(args, &rows),
    }
    let passes = rows.iter().all(|row| row.pass);
    Ok(if passes { Status::Success } else { Status::Mismatch })
}

fn print_table(args: &CalibrateArgs, rows: &[calibration::Comparison]) {
    let table = match args.markdown {
        true => calibration::markdown(rows),
        false => calibration::text(rows),
    };
    output::print(&table);
}
