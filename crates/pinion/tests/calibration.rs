//! The bars of the model: every row of the ground truth within 5 % or 2 ns, median within 2 %, and
//! the table in the book is what `pinion calibrate --markdown` prints.
//!
//! `PINION_BLESS=1 cargo test -p pinion --test calibration` writes the table anew.

use std::path::{Path, PathBuf};

use pinion::app;
use pinion::calibration::{self, Comparison, pspin, pspin::set::Set};

/// Is the largest median error.
const MEDIAN_BAR: f64 = 0.02;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn compare() -> Vec<Comparison> {
    let set = Set::open(&repository().join("tests/calibration/pspin")).unwrap();
    let machine = app::load_machine("pspin", &[], true).unwrap();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    pspin::compare(&set, &machine.value, None, jobs).unwrap()
}

#[test]
fn every_row_passes_and_the_book_says_so() {
    let rows = compare();
    let failed: Vec<_> = rows.iter().filter(|row| !row.pass).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let median = calibration::median_error(&rows);
    assert!(median <= MEDIAN_BAR, "the median error is {median}");

    let table = calibration::markdown(&rows);
    let page = repository().join("docs/src/calibration-table.md");
    if std::env::var_os("PINION_BLESS").is_some() {
        std::fs::write(&page, &table).unwrap();
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    let command = "PINION_BLESS=1 cargo test -p pinion --test calibration";
    assert!(found == table, "{} is out of date; run {command}", page.display());
}

#[test]
fn threads_change_no_result() {
    let set = Set::open(&repository().join("tests/calibration/pspin")).unwrap();
    let machine = app::load_machine("pspin", &[], true).unwrap();
    let run = |jobs| pspin::compare(&set, &machine.value, Some("spread_64"), jobs).unwrap();
    assert_eq!(run(1), run(4));
}
