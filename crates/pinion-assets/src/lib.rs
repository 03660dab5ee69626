//! What Pinion comes with: the SDK, machine files, figures' files, the examples that figures run, the
//! templates of `pinion new`, and the library that PsPIN's drivers link.
//!
//! An executable that lies in a checkout, or was built for its `target` folder elsewhere, reads the
//! checkout's files when it runs ([`checkout`]); any other one has all it needs inside
//! ([`embedded`]). So a change of these files compiles nothing where the build is not optimised
//! (`opt-level` 0 or 1, or debug assertions): such a build embeds what was there when this crate was
//! last compiled, and only a copy of it elsewhere looks at that (`cargo clean -p pinion-assets`
//! brings it up to date). Optimised builds, those of `make install` among them, embed again what has
//! changed, and libpinion_pspinsim.
//!
//! What an optimised build watches is just what it embeds; `tree.rs` says what that is. Where they are
//! unpacked to must be the user's own ([`own_folder`]).

#[cfg(target_os = "linux")]
pub mod own_folder;
#[cfg(test)]
mod tree;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Names of the embedded files, where each begins in [`CONTENTS`] and where it ends.
static TABLE: &[(&str, usize, usize)] = include!(concat!(env!("OUT_DIR"), "/table.rs"));
/// The embedded files, one after the other.
static CONTENTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/contents.bin"));
/// The checkout that an unoptimised build was made from, and the folder its executables lie in.
static BUILT_FROM: Option<(&str, &str)> = include!(concat!(env!("OUT_DIR"), "/checkout.rs"));
/// libpinion_pspinsim as it was when this crate was built; optimised builds have it.
static LIBRARY: Option<&[u8]> = include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// Lists the embedded files: names as in a checkout (`sdk/sdk.toml`), and contents.
pub fn embedded() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    TABLE.iter().map(|&(name, start, end)| (name, &CONTENTS[start..end]))
}

/// Gives the embedded libpinion_pspinsim.
pub fn driver_library() -> Option<&'static [u8]> {
    LIBRARY
}

/// Finds the checkout that the executable lies in (`target/…/pinion`) or, if it is not optimised,
/// whose `target` folder it lies in.
pub fn checkout() -> Option<PathBuf> {
    let executable = env::current_exe().ok()?;
    let is_root = |dir: &Path| dir.join("sdk/sdk.toml").is_file() && dir.join("machines").is_dir();
    let found = executable.ancestors().find(|dir| is_root(dir)).map(Path::to_owned);
    found.or_else(|| {
        let (root, target) = BUILT_FROM?;
        let is_there = executable.starts_with(target) && is_root(Path::new(root));
        is_there.then(|| PathBuf::from(root))
    })
}

/// Reads a text file by its name in a checkout; `None`: there is none.
///
/// # Errors
/// Names a file of the checkout that cannot be read.
pub fn text(name: &str) -> Result<Option<String>, (PathBuf, io::Error)> {
    if let Some(file) = checkout().map(|root| root.join(name)).filter(|file| file.is_file()) {
        return fs::read_to_string(&file).map(Some).map_err(|error| (file, error));
    }
    let found = embedded().find(|(file, _)| *file == name);
    let text = found.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok());
    Ok(text.map(str::to_owned))
}

/// Lists the names of the files in a folder, without those in folders below, sorted.
pub fn names(folder: &str) -> Vec<String> {
    let mut names: Vec<String> = match checkout() {
        Some(root) => {
            let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
            let files = entries.filter(|entry| entry.path().is_file());
            files.filter_map(|entry| entry.file_name().into_string().ok()).collect()
        }
        None => {
            let inside = |name: &'static str| name.strip_prefix(folder)?.strip_prefix('/');
            let files = embedded().filter_map(|(name, _)| inside(name));
            files.filter(|name| !name.contains('/')).map(str::to_owned).collect()
        }
    };
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::tree::{Tree, crates_of};
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn files_below(root: &Path, path: &Path) -> Vec<PathBuf> {
        match fs::read_dir(root.join(path)) {
            Ok(entries) => {
                let entries = entries.flatten().map(|entry| path.join(entry.file_name()));
                entries.flat_map(|path| files_below(root, &path)).collect()
            }
            Err(_) => vec![path.to_owned()],
        }
    }

    #[test]
    fn what_is_watched_is_what_is_embedded() {
        let tree = Tree::of(&root());
        let watched = tree.watched.iter().flat_map(|path| files_below(&root(), path));
        let mut watched: Vec<PathBuf> = watched.collect();
        watched.sort();
        assert_eq!(watched, tree.files);
        for name in ["sdk/sdk.toml", "machines/pspin.toml", "templates/app.toml"] {
            assert!(tree.files.contains(&name.into()), "{name} is missing");
        }
        for whole in ["machines", "templates"] {
            assert!(tree.watched.contains(&whole.into()), "a file added to {whole} goes unnoticed");
        }
    }

    #[test]
    fn the_library_is_made_again_when_a_crate_of_it_changes() {
        let crates = crates_of(&root(), "pinion-pspinsim");
        for name in ["pinion-pspinsim", "pinion-spin", "pinion-cores", "pinion-translate"] {
            assert!(crates.contains(&name.to_owned()), "{name} is missing in {crates:?}");
        }
        assert!(!crates.contains(&"pinion-nanopu".to_owned()), "{crates:?}");
    }

    #[test]
    fn an_unoptimised_build_watches_none_of_it() {
        let watched = include_str!(concat!(env!("OUT_DIR"), "/watched.txt"));
        let of_tree = |line: &&str| !line.starts_with("crates/") && *line != "Cargo.lock";
        let of_tree: Vec<&str> = watched.lines().filter(of_tree).collect();
        match BUILT_FROM {
            Some(_) => assert!(of_tree.is_empty(), "{of_tree:?}"),
            None => assert!(of_tree.contains(&"machines"), "{of_tree:?}"),
        }
    }

    #[test]
    fn a_test_runs_in_its_checkout() {
        assert_eq!(checkout().unwrap().canonicalize().unwrap(), root().canonicalize().unwrap());
        assert!(names("machines").contains(&"pspin.toml".to_owned()));
        assert!(text("machines/hosts/none.toml").unwrap().is_none());
        let embedded: Vec<&str> = embedded().map(|(name, _)| name).collect();
        assert!(embedded.contains(&"machines/pspin.toml"));
    }
}
