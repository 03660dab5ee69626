//! Embeds `sdk/`, `machines/`, `figures/` and the examples that figures run, so that an installed
//! `pinion` works without the repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Begins the names of the examples that are nanoservices.
const NANOSERVICE: &str = "nanopu_";
/// Names the examples that are use cases, of PsPIN and of FPsPIN.
const USE_CASES: [&str; 10] = [
    "aggregate",
    "filtering",
    "histogram",
    "kvstore",
    "reduce",
    "strided_ddt",
    "icmp_echo",
    "udp_echo",
    "slmp",
    "datatypes",
];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = root.join("../..");
    let mut table = String::from("&[\n");
    for folder in ["sdk", "machines", "figures", "examples"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        let mut files = Vec::new();
        collect(&root.join(folder), &mut files);
        files.sort();
        if folder == "examples" {
            files.retain(|file| is_run_by_figures(file));
        }
        for file in files {
            let name = file.strip_prefix(&root).expect("found below the root");
            let path = file.canonicalize().expect("the file was just listed");
            writeln!(table, "    ({:?}, include_bytes!({:?})),", name.display().to_string(), path)
                .expect("writing to a string cannot fail");
        }
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("assets.rs"), table).expect("OUT_DIR can be written");
}

/// Tells whether a file of an example is needed to run it in a figure: what tests compare is not.
fn is_run_by_figures(file: &Path) -> bool {
    let is_in = |wanted: &dyn Fn(&str) -> bool| {
        file.components().any(|part| wanted(&part.as_os_str().to_string_lossy()))
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_for_tests = name.starts_with("expect") || name.ends_with(".pcap");
    is_in(&|part| part.starts_with(NANOSERVICE))
        || is_in(&|part| USE_CASES.contains(&part)) && !is_for_tests
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        match path.is_dir() {
            _ if hidden => {}
            true if entry.file_name() == "build" || entry.file_name() == "tests" => {}
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}
