//! Blocks of the nanoPU beside the model on the calibration set: in every scenario they are the same in every cycle, and
//! what is measured is what is measured without them. Without Verilator or a C++ compiler it is left out.

use std::path::Path;

use pinion::calibration::Comparison;
use pinion::calibration::nanopu::{self, model::Model, set::Set};
use pinion::hardware::{choice::Choice, verilator};

/// Blocks that every scenario's machine can have.
const UNITS: [&str; 3] = ["ndp_ingress", "ndp_egress", "register_interface"];

fn told(rows: &[Comparison]) -> Vec<String> {
    let told = rows.iter().map(|row| {
        let Comparison { row, metric, ours, error, pass, note, .. } = row;
        format!("{row}, {metric}: {ours} {error} {pass} {note}")
    });
    told.collect()
}

#[test]
fn blocks_hold_in_every_scenario() {
    if let Err(problem) = verilator::find() {
        eprintln!("left out: {problem}");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let set = Set::open(&root.join("tests/calibration/nanopu")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let units = UNITS.map(str::to_owned);
    let choice = Choice::read(&units, true, folder.path().to_owned()).unwrap();
    let beside = Model::load().unwrap().prepared(move |node, machine| {
        choice.seat_in_node(node, machine).map_err(|error| pinion::Error::Usage(error.to_string()))
    });
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let alone = nanopu::compare(&set, &Model::load().unwrap(), None, jobs).unwrap();
    assert_eq!(told(&alone), told(&nanopu::compare(&set, &beside, None, jobs).unwrap()));
}
