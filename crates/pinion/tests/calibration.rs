//! The bars of the model: every row of the ground truth but those listed as misses within its set's
//! tolerances, each set's median within its bar, and the tables in the book are what `pinion
//! calibrate --markdown` prints.
//!
//! `PINION_BLESS=1 cargo test -p pinion --test calibration` writes the tables anew, and strikes misses
//! off their list that are none any more.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pinion::calibration::{Comparison, median_error, sets::Set};

const COMMAND: &str = "PINION_BLESS=1 cargo test -p pinion --test calibration";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn open(name: &str) -> Set {
    Set::open(&repository().join("tests/calibration").join(name)).unwrap()
}

fn blesses() -> bool {
    std::env::var_os("PINION_BLESS").is_some()
}

/// Compares a set's rows; checks its median, its misses and its page of the book.
fn check(name: &str, median_bar: f64, page: &str) -> Vec<Comparison> {
    let set = open(name);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let rows = set.compare(None, jobs).unwrap();

    let page = repository().join("docs/tables").join(page);
    let table = set.markdown(&rows);
    if blesses() {
        std::fs::write(&page, &table).unwrap();
    }
    check_misses(name, &rows);
    let median = median_error(&rows);
    assert!(median <= median_bar, "the median error is {median}");
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(found == table, "{} is out of date; run {COMMAND}", page.display());
    rows
}

/// Checks that the rows that miss are those of the set's list: no row is added to it by itself.
fn check_misses(name: &str, rows: &[Comparison]) {
    let path = repository().join(format!("tests/calibration/{name}-misses.txt"));
    let listed = std::fs::read_to_string(&path).unwrap_or_default();
    let mut listed: BTreeSet<&str> = listed.lines().collect();
    let failed: Vec<_> = rows.iter().filter(|row| !row.pass).collect();
    let misses: BTreeSet<&str> = failed.iter().map(|row| row.row.as_str()).collect();
    let new: Vec<_> = misses.difference(&listed).collect();
    assert!(new.is_empty(), "{new:?} passed before: {failed:#?}");
    if blesses() {
        listed.retain(|row| misses.contains(row));
        let lines: String = listed.iter().map(|row| format!("{row}\n")).collect();
        std::fs::write(&path, lines).unwrap();
    }
    let mended: Vec<_> = listed.difference(&misses).collect();
    assert!(mended.is_empty(), "{} lists {mended:?}, which pass; run {COMMAND}", path.display());
}

#[test]
fn every_row_of_the_first_set_passes_and_the_book_says_so() {
    let rows = check("pspin", 0.005, "calibration-pspin.md");
    assert_eq!(rows.iter().filter(|row| row.counts).count(), 93);
}

#[test]
fn the_second_set_is_as_the_book_says() {
    let rows = check("pspin2", 0.01, "calibration-pspin2.md");
    assert_eq!(rows.iter().filter(|row| row.counts).count(), 66);
}

#[test]
fn applications_are_as_the_book_says() {
    let rows = check("pspin-apps", 0.05, "calibration-pspin-apps.md");
    assert_eq!(rows.iter().filter(|row| row.metric == "packet_latency_ns").count(), 8);
}

#[test]
fn threads_change_no_result() {
    let run = |jobs| open("pspin").compare(Some("spread_64"), jobs).unwrap();
    assert_eq!(run(1), run(4));
    let run = |jobs| open("pspin-apps").compare(Some("empty"), jobs).unwrap();
    assert_eq!(run(1), run(2));
}
