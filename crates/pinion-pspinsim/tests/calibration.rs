//! The ground truth through the C interface: programs built elsewhere, and the scenarios' packets as
//! traces in the published format, replayed by a driver in C; each packet's times against the RTL's.
//! (`pinion calibrate` compares the same rows without the C interface.)

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use pinion_isa::elf::Image;
use pinion_sim::random::Xorshift32;

use common::{compile, elf, folder, here, run_well};

type Row = BTreeMap<String, String>;

fn set() -> PathBuf {
    here().join("../../tests/calibration/pspin")
}

/// Reads a table: its rows by column name.
fn table(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let named = names.iter().map(|name| (*name).to_owned());
        named.zip(line.split(',').map(str::to_owned)).collect()
    };
    lines.map(row).collect()
}

fn number<T: std::str::FromStr>(row: &Row, name: &str) -> T {
    row[name].parse().ok().unwrap_or_else(|| panic!("{name} of {row:?}"))
}

/// Makes a packet's contents, as the set's scenarios/generate.py does.
fn contents(packet: u32, bytes: usize) -> Vec<u8> {
    Xorshift32::new(0x9e37_79b9_u32.wrapping_mul(packet + 1)).bytes(bytes)
}

/// Writes a row's packets as a trace.
fn write_trace(row: &Row, image: &Image, lines: &Path, data: &Path) {
    let address = |column: &str| match row[column].as_str() {
        "" => 0,
        name => image.require(name).unwrap().address,
    };
    let handlers = ["header_handler", "payload_handler", "completion_handler"].map(address);
    let [header, payload, completion] = handlers;
    let (mut text, mut bytes) = (String::new(), Vec::new());
    for packet in table(&set().join("scenarios").join(format!("{}.csv", row["scenario"]))) {
        let length: usize = number(&packet, "bytes");
        writeln!(
            text,
            "{},{header},4096,{payload},4096,{completion},4096,{},65536,{length},{},{},{}",
            packet["message"],
            0x1c30_0000,
            packet["l1_bytes"],
            packet["end_of_message"],
            packet["wait_cycles"]
        )
        .unwrap();
        bytes.extend(contents(number(&packet, "packet"), length));
    }
    fs::write(lines, text).unwrap();
    fs::write(data, bytes).unwrap();
}

/// Gives the metric that counts for a row: mean latency, or duration.
fn metric(row: &Row, passages: &[(f64, f64)]) -> f64 {
    if row["scenario"].starts_with("single_") || row["scenario"].starts_with("slow_") {
        return passages.iter().map(|(her, done)| done - her).sum::<f64>() / passages.len() as f64;
    }
    let first = passages.iter().map(|passage| passage.0).fold(f64::INFINITY, f64::min);
    passages.iter().map(|passage| passage.1).fold(0.0, f64::max) - first
}

/// Gives the times that the driver printed, in ns.
fn replayed(text: &str) -> Vec<(f64, f64)> {
    let passage = |line: &str| {
        let (her, done) = line.split_once(' ')?;
        Some((her.parse::<f64>().ok()? / 1e3, done.parse::<f64>().ok()? / 1e3))
    };
    text.lines().map_while(passage).collect()
}

#[test]
fn programs_built_elsewhere_take_as_long_as_on_the_rtl() {
    let driver = compile("replay.c", &["cc", "-std=c99"]);
    let (lines, data) = (folder("replay.c").join("p.csv"), folder("replay.c").join("p.bin"));
    let mut errors = Vec::new();
    for row in table(&set().join("rows.csv")) {
        let program = elf(&row["program"]);
        write_trace(&row, &Image::read(&program).unwrap(), &lines, &data);
        let environment = [("PINION_ELF", program.to_str().unwrap())];
        let ours = replayed(&run_well(&driver, &[&lines, &data], &environment));
        let results = table(&set().join("results").join(format!("{}.csv", row["row"])));
        let passage = |result: &Row| (number(result, "her_ns"), number(result, "done_ns"));
        let rtl: Vec<_> = results.iter().map(passage).collect();
        assert_eq!(ours.len(), rtl.len(), "{}", row["row"]);
        let (ours, rtl) = (metric(&row, &ours), metric(&row, &rtl));
        let difference = (ours - rtl).abs();
        assert!(difference <= 2.0 || difference <= 0.05 * rtl, "{}: {ours} {rtl}", row["row"]);
        errors.push(difference / rtl);
    }
    errors.sort_by(f64::total_cmp);
    assert!(errors.len() > 70 && errors[errors.len() / 2] <= 0.02, "{errors:?}");
}
