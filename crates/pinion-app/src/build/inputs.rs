//! What a program is made from: sources come in, one digest of everything the compiler would read
//! goes out. Follows `#include` and `.incbin` lines through the folders the compiler searches, so
//! that a changed header is noticed and nothing else causes a rebuild.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::assets::fnv1a;

/// Digests the files that `sources` reach, together with `command` (the compiler and its options).
pub(super) fn digest(sources: &[PathBuf], search: &[PathBuf], command: &[String]) -> u64 {
    let mut files = BTreeSet::new();
    let mut waiting: Vec<PathBuf> = sources.to_vec();
    let mut contents = Vec::new();
    while let Some(path) = waiting.pop() {
        if !files.insert(path.clone()) {
            continue;
        }
        let Ok(bytes) = fs::read(&path) else { continue };
        for name in included(&bytes) {
            waiting.extend(resolve(&name, &path, search));
        }
        contents.push((path, fnv1a(bytes)));
    }
    contents.sort();
    let mut text = command.join("\0");
    for (path, digest) in contents {
        text.push_str(&format!("\0{}\0{digest:x}", path.display()));
    }
    fnv1a(text.bytes())
}

/// Lists the file names in a source's `#include` and `.incbin` lines.
fn included(source: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(source);
    text.lines().filter_map(included_by).map(str::to_owned).collect()
}

fn included_by(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = match line.strip_prefix('#') {
        Some(rest) => rest.trim_start().strip_prefix("include")?,
        None => line.strip_prefix(".incbin")?,
    };
    let rest = rest.trim_start();
    let close = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    rest[1..].split_once(close).map(|(name, _)| name)
}

fn resolve(name: &str, from: &Path, search: &[PathBuf]) -> Option<PathBuf> {
    let own = from.parent().map(Path::to_owned);
    own.iter().chain(search).map(|dir| dir.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_lines_are_recognised() {
        let source =
            b"#include <a.h>\n  #  include \"b/c.h\"\n.incbin \"d.bin\"\n// include\n#define x\n";
        assert_eq!(included(source), ["a.h", "b/c.h", "d.bin"]);
    }

    #[test]
    fn a_changed_header_changes_the_digest() {
        let dir = std::env::temp_dir().join(format!("pinion-inputs-{}", std::process::id()));
        fs::create_dir_all(dir.join("include")).unwrap();
        let source = dir.join("a.c");
        fs::write(&source, "#include <deep.h>\n").unwrap();
        fs::write(dir.join("include/deep.h"), "#include \"leaf.h\"\n").unwrap();
        fs::write(dir.join("include/leaf.h"), "1").unwrap();
        let search = [dir.join("include")];
        let take = || digest(std::slice::from_ref(&source), &search, &["cc".to_owned()]);
        let first = take();
        assert_eq!(first, take());
        fs::write(dir.join("include/leaf.h"), "2").unwrap();
        assert_ne!(first, take());
    }
}
