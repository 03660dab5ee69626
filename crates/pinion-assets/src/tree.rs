//! Which files of a checkout are embedded. In: the checkout's folder. Out: their names, and the
//! folders and files to watch so that a change of one of them is noticed and no other is; and the crates of ours that one is
//! made of.
//!
//! The build script compiles this file, too.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are embedded, of `examples` only what figures run.
const FOLDERS: [&str; 5] = ["sdk", "machines", "figures", "templates", "examples"];
/// Beginning of the names of the examples that are nanoservices.
const NANOSERVICE: &str = "nanopu_";
/// Examples that are use cases, of PsPIN and of FPsPIN.
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

/// What is embedded, by paths from the checkout's folder.
#[derive(Debug, Default)]
pub struct Tree {
    /// Files to embed, sorted.
    pub files: Vec<PathBuf>,
    /// Files, and folders all of whose files are embedded.
    pub watched: Vec<PathBuf>,
}

impl Tree {
    /// Lists what is embedded of a checkout.
    pub fn of(root: &Path) -> Self {
        let mut tree = Self::default();
        for folder in FOLDERS {
            let (watched, _) = tree.add(root, Path::new(folder));
            tree.watched.extend(watched);
        }
        tree.files.sort();
        tree
    }

    /// Adds a folder; gives what is to be watched of it, and whether that is all of it. A folder is
    /// watched as a whole where it can be, so that files which are added later are noticed.
    fn add(&mut self, root: &Path, folder: &Path) -> (Vec<PathBuf>, bool) {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { return (Vec::new(), false) };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        let mut watched = Vec::new();
        let mut is_whole = true;
        for name in names {
            let path = folder.join(&name);
            let is_folder = root.join(&path).is_dir();
            let is_left_out = match name.to_string_lossy() {
                name if name.starts_with('.') => true,
                name if is_folder => name == "build" || name == "tests",
                _ => !is_wanted(&path),
            };
            if is_left_out {
                is_whole = false;
            } else if is_folder {
                let (below, is_all) = self.add(root, &path);
                watched.extend(below);
                is_whole &= is_all;
            } else {
                self.files.push(path.clone());
                watched.push(path);
            }
        }
        match is_whole && !watched.is_empty() {
            true => (vec![folder.to_owned()], true),
            false => (watched, is_whole),
        }
    }
}

/// Tells whether a file is needed: of an example only what figures run, not what tests compare.
fn is_wanted(file: &Path) -> bool {
    if !file.starts_with("examples") {
        return true;
    }
    let is_in = |wanted: &dyn Fn(&str) -> bool| {
        file.components().any(|part| wanted(&part.as_os_str().to_string_lossy()))
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_for_tests = name.starts_with("expect") || name.ends_with(".pcap");
    is_in(&|part| part.starts_with(NANOSERVICE))
        || is_in(&|part| USE_CASES.contains(&part)) && !is_for_tests
}

/// Lists the crates of ours that one is made of, itself included, as their Cargo.toml say.
pub fn crates_of(root: &Path, name: &str) -> Vec<String> {
    let mut found = vec![name.to_owned()];
    let mut read = 0;
    while let Some(name) = found.get(read) {
        read += 1;
        let manifest = root.join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(manifest).unwrap_or_default();
        for line in text.lines() {
            let word = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let is_ours = word.starts_with("pinion-") && root.join("crates").join(word).is_dir();
            if is_ours && !found.iter().any(|other| other == word) {
                found.push(word.to_owned());
            }
        }
    }
    found
}
