//! `pinion figure` from outside: the list, and mistakes that give one paragraph and no file.

use std::path::PathBuf;
use std::process::{Command, Output};

fn pinion(arguments: &[&str]) -> (Output, PathBuf) {
    let out = std::env::temp_dir().join(format!(
        "pinion-figure-{}-{}",
        std::process::id(),
        arguments.concat().replace(|c: char| !c.is_ascii_alphanumeric(), "")
    ));
    let command = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .arg("figure")
        .args(arguments)
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
    (command, out)
}

fn refuses(arguments: &[&str], part: &str) {
    let (output, out) = pinion(arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(text.contains(part), "{arguments:?}: no `{part}` in {text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    let left = std::fs::read_dir(&out).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{arguments:?}: files were left");
    let _ = std::fs::remove_dir(out);
}

#[test]
fn the_list_names_every_figure_and_where_it_was_published() {
    let list = Command::new(env!("CARGO_BIN_EXE_pinion")).args(["figure", "list"]).output();
    let output = list.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let nanopu = ["nanopu-latency", "nanopu-table1", "nanopu-fig3", "nanopu-fig4", "nanopu-fig5"];
    let pspin = ["pspin-latency", "pspin-fig4", "pspin-fig6", "pspin-fig8", "pspin-fig9"];
    for name in nanopu.into_iter().chain(pspin) {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
    }
    assert!(text.contains("nanoPU paper, figure 3"));
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    refuses(&["list"], "--out goes with a figure, not with list");
    refuses(&["nanopu-fig33"], "did you mean `nanopu-fig3`?");
    refuses(&["nanopu-fig5", "--set", "parameters.request=5"], "requests");
    refuses(&["nanopu-fig5", "--set", "parameters.gaps_cycles=few"], "not a list of numbers");
    refuses(&["nanopu-fig5", "--jobs", "0"], "--jobs 0");
    refuses(&["pspin-al"], "did you mean");
    refuses(&["pspin-all", "--set", "parameters.bytes=many"], "not a list of numbers");
}

fn has_gcc() -> bool {
    let found = Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_ok();
    if !found {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
    }
    found
}

/// Makes a figure and gives the column `ours` of each published value, and what is said of it.
fn published(name: &str, arguments: &[&str]) -> String {
    let (output, out) = pinion(&[&[name], arguments].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}{text}", String::from_utf8_lossy(&output.stderr));
    for suffix in ["csv", "svg"] {
        assert!(out.join(name).with_extension(suffix).is_file(), "{name}.{suffix}");
    }
    let _ = std::fs::remove_dir_all(out);
    text
}

#[test]
fn an_echo_takes_42_cycles_from_pin_to_pin() {
    if !has_gcc() {
        return;
    }
    let text = published("nanopu-latency", &[]);
    assert!(!text.contains("DIFFERS"), "{text}");
    let row = text.lines().find(|line| line.contains("loopback")).unwrap();
    assert!(row.split_whitespace().any(|word| word == "42.0"), "{row}");
}

#[test]
fn an_incast_of_80_loses_six_packets_or_has_them_trimmed() {
    if !has_gcc() {
        return;
    }
    let text = published("nanopu-fig6", &[]);
    assert!(text.contains("published value") && !text.contains("DIFFERS"), "{text}");
}

#[test]
fn the_other_figures_of_the_nanopu_can_be_made() {
    if !has_gcc() {
        return;
    }
    let names = [
        "nanopu-table1",
        "nanopu-fig3",
        "nanopu-fig4",
        "nanopu-fig5",
        "nanopu-fig7",
        "nanopu-fig8",
        "nanopu-chain",
        "nanopu-draft-table1",
        "nanopu-draft-table2",
        "nanopu-draft-fig1",
    ];
    for name in names {
        let text = published(name, &["--quick"]);
        assert!(text.contains("published value"), "{text}");
    }
}

#[test]
fn homa_spares_the_shortest_messages_of_a_published_workload() {
    let chosen = ["--set", "parameters.workloads=3", "--set", "parameters.messages=1000"];
    let (output, out) = pinion(&[&["nanopu-workloads"], &chosen[..]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let csv = std::fs::read_to_string(out.join("nanopu-workloads.csv")).unwrap();
    for suffix in ["", "-w3-p99", "-w3-p50"] {
        assert!(out.join(format!("nanopu-workloads{suffix}.svg")).is_file(), "{suffix}");
    }
    let _ = std::fs::remove_dir_all(out);
    let cell = |curve: &str, column: usize| -> f64 {
        let rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let mut shortest = rows.filter(|row| row[0] == curve && row[2] == "32");
        shortest.next().unwrap_or_else(|| panic!("no {curve} in {csv}"))[column].parse().unwrap()
    };
    let [ndp, homa] = ["W3: NDP", "W3: Homa"].map(|curve| cell(curve, 5));
    assert!(homa >= 1.0 && homa < 0.9 * ndp, "the 99th percentile: {homa}, NDP {ndp}");
    assert!(cell("W3: credits", 4) >= 1.0 && cell("W3: DCTCP", 4) >= 1.0, "{csv}");
}
