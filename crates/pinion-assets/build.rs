//! Embeds what [`tree::Tree`] lists and, in optimised builds, libpinion_pspinsim.
//!
//! Optimised builds run again when something embedded has changed. Others run once: what they embed
//! is only for copies of the executable, as in a checkout everything is read from there.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

#[path = "src/tree.rs"]
mod tree;

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = root.join("../..").canonicalize().expect("the crate lies in a checkout");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let tree = tree::Tree::of(&root);
    let mut watched = vec![PathBuf::from("crates/pinion-assets/build.rs")];
    watched.push("crates/pinion-assets/src/tree.rs".into());
    if is_optimised() {
        watched.extend(tree.watched.iter().cloned());
    }
    embed(&root, &tree.files, &out);
    // …/PROFILE/build/pinion-assets-HASH/out
    let profile = out.ancestors().nth(3).map(Path::to_owned);
    let checkout = match &profile {
        Some(profile) if !is_optimised() => format!("Some(({root:?}, {profile:?}))"),
        _ => "None".to_owned(),
    };
    write(&out.join("checkout.rs"), checkout.as_bytes());
    let library = match library(&root, &out, &mut watched) {
        Some(path) => format!("Some(include_bytes!({path:?}))"),
        None => "None".to_owned(),
    };
    write(&out.join("library.rs"), library.as_bytes());
    let mut list = String::new();
    for path in watched {
        println!("cargo::rerun-if-changed={}", root.join(&path).display());
        writeln!(list, "{}", path.display()).expect("writing to a string cannot fail");
    }
    write(&out.join("watched.txt"), list.as_bytes());
}

/// Tells whether this build is to be used, not tried from where it was built.
fn is_optimised() -> bool {
    let is_low = env::var_os("OPT_LEVEL").is_none_or(|level| level == "0" || level == "1");
    !is_low && env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_none()
}

/// Joins the files into one, so that the compiler does not watch each, and writes a table of their
/// names and where each begins and ends.
fn embed(root: &Path, files: &[PathBuf], out: &Path) {
    let mut contents = Vec::new();
    let mut table = String::from("&[\n");
    for file in files {
        let start = contents.len();
        contents.extend(fs::read(root.join(file)).expect("the file was just listed"));
        let name = file.display().to_string();
        writeln!(table, "    ({name:?}, {start}, {}),", contents.len())
            .expect("writing to a string cannot fail");
    }
    table.push_str("]\n");
    write(&out.join("contents.bin"), &contents);
    write(&out.join("table.rs"), table.as_bytes());
}

/// Writes a file of OUT_DIR, unless it is so already.
fn write(file: &Path, contents: &[u8]) {
    if fs::read(file).is_ok_and(|found| found == contents) {
        return;
    }
    fs::write(file, contents).expect("OUT_DIR can be written");
}

/// Builds the library that drivers link, in a folder of its own, with the settings of this build:
/// cargo itself can build a dynamic library for a program, but not put it into one. Builds without
/// optimisation, which are tried from where they were built, go without and take half the time.
fn library(root: &Path, out: &Path, watched: &mut Vec<PathBuf>) -> Option<PathBuf> {
    let profile = out.ancestors().nth(3)?.file_name()?.to_str()?;
    if !is_optimised() || env::var("HOST") != env::var("TARGET") {
        return None;
    }
    for name in tree::crates_of(root, "pinion-pspinsim") {
        watched
            .extend(["src", "Cargo.toml"].map(|part| Path::new("crates").join(&name).join(part)));
    }
    watched.push("Cargo.lock".into());
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
