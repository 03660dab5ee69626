//! The bars of the nanoPU node: every scenario of the ground truth within the set's tolerances,
//! median within 2 %, and the table in the book is what `pinion calibrate --markdown` prints.
//!
//! `PINION_BLESS=1 cargo test -p pinion --test calibration_nanopu` writes the table anew.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use pinion::calibration::nanopu::{self, model::Model, set::Set, table};
use pinion::calibration::{Comparison, median_error};

/// Is the largest median error.
const MEDIAN_BAR: f64 = 0.02;
/// Is how long all scenarios may take; a node that does not get on must not stop the tests.
const LONGEST: Duration = Duration::from_secs(600);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn compare(filter: Option<&'static str>, jobs: usize) -> Vec<Comparison> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let set = Set::open(&repository().join("tests/calibration/nanopu")).unwrap();
        let model = Model::load().unwrap();
        let _ = send.send(nanopu::compare(&set, &model, filter, jobs));
    });
    let rows = receive.recv_timeout(LONGEST).expect("every scenario ends");
    rows.unwrap()
}

#[test]
fn every_scenario_passes_and_the_book_says_so() {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let rows = compare(None, jobs);
    let failed: Vec<_> = rows.iter().filter(|row| !row.pass).collect();
    let bless = std::env::var_os("PINION_BLESS").is_some();
    assert!(bless || failed.is_empty(), "{failed:#?}");
    let median = median_error(&rows);
    assert!(median <= MEDIAN_BAR, "the median error is {median}");

    let table = table::markdown(&rows);
    let page = repository().join("docs/src/calibration-nanopu-table.md");
    if bless {
        std::fs::write(&page, &table).unwrap();
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    let command = "PINION_BLESS=1 cargo test -p pinion --test calibration_nanopu";
    assert!(found == table, "{} is out of date; run {command}", page.display());
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn threads_change_no_result() {
    assert_eq!(compare(Some("jbsq4"), 1), compare(Some("jbsq4"), 4));
}
