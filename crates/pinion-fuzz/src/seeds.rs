//! Inputs that targets begin with: files of this repository, those of `corpus/NAME`, where inputs lie that once were
//! answered wrongly, and short ones that long runs found to reach other code (`fuzz/corpus/NAME.seeds`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::mutate::LONGEST_BYTES;

/// The repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of a target's kept inputs.
pub fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Reads a target's first inputs, in the order of their names: those of `corpus/NAME`, files that `places` name, in which
/// a part may be `*` or end in `*` or begin with it, and those that long runs have kept. Files that are longer than inputs
/// may be are left out.
pub fn read(target: &str, places: &[&str]) -> Vec<Vec<u8>> {
    let mut found: Vec<PathBuf> = entries(&corpus(target));
    for place in places {
        let mut paths = vec![root()];
        for part in place.split('/') {
            paths = paths.iter().flat_map(|path| matching(path, part)).collect();
        }
        found.extend(paths);
    }
    let is_short =
        |path: &PathBuf| path.metadata().is_ok_and(|it| it.len() <= LONGEST_BYTES as u64);
    let files = found.into_iter().filter(|path| path.is_file() && is_short(path));
    files.filter_map(|path| fs::read(path).ok()).chain(kept(target)).collect()
}

/// Gives the inputs that long runs have kept: of each its length, as four bytes, and its bytes.
fn kept(target: &str) -> Vec<Vec<u8>> {
    let path = root().join(format!("fuzz/corpus/{target}.seeds"));
    let bytes = fs::read(&path).unwrap_or_default();
    let (mut rest, mut found) = (&bytes[..], Vec::new());
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((input, behind)) = behind.split_at_checked(length) else {
            panic!("{} ends within an input; scripts/coverage.py writes it", path.display());
        };
        found.push(input.to_vec());
        rest = behind;
    }
    found
}

fn matching(folder: &Path, part: &str) -> Vec<PathBuf> {
    let Some((head, tail)) = part.split_once('*') else { return vec![folder.join(part)] };
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
    };
    entries(folder).into_iter().filter(fits).collect()
}

/// What lies in a folder, in the order of the names; nothing, if there is none.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}
