//! Headers beside an application that are called like the SDK's own: the application gets its own,
//! as C has it, the SDK's sources get theirs, because they are compiled apart then.

use std::fs;
use std::path::{Path, PathBuf};

/// Lists a build's options that choose folders or files to include, with their argument behind them
/// or apart.
const CHOOSES_HEADERS: [&str; 6] = ["-I", "-iquote", "-isystem", "-idirafter", "-include", "-L"];

/// Finds a header of an application that is called like one of the SDK's.
pub(super) fn find_namesake(own: &[PathBuf], sdk: &[PathBuf]) -> Option<PathBuf> {
    let names = sdk.iter().flat_map(|dir| headers(dir));
    let mut found = names.flat_map(|name| own.iter().map(move |dir| dir.join(&name)));
    found.find(|path| path.is_file())
}

/// Lists the headers of a folder, and of the folders in it as they are included.
fn headers(dir: &Path) -> Vec<PathBuf> {
    let listed = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let is_header = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "h");
    let below = listed(dir).filter(|path| path.is_dir()).flat_map(|path| listed(&path));
    let all = listed(dir).chain(below.collect::<Vec<_>>()).filter(is_header);
    all.filter_map(|path| path.strip_prefix(dir).ok().map(Path::to_owned)).collect()
}

/// Lists the folders that compiler options name for an application's headers.
pub(super) fn named_folders(flags: &[String]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        if let Some(folder) = flag.strip_prefix("-I").or_else(|| flag.strip_prefix("-iquote")) {
            let apart = if folder.is_empty() { flags.next().map(String::as_str) } else { None };
            folders.push(PathBuf::from(apart.unwrap_or(folder)));
        }
    }
    folders
}

/// Leaves of an application's options those that the SDK's sources are compiled with, too: none that
/// brings headers or speaks to the linker.
pub(super) fn for_runtime<'a>(flags: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut flags = flags.into_iter();
    while let Some(flag) = flags.next() {
        match CHOOSES_HEADERS.iter().find(|known| flag.starts_with(**known)) {
            Some(known) if flag == known => {
                flags.next();
            }
            Some(_) => {}
            None if flag.starts_with("-Wl,") || flag.starts_with("-l") => {}
            None => kept.push(flag.clone()),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(flags: &[&str]) -> Vec<String> {
        flags.iter().map(|&flag| flag.to_owned()).collect()
    }

    #[test]
    fn options_for_headers_and_the_linker_are_left_out() {
        let flags = texts(&["-O3", "-Ia", "-I", "b", "-march=rv32im", "-Wl,-u,x", "-lm", "-DX"]);
        assert_eq!(for_runtime(&flags), texts(&["-O3", "-march=rv32im", "-DX"]));
        assert_eq!(named_folders(&flags), [PathBuf::from("a"), PathBuf::from("b")]);
    }

    #[test]
    fn namesakes_are_found_in_folders_too() {
        let root = std::env::temp_dir().join(format!("pinion-apart-{}", std::process::id()));
        let (own, sdk) = (root.join("own"), root.join("sdk"));
        for file in ["sdk/util.h", "sdk/hal/pulp.h", "own/other.h", "own/pulp.h"] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let find = || find_namesake(std::slice::from_ref(&own), std::slice::from_ref(&sdk));
        assert_eq!(find(), None);
        fs::write(own.join("util.h"), "").unwrap();
        assert_eq!(find(), Some(own.join("util.h")));
        fs::remove_dir_all(root).unwrap();
    }
}
