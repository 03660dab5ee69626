//! Embeds `sdk/`, `machines/`, `figures/`, the examples that figures run and, in optimised builds,
//! libpinion_pspinsim, so that an installed `pinion` works without the repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// Names the crates that the library is made of.
const LIBRARY_CRATES: [&str; 5] =
    ["pinion-pspinsim", "pinion-spin", "pinion-isa", "pinion-host", "pinion-sim"];

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
    let library = match library(&root, &out) {
        Some(path) => format!("Some(include_bytes!({path:?}))"),
        None => "None".to_owned(),
    };
    fs::write(out.join("library.rs"), library).expect("OUT_DIR can be written");
}

/// Builds the library that drivers link, in a folder of its own, with the settings of this build:
/// cargo itself can build a dynamic library for a program, but not put it into one. Builds without
/// optimisation, which are tried from where they were built, go without and take half the time.
fn library(root: &Path, out: &Path) -> Option<PathBuf> {
    // …/PROFILE/build/pinion-HASH/out
    let profile = out.ancestors().nth(3)?.file_name()?.to_str()?;
    if env::var_os("OPT_LEVEL").is_none_or(|level| level == "0" || level == "1")
        || env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some()
        || env::var("HOST") != env::var("TARGET")
    {
        return None;
    }
    for name in LIBRARY_CRATES {
        for part in ["src", "Cargo.toml"] {
            println!(
                "cargo::rerun-if-changed={}",
                root.join("crates").join(name).join(part).display()
            );
        }
    }
    println!("cargo::rerun-if-changed={}", root.join("Cargo.lock").display());
    let target = out.join("library");
    let built = Command::new(env::var_os("CARGO")?)
        .args(["rustc", "--locked", "--offline", "--package", "pinion-pspinsim", "--lib"])
        .args(["--crate-type", "cdylib", "--profile", profile, "--target-dir"])
        .arg(&target)
        .args(["--config", "profile.release.debug=false", "--config", "profile.release.strip=true"])
        .current_dir(root)
        .stdin(Stdio::null())
        .output();
    let name = format!("{}pinion_pspinsim{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let file = target.join(profile).join(name);
    match built {
        Ok(output) if output.status.success() && file.is_file() => Some(file),
        Ok(output) => {
            let lines = String::from_utf8_lossy(&output.stderr).into_owned();
            let line = lines.lines().find(|line| line.starts_with("error")).unwrap_or("no library");
            println!("cargo::warning=this pinion goes without libpinion_pspinsim: {line}");
            None
        }
        Err(error) => {
            println!("cargo::warning=this pinion goes without libpinion_pspinsim: {error}");
            None
        }
    }
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
