//! What is compiled apart from the rest, since one call of a compiler speaks one language: the C++ of
//! an application and of the SDK comes in, objects for the linker go out.

use std::fs;
use std::path::{Path, PathBuf};

use super::with_suffix;

/// Tells whether a compiler option for a whole program is one for compiling C++, too: the linker's
/// options and C's standard are not.
pub(super) fn applies(flag: &str) -> bool {
    let names_c = |standard: &str| !standard.contains("++");
    !flag.starts_with("-Wl,") && !flag.strip_prefix("-std=").is_some_and(names_c)
}

/// Tells how C++, or what else is compiled apart, is compiled.
pub(super) struct Cxx {
    /// The compiler's options.
    pub options: Vec<String>,
    /// The sources, the SDK's own first.
    pub sources: Vec<PathBuf>,
}

/// Names the objects of one build; they are gone when it is over.
#[derive(Default)]
pub(super) struct Objects {
    paths: Vec<PathBuf>,
}

impl Objects {
    /// Names the next object of a program.
    pub fn add(&mut self, elf: &Path) -> PathBuf {
        let suffix = format!("{}.{}.o", std::process::id(), self.paths.len());
        let path = with_suffix(elf, &suffix);
        self.paths.push(path.clone());
        path
    }

    /// Lists the objects so far.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_know_their_language() {
        for (flag, expected) in
            [("-O3", true), ("-Wl,-u,x", false), ("-std=gnu99", false), ("-std=c++11", true)]
        {
            assert_eq!(applies(flag), expected, "{flag}");
        }
    }

    #[test]
    fn objects_do_not_outlive_the_build() {
        let folder = std::env::temp_dir().join(format!("pinion-objects-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut objects = Objects::default();
        let paths = [objects.add(&folder.join("a.elf")), objects.add(&folder.join("a.elf"))];
        assert_ne!(paths[0], paths[1]);
        fs::write(&paths[0], "").unwrap();
        drop(objects);
        assert!(!paths[0].exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
